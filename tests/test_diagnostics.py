"""Effective sample size and R-hat against ArviZ, and where the answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter
from scipy.stats import norm, rankdata

from gptm.inference.sampling.diagnostics import effective_size, split_rhat


def ar1(rho, chains=4, n=5000, seed=0):
    """Chains of autocorrelation rho^t and variance one."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((chains, n)) * np.sqrt(1 - rho**2)
    noise[:, 0] /= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


def many(chains, n, seed=0):
    """(chains, n, 4, 3) chains of all kinds."""
    rng = np.random.default_rng(seed)
    x = np.stack([ar1(rho, chains, n, seed) for rho in (-0.6, 0.0, 0.5, 0.99)], axis=2)
    heavy, ties = np.tan(0.49 * np.pi * np.tanh(x)), np.round(2 * x)
    drifting = x + 3 * np.linspace(0, 1, n)[:, None] * rng.random((chains, 1, 4))
    return np.stack([heavy, ties, drifting], axis=3)


@pytest.mark.parametrize("chains", [1, 2, 4])
@pytest.mark.parametrize("n", [4, 5, 7, 8, 9, 10, 50, 101, 1000])
def test_agrees_with_arviz(chains, n):
    arviz = pytest.importorskip("arviz")
    x = many(chains, n, seed=n)
    ess, rhat = effective_size(x), split_rhat(x)
    assert ess.shape == rhat.shape == (4, 3)
    for i, j in np.ndindex(4, 3):
        one = x[:, :, i, j]
        if np.ptp(one) == 0:  # rounded, a short chain may be: there ArviZ has no R-hat
            continue
        assert_allclose(ess[i, j], arviz.ess(one), rtol=1e-6)
        if chains > 1:  # of one chain ArviZ gives none
            with np.errstate(divide="ignore", invalid="ignore"):
                assert_allclose(rhat[i, j], arviz.rhat(one), rtol=1e-6)


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.3, 0.9])
def test_chains_of_known_autocorrelation(rho):
    """Draws are worth n (1 - rho) / (1 + rho)."""
    x = np.stack([ar1(rho, chains=4, n=20000, seed=seed) for seed in range(5)], axis=2)
    known = 4 * 20000 * (1 - rho) / (1 + rho)
    assert_allclose(effective_size(x).mean(), known, rtol=0.06)
    assert np.abs(split_rhat(x) - 1).max() < 0.01


def test_rhat_of_one_chain():
    """By the formula written out, for the halves of a chain."""
    x = ar1(0.5, chains=1, n=40)
    halves = x.reshape(2, 20)
    found = []
    for one in (halves, np.abs(halves - np.median(halves))):
        z = norm.ppf((rankdata(one) - 3 / 8) / (40 + 1 / 4)).reshape(2, 20)
        a, b = z
        within = (a.var(ddof=1) + b.var(ddof=1)) / 2
        between = (a.mean() - b.mean()) ** 2 / 2
        found.append(np.sqrt((19 / 20 * within + between) / within))
    assert_allclose(split_rhat(x), max(found), rtol=1e-12)


def test_chains_that_disagree():
    drifting = ar1(0.0, n=400) + np.linspace(0, 5, 400)
    apart = ar1(0.0, n=400) + np.arange(4.0)[:, None]
    wider = ar1(0.0, n=400) * np.array([1.0, 1.0, 1.0, 6.0])[:, None]  # only the folded draws tell
    for x, limit in ((drifting, 1.4), (drifting[:1], 1.4), (apart, 1.3), (wider, 1.1)):
        assert split_rhat(x) > limit
    for x in (drifting, drifting[:1], apart):
        assert effective_size(x) < 20


def test_constants():
    x = np.full((3, 10, 2), 7.0)
    x[:, :, 1] = ar1(0.0, 3, 10)
    assert effective_size(x)[0] == 30
    assert split_rhat(x)[0] == 1.0
    steps = np.repeat([[0.0], [1.0]], 10, axis=1)  # two chains that do not move, and differ
    assert split_rhat(steps) > 1e3
    assert effective_size(steps) < 6


@pytest.mark.parametrize("n", [0, 1, 3])
def test_too_few_draws(n):
    x = np.random.default_rng(0).standard_normal((2, n, 3))
    assert np.isnan(effective_size(x)).all()
    assert np.isnan(split_rhat(x)).all()


def test_what_is_no_number():
    x = np.random.default_rng(0).standard_normal((2, 100, 2))
    x[0, 3, 0] = np.nan
    assert np.isnan(effective_size(x)).tolist() == [True, False]
    assert np.isnan(split_rhat(x)).tolist() == [True, False]
    x[0, 3, 0] = -np.inf  # a rank like any other
    assert effective_size(x)[0] > 50


def test_no_quantities():
    assert effective_size(np.empty((2, 10, 0))).shape == (0,)
    assert split_rhat(np.empty((2, 10, 5, 0))).shape == (5, 0)
