"""Logits up to a shift: words cannot see what all topics of a document have in common.

eta and eta + c give the same proportions, so K logits are K - 1 numbers: U = eta H with orthonormal contrasts H. Tables
and attributes have K topics. When a covariance of contrasts becomes one of topics, the common shift, which nothing
depends on, is independent of everything else and varies as much as the contrasts on average. So the identity stays the
identity.
"""

from functools import cache

import numpy as np

from gptm import _hot
from gptm._basics.parallel import by_rows
from gptm._basics.types import Array


@cache
def contrasts(K: int) -> Array:
    """H (K, K - 1) with orthonormal columns that sum to zero (Helmert). Not to be written to.

    >>> H = contrasts(3)
    >>> np.allclose(H.T @ H, np.eye(2)), np.allclose(H.sum(0), 0)
    (True, True)
    """
    H = np.zeros((K, max(K - 1, 0)))
    for j in range(K - 1):
        H[: j + 1, j] = 1.0
        H[j + 1, j] = -(j + 1.0)
        H[:, j] /= np.sqrt((j + 1.0) * (j + 2.0))
    H.flags.writeable = False
    return H


def _lengths(K: int) -> Array:
    """(K - 1,) one over the lengths of Helmert's contrasts."""
    j = np.arange(1.0, K)
    return np.asarray(1.0 / np.sqrt(j * (j + 1.0)))


def contrast_rows(eta: Array) -> Array:
    """eta H of logits (n, K), without the matrix product.

    >>> eta = np.array([[3.0, 1.0, -4.0]])
    >>> np.allclose(contrast_rows(eta), eta @ contrasts(3))
    True
    """
    n, K = eta.shape
    U = np.empty((n, max(K - 1, 0)))
    lengths = _lengths(K)
    by_rows(lambda rows: _hot.to_contrast_rows(eta[rows], lengths, U[rows]), n)
    return U


def topic_rows(U: Array, shift: Array) -> Array:
    """(U + shift) H' of contrasts (n, K - 1), likewise.

    >>> U, shift = np.array([[3.0, 1.0]]), np.array([0.5, 0.0])
    >>> np.allclose(topic_rows(U, shift), (U + shift) @ contrasts(3).T)
    True
    """
    n, p = U.shape
    eta = np.empty((n, p + 1))
    lengths = _lengths(p + 1)
    by_rows(lambda rows: _hot.to_topic_rows(U[rows], shift, lengths, eta[rows]), n)
    return eta


def to_contrasts(A: Array) -> Array:
    """H' A H of a (K, K) covariance of logits."""
    H = contrasts(len(A))
    return np.asarray(H.T @ A @ H)


def to_topics(S: Array) -> Array:
    """A (K, K) covariance of logits from that of their contrasts.

    >>> np.allclose(to_topics(2.0 * np.eye(3)), 2.0 * np.eye(4))
    True
    """
    p = len(S)
    H = contrasts(p + 1)
    common = np.trace(S) / p if p else 1.0
    covariance = H @ S @ H.T + common / (p + 1)
    return np.asarray(0.5 * (covariance + covariance.T))


def centred(eta: Array) -> Array:
    """Logits relative to the mean of a document's topics."""
    return np.asarray(eta - eta.mean(-1, keepdims=True))
