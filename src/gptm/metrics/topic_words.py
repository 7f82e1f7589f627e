"""Words of topics: the most probable ones, and orders that distinguish topics better."""

from typing import Any

import numpy as np
from scipy.stats import rankdata

from gptm._basics.types import Array
from gptm._basics.validation import check_mixture, check_number
from gptm.metrics.checked_arrays import as_numbers, as_topics, as_weights


def top_words(topics: Any, n_words: int = 10) -> np.ndarray:
    """Columns of each topic's most probable words, most probable first.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words; or any other weights of words in topics.
    n_words : int, default=10

    Returns
    -------
    ndarray of int, of shape (K, min(n_words, V))
        Equally probable words are in the order of the columns.

    Examples
    --------
    >>> from gptm.metrics import top_words
    >>> top_words([[0.1, 0.6, 0.3], [0.5, 0.0, 0.5]], n_words=2)
    array([[1, 2],
           [0, 2]])
    """
    check_number("n_words", n_words, least=1, integer=True)
    lowest_first = -as_weights(topics)
    n = min(int(n_words), lowest_first.shape[1])
    return np.stack([_first_in_order(row, n) for row in lowest_first])


def _first_in_order(values: Array, n: int) -> np.ndarray:
    """Where the n lowest values are, lowest first, ties in their order: as a stable sort, without sorting all."""
    last = np.partition(values, n - 1)[n - 1]
    candidates = np.flatnonzero(~(values > last))  # NaN stays, and comes last
    return candidates[np.argsort(values[candidates], kind="stable")[:n]]


def frex(topics: Any, weight: float = 0.5) -> Array:
    """How frequent and exclusive each word is in each topic.

    The weighted harmonic mean of two ranks among the words of a topic: by probability in the topic, and by the
    topic's part of the word, p(w | k) / sum_j p(w | j).

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    weight : float, default=0.5
        Weight of exclusivity, from 0 to 1; frequency has the rest.

    Returns
    -------
    ndarray of shape (K, V)
        Between 0 and 1. Ranks are shares of the vocabulary; tied words have the same rank.

    Notes
    -----
    Bischof & Airoldi (2012), as in the R package stm, without shrinkage of rare words.

    Examples
    --------
    >>> from gptm.metrics import frex, top_words
    >>> topics = [[0.5, 0.4, 0.1, 0.0], [0.5, 0.0, 0.1, 0.4]]
    >>> frex(topics).round(2)
    array([[0.77, 0.86, 0.56, 0.25],
           [0.77, 0.25, 0.56, 0.86]])
    >>> top_words(frex(topics), 1).ravel()  # not the word that both topics have
    array([1, 3])
    """
    check_mixture("weight", weight, "frequency", "exclusivity")
    beta = as_topics(topics)
    V = beta.shape[1]
    frequency = rankdata(beta, axis=1) / V
    exclusive = rankdata(_topic_parts(beta), axis=1) / V
    return np.asarray(1.0 / (weight / exclusive + (1.0 - weight) / frequency))


def exclusivity(topics: Any, n_words: int = 10) -> Array:
    """How little the other topics use the most probable words of each topic.

    The mean of p(w | k) / sum_j p(w | j) over the top words w of topic k.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    n_words : int, default=10

    Returns
    -------
    ndarray of shape (K,)
        1 if no other topic has these words, about 1 / K if all topics have them equally.

    Notes
    -----
    As in the diagnostics of MALLET. The function of this name in the R package stm is different: it is the sum of
    `frex` with weight 0.7 over the top words.

    Examples
    --------
    >>> from gptm.metrics import exclusivity
    >>> exclusivity([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], n_words=2)
    array([0.75, 0.75])
    """
    beta = as_topics(topics)
    return np.take_along_axis(_topic_parts(beta), top_words(beta, n_words), axis=1).mean(1)


