"""A low-rank factor of a covariance between points, exact or to a tolerance if there are many points."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, solve_triangular

from gptm._basics.eigenvectors import steady_signs
from gptm._basics.types import Array
from gptm.operators.spectral import check_spectrum

DENSE = 1000  # points up to which a decomposition is the quickest way
MAX_RANK = 1000
TOL = 1e-3  # share of the largest variance that an incomplete factor may leave out at any point

_HOPELESS = 0.1  # share of variance left after a quarter of the columns, above which more columns will not help

Covariance = Callable[[np.ndarray, np.ndarray], Array]


class Factor(NamedTuple):
    """Covariance = table table' between the points; a new point's row is its covariance with the anchors @ whiten."""

    table: Array  # (m, r)
    anchors: np.ndarray  # (a,) positions among the points
    whiten: Array  # (a, r)


def decompose(covariance: Covariance, m: int) -> Factor:
    """The exact factor, by eigenvalues; those that are zero up to rounding are left out."""
    everything = np.arange(m)
    values, vectors = eigh(covariance(everything, everything))
    keep = values > check_spectrum(values)
    root = np.sqrt(values[keep])
    kept = vectors[:, keep]
    kept *= steady_signs(kept)
    return Factor(kept * root, everything, kept / root)


def incomplete(covariance: Covariance, variances: Array, max_rank: int) -> tuple[Factor, float]:
    """A factor of few columns by pivoted Cholesky, and the largest share of variance that it leaves out.

    Each column adds the point that is explained worst so far. Smooth kernels over time need a few hundred columns for
    any number of points.
    """
    m = len(variances)
    everything = np.arange(m)
    table = np.empty((m, min(max_rank, m)), order="F")
    left, scale = variances.astype(np.float64), float(variances.max())
    pivots: list[int] = []
    while len(pivots) < table.shape[1] and left.max() > TOL * scale:
        if len(pivots) == table.shape[1] // 4 and left.mean() > _HOPELESS * scale:
            break
        pivot, done = int(np.argmax(left)), len(pivots)
        column = covariance(everything, np.array([pivot]))[:, 0]
        column = column - table[:, :done] @ table[pivot, :done]
        table[:, done] = column / np.sqrt(left[pivot])
        left = np.maximum(left - table[:, done] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    table = np.ascontiguousarray(table[:, : len(pivots)])
    anchors = np.array(pivots, dtype=np.int64)
    lower = np.tril(table[anchors])  # above its diagonal is rounding
    whiten = solve_triangular(lower, np.eye(len(anchors)), lower=True).T
    return Factor(table, anchors, whiten), float(left.max()) / scale
