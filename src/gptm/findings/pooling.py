"""Estimates of several fits as one, with the variation between the fits in their error: Rubin's rules."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from gptm._basics.types import Array

_MOST_DF = 1e6  # from where on Student's distribution is the normal one


class PooledFits(NamedTuple):
    """Of m fits: the mean estimate, and what its variance consists of."""

    estimate: Array
    within: Array  # mean variance inside of a fit
    between: Array  # variance of the estimates over the fits
    total: Array
    df: Array
    m: Array  # number of fits that have an estimate

    def band(self, level: float) -> tuple[Array, Array]:
        """Ends of the interval that has a probability of `level`."""
        half = student.ppf(0.5 + 0.5 * level, self.df) * np.sqrt(self.total)
        return self.estimate - half, self.estimate + half


def pool(estimates: Array, errors: Array) -> PooledFits:
    """Rubin's rules along the first axis; NaN where a fit has no estimate.

    total = within + (1 + 1 / m) between, with (m - 1) (1 + within / ((1 + 1 / m) between))^2 degrees of freedom.

    Examples
    --------
    >>> found = pool(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    >>> found.estimate.item(), found.within.item(), found.between.item(), found.total.item()
    (2.0, 1.0, 2.0, 4.0)
    """
    there = ~np.isnan(estimates)
    m = there.sum(0)
    least = np.maximum(m, 1)
    estimate = np.where(there, estimates, 0.0).sum(0) / least
    within = np.where(there, errors, 0.0) ** 2
    deviations = np.where(there, estimates - estimate, 0.0)
    W = within.sum(0) / least
    between = (deviations**2).sum(0) / np.maximum(m - 1, 1)
    added = (1.0 + 1.0 / least) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(added > 0, np.maximum(m - 1, 1) * (1.0 + W / added) ** 2, _MOST_DF)
    lost = np.where(m > 0, 0.0, np.nan)
    return PooledFits(
        estimate + lost, W + lost, between + lost, W + added + lost, np.minimum(df, _MOST_DF), m
    )
