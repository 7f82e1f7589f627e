"""Documents under given topics, quickly: where the logits of new documents begin."""

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array

_ROUNDS = 30  # of EM
_SPREAD = 1.0  # added to the tokens of a document's topics before their logarithms are taken


def folded_in(counts: csr_matrix, beta_T: Array) -> Array:
    """(n, K) tokens of documents in topics (V, K), with proportions of maximum likelihood, made a bit more even."""
    n, K = counts.shape[0], beta_T.shape[1]
    rows = np.repeat(np.arange(n), np.diff(counts.indptr))
    of_words, theta = beta_T[counts.indices], np.full((n, K), 1.0 / K)
    tokens = csr_matrix((counts.data, (rows, np.arange(len(rows)))), shape=(n, len(rows)))
    for _ in range(_ROUNDS):
        joint = theta[rows] * of_words
        joint /= joint.sum(1, keepdims=True)
        in_topics = tokens @ joint
        theta = in_topics + 1.0 / K
        theta /= theta.sum(1, keepdims=True)
    return np.asarray(in_topics)


def first_logits(counts: csr_matrix, beta_T: Array) -> Array:
    """(n, K) logits of documents to begin with."""
    lam = np.log(folded_in(counts, beta_T) + _SPREAD)
    return np.asarray(lam - lam.mean(1, keepdims=True))