def lift(topics: Any, word_counts: Any) -> Array:
    """How much more probable each word is in each topic than in the corpus.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    word_counts : array of shape (V,)
        How often each word occurs, or how probable it is: only proportions matter.

    Returns
    -------
    ndarray of shape (K, V)
        p(w | k) / p(w); 0 for words that never occur.

    Notes
    -----
    Taddy (2012). Lift favours rare words; `relevance` does so less.

    Examples
    --------
    >>> from gptm.metrics import lift
    >>> lift([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], [20, 10, 10])
    array([[1., 2., 0.],
           [1., 0., 2.]])
    """
    beta = as_topics(topics)
    weight = as_numbers("word_counts", word_counts)
    if weight.shape != (beta.shape[1],):
        raise ValueError(
            f"word_counts must have one number for each word of the topics: expected shape {(beta.shape[1],)}, got "
            f"{weight.shape}. Sum the counts over the documents."
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() == 0:
        raise ValueError(
            "word_counts must be finite numbers of zero or more, with at least one word that occurs; "
            f"got values from {weight.min()} to {weight.max()}."
        )
    return ratio_to_words(beta, weight / weight.sum())


def relevance(topics: Any, word_counts: Any, lambda_: float = 0.6) -> Array:
    """How relevant each word is to each topic: a compromise between probability and lift.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    word_counts : array of shape (V,)
        How often each word occurs, or how probable it is: only proportions matter.
    lambda_ : float, default=0.6
        1 orders words by probability, 0 by lift.

    Returns
    -------
    ndarray of shape (K, V)
        lambda log p(w | k) + (1 - lambda) log(p(w | k) / p(w)); minus infinity for words outside the topic.

    Notes
    -----
    Sievert & Shirley (2014), who found 0.6 to be best for naming topics; the order of words in pyLDAvis.

    Examples
    --------
    >>> from gptm.metrics import relevance, top_words
    >>> topics, counts = [[0.5, 0.4, 0.1], [0.5, 0.0, 0.5]], [50, 20, 30]
    >>> [top_words(relevance(topics, counts, lambda_))[0, 0].item() for lambda_ in (0, 1)]
    [1, 0]
    """
    check_mixture("lambda_", lambda_, "lift", "probability")
    beta = as_topics(topics)
    lifted = lift(beta, word_counts)
    result = np.full(beta.shape, -np.inf)
    inside = (beta > 0) & (lifted > 0)
    result[inside] = lambda_ * np.log(beta[inside]) + (1 - lambda_) * np.log(lifted[inside])
    return result


DAMPING = 0.6  # power of a word's rate by which its prominence falls
FEW = 0.1  # of a word in a document, on average: words that are rarer than that are hardly damped


def prominence(topics: Any, word_rates: Any) -> Array:
    """How prominent each word is in each topic: probable there, and not one of the words that are in every document.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    word_rates : array of shape (V,)
        How often a document has each word, on average.

    Returns
    -------
    ndarray of shape (K, V)
        p(w | k) / (rate of w + 0.1)^0.6. Where all words are rare, the order is that of probability.

    Notes
    -----
    The order in which `GPTM.topics` shows words. `relevance` goes further and also prefers the rarer of two rare words,
    which seldom occur together: it reads worse on short texts, where all words are rare. The benchmarks have numbers.

    Examples
    --------
    >>> from gptm.metrics import prominence, top_words
    >>> topics = [[0.4, 0.3, 0.3, 0.0], [0.4, 0.0, 0.0, 0.6]]
    >>> top_words(prominence(topics, [8.0, 0.5, 1.0, 0.5]), 2)  # the first word is in both topics
    array([[1, 2],
           [3, 0]])
    """
    beta = as_topics(topics)
    rates = as_numbers("word_rates", word_rates)
    if rates.shape != (beta.shape[1],):
        raise ValueError(
            f"word_rates must have one number for each word of the topics: expected shape {(beta.shape[1],)}, got "
            f"{rates.shape}. Take the mean of the counts over the documents."
        )
    if not np.isfinite(rates).all() or (rates < 0).any():
        raise ValueError(
            f"word_rates must be finite numbers of zero or more; got values from {rates.min()} to {rates.max()}."
        )
    return np.asarray(beta * (rates + FEW) ** -DAMPING)


def word_scores(topics: Any) -> Array:
    """How much each word distinguishes each topic from the others, weighted by its probability.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.

    Returns
    -------
    ndarray of shape (K, V)
        p(w | k) (log p(w | k) - mean over topics j of log p(w | j)). Zero probabilities count as 1e-300.

    Notes
    -----
    The "score" of the R packages lda and stm.

    Examples
    --------
    >>> from gptm.metrics import top_words, word_scores
    >>> topics = [[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]]
    >>> word_scores(topics).round(3)
    array([[ 0.   ,  0.277, -0.069],
           [ 0.   , -0.069,  0.277]])
    """
    beta = as_topics(topics)
    log_beta = np.log(np.maximum(beta, 1e-300))
    return np.asarray(beta * (log_beta - log_beta.mean(0)))


def _topic_parts(beta: Array) -> Array:
    """p(w | k) / sum_j p(w | j): which topic a word belongs to; 0 for a word of no topic."""
    return ratio_to_words(beta, beta.sum(0))


def ratio_to_words(beta: Array, word: Array) -> Array:
    """beta (K, V) / word (V,), with 0 where word is 0."""
    return np.divide(beta, word, out=np.zeros_like(beta), where=word > 0)
