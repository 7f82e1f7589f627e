"""Bands from few draws: how often they contain one more draw, and by which factor they are wider."""

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from gptm.effects.bands import MOST, Band, effective_draws, widening
from gptm.inference.sampling.diagnostics import effective_size

N, REPEATS = 100, 4000
ONE_CHAIN = np.zeros(N, dtype=int)


def slow_draws(rho, rng, n=N, repeats=REPEATS):
    """(n, repeats, 1) chains of standard normal numbers whose neighbours have the correlation rho."""
    steps = rng.standard_normal((n, repeats)) * np.sqrt(1.0 - rho**2)
    steps[0] /= np.sqrt(1.0 - rho**2)
    return lfilter([1.0], [1.0, -rho], steps, axis=0)[..., None]


def contained(band, truth):
    return float(((band.low[:, 0] <= truth) & (truth <= band.high[:, 0])).mean())


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 0.9])  # about 97, 37, 15 and 9 effective draws
def test_bands_contain_one_more_draw_as_often_as_they_say(rho, level):
    rng = np.random.default_rng(0)
    draws, truth = slow_draws(rho, rng), rng.standard_normal(REPEATS)
    found = contained(Band.of(draws, level, ONE_CHAIN), truth)
    assert found == pytest.approx(level, abs=0.025)
    tail = 0.5 * (1.0 - level)
    plain = Band(draws.mean(0), *np.quantile(draws, [tail, 1.0 - tail], axis=0))
    if rho >= 0.8:  # what would happen without
        assert contained(plain, truth) < level - 0.04


def test_chains_that_differ_make_bands_wider():
    """Two chains, each of which sees half of the variance."""
    rng = np.random.default_rng(1)
    middles = np.sqrt(0.5) * rng.standard_normal((2, REPEATS, 1))
    halves = [m + np.sqrt(0.5) * rng.standard_normal((N // 2, REPEATS, 1)) for m in middles]
    draws, chain = np.concatenate(halves), np.repeat([0, 1], N // 2)
    truth = rng.standard_normal(REPEATS)
    # Two means tell little of how far a third would be, so bands are not quite wide enough.
    assert 0.8 < contained(Band.of(draws, 0.9, chain), truth) < 0.92
    assert contained(Band.of(halves[0], 0.9, chain[: N // 2]), truth) < 0.72


def test_the_factor_is_that_of_students_interval():
    """For n independent normal draws the interval for one more is mean +- t s sqrt(1 + 1/n)."""
    n, level = np.array([5.0, 8.0, 30.0, 200.0]), 0.9
    student = stats.t.ppf(0.95, n - 1) * np.sqrt(1.0 + 1.0 / n)
    short = np.sqrt(
        1.0 - 1.0 / n
    )  # the standard deviation around the draws' own mean, over the true one
    np.testing.assert_allclose(widening(n, level), student / short / stats.norm.ppf(0.95))
    assert (np.diff(widening(n, level)) < 0).all()
    assert widening(np.array([1e9]), level)[0] == pytest.approx(1.0)
    assert widening(np.array([0.5]), level)[0] == widening(np.array([3.0]), level)[0]


def test_draws_are_counted_over_chains():
    rng = np.random.default_rng(2)
    draws, chain = rng.standard_normal((60, 4, 2)), np.repeat([3, 5], 30)
    expected = effective_size(np.stack([draws[:30], draws[30:]]))
    np.testing.assert_array_equal(effective_draws(draws, chain), np.minimum(expected, 60))


def test_chains_of_different_lengths_are_counted_as_far_as_all_go():
    draws = np.random.default_rng(3).standard_normal((50, 2, 2))
    uneven = effective_draws(draws, np.repeat([0, 1], [30, 20]))
    even = effective_draws(np.concatenate([draws[:20], draws[30:]]), np.repeat([0, 1], 20))
    np.testing.assert_array_equal(np.minimum(uneven, 40), even)


def test_few_draws_count_as_what_they_are():
    draws = np.random.default_rng(4).standard_normal((3, 2, 2))
    np.testing.assert_array_equal(effective_draws(draws, np.zeros(3, dtype=int)), 3.0)
    band = Band.of(draws[:1], 0.9, np.zeros(1, dtype=int))
    np.testing.assert_array_equal(band.low, band.high)


def test_many_places_share_their_topics_count():
    rng = np.random.default_rng(5)
    draws = rng.standard_normal((20, MOST, 2))
    draws[..., 1] = np.arange(20)[:, None]  # a drift, which is worth few draws
    n = effective_draws(draws, np.zeros(20, dtype=int))
    assert n.shape == (1, 2)
    assert n[0, 1] < n[0, 0]


def test_bands_stay_within_their_limits():
    draws = np.random.default_rng(6).beta(0.3, 5.0, (10, 30, 2))
    band = Band.of(draws, 0.99, np.zeros(10, dtype=int), (0.0, 1.0))
    assert (band.low == 0.0).any()
    assert band.low.min() == 0.0
    outside = Band.of(draws - 0.1, 0.99, np.zeros(10, dtype=int), (0.0, 1.0))
    assert (outside.low >= (draws - 0.1).min(0)).all()


def test_a_constant_has_no_width():
    band = Band.of(np.full((20, 2, 2), 0.25), 0.9, np.zeros(20, dtype=int))
    for values in band:
        np.testing.assert_array_equal(values, 0.25)
