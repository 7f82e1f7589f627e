"""Bands from draws of the posterior, wide enough for the number of draws that they come from.

The truth is to the draws as one more draw is. Quantiles of n independent draws contain one more draw less often than
their level says: few draws miss the tails, and their own mean is off. With 20 of them a 90 % band of plain quantiles
contains it in 81 % of cases. Neighbouring draws of a chain are alike, and chains from different starts may differ, so
the effective number of draws is what counts. It is often below 20.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from gptm._basics.types import Array
from gptm.inference.sampling.diagnostics import LEAST, effective_size

FEWEST = 3.0  # effective draws that are assumed at least: fewer cannot be told from each other
MOST = 40_000  # places times topics whose draws are counted (a second); beyond, some places stand for all


class Band(NamedTuple):
    """(n, K) each: the posterior mean, and the ends of a band around it."""

    mean: Array
    low: Array
    high: Array

    @classmethod
    def of(
        cls,
        values: Array,
        level: float,
        chain: np.ndarray,
        limits: tuple[float, float] | None = None,
    ) -> "Band":
        """Of draws (draws, n, K), each from the chain of that number; no wider than the limits, or than all draws."""
        tail = 0.5 * (1.0 - level)
        low, middle, high = np.quantile(values, [tail, 0.5, 1.0 - tail], axis=0)
        factor = widening(effective_draws(values, chain), level)
        low, high = middle - factor * (middle - low), middle + factor * (high - middle)
        if limits is not None:
            low = np.maximum(low, np.minimum(values.min(0), limits[0]))
            high = np.minimum(high, np.maximum(values.max(0), limits[1]))
        return cls(values.mean(0), low, high)


def widening(n: Array, level: float) -> Array:
    """How much wider than quantiles of endless draws a band of n effective draws must be, to be right as often.

    Student's interval for one more draw, relative to the normal one of a known mean and variance. The variance of
    draws around their own mean is too small, by one part in n.

    >>> widening(np.array([5.0, 20.0, 100.0]), 0.9).round(2)
    array([1.59, 1.11, 1.02])
    """
    n = np.maximum(n, FEWEST)
    upper = 0.5 * (1.0 + level)
    return np.asarray(stdtrit(n - 1.0, upper) / ndtri(upper) * np.sqrt((n + 1.0) / (n - 1.0)))


def effective_draws(values: Array, chain: np.ndarray) -> Array:
    """(n, K) how many independent draws the draws (draws, n, K) are worth; (1, K) their median where n is large."""
    by_chain = [values[chain == number] for number in np.unique(chain)]
    fewest = min(map(len, by_chain))
    if fewest < LEAST:  # too few to tell how alike they are
        return np.full(values.shape[1:], float(fewest))
    n_places = values.shape[1]
    some = np.arange(n_places)
    if values[0].size > MOST:
        some = np.linspace(0, n_places - 1, MOST // values.shape[2]).round().astype(int)
    n = effective_size(np.stack([draws[:fewest, some] for draws in by_chain]))
    n = np.minimum(n, len(values))
    return n if len(some) == n_places else np.median(n, axis=0, keepdims=True)
