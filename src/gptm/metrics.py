"""Scores on plain arrays: how well a model predicts held-out words, and how good its topics look to people."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import rankdata

from gptm._basics.errors import ArgumentError
from gptm._basics.types import Array
from gptm._basics.validation import check_number

_HYPERGEOMETRIC_LIMIT = 10**9  # numpy's

# Prediction of held-out words.


def split_tokens(
    counts: Any, observed: float = 0.5, random_state: int | None = 0
) -> tuple[csr_matrix, csr_matrix]:
    """Two count matrices that add up to `counts`: a random part of each document's tokens, and the rest.

    Parameters
    ----------
    counts : sparse or dense array of shape (n, V)
        The fractional part of a count moves as one piece.
    observed : float, default=0.5
        Share of each document's tokens in the first matrix, rounded up.
    random_state : int or None, default=0

    Returns
    -------
    observed, held_out : csr_matrix

    Examples
    --------
    >>> from gptm.metrics import split_tokens
    >>> seen, rest = split_tokens([[4, 2, 0]], observed=0.5)
    >>> seen.sum(), rest.sum()
    (np.float64(3.0), np.float64(3.0))
    """
    if not 0.0 < observed < 1.0:
        raise ArgumentError("observed", "must lie between 0 and 1", observed)
    X = csr_matrix(counts, dtype=np.float64)
    rng = np.random.default_rng(random_state)
    part = np.zeros_like(X.data)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        if start == stop:
            continue
        whole = np.floor(X.data[start:stop])
        fraction = X.data[start:stop] - whole
        tokens = whole.astype(np.int64)
        if tokens.sum() < _HYPERGEOMETRIC_LIMIT:
            drawn = rng.multivariate_hypergeometric(
                tokens, int(np.ceil(observed * tokens.sum())), method="marginals"
            )
        else:
            drawn = rng.binomial(tokens, observed)  # the share is exact enough with so many
        part[start:stop] = drawn + fraction * (rng.random(stop - start) < observed)
    return _with_data(X, part), _with_data(X, X.data - part)


def _with_data(X: csr_matrix, data: Array) -> csr_matrix:
    result = csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=True)
    result.eliminate_zeros()  # in place, hence the copy of everything
    return result


def log_likelihood(theta: Any, topics: Any, counts: Any) -> Array:
    """Log-probability of each document's words.

    Parameters
    ----------
    theta : array of shape (n, K)
        Each document's proportions of topics, as `model.transform` returns them.
    topics : array of shape (K, V)
        Topics as distributions over words.
    counts : sparse or dense array of shape (n, V)
        The words to score.

    Returns
    -------
    ndarray of shape (n,)
        Zero for a document without words. A word that no topic has counts with probability 1e-300.

    Examples
    --------
    >>> from gptm.metrics import log_likelihood
    >>> log_likelihood([[1.0]], [[0.5, 0.5]], [[1, 1]])
    array([-1.38629436])
    """
    beta = _as_topics(topics)
    X = _as_counts(counts, beta)
    proportions = _as_proportions(theta, X.shape[0], len(beta))
    beta_T = np.ascontiguousarray(beta.T)
    result = np.zeros(X.shape[0])
    for d, (start, stop) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True)):
        probability = beta_T[X.indices[start:stop]] @ proportions[d]
        result[d] = X.data[start:stop] @ np.log(np.maximum(probability, 1e-300))
    return result


def perplexity(theta: Any, topics: Any, counts: Any, sample_weight: Any = None) -> float:
    """exp of minus the mean log-probability per word; lower is better.

    Parameters
    ----------
    theta : array of shape (n, K)
        Each document's proportions of topics, as `model.transform` returns them.
    topics : array of shape (K, V)
        Topics as distributions over words.
    counts : sparse or dense array of shape (n, V)
        The words to score. For an honest score, `theta` should not depend on them.
    sample_weight : array of shape (n,), optional
        How much each document counts; zero or more.

    Returns
    -------
    float
        1 if every word is predicted with certainty, V if all words are equally probable.

    Examples
    --------
    >>> from gptm import CTM
    >>> from gptm.metrics import perplexity, split_tokens
    >>> X = [[3, 2, 0, 0], [0, 0, 3, 3]] * 5
    >>> model = CTM(n_components=2, random_state=0).fit(X)
    >>> seen, rest = split_tokens(X)
    >>> perplexity(model.transform(seen), model.components_, rest) == model.perplexity(X)
    True
    >>> perplexity([[1.0]], [[0.25, 0.25, 0.25, 0.25]], [[1, 2, 0, 1]])
    4.0
    """
    return float(np.exp(-mean_log_likelihood(theta, topics, counts, sample_weight)))


def mean_log_likelihood(theta: Any, topics: Any, counts: Any, sample_weight: Any = None) -> float:
    """Mean log-probability per word, over the words of all documents.

    Parameters
    ----------
    theta : array of shape (n, K)
        Each document's proportions of topics, as `model.transform` returns them.
    topics : array of shape (K, V)
        Topics as distributions over words.
    counts : sparse or dense array of shape (n, V)
        The words to score.
    sample_weight : array of shape (n,), optional
        How much each document counts; zero or more.

    Returns
    -------
    float
        In nats; higher is better.

    Examples
    --------
    >>> from gptm.metrics import mean_log_likelihood
    >>> mean_log_likelihood([[1.0], [1.0]], [[0.5, 0.5]], [[1, 1], [4, 0]])
    -0.6931471805599453
    """
    X = csr_matrix(counts)
    weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, float)
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight must have one number per document: expected shape {(X.shape[0],)}, got {weight.shape}."
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(
            "sample_weight must have finite numbers of zero or more; got values from "
            f"{weight.min()} to {weight.max()}. Give documents that should not count a weight of 0."
        )
    log_probability = log_likelihood(theta, topics, X)
    tokens = float(weight @ np.asarray(X.sum(1)).ravel())
    if tokens == 0:
        raise ValueError(
            "there are no words to score: no document with a weight above zero has any. Score documents with more "
            "words; a document of one word has none left to hold out."
        )
    return float(weight @ log_probability / tokens)


# Words of topics, and how coherent they are.


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
    return np.argsort(-_as_topics(topics), axis=1, kind="stable")[:, :n_words]


def npmi_coherence(topics: Any, counts: Any, n_words: int = 10) -> Array:
    """How much the most probable words of each topic occur in the same documents.

    The mean of the normalised pointwise mutual information over all pairs of a topic's top words,
    log(p(v, w) / (p(v) p(w))) / -log p(v, w), where p is the share of documents that contain the words.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    counts : sparse or dense array of shape (n, V)
        Documents in which to count: the training documents, or others.
    n_words : int, default=10

    Returns
    -------
    ndarray of shape (K,)
        -1 if the words never occur together, 0 if as often as by chance, 1 if only together. Pairs that never occur
        together count as -1, even if one of the words never occurs; pairs that are in all documents count as 0. NaN
        if a topic has fewer than two words.

    Notes
    -----
    Bouma (2009), Lau, Newman & Baldwin (2014). The measure is gensim's "c_npmi" with whole documents as windows,
    except for pairs that never occur together: gensim gives them a value near -1 that depends on its epsilon.

    Examples
    --------
    >>> from gptm.metrics import npmi_coherence
    >>> counts = [[1, 2, 0, 0], [3, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]]
    >>> npmi_coherence([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]], counts, n_words=2)
    array([ 1., -1.])
    """
    beta = _as_topics(topics)
    X = _as_counts(counts, beta)
    top = top_words(beta, n_words)
    words, column = np.unique(top, return_inverse=True)
    column = column.reshape(top.shape)
    occurs = (X[:, words] > 0).astype(np.float64).tocsc()
    pairs = np.triu_indices(top.shape[1], 1)
    if len(pairs[0]) == 0:
        return np.full(len(beta), np.nan)
    result = np.empty(len(beta))
    for i in range(len(beta)):  # topic by topic: together the words may be many
        own = occurs[:, column[i]]
        together = (own.T @ own).toarray() / X.shape[0]
        result[i] = _npmi(together, np.diagonal(together))[pairs].mean()
    return result


def _npmi(joint: Array, single: Array) -> Array:
    """NPMI of pairs from their probabilities (n, n) and those of the words (n,), limits included."""
    result = np.full(joint.shape, -1.0)
    result[joint == 1.0] = 0.0
    i, j = np.nonzero((joint > 0) & (joint < 1))
    p = joint[i, j]
    result[i, j] = np.log(p / (single[i] * single[j])) / -np.log(p)
    return result


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
    if not 0.0 <= weight <= 1.0:
        raise ValueError(
            f"weight must lie between 0, frequency alone, and 1, exclusivity alone; got {weight!r}."
        )
    beta = _as_topics(topics)
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
    beta = _as_topics(topics)
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
    beta = _as_topics(topics)
    weight = np.asarray(word_counts, dtype=np.float64)
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
    return _ratio(beta, weight / weight.sum())


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
    if not 0.0 <= lambda_ <= 1.0:
        raise ValueError(
            f"lambda_ must lie between 0, lift alone, and 1, probability alone; got {lambda_!r}."
        )
    beta = _as_topics(topics)
    lifted = lift(beta, word_counts)
    result = np.full(beta.shape, -np.inf)
    inside = (beta > 0) & (lifted > 0)
    result[inside] = lambda_ * np.log(beta[inside]) + (1 - lambda_) * np.log(lifted[inside])
    return result


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
    beta = _as_topics(topics)
    log_beta = np.log(np.maximum(beta, 1e-300))
    return np.asarray(beta * (log_beta - log_beta.mean(0)))


def topic_diversity(topics: Any, n_words: int = 25) -> float:
    """Share of different words among the most probable words of all topics.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    n_words : int, default=25
        Number of words of each topic.

    Returns
    -------
    float
        1 if no two topics share a top word, 1 / K if all topics have the same top words.

    Notes
    -----
    Dieng, Ruiz & Blei (2020).

    Examples
    --------
    >>> from gptm.metrics import topic_diversity
    >>> topic_diversity([[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], n_words=2)
    0.75
    """
    top = top_words(topics, n_words)
    return len(np.unique(top)) / top.size


def _as_topics(topics: Any) -> Array:
    beta = np.asarray(topics, dtype=np.float64)
    if beta.ndim != 2 or beta.size == 0:
        raise ValueError(
            f"topics must be an array with one row per topic and one column per word; got shape {beta.shape}. "
            "Pass model.components_."
        )
    return beta


def _as_counts(counts: Any, beta: Array) -> csr_matrix:
    X = csr_matrix(counts)
    if X.shape[1] != beta.shape[1]:
        raise ValueError(
            f"counts must have one column for each word of the topics: expected {beta.shape[1]}, got {X.shape[1]}. "
            "Count with the vocabulary of the topics."
        )
    return X


def _as_proportions(theta: Any, n: int, K: int) -> Array:
    proportions = np.asarray(theta, dtype=np.float64)
    if proportions.shape != (n, K):
        raise ValueError(
            f"theta must have one row per document and one column per topic: expected shape {(n, K)}, got "
            f"{proportions.shape}. Pass model.transform(X) of the same documents and model.components_."
        )
    return proportions


def _topic_parts(beta: Array) -> Array:
    """p(w | k) / sum_j p(w | j): which topic a word belongs to; 0 for a word of no topic."""
    return _ratio(beta, beta.sum(0))


def _ratio(beta: Array, word: Array) -> Array:
    """beta (K, V) / word (V,), with 0 where word is 0."""
    return np.divide(beta, word, out=np.zeros_like(beta), where=word > 0)
