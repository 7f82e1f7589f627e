"""Simulation-based calibration: among draws of the posterior, the truth has every rank equally often.

Parameters, documents and words are drawn from the prior; chains start at the truth, which is a draw of the posterior
too, so that no topic can be missed. What is ranked is what users look at: the effect of a group on the topics.
"""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chi2, invwishart

from gptm import kernels as k
from gptm._basics.parallel import computing
from gptm.inference.contrasts import contrasts
from gptm.inference.sampling import draw_covariances as covariances
from gptm.inference.sampling import draw_means as means
from gptm.inference.sampling import draw_topics as topics
from gptm.inference.sampling import sweeps
from gptm.inference.sampling.topic_prior import Urn
from test_sampler import bind, make_problem, make_state, padded

K, V, D, N = 3, 12, 40, 25
DEGREES = 8.0  # of the priors of S and B beyond their size, so that draws of them are not extreme
CORPORA, BURN, SWEEPS, THIN = 90, 60, 180, 10
BINS = 4  # of 13 ranks


@pytest.fixture
def known_prior(monkeypatch):
    """Narrow priors of covariances, and a prior of the topics that is given."""
    monkeypatch.setattr(covariances, "DEGREES", DEGREES)
    monkeypatch.setattr(topics, "EVERY", 10**9)
    with computing(1):
        yield monkeypatch


def draw_corpus(seed):
    """A problem, the state that is the truth, and the true effect of the group."""
    rng, p = np.random.default_rng(seed), K - 1
    group = np.array(["a", "b"] * (D // 2))
    bound = bind(k.Categorical("group"), group=group)
    features = bound.structure.features
    S, B = (
        invwishart(p + DEGREES, covariances.prior_scale(p)).rvs(random_state=rng) for _ in range(2)
    )
    weights = rng.standard_normal((features.width, p)) @ np.linalg.cholesky(B).T
    F = features.dot(weights)
    eta = (F + rng.standard_normal((D, p)) @ np.linalg.cholesky(S).T) @ contrasts(K).T
    urn = Urn(6.0, np.full(V, 1.0 / V), 1.0)
    beta = rng.dirichlet(urn.pseudo_counts, K)
    z = np.array([rng.multinomial(N, theta) for theta in softmax(eta, axis=1)])  # (D, K)
    tokens = np.array(
        [[rng.multinomial(n, b) for n, b in zip(row, beta, strict=True)] for row in z]
    )
    problem = make_problem(tokens.sum(1), bound, "free")
    given = {"counts": padded(tokens.sum(0).T.astype(float)), "urn": urn, "eta": eta, "F": F}
    state = make_state(problem, K, beta_T=padded(beta.T, np.float32), S=S, B=B, **given)
    return problem, state, effect(F, group)


def effect(F, group):
    return F[group == "b"].mean(0) - F[group == "a"].mean(0)


def ranks_of(seed):
    """(K - 1,) how many of the draws are below the truth."""
    problem, state, truth = draw_corpus(seed)
    group = np.array(["a", "b"] * (D // 2))
    found = []
    for number in range(SWEEPS):
        state = sweeps.sweep(problem, state, seed)
        if number >= BURN and number % THIN == 0:
            found.append(effect(state.F, group))
    return (np.array(found) < truth).sum(0)


def unevenness():
    """How far ranks are from even, as chi-squared, over both contrasts and all corpora."""
    ranks = np.array([ranks_of(seed) for seed in range(CORPORA)])
    possible = (SWEEPS - BURN) // THIN + 1
    bins = np.histogram(ranks, bins=BINS, range=(-0.5, possible - 0.5))[0]
    sizes = np.diff(np.round(np.linspace(-0.5, possible - 0.5, BINS + 1) + 0.5))
    expected = ranks.size * sizes / sizes.sum()
    return float(((bins - expected) ** 2 / expected).sum())


def test_effects_have_every_rank_equally_often(known_prior):
    assert unevenness() < chi2(BINS - 1).ppf(0.999)


def test_wrong_strength_is_noticed(known_prior):
    """With the kernel much too weak in the draw of means, effects are drawn to zero and their bands too narrow."""
    right = means.draw_means

    def wrong(problem, state, rng):
        return right(problem, state._replace(B=0.05 * state.B), rng)._replace(B=state.B)

    steps = tuple(wrong if step is right else step for step in sweeps.STEPS)
    known_prior.setattr(sweeps, "STEPS", steps)
    assert unevenness() > chi2(BINS - 1).ppf(0.99999)
