"""The quality of chains: effective sample size and split R-hat (Vehtari et al., 2021), as in ArviZ.

Draws are replaced by normal scores of their ranks, so that heavy tails do no harm. Every chain is cut into two halves,
which differ if it drifts.
"""

import math

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from gptm._basics.types import Array

LEAST = 4  # draws of a chain, at least
_EQUAL = 1e-15  # a smaller range of normal scores counts as constant


def effective_size(x: Array) -> Array:
    """How many independent draws the draws x (chains, draws, ...) are worth.

    A constant counts in full; nan for fewer than four draws, or where a draw is nan.

    >>> ten = np.arange(10.0)
    >>> bool(effective_size(np.array([ten, ten[::-1]])) < 10)
    True
    """
    halves, shape = _split(x)
    if halves is None:
        return np.full(shape, np.nan)
    z = _normal_scores(halves)
    size = z.shape[0] * z.shape[1]
    effective = size / np.maximum(_autocorrelation_time(z), 1.0 / np.log10(size))
    return np.where(_constant(z), size, effective).reshape(shape)


def split_rhat(x: Array) -> Array:
    """How much wider all halves of the chains (chains, draws, ...) are together than each by itself: 1 if they agree.

    The larger one of two: of the draws, and of their distances from the median. Of a constant it is 1; nan as above.
    """
    halves, shape = _split(x)
    if halves is None:
        return np.full(shape, np.nan)
    with np.errstate(invalid="ignore"):  # of draws that are infinite
        distances = np.abs(halves - np.median(_all_draws(halves), axis=0))
    larger = np.maximum(*(_rhat(_normal_scores(draws)) for draws in (halves, distances)))
    return np.asarray(larger).reshape(shape)


def _split(x: Array) -> tuple[Array | None, tuple[int, ...]]:
    """(2 chains, draws / 2, m) first and second halves, the middle one of an odd number left out; the other axes."""
    x = np.asarray(x, dtype=np.float64)
    n, shape = x.shape[1], x.shape[2:]
    if n < LEAST:
        return None, shape
    flat, half = x.reshape(*x.shape[:2], math.prod(shape)), n // 2
    return np.concatenate([flat[:, :half], flat[:, n - half :]]), shape


def _all_draws(x: Array) -> Array:
    return x.reshape(x.shape[0] * x.shape[1], x.shape[2])


def _normal_scores(x: Array) -> Array:
    """Normal quantiles of the ranks among all chains (Blom)."""
    flat = _all_draws(x)
    ranks = rankdata(flat, axis=0) if flat.size else flat
    return np.asarray(ndtri((ranks - 0.375) / (len(flat) + 0.25))).reshape(x.shape)


def _constant(z: Array) -> Array:
    return np.asarray(np.ptp(z, axis=(0, 1)) < _EQUAL)


def _rhat(z: Array) -> Array:
    n = z.shape[1]
    between = z.mean(1).var(0, ddof=1)
    within = z.var(1, ddof=1).mean(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt(between / within + (n - 1) / n)
    return np.where(_constant(z), 1.0, rhat)


def _autocovariances(z: Array) -> Array:
    """(chains, n, m) of every lag, divided by n."""
    n = z.shape[1]
    length = next_fast_len(2 * n, real=True)
    transformed = rfft(z - z.mean(1, keepdims=True), length, axis=1)
    power = transformed.real**2 + transformed.imag**2
    return np.asarray(irfft(power, length, axis=1)[:, :n]) / n


def _autocorrelation_time(z: Array) -> Array:
    """(m,) the sum of the autocorrelations of both signs, as far as sums of two neighbours are positive (Geyer)."""
    n = z.shape[1]
    lags = _autocovariances(z).mean(0)
    variance = lags[0] + z.mean(1).var(0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1.0 - (lags[0] * n / (n - 1.0) - lags) / variance
    rho[0] = np.where(np.isnan(rho[0]), np.nan, 1.0)
    even, odd = rho[: n - n % 2 : 2], rho[1::2]
    pairs = even + odd
    last = max(-(-(n - 4) // 2), 0)  # the last pair that is looked at
    stop = pairs[: last + 1] <= 0.0
    stop[last] = True
    end = stop.argmax(0)
    before_end = np.arange(len(pairs))[:, None] < end
    falling = np.minimum.accumulate(pairs, axis=0)
    column = np.arange(pairs.shape[1])
    even_at_end, pair_at_end = even[end, column], pairs[end, column]
    last_term = np.where((even_at_end > 0.0) | (pair_at_end >= 0.0), even_at_end, 0.0)
    return np.asarray(2.0 * np.where(before_end, falling, 0.0).sum(0) + last_term - 1.0)
