"""Roots and signs that do not depend on how a processor rounds.

LAPACK returns eigenvectors of either sign, and of equal eigenvalues in any rotation; a rounding error decides. Random
numbers that are drawn along them would then be those of other parameters on another processor.
"""

import numpy as np

from gptm._basics.types import Array


def symmetric_root(matrices: Array) -> Array:
    """(..., n, n) the symmetric R with R R = matrix, which may be singular: the only root without a choice of signs."""
    values, vectors = np.linalg.eigh(matrices)
    roots = np.sqrt(np.maximum(values, 0.0))[..., None, :]
    return np.asarray((vectors * roots) @ vectors.swapaxes(-1, -2))


def steady_signs(vectors: Array) -> Array:
    """What eigenvectors, as columns, are multiplied by so that their sums with falling weights are not negative.

    Weights fall, since the plain sum of an antisymmetric vector is zero but for rounding.

    >>> vectors = np.array([[-0.6, 0.8], [-0.8, -0.6]])
    >>> vectors * steady_signs(vectors)
    array([[ 0.6,  0.8],
           [ 0.8, -0.6]])
    """
    weights = 1.0 / np.arange(1, len(vectors) + 1)
    return np.where(weights @ vectors < 0.0, -1.0, 1.0)
