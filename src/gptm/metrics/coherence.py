"""Coherence of topics: how often their words occur in the same documents."""

from typing import Any

import numpy as np

from gptm._basics.types import Array
from gptm.metrics.checked_arrays import as_counts, as_topics
from gptm.metrics.topic_words import top_words


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
    beta = as_topics(topics)
    X = as_counts(counts, beta)
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
