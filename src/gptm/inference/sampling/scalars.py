"""Draws of single numbers, and of small matrices."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

from gptm._basics.types import Array

_OUTWARDS = 20  # steps on either side


def slice_step(
    log_density: Callable[[float], float],
    x: float,
    rng: np.random.Generator,
    width: float = 0.5,
) -> float:
    """One slice-sampling step (Neal, 2003), for any density of one number, up to a factor."""
    level = log_density(x) - rng.exponential()
    low = x - width * rng.random()
    high = low + width
    for _ in range(_OUTWARDS):
        if log_density(low) <= level:
            break
        low -= width
    for _ in range(_OUTWARDS):
        if log_density(high) <= level:
            break
        high += width
    while high - low > 1e-12 * max(1.0, abs(x)):
        trial = rng.uniform(low, high)
        if log_density(trial) > level:
            return float(trial)
        low, high = (trial, high) if trial < x else (low, trial)
    return x


def inverse_wishart(scale: Array, degrees: float, rng: np.random.Generator) -> Array:
    """A draw of the inverse Wishart distribution, mean scale / (degrees - p - 1), by Bartlett's decomposition."""
    p = len(scale)
    A = np.tril(rng.standard_normal((p, p)), -1)
    A[np.diag_indices(p)] = np.sqrt(rng.chisquare(degrees - np.arange(p)))
    root = solve_triangular(A, np.linalg.cholesky(scale).T, lower=True)
    return np.asarray(root.T @ root)
