"""Logits up to a shift: words cannot see what all topics of a document have in common.

eta and eta + c give the same proportions, so K logits are K - 1 numbers: U = eta H with orthonormal contrasts H. Tables
and attributes have K topics. When a covariance of contrasts becomes one of topics, the common shift, which nothing
depends on, is independent of everything else and varies as much as the contrasts on average. So the identity stays the
identity.
"""

from functools import cache

import numpy as np

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
