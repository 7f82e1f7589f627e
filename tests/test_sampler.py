"""The sampler draws from the posterior: its steps against dense NumPy, all of them together by Geweke's test.

Draws can only be compared within their errors. Numbers are fixed by seeds, limits are such that a right sampler is
within them for nearly all seeds; samplers broken on purpose show that a wrong one is not.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numba import njit
from numpy.linalg import inv
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.sparse import csr_matrix
from scipy.special import gammaln, logsumexp, softmax
from scipy.stats import invwishart

import graphs
from gptm import _hot
from gptm import kernels as k
from gptm._basics.parallel import computing
from gptm._hot.random_keys import stream, two_normals, uniform
from gptm.inference.blocks import blocked_sweep
from gptm.inference.blocks.block_documents import (
    BlockDocuments,
    begin_block,
    feature_sums,
    sweep_over,
)
from gptm.inference.blocks.blocked_sweep import BlockedSweep
from gptm.inference.blocks.sums import BlockSums, FeatureSums, tree_sum
from gptm.inference.contrasts import centred, contrasts, to_contrasts, to_topics
from gptm.inference.problem import FitProblem
from gptm.inference.sampling import draw_covariances as covariances
from gptm.inference.sampling import draw_documents as documents
from gptm.inference.sampling import draw_means as means
from gptm.inference.sampling import draw_topics as topics
from gptm.inference.sampling import sweeps
from gptm.inference.sampling import topic_prior as urn
from gptm.inference.sampling.scalars import inverse_wishart, slice_step
from gptm.inference.sampling.state import ChainState
from gptm.inference.sampling.topic_prior import Urn
from gptm.kernels import Documents
from gptm.kernels.identity import NothingBound


@pytest.fixture(autouse=True)
def _one_thread_of_blas():
    """As in a fit; threads for matrices of two rows take longer than all else."""
    with computing(1):
        yield


# Tiny models


def make_problem(X, bound=None, coregionalization="none", **choices):
    """The data and the choices of a fit, by hand."""
    counts = csr_matrix(X, dtype=np.float64)
    bound = NothingBound(counts.shape[0]) if bound is None else bound
    usual = {"learn_covariance": True, "learn_strength": True, "fit_mean": False, "n_jobs": 1}
    problem = FitProblem(
        counts,
        bound.operator,
        inference="variational",
        coregionalization=coregionalization,
        smoothing=0.02,
        **(usual | choices),
    )
    problem.bound = bound
    return problem


def make_state(problem, K, seed=0, **given):
    """A state of about the right size; what matters is given."""
    rng = np.random.default_rng(seed)
    D, V = problem.counts.shape
    p = K - 1
    S = np.cov(rng.standard_normal((p, 5 * K))).reshape(p, p)
    usual = {
        "counts": _hot.padded_zeros(V, K),
        "urn": Urn(3.0, np.full(V, 1.0 / V), 1.0),
        "beta_T": padded(rng.dirichlet(np.ones(V), K).T, np.float32),
        "eta": centred(rng.standard_normal((D, K))),
        "mu": np.zeros(p),
        "F": np.zeros((D, p)),
        "parts": (),
        "energy": np.zeros((p, p)),
        "dimension": 0,
        "S": S,
        "B": np.zeros((p, p)),
        "strength": 1.0,
        "terms": None,
        "operator": problem.operator,
        "shares": np.full(K, 1.0 / K),
        "fit": 0.0,
    }
    return ChainState(**(usual | given))


def padded(A, dtype=np.float64):
    room = _hot.padded_zeros(*A.shape, dtype=dtype)
    room[:, : A.shape[1]] = A
    return room


def bind(kernel, **columns):
    """A kernel over documents that have these columns."""
    frame = pd.DataFrame(columns)
    return kernel.bind(Documents(len(frame), frame))


def z_scores(x, mean, variance):
    """How far means of independent draws x (n, ...) are from where they should be, in standard errors."""
    error = np.sqrt(variance / len(x))
    return (np.mean(x, axis=0) - mean) / np.where(error > 0, error, np.inf)


def batch_errors(x, n_batches=40):
    """Standard errors of the means of a chain x (n, ...), from the means of batches."""
    short = x[: len(x) // n_batches * n_batches]
    batches = short.reshape(n_batches, -1, *x.shape[1:]).mean(1)
    return batches.std(0, ddof=1) / np.sqrt(n_batches)


# Random numbers


@njit
def fill_uniforms(key, out):
    """Rows are streams."""
    for d in range(out.shape[0]):
        state = stream(key, d)
        for j in range(out.shape[1]):
            state, out[d, j] = uniform(state)


@njit(fastmath={"reassoc", "contract", "nsz"})
def fill_normals(key, out):
    """(n, 2, 8) pairs of eight streams."""
    states, room = np.zeros(8, dtype=np.uint64), np.zeros(8)
    for lane in range(8):
        states[lane] = stream(key, lane)
    for i in range(out.shape[0]):
        two_normals(states, room, out[i, 0], out[i, 1])


def test_uniforms():
    u = np.empty((20000, 50))
    fill_uniforms(np.uint64(7), u)
    assert 0 < u.min() < 1e-5
    assert 1 - 1e-5 < u.max() < 1
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3
    for j in (0, 1, 49):  # the first number of every stream, and others
        assert stats.kstest(u[:, j], "uniform").pvalue > 1e-3


@pytest.mark.parametrize("apart", [1, 2, 8, 256])
def test_streams_are_independent(apart):
    """Of neighbours, and of the same document under the next key."""
    u, other = np.empty((2, 20000, 50))
    fill_uniforms(np.uint64(3), u)
    fill_uniforms(np.uint64(3 + apart), other)
    centred_u, centred_other = u - 0.5, other - 0.5
    pairs = {
        "neighbours": (centred_u[apart:], centred_u[:-apart]),
        "keys": (centred_u, centred_other),
        "places": (centred_u[:, apart % 50 :], centred_u[:, : 50 - apart % 50]),
        "shifted": (centred_u[apart:, 1:], centred_u[:-apart, :-1]),
    }
    for a, b in pairs.values():
        assert abs((a * b).mean() * 12 * np.sqrt(a.size)) < 4
        assert not np.any(a == b)
    cells = np.histogram2d(u[apart:].ravel(), u[:-apart].ravel(), bins=16, range=[[0, 1]] * 2)[0]
    assert stats.chisquare(cells.ravel()).pvalue > 1e-3


def test_normals():
    x = np.empty((40000, 2, 8))
    fill_normals(np.uint64(11), x)
    for half in (0, 1):
        assert stats.kstest(x[:, half].ravel(), "norm").pvalue > 1e-3
    assert 4.3 < np.abs(x).max() < 6.5
    n = 40000 * 8
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        spread = np.sqrt(stats.norm.moment(2 * power) - moment**2)
        assert abs((x**power).mean() - moment) < 4 * spread / np.sqrt(2 * n)
    first, second = x[:, 0], x[:, 1]
    assert abs((first * second).mean()) < 4 / np.sqrt(n)
    assert abs(((first**2 - 1) * (second**2 - 1)).mean()) < 4 * 2 / np.sqrt(n)
    assert abs((first[1:] * first[:-1]).mean()) < 4 / np.sqrt(n)  # from one call to the next
    assert abs((first[:, 1:] * first[:, :-1]).mean()) < 4 / np.sqrt(n)  # lanes


# Logits of a document


LOGITS = {
    "two": ([3.0, 1.0], [[0.8]], [0.4]),
    "no words": ([0.0, 0.0], [[1.5]], [-0.7]),
    "many words": ([300.0, 0.0], [[2.0]], [0.0]),
    "wide": ([2.0, 0.0], [[30.0]], [-2.0]),
    "three": ([2.0, 5.0, 0.0], [[1.0, 0.6], [0.6, 0.9]], [0.5, -1.0]),
    "three, tight": ([40.0, 1.0, 9.0], [[0.05, -0.03], [-0.03, 0.1]], [0.3, 0.2]),
}


def logits_on_a_grid(n, S, mean):
    """Points (g, p) around the mode and their probabilities: softmax to the n, times the prior."""
    p = len(mean)
    H, P = contrasts(p + 1), inv(S)
    axes = [mean + d * np.sqrt(np.diagonal(S)) for d in np.linspace(-9, 9, 4001 if p == 1 else 601)]
    points = np.stack(np.meshgrid(*np.array(axes).T, indexing="ij"), -1).reshape(-1, p)
    eta, away = points @ H.T, points - mean
    log_p = eta @ n - n.sum() * logsumexp(eta, axis=1) - 0.5 * np.sum(away @ P * away, axis=1)
    weights = np.exp(log_p - log_p.max())
    return points, weights / weights.sum()


def draw_logits(n, S, mean, start, *, sweeps_=20, wrong=1.0, seed=5):
    """(copies, p) contrasts of documents whose words say which topics they are of, some sweeps after the start."""
    K, copies = len(n), len(start)
    problem = make_problem(np.tile(n, (copies, 1)))
    given = {"beta_T": padded(np.eye(K), np.float32), "eta": start @ contrasts(K).T}
    state = make_state(problem, K, S=wrong * S, mu=np.asarray(mean), **given)
    rng = np.random.default_rng(seed)
    for _ in range(sweeps_):
        state = documents.draw_documents(problem, state, rng)
    assert_allclose(state.counts[:, :K], np.diag(copies * n), rtol=1e-5, atol=3)
    assert_allclose(state.eta.sum(1), 0, atol=1e-11)
    return state.eta @ contrasts(K)


def drawn_from_a_grid(points, weights, n, seed=1):
    """Draws, anywhere in the cells around the points."""
    rng = np.random.default_rng(seed)
    cells = np.array([np.diff(np.unique(axis)).mean() for axis in points.T])
    chosen = points[rng.choice(len(points), n, p=weights)]
    return chosen + cells * rng.uniform(-0.5, 0.5, chosen.shape)


def distances_of_logits(n, S, mean, **choices):
    """z-scores of first and second moments, and the p-value of the first contrast's distribution."""
    n, S = np.array(n), np.array(S)
    points, weights = logits_on_a_grid(n, S, mean)
    start = drawn_from_a_grid(points, weights, 20000)
    u = draw_logits(n, S, mean, start, **choices)
    found = []
    for f in (lambda x: x, lambda x: x**2, lambda x: x[:, :1] * x[:, -1:], lambda x: np.tanh(x)):
        mean_of = weights @ f(points)
        found.append(z_scores(f(u), mean_of, weights @ (f(points) - mean_of) ** 2))
    order = np.argsort(points[:, 0], kind="stable")
    known = np.cumsum(weights[order]) - 0.5 * weights[order]
    cdf = np.interp(u[:, 0], points[order, 0], known)
    return np.concatenate(found), stats.kstest(cdf, "uniform").pvalue


@pytest.mark.parametrize("case", LOGITS)
def test_logits_given_the_topics_of_tokens(case):
    """Draws of the exact posterior stay such."""
    z, p_value = distances_of_logits(*LOGITS[case])
    assert np.abs(z).max() < 4
    if len(LOGITS[case][0]) == 2:  # with two contrasts the grid has ties
        assert p_value > 1e-3


@pytest.mark.parametrize("case", ["two", "three"])
def test_logits_of_a_wrong_precision(case):
    z, _ = distances_of_logits(*LOGITS[case], wrong=1.3)
    assert np.abs(z).max() > 8


@pytest.mark.parametrize(
    "n",
    [
        [300.0, 0.0],
        [45.0, 0.0],
        [3.0, 0.0],
    ],
)
@pytest.mark.parametrize("far", [-8.0, 25.0])
def test_logits_come_back_from_far(n, far):
    """Wherever documents start, they are soon where their words want them."""
    n, S = np.array(n), np.array([[2.0]])
    points, weights = logits_on_a_grid(n, S, [0.0])
    u = draw_logits(n, S, [0.0], np.full((2000, 1), far), sweeps_=100)
    mean = weights @ points[:, 0]
    spread = np.sqrt(weights @ (points[:, 0] - mean) ** 2)
    assert np.mean(np.abs(u[:, 0] - mean) > 6 * spread) < 0.01
    assert abs(u.mean() - mean) < 0.2 * spread


# Topics of tokens


def words_of(n_words, seed):
    rng = np.random.default_rng(seed)
    return rng, rng.integers(1, 6, n_words).astype(float)


@pytest.mark.parametrize("K", [2, 3, 8, 11])
def test_topics_of_tokens(K):
    """Counts of words by topics are multinomial, with probabilities as theta times beta."""
    rng, x = words_of(7, K)
    copies, beta = 20000, rng.dirichlet(np.full(7, 0.4), K)
    eta = centred(rng.standard_normal((1, K)))
    problem = make_problem(np.tile(x, (copies, 1)))
    state = make_state(
        problem,
        K,
        S=np.eye(K - 1),
        beta_T=padded(beta.T, np.float32),
        eta=np.tile(eta, (copies, 1)),
    )
    after = documents.draw_documents(problem, state, rng)
    theta = softmax(eta[0])
    joint = theta * beta.T
    p = joint / joint.sum(1, keepdims=True)
    found = after.counts[:, :K]
    assert_allclose(found.sum(1), copies * x)
    assert not after.counts[:, K:].any()
    variance = copies * x[:, None] * p * (1 - p)
    z = (found - copies * x[:, None] * p)[p > 1e-6] / np.sqrt(variance)[p > 1e-6]
    assert np.abs(z).max() < 4.5
    assert 0.4 < np.mean(z**2) < 2
    assert_allclose(after.fit, copies * x @ np.log(joint.sum(1)), rtol=1e-6)
    assert_allclose(after.shares, theta, rtol=1e-10)


@pytest.mark.parametrize("K", [203, 257, 300])
def test_topics_of_tokens_where_topics_are_many(K):
    """Likewise, with sums of stretches of topics."""
    rng, x = words_of(7, K)
    copies, beta = 5000, rng.dirichlet(np.full(7, 0.4), K)
    eta = centred(2.0 * rng.standard_normal((1, K)))
    given = {"beta_T": padded(beta.T, np.float32), "eta": np.tile(eta, (copies, 1))}
    problem = make_problem(np.tile(x, (copies, 1)))
    state = make_state(problem, K, S=np.eye(K - 1), **given)
    after = documents.draw_documents(problem, state, rng)
    joint = softmax(eta[0]) * beta.T
    p = joint / joint.sum(1, keepdims=True)
    found, expected = after.counts[:, :K], copies * x[:, None] * p
    assert_allclose(found.sum(1), copies * x)
    assert not after.counts[:, K:].any()
    z = ((found - expected) / np.sqrt(expected * (1 - p)))[expected > 20]
    assert np.abs(z).max() < 4.5
    assert 0.8 < np.mean(z**2) < 1.25
    assert_allclose(after.fit, copies * x @ np.log(joint.sum(1)), rtol=1e-6)
    assert_allclose(after.shares, softmax(eta[0]), rtol=1e-10)


def test_equal_words_are_drawn_one_by_one():
    """The number of a word's tokens in a topic is binomial, not all or none."""
    problem = make_problem(np.full((30000, 1), 4.0))
    eye = np.tile(centred(np.array([[1.0, 0.0]])), (30000, 1))
    # So strong a prior that logits stay, but for what moves them once: tokens.
    state = make_state(
        problem, 2, S=np.array([[100.0]]), beta_T=padded(np.ones((1, 2)), np.float32), eta=eye
    )
    each = []
    for d in range(300):
        alone = make_problem(np.full((1, 1), 4.0))
        one = documents.draw_documents(
            alone, state._replace(eta=eye[:1], F=np.zeros((1, 1))), np.random.default_rng(d)
        )
        each.append(int(one.counts[0, 0]))
    expected = 300 * stats.binom.pmf(np.arange(5), 4, softmax([1.0, 0.0])[0])
    seen = np.bincount(each, minlength=5)
    joined = lambda x: np.array([x[:2].sum(), *x[2:]])  # noqa: E731
    assert stats.chisquare(joined(seen), joined(expected)).pvalue > 1e-3


@pytest.mark.parametrize("count", [0.25, 1.5, 2500.0])
def test_counts_that_are_no_tokens(count):
    """Weights, and more tokens than are drawn one by one, keep their total and their expectation."""
    copies, theta = 4000, softmax([0.7, 0.0])
    problem = make_problem(np.full((copies, 1), count))
    eta = np.tile(centred(np.array([[0.7, 0.0]])), (copies, 1))
    state = make_state(problem, 2, S=np.eye(1), beta_T=padded(np.ones((1, 2)), np.float32), eta=eta)
    found = documents.draw_documents(problem, state, np.random.default_rng(0)).counts[0, :2]
    assert_allclose(found.sum(), count * copies, rtol=1e-4)
    draws = copies * np.ceil(count)
    spread = np.sqrt(theta.prod() / draws)
    assert abs(found[0] / found.sum() - theta[0]) < 4 * spread + 1e-4


@pytest.mark.parametrize("count", [1001.0, 1500.5, 1e6, 1e10])
def test_topics_of_many_equal_words_are_multinomial(count):
    """Drawn together: each topic's number of a word's tokens varies as much as if they were drawn one by one."""
    copies, beta_T = 400, np.array([[0.6, 0.1, 0.3, 0.0]])
    each = np.empty((copies, 4))
    for d in range(copies):
        problem = make_problem(np.full((1, 1), count))
        state = make_state(
            problem, 4, S=np.eye(3), beta_T=padded(beta_T, np.float32), eta=np.zeros((1, 4))
        )
        each[d] = documents.draw_documents(problem, state, np.random.default_rng(d)).counts[0, :4]
    assert_allclose(each.sum(1), count, rtol=1e-6)
    assert not each[:, 3].any()
    sd = np.sqrt(count * beta_T[0] * (1 - beta_T[0]))[:3]
    z = (each[:, :3] - count * beta_T[0, :3]) / sd
    rounded = 6e-8 * count / sd  # counts are added up in single precision
    assert (np.abs(z.mean(0)) < 4.5 / np.sqrt(copies) + rounded).all()
    assert_allclose(z.var(0), 1.0, atol=0.35)


def test_words_too_rare_for_single_precision():
    """Their topic is the likeliest one, and their probability is known."""
    problem = make_problem(np.array([[1.0, 3.0]]))
    beta_T = padded(np.array([[1.0, 1.0], [1e-35, 1e-33]]), np.float32)
    eta = centred(np.array([[2.0, 0.0]]))
    after = documents.draw_documents(
        problem, make_state(problem, 2, beta_T=beta_T, eta=eta), np.random.default_rng(0)
    )
    assert after.counts[1, :2].tolist() == [0.0, 3.0]
    assert_allclose(after.fit, 3 * np.log(softmax([2.0, 0.0])[1] * 1e-33), rtol=1e-3)


# Topics and their prior


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 5.0, 1000.0])
def test_gamma_variables(shape):
    n = 200_000
    width = 8 * 3  # the last four are beyond the topics
    out, sums = np.full((n // 20, width), np.nan, dtype=np.float32), np.zeros(width)
    share = 0.25  # of the shape is counted, the rest is prior
    _hot.draw_gammas(
        np.uint64(1),
        0,
        np.full((n // 20, width), share * shape),
        np.full(n // 20, (1 - share) * shape),
        np.zeros((0, 20)),
        np.ones(n // 20, dtype=bool),
        out,
        sums,
        np.zeros(8, dtype=np.uint64),
        np.ones((6, 8)),
    )
    assert_allclose(sums, out.sum(0, dtype=float), rtol=1e-6)
    if shape > 0.1:
        pairs = np.corrcoef(out[:, :20].T)[np.triu_indices(20, 1)]
        assert np.abs(pairs).max() < 4.5 / np.sqrt(len(out))  # topics of a word are independent
    x, known = out[:, :20].ravel().astype(float), stats.gamma(shape)
    for power in (1, 2, 3):
        mean, square = known.moment(power), known.moment(2 * power)
        assert abs(z_scores(x**power, mean, square - mean**2)) < 4
    lost = np.exp(-80 * shape) if shape < 1 else 0.0  # so small that they are zero
    assert abs(np.mean(x == 0) - lost) < 4 * np.sqrt(lost * (1 - lost) / n) + 1e-12
    for q in (0.02, 0.2, 0.5, 0.8, 0.99):
        if q > lost:
            assert abs(np.mean(x < known.ppf(q)) - q) < 4 * np.sqrt(q * (1 - q) / n)


def test_topics_given_counts():
    """Dirichlet: means and variances, with seeds of users; words of other blocks draw other numbers.

    Words that no document has are not drawn one by one, but they have their share.
    """
    V, K, n, absent = 600, 2, 400, slice(500, 600)
    rng = np.random.default_rng(0)
    X = np.ones((1, V))
    X[:, absent] = 0.0
    problem = make_problem(X)
    problem.seeds = np.zeros((V, K))
    problem.seeds[[3, 550], 1] = 9.0
    counts, base = rng.poisson(0.7, (V, K)), rng.dirichlet(np.ones(V))
    counts[absent] = 0
    state = make_state(problem, K, counts=padded(counts), urn=Urn(40.0, base, 1.0))
    beta = np.array([topics.draw_topics(problem, state, rng).beta_T[:, :K] for _ in range(n)])
    a = counts + 40.0 * base[:, None] + problem.seeds
    mean = a / a.sum(0)
    z = z_scores(beta, mean, mean * (1 - mean) / (a.sum(0) + 1))
    seen = a > 0.5  # others are too far from normal
    seen[absent] = False
    assert not beta[:, absent].any()
    of_absent = 1.0 - beta.sum(1)
    mean_absent = mean[absent].sum(0)
    variance = mean_absent * (1 - mean_absent) / (a.sum(0) + 1)
    assert np.abs(z_scores(of_absent, mean_absent, variance)).max() < 4
    assert_allclose(of_absent.var(0), variance, rtol=0.3)
    assert np.abs(z[seen]).max() < 5
    assert 0.85 < np.mean(z[seen] ** 2) < 1.15
    expected = np.zeros((V, K))
    topics.expected_topics(problem, state, expected)
    assert_allclose(expected, mean, rtol=1e-12)


def table_distribution(a, n):
    """Probabilities of 0 to n tables, convolved."""
    p = np.ones(1)
    for i in range(n):
        opens = a / (a + i)
        p = np.convolve(p, [1 - opens, opens])
    return p


@pytest.mark.parametrize(("a", "n"), [(0.02, 3), (0.7, 1), (0.7, 6), (12.0, 9), (0.5, 0)])
def test_tables(a, n):
    words = 40000
    opened = np.empty(words)
    _hot.draw_tables(np.uint64(5), 0, np.full((words, 1), float(n)), np.full(words, a), opened)
    expected = words * table_distribution(a, n)
    seen = np.bincount(opened.astype(int), minlength=n + 1)
    assert len(seen) == n + 1
    often = expected > 5
    assert seen[~often].sum() <= expected[~often].sum() + 15
    if often.sum() > 1:
        whole = expected[often] * seen[often].sum() / expected[often].sum()
        assert stats.chisquare(seen[often], whole).pvalue > 1e-3


@pytest.mark.parametrize("a", [0.3, 40.0])
def test_tables_of_very_frequent_words(a):
    words, n = 400, 25000
    opened = np.empty(words)
    _hot.draw_tables(np.uint64(5), 9, np.full((words, 1), float(n)), np.full(words, a), opened)
    p = a / (a + np.arange(n))
    assert abs(z_scores(opened, p.sum(), (p * (1 - p)).sum())) < 4


@pytest.mark.parametrize("tables", [7, 2])
def test_tau(tables, monkeypatch):
    monkeypatch.setattr(urn, "RATE", 0.05)
    n, rng = np.array([20.0, 5.0, 0.0]), np.random.default_rng(0)

    def density(t):
        return np.exp(tables * np.log(t) - 0.05 * t + np.sum(gammaln(t) - gammaln(t + n)))

    moments = [
        quad(lambda x, m=m: density(np.exp(x)) * np.exp(x) * x**m, -12, 8, limit=200)[0]
        for m in (0, 1, 2)
    ]
    chain, tau = [], 3.0
    for _ in range(8000):
        tau = urn.draw_tau(tau, float(tables), n, rng)
        chain.append([np.log(tau), np.log(tau) ** 2])
    z = (np.mean(chain, 0) - np.array(moments[1:]) / moments[0]) / batch_errors(np.array(chain))
    assert np.abs(z).max() < 4


def test_slice_step():
    """Of a density with two humps."""
    density = stats.norm(-1, 0.5), stats.norm(1.5, 0.4)
    rng, x, chain = np.random.default_rng(0), 0.0, []
    for _ in range(6000):
        x = slice_step(
            lambda t: float(np.log(_hump(t, -1, 0.5) + 2 * _hump(t, 1.5, 0.4))), x, rng, 2.0
        )
        chain.append(x)
    chain = np.array(chain)
    share = density[0].cdf(0.25) / 3 + 2 * density[1].cdf(0.25) / 3
    below = (chain < 0.25).astype(float)
    assert abs(below.mean() - share) < 4 * batch_errors(below)
    assert abs(chain.mean() - 2 / 3) < 4 * batch_errors(chain)


def _hump(t, mean, sd):
    return np.exp(-0.5 * ((t - mean) / sd) ** 2) / sd + 1e-300


def test_urn(monkeypatch):
    """tau, m and even given counts of two words in two topics, against sums over a grid of all three."""
    monkeypatch.setattr(urn, "RATE", 0.3)
    monkeypatch.setattr(urn, "EVEN_RATE", 0.5)
    counts = np.array([[6.0, 1.0], [2.0, 5.0]])
    rng, now, chain = np.random.default_rng(1), Urn(2.0, np.array([0.5, 0.5]), 1.0), []
    for _ in range(10000):
        now = urn.draw_urn(counts, now, rng, 1)
        chain.append([now.base[0], now.base[0] ** 2, np.log(now.tau), np.log(now.even)])
    chain = np.array(chain)
    m, t, a = np.meshgrid(
        (np.arange(100) + 0.5) / 100, np.exp(np.arange(-6, 5, 0.1)), np.exp(np.arange(-6, 4, 0.1))
    )
    log_p = np.log(t) - 0.3 * t + np.log(a) - 0.5 * a  # of the logarithms of tau and even
    log_p += stats.beta.logpdf(m, a, a)
    for share, x in ((m, counts[0]), (1 - m, counts[1])):
        for n in x:
            log_p += gammaln(t * share + n) - gammaln(t * share)
    for n in counts.sum(0):
        log_p += gammaln(t) - gammaln(t + n)
    p = np.exp(log_p - log_p.max())
    known = [np.sum(p * f) / p.sum() for f in (m, m**2, np.log(t), np.log(a))]
    assert np.abs((chain.mean(0) - known) / batch_errors(chain)).max() < 4


def test_one_word_stands_for_all_that_no_document_has():
    """The urn of two words and of four absent ones, with these one by one and as one word."""
    rng, chains = np.random.default_rng(2), []
    for absent, rows in ((0, 4), (4, 1)):
        counts = np.vstack([[[6.0, 1.0], [2.0, 5.0]], np.zeros((rows, 2))])
        now, chain = urn.first_urn(counts.sum(1), absent), []
        assert_allclose([now.n_words, now.tau, now.base[0]], [6, 0.6, 7.5 / 17])
        for _ in range(6000):
            now = urn.draw_urn(counts, now, rng, 1)
            chain.append([now.base[0], now.base[2:].sum(), np.log(now.tau), np.log(now.even)])
        chains.append(np.array(chain))
    errors = np.hypot(*map(batch_errors, chains))
    assert np.abs((chains[0].mean(0) - chains[1].mean(0)) / errors).max() < 4


def test_the_base_of_the_prior_is_never_lost():
    """Gammas of tiny pseudo-counts are all zero; one word then has all of the base."""
    rng = np.random.default_rng(0)
    chosen = [urn.draw_base(np.array([1.0, 3.0]) * 1e-9, rng).round(6) for _ in range(400)]
    assert_allclose(np.sum(chosen, axis=1), 1.0)
    assert abs(np.mean(chosen, axis=0)[0] - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 400)


# Means


def kernels_over(D, seed=0):
    """Kernels of all kinds, bound."""
    rng = np.random.default_rng(seed)
    group = np.array(["a", "b", "c"])[np.arange(D) % 3].astype(object)
    time = rng.standard_normal(D)
    holes, gaps = group.copy(), time.copy()
    holes[1], gaps[[0, 2]] = None, np.nan
    W = rng.random((D, D)) < 0.4
    graph = k.Graph(adjacency=csr_matrix(graphs.undirected(W)), kappa=0.5)
    columns = {"group": group, "time": time, "holes": holes, "gaps": gaps}
    made = {
        "groups": k.Categorical("group"),
        "line": k.Linear("time"),
        "curve": k.RBF("time", length_scale=0.7),
        "graph": graph,
        "missing": k.Categorical("holes"),
        "sum": 0.7 * k.Categorical("group") + 0.4 * k.RBF("time", length_scale=0.7),
        "sum with gaps": k.Categorical("holes") + k.RBF("gaps", length_scale=0.7),
        "sum with a graph": 0.5 * k.Categorical("group") + 0.8 * graph,
        "all": k.Categorical("holes") + graph + k.Linear("gaps") + 0.3 * k.Identity(),
    }
    return {name: bind(kernel, **columns) for name, kernel in made.items()}


def dense_posterior(U, Kxx, B, S, fit_mean):
    """Mean and covariance of (mu, F) stacked, F document by document; explicit inverses."""
    D, p = U.shape
    prior = np.kron(Kxx, B)
    V = inv(prior + np.kron(np.eye(D), S))
    ones = np.kron(np.ones((D, 1)), np.eye(p))
    C_mu = inv(ones.T @ V @ ones) if fit_mean else np.zeros((p, p))
    mu = C_mu @ ones.T @ V @ U.ravel()
    gain = prior @ V
    F = gain @ (U.ravel() - ones @ mu)
    G = gain @ ones
    C_F = prior - gain @ prior + G @ C_mu @ G.T
    return np.concatenate([mu, F]), np.block([[C_mu, -C_mu @ G.T], [-G @ C_mu, C_F]])


def covariance_scores(x, C):
    """z-scores of the entries of the covariance of draws x (n, m) with known mean zero."""
    found = x.T @ x / len(x)
    d = np.diagonal(C)
    spread = np.sqrt((np.outer(d, d) + C**2) / len(x))
    return (found - C) / np.where(spread > 1e-10, spread, np.inf)


def draw_many_means(bound, fit_mean, n=4000, K=3, wrong=1.0):
    """Draws of (mu, F), the states, and the problem's U, B and S."""
    rng = np.random.default_rng(2)
    problem = make_problem(np.ones((bound.n, 2)), bound, "free", fit_mean=fit_mean)
    S = to_contrasts(np.cov(rng.standard_normal((K, 4 * K))))
    B = 2.0 * to_contrasts(np.cov(rng.standard_normal((K, 4 * K))))
    state = make_state(
        problem, K, S=S, B=wrong * B, eta=centred(1.5 * rng.standard_normal((bound.n, K)))
    )
    drawn = [means.draw_means(problem, state, rng) for _ in range(n)]
    x = np.array([np.concatenate([one.mu, one.F.ravel()]) for one in drawn])
    return x, drawn, (state.eta @ contrasts(K), B, S)


@pytest.mark.parametrize("fit_mean", [True, False])
@pytest.mark.parametrize("name", kernels_over(6))
def test_means_are_drawn_from_their_posterior(name, fit_mean):
    bound = kernels_over(6)[name]
    x, drawn, (U, B, S) = draw_many_means(bound, fit_mean)
    mean, C = dense_posterior(U, bound.operator.to_dense(), B, S, fit_mean)
    sure = np.diagonal(C) < 1e-10
    assert_allclose(x[:, sure], np.broadcast_to(mean[sure], x[:, sure].shape), atol=1e-6)
    assert np.abs(z_scores(x, mean, np.diagonal(C))[~sure]).max() < 4
    assert np.abs(covariance_scores(x - mean, C)).max() < 5
    check_parts(bound, drawn[0])


def check_parts(bound, state):
    """Parts add up to F, and the energy is what the prior of each makes of it."""
    F, energy, dimension = 0.0, 0.0, 0
    for part, one in zip(drawn_structures(bound), state.parts, strict=True):
        if one.weights is not None:
            F = F + part.features.to_dense() @ one.weights
            energy, dimension = energy + one.weights.T @ one.weights, dimension + len(one.weights)
        if one.own is not None:
            F, dimension = F + one.own, dimension + len(one.own)
        for graph, values in zip(part.graphs, one.graphs, strict=True):
            F = F + values
            energy = energy + values.T @ inv(graph.dense) @ values
            dimension += len(values)
    assert_allclose(F, state.F, atol=1e-10)
    assert state.dimension == dimension
    if all(
        one.own is None for one in state.parts
    ):  # of documents without one it is what the prior has
        assert_allclose(state.energy, energy, rtol=1e-6)


def drawn_structures(bound):
    return [one.structure for one in getattr(bound, "bounds", [bound])]


def test_means_of_a_wrong_strength():
    bound = kernels_over(6)["curve"]
    x, _, (U, B, S) = draw_many_means(bound, False, wrong=1.5)
    mean, C = dense_posterior(U, bound.operator.to_dense(), B, S, False)
    assert np.abs(covariance_scores(x - mean, C)).max() > 8


def test_mean_without_a_kernel():
    rng, n = np.random.default_rng(0), 6000
    problem = make_problem(np.ones((7, 2)), fit_mean=True)
    state = make_state(problem, 3)
    mu = np.array([means.draw_means(problem, state, rng).mu for _ in range(n)])
    known, C = (state.eta @ contrasts(3)).mean(0), state.S / 7
    assert np.abs(z_scores(mu, known, np.diagonal(C))).max() < 4
    assert np.abs(covariance_scores(mu - known, C)).max() < 4
    fixed = make_problem(np.ones((7, 2)))
    assert means.draw_means(fixed, state, rng) is state


# Covariances


@pytest.mark.parametrize("p", [1, 2, 4])
def test_inverse_wishart(p):
    """Against SciPy, by the means and variances of entries, and of the inverse."""
    rng, n = np.random.default_rng(p), 10000
    A = rng.standard_normal((p, p + 2))
    scale, degrees = A @ A.T, p + 5.5
    x = np.array([inverse_wishart(scale, degrees, rng) for _ in range(n)])
    known = invwishart(degrees, scale)
    assert_allclose(x, x.transpose(0, 2, 1), atol=1e-12)
    assert np.abs(z_scores(x, known.mean(), known.var())).max() < 4
    C = degrees * inv(scale)  # of the inverse, a Wishart
    spread = (C**2 + np.outer(np.diagonal(C), np.diagonal(C))) / degrees
    assert np.abs(z_scores(inv(x), C, spread)).max() < 4


def drawn_covariances(coregionalization, n=8000, **choices):
    """Draws of (S, B, b), and what they were drawn given."""
    rng = np.random.default_rng(4)
    bound = None if coregionalization == "none" else kernels_over(6)["groups"]
    problem = make_problem(np.ones((6, 2)), bound, coregionalization, **choices)
    W = rng.standard_normal((3, 2)) * [1.0, 0.4]
    Phi = np.zeros((6, 0)) if bound is None else bound.structure.features.to_dense()
    F = np.zeros((6, 2)) if bound is None else Phi @ W
    state = make_state(
        problem, 3, F=F, energy=W.T @ W, dimension=3, strength=1.7, mu=np.array([0.3, 0.1])
    )
    drawn = [covariances.draw_covariances(problem, state, rng) for _ in range(n)]
    E = state.eta @ contrasts(3) - state.mu - F
    return drawn, state, E, W


def check_inverse(found, scale, degrees):
    """Inverses of draws of an inverse Wishart are Wishart, whose moments exist: means, spreads, log-determinant."""
    x = inv(np.array(found))
    C, p = degrees * inv(scale), len(scale)
    spread = (C**2 + np.outer(np.diagonal(C), np.diagonal(C))) / degrees
    assert np.abs(z_scores(x, C, spread)).max() < 4
    half = (degrees - np.arange(p)) / 2
    log_det = np.linalg.slogdet(x)[1]
    known = stats.loggamma(half).mean().sum() + p * np.log(2) - np.linalg.slogdet(scale)[1]
    assert abs(z_scores(log_det, known, stats.loggamma(half).var().sum())) < 4


PRIOR = 0.5 * np.eye(2)  # and two degrees beyond the size: a mean variance of one half


def test_covariance_of_documents():
    drawn, _, E, _ = drawn_covariances("none")
    check_inverse([one.S for one in drawn], PRIOR + E.T @ E, 2 + 2 + 6)
    assert not np.any([one.B for one in drawn])


def test_coregionalization_free():
    drawn, _, E, W = drawn_covariances("free")
    check_inverse([one.S for one in drawn], PRIOR + E.T @ E, 2 + 2 + 6)
    check_inverse([one.B for one in drawn], PRIOR + W.T @ W, 2 + 2 + 3)


def test_coregionalization_shared():
    """S first given b, then b given S: weights vary as b S."""
    drawn, _, E, W = drawn_covariances("shared")
    S, b = np.array([one.S for one in drawn]), np.array([one.strength for one in drawn])
    check_inverse(S, PRIOR + E.T @ E + W.T @ W / 1.7, 2 + 2 + 6 + 3)
    assert_allclose([one.B for one in drawn], b[:, None, None] * S)
    # 1 / b times its scale is gamma, of shape 1 + 3 * 2 / 2, whatever S
    scaled = (0.5 + 0.5 * np.einsum("ni,sij,nj->s", W, inv(S), W)) / b
    assert stats.kstest(scaled, stats.gamma(4).cdf).pvalue > 1e-3


def test_coregionalization_identity():
    drawn, _, E, W = drawn_covariances("identity")
    check_inverse([one.S for one in drawn], PRIOR + E.T @ E, 2 + 2 + 6)
    b = np.array([one.strength for one in drawn])
    assert_allclose([one.B for one in drawn], b[:, None, None] * np.eye(2))
    assert stats.kstest((0.5 + 0.5 * np.sum(W**2)) / b, stats.gamma(4).cdf).pvalue > 1e-3


@pytest.mark.parametrize("coregionalization", ["free", "shared", "identity"])
def test_covariances_that_are_given(coregionalization):
    drawn, state, _, _ = drawn_covariances(
        coregionalization, n=3, learn_covariance=False, learn_strength=False
    )
    B = {"free": state.B, "shared": 1.7 * state.S, "identity": 1.7 * np.eye(2)}
    for one in drawn:
        assert one.S is state.S
        assert one.strength == 1.7
        assert_allclose(one.B, B[coregionalization])


def test_contrasts():
    """Covariances of topics and of contrasts, there and back."""
    rng = np.random.default_rng(0)
    S = np.cov(rng.standard_normal((4, 20)))
    Sigma = to_topics(S)
    assert_allclose(to_contrasts(Sigma), S, atol=1e-12)
    assert np.linalg.eigvalsh(Sigma).min() > 0
    assert_allclose(Sigma.sum(0), np.trace(S) / 4)  # the common shift is independent of contrasts
    P = documents.precision_of(S)
    assert_allclose(P[:5, :5], contrasts(5) @ inv(S) @ contrasts(5).T, rtol=1e-10)
    assert_allclose(P @ np.ones(8), 0, atol=1e-10)
    assert not P[5:].any()


# A posterior by enumeration


def all_assignments(words, tau_m, S, n_points=2001):
    """{counts of words by topics: probability} of two topics over all topics of all tokens, and E[theta]."""
    u = np.linspace(-10, 10, n_points) * np.sqrt(S)
    weights = np.exp(-0.5 * u**2 / S)
    weights /= weights.sum()
    theta = softmax(u[:, None] * contrasts(2)[:, 0], axis=1)
    n = sum(map(len, words))
    found, of_theta, total = {}, 0.0, 0.0
    for number in range(2**n):
        z = np.array([number >> i & 1 for i in range(n)])
        counts, p, at, means_of = np.zeros((len(tau_m), 2)), 1.0, 0, []
        for one in words:
            mine = z[at : at + len(one)]
            at += len(one)
            likelihood = (
                weights * theta[:, 0] ** np.sum(mine == 0) * theta[:, 1] ** np.sum(mine == 1)
            )
            p *= likelihood.sum()
            means_of.append(likelihood @ theta[:, 0] / likelihood.sum())
            np.add.at(counts, (np.array(one), mine), 1)
        a = counts + tau_m[:, None]
        p *= np.exp(np.sum(gammaln(a) - gammaln(tau_m)[:, None]) - gammaln(a.sum(0)).sum())
        key = tuple(counts.ravel().astype(int))
        found[key] = found.get(key, 0.0) + p
        of_theta, total = of_theta + p * np.array(means_of), total + p
    return {key: value / total for key, value in found.items()}, of_theta / total


def test_posterior_by_enumeration():
    """Two documents of three tokens each, two topics and two words: how often each table of counts is met."""
    words, tau_m, S = [[0, 0, 1], [1, 1, 1]], np.array([0.6, 0.9]), 1.5
    known, known_theta = all_assignments(words, tau_m, S)
    X = np.array([np.bincount(one, minlength=2) for one in words])
    problem = make_problem(X)
    state = make_state(
        problem, 2, S=np.array([[S]]), urn=Urn(tau_m.sum(), tau_m / tau_m.sum(), 1.0)
    )
    rng = np.random.default_rng(3)
    state = documents.draw_documents(problem, state, rng)
    tables, thetas = [], []
    for _ in range(16000):
        state = topics.draw_topics(problem, state, rng)
        state = documents.draw_documents(problem, state, rng)
        tables.append(state.counts[:, :2].astype(int).ravel())
        thetas.append(softmax(state.eta, axis=1)[:, 0])
    tables, thetas = np.array(tables), np.array(thetas)
    keys = list(known)
    met = np.array([np.all(tables == key, axis=1) for key in keys], dtype=float).T
    assert met.sum() == len(tables)  # none that cannot be
    z = (met.mean(0) - [known[key] for key in keys]) / batch_errors(met)
    assert np.abs(z).max() < 4
    # Topics may swap: products tell what one topic's mean does not.
    assert np.abs((thetas.mean(0) - known_theta) / batch_errors(thetas)).max() < 4
    assert_allclose(known_theta, 0.5, atol=1e-9)


# The same whoever does the work


def larger_model(n_jobs, kernel=True):
    """A corpus of several shards and blocks."""
    rng = np.random.default_rng(0)
    D, V, K = 700, 1500, 5
    X = rng.poisson(0.03, (D, V))
    bound = bind(k.Categorical("group"), group=np.arange(D) % 7) if kernel else None
    how = "free" if kernel else "none"
    problem = make_problem(X, bound, how, fit_mean=True, n_jobs=n_jobs)
    assert problem.counts.nnz > 3 * documents.MIN_SHARD
    given = {"B": np.eye(K - 1), "counts": padded(rng.poisson(1.0, (V, K)))}
    return problem, make_state(problem, K, **given)


def everything_of(state):
    of_parts = [one.weights for one in state.parts]
    return [*state.urn, *state[:1], *state[2:6], state.S, state.B, state.log_density, *of_parts]


@pytest.mark.parametrize("kernel", [True, False])
def test_the_same_for_any_number_of_threads(kernel):
    found = []
    for n_jobs in (1, 2):
        problem, state = larger_model(n_jobs, kernel)
        with computing(n_jobs):
            for _ in range(3):
                state = sweeps.sweep(problem, state, seed=3)
        found.append(everything_of(state))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    assert state.sweep == 3


def sweep_documents(cuts, key=5):
    """eta, tally, fits and shares after a sweep over blocks of documents between the cuts."""
    problem, state = larger_model(1)
    counts, K = problem.counts, state.K
    eta, fits, shares = state.eta.copy(), np.empty(len(state.eta)), np.zeros(K)
    tally = _hot.padded_zeros(counts.shape[1], K, dtype=np.float32)
    P = documents.single_precision(documents.precision_of(state.S))
    scratch = _hot.SweepScratch(K)
    for a, b in pairwise(cuts):
        _hot.sweep_block(
            counts.indptr[a : b + 1],
            counts.indices,
            counts.data,
            a,
            np.uint64(key),
            np.zeros((b - a, K)),
            P,
            state.beta_T,
            eta[a:b],
            tally,
            fits[a:b],
            shares,
            *scratch,
        )
    return eta, tally, fits, shares


@pytest.mark.parametrize("cuts", [[0, 13, 700], [0, 1, 2, 300, 301, 307, 700]])
def test_the_same_for_any_blocks(cuts):
    whole, parts = sweep_documents([0, 700]), sweep_documents(cuts)
    for a, b in zip(whole[:3], parts[:3], strict=True):
        assert np.array_equal(a, b)
    assert_allclose(whole[3], parts[3], rtol=1e-12)  # a sum, in the same order
    other = sweep_documents([0, 700], key=6)
    assert np.mean(whole[0] == other[0]) < 0.1  # another key, other numbers


def test_another_seed_is_another_chain():
    problem, state = larger_model(1)
    chains = [sweeps.sweep(problem, state, seed).eta for seed in (1, 1, 2)]
    assert np.array_equal(chains[0], chains[1])
    assert not np.array_equal(chains[0], chains[2])


def test_many_topics_have_their_covariances_drawn_now_and_then(monkeypatch):
    monkeypatch.setattr("gptm.inference.sampling.state.MANY_TOPICS", 2)
    problem, state = larger_model(1)
    chain = [state]
    for _ in range(5):
        chain.append(sweeps.sweep(problem, chain[-1], 1))
        assert np.isfinite(chain[-1].log_density)
    for name in ("S", "B", "F"):
        changes = [getattr(a, name) is not getattr(b, name) for a, b in pairwise(chain)]
        assert changes == [True, False, True, False, True]
    assert len({state.log_density for state in chain}) == 6


# All steps together (Geweke, 2004)
#
# Draws from the prior, words included, against a chain that sweeps and then draws the words anew from the model: if
# every step leaves the posterior as it is, both have the same distribution. Priors are narrower than those of fits,
# whose moments a short chain could not tell.


LENGTHS = np.array([3, 8, 8, 13, 8])
GROUPS = ["a", "a", "b", "b", "a"]
LINKS = [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]
TOPICS, WORDS = 3, 6


class Case(NamedTuple):
    """A model: its kernel, the kernel's matrix from elsewhere, and what is learnt."""

    bound: object = None
    Kxx: object = None
    coregionalization: str = "none"
    learn_covariance: bool = True


def make_case(name):
    same = np.equal.outer(GROUPS, GROUPS).astype(float)
    groups = bind(k.Categorical("group"), group=GROUPS)
    links = np.array(LINKS, dtype=float)
    graph = bind(k.Graph(adjacency=csr_matrix(links), kappa=0.6, nu=2), group=GROUPS)
    both = bind(0.6 * k.Categorical("group") + 0.7 * k.Identity(), group=GROUPS)
    return {
        "no kernel": Case(),
        "fixed covariance": Case(learn_covariance=False),
        "free": Case(groups, same, "free"),
        "shared": Case(groups, same, "shared"),
        "identity": Case(groups, same, "identity"),
        "graph": Case(graph, graphs.smooth(links, 0.6, 2), "free"),
        "sum": Case(both, 0.6 * same + 0.7 * np.eye(5), "free"),
    }[name]


LEAST_EVEN, MOST_STRENGTH = 0.4, 4.0  # beyond which chains stay long, and come to seldom


@pytest.fixture
def narrow_priors(monkeypatch):
    """Narrow, and without the tails of even and of the kernel's one factor."""
    right_even, right_strength = urn.draw_even, covariances._draw_strength

    def draw_even(even, tables, n_words, rng):
        """A step that would lead out is not taken, which is right for a symmetric one such as a slice's."""
        new = right_even(even, tables, n_words, rng)
        return new if new > LEAST_EVEN else even

    def draw_strength(problem, state, rng):
        """Drawn until it is within."""
        new = right_strength(problem, state, rng)
        while problem.coregionalization != "free" and new.strength > MOST_STRENGTH:
            new = right_strength(problem, state, rng)
        return new

    monkeypatch.setattr(urn, "draw_even", draw_even)
    monkeypatch.setattr(covariances, "_draw_strength", draw_strength)
    monkeypatch.setattr(urn, "RATE", 0.08)
    monkeypatch.setattr(urn, "EVEN_RATE", 0.4)
    monkeypatch.setattr(covariances, "DEGREES", 6.0)
    monkeypatch.setattr(covariances, "SCALE", 0.4)
    return monkeypatch


class Everything(NamedTuple):
    """Draws of all that is unknown, and of the words; the first axis are draws."""

    tau: np.ndarray
    even: np.ndarray
    base: np.ndarray  # (n, V)
    beta: np.ndarray  # (n, V, K)
    S: np.ndarray
    B: np.ndarray
    F: np.ndarray
    eta: np.ndarray
    X: np.ndarray


def draw_words(theta, beta_T, rng):
    """Words (..., D, V) of documents; probabilities made to sum to one."""
    p = theta @ np.swapaxes(beta_T, -1, -2).astype(float)
    return rng.multinomial(LENGTHS, p / p.sum(-1, keepdims=True))


def dirichlets(a, rng):
    """Dirichlet draws along the last axis, by logarithms of gammas: they may be very small."""
    log_gamma = np.log(rng.standard_gamma(a + 1.0)) + np.log(rng.random(a.shape)) / a
    return softmax(log_gamma, axis=-1)


def draw_from_the_prior(case, n, seed=0):
    """By the model's definition, all draws at once."""
    rng, p, D = np.random.default_rng(seed), TOPICS - 1, len(LENGTHS)
    tau = rng.exponential(1 / urn.RATE, n)
    even = LEAST_EVEN + rng.exponential(1 / urn.EVEN_RATE, n)
    base = dirichlets(np.repeat(even[:, None], WORDS, 1), rng)
    beta = dirichlets(np.repeat((tau[:, None] * base)[:, None] + 1e-12, TOPICS, 1), rng)
    beta_T = np.swapaxes(beta, 1, 2)
    of_covariances = invwishart(
        p + covariances.DEGREES, covariances.SCALE * (covariances.DEGREES - 1) * np.eye(p)
    )
    S = (
        of_covariances.rvs(n, rng).reshape(n, p, p)
        if case.learn_covariance
        else np.tile(FIXED, (n, 1, 1))
    )
    # Inverse gamma of shape one, cut off.
    inverse = 1 / MOST_STRENGTH + rng.exponential(1 / covariances.SCALE, n)
    b = 1 / inverse[:, None, None]
    B = {
        "none": lambda: np.zeros((n, p, p)),
        "free": lambda: of_covariances.rvs(n, rng).reshape(n, p, p),
        "shared": lambda: b * S,
        "identity": lambda: b * np.eye(p),
    }[case.coregionalization]()
    F = np.zeros((n, D, p))
    if case.Kxx is not None:
        values, vectors = np.linalg.eigh(case.Kxx)
        root = vectors * np.sqrt(np.maximum(values, 0))
        F = root @ rng.standard_normal((n, D, p)) @ np.swapaxes(np.linalg.cholesky(B), 1, 2)
    noise = rng.standard_normal((n, D, p)) @ np.swapaxes(np.linalg.cholesky(S), 1, 2)
    eta = (F + noise) @ contrasts(TOPICS).T
    return Everything(
        tau, even, base, beta_T, S, B, F, eta, draw_words(softmax(eta, 2), beta_T, rng)
    )


FIXED = np.array([[0.9, 0.3], [0.3, 0.6]])


CHAINS = 100


def draw_by_sweeps(case, n, monkeypatch, seed=1):
    """The same by the sampler, one sweep after the other, words drawn anew once topics are.

    In many chains, one after the other in what is returned. Each starts at a draw from the prior, so that it is right
    from the first sweep on, and chains tell the error of their mean however slowly one of them moves.
    """
    problem = make_problem(
        np.ones((len(LENGTHS), WORDS)),
        case.bound,
        case.coregionalization,
        learn_covariance=case.learn_covariance,
    )
    starts = draw_from_the_prior(case, CHAINS, seed)
    kept = []

    def keep_and_draw_words(problem, state, rng):
        """Between topics, which the prior's step has integrated out, and documents, which read the words."""
        X = draw_words(softmax(state.eta, axis=1), state.beta_T[:, :TOPICS], rng)
        problem.counts.data[:] = X.ravel()
        beta_T = state.beta_T[:, :TOPICS]
        kept.append(
            (
                *state.urn[:1],
                state.urn.even,
                state.urn.base,
                beta_T,
                state.S,
                state.B,
                state.F,
                state.eta,
                X,
            )
        )
        return state

    monkeypatch.setattr(sweeps, "STEPS", (sweeps.STEPS[0], keep_and_draw_words, *sweeps.STEPS[1:]))
    for chain in range(CHAINS):
        problem.counts.data[:] = 0.0
        start = Everything(*(one[chain] for one in starts))
        shared = case.coregionalization == "shared"
        state = make_state(
            problem,
            TOPICS,
            urn=Urn(start.tau, start.base, start.even),
            **{name: getattr(start, name) for name in ("eta", "F", "S", "B")},
            strength=start.B[0, 0] / (start.S[0, 0] if shared else 1.0),
        )
        for _ in range(n // CHAINS):
            state = sweeps.sweep(problem, state, CHAINS * seed + chain)
    return Everything(*(np.array(one) for one in zip(*kept, strict=True)))


def statistics(x, kernel):
    """(n, m) numbers with light tails that see all parts, and their squares; their names."""
    theta, log_det = softmax(x.eta, axis=2), lambda A: np.linalg.slogdet(A)[1]
    correlation = lambda A: A[:, 0, 1] / np.sqrt(A[:, 0, 0] * A[:, 1, 1])  # noqa: E731
    shares = x.X / LENGTHS[:, None]
    found = {
        "tau": np.log(x.tau),
        "even": np.log(x.even),
        "base": x.base[:, 0],
        "base, uneven": np.sum(x.base**2, 1),
        "beta": x.beta[:, 0, 0],
        "beta, uneven": np.sum(x.beta**2, (1, 2)),
        "beta, alike": np.sum(x.beta[:, :, 0] * x.beta[:, :, 1], 1),
        "beta and base": np.sum(x.beta[:, :, 2] * x.base, 1),
        "theta": theta[:, 0, 1],
        "theta, uneven": np.sum(theta**2, (1, 2)),
        "theta, alike": np.sum(theta[:, 0] * theta[:, 1], 1),
        "theta, not alike": np.sum(theta[:, 0] * theta[:, 3], 1),
        "S": log_det(x.S),
        "S, first": np.log(x.S[:, 0, 0]),
        "S, correlation": correlation(x.S),
        "words": shares[:, 1, 0],
        "words, uneven": np.sum(shares**2, (1, 2)),
        "words, alike": np.sum(shares[:, 0] * shares[:, 1], 1),
        "words and topics": np.sum(shares[:, 3] * x.beta[:, :, 0], 1) * theta[:, 3, 0],
    }
    if kernel:
        U = np.tanh(x.eta @ contrasts(TOPICS))
        F = np.tanh(x.F)
        found |= {
            "B": log_det(x.B),
            "B, last": np.log(x.B[:, 1, 1]),
            "B, correlation": correlation(x.B),
            "F": F[:, 0, 0],
            "F, alike": F[:, 0, 0] * F[:, 1, 0],
            "F, not alike": F[:, 1, 1] * F[:, 2, 1],
            "F and logits": F[:, 4, 0] * U[:, 4, 0],
            "F of two": F[:, 3, 0] * F[:, 3, 1],
        }
    values = np.array(list(found.values())).T
    names = [*found, *(f"{name}, squared" for name in found)]
    return np.hstack([values, values**2]), names


def geweke(name, n, monkeypatch, seed=1):
    """{statistic: z-score}, largest first, of n sweeps against draws from the prior."""
    case = make_case(name)
    kernel = case.Kxx is not None
    of_prior, names = statistics(draw_from_the_prior(case, 40000), kernel)
    of_chain, _ = statistics(draw_by_sweeps(case, n, monkeypatch, seed), kernel)
    error = np.hypot(of_prior.std(0) / 200.0, batch_errors(of_chain, CHAINS))
    z = (of_chain.mean(0) - of_prior.mean(0)) / np.where(error > 1e-12, error, np.inf)
    return {names[i]: float(z[i]) for i in np.argsort(-np.abs(z))}


CASES = ("no kernel", "fixed covariance", "free", "shared", "identity", "graph", "sum")


@pytest.mark.parametrize("name", CASES)
def test_geweke(name, narrow_priors):
    z = geweke(name, 5000, narrow_priors)
    assert max(map(abs, z.values())) < 4, z


@pytest.mark.parametrize("name", ["no kernel", "free"])
def test_geweke_with_matrices_in_every_third_sweep(name, narrow_priors):
    """As with many topics; here any are."""
    narrow_priors.setattr("gptm.inference.sampling.state.MANY_TOPICS", 1)
    z = geweke(name, 10000, narrow_priors)
    assert max(map(abs, z.values())) < 4, z


# The same in blocks: three documents in memory, one in each of two blocks elsewhere


class BlocksAtHand:
    """Who sweeps over blocks, without files."""

    def __init__(self, documents):
        self.documents, self.states = documents, []

    def begin(self, values, held, r):
        self.states = [begin_block(one, values, held, 1) for one in self.documents]
        return tree_sum((feature_sums(one, r) for one in self.documents), FeatureSums.plus)

    def sweep(self, values, number):
        swept = [
            sweep_over(*pair, values, 1) for pair in zip(self.documents, self.states, strict=True)
        ]
        self.states = [state for state, _ in swept]
        return lambda: tree_sum((sums for _, sums in swept), BlockSums.plus)


def block_case(name):
    """The kernel over the first three documents, and where it places the other two."""
    kernel = {
        "no kernel": None,
        "free": k.Categorical("group"),
        "shared": k.Categorical("group"),
        "identity": k.Categorical("group"),
        "sum": 0.6 * k.Categorical("group") + 0.7 * k.Identity(),
    }[name]
    if kernel is None:
        return None, [(None, None)] * 2
    bound, places = bind(kernel, group=GROUPS[:3]), []
    for group in GROUPS[3:]:
        new = bound.read(Documents(1, pd.DataFrame({"group": [group]})))
        placed = bound.place(new)
        own = placed.own_diagonal if placed.own_diagonal.any() else None
        places.append((placed.features, own))
    return bound, places


def draw_by_blocks(name, case, n, monkeypatch, seed=1):
    bound, places = block_case(name)
    everywhere = np.ones((len(LENGTHS), WORDS))
    problem = make_problem(everywhere[:3], bound, case.coregionalization)
    blocks = [
        BlockDocuments(3 + i, csr_matrix(everywhere[3 + i : 4 + i]), *place)
        for i, place in enumerate(places)
    ]
    workers = BlocksAtHand(blocks)
    start = Everything(*(one[0] for one in draw_from_the_prior(case, 1, seed)))
    state = make_state(
        problem,
        TOPICS,
        urn=Urn(start.tau, start.base, start.even),
        eta=start.eta[:3],
        F=np.zeros((3, TOPICS - 1)),
        S=start.S,
        B=start.B,
        parts=(),
        strength=start.B[0, 0] / (start.S[0, 0] if case.coregionalization == "shared" else 1.0),
    )
    kept = []
    sweep = BlockedSweep(problem, workers)

    def draw_topics_and_words(problem, state, rng):
        state = topics.draw_topics(problem, state, rng)
        if not workers.states:
            return state
        eta = np.concatenate([state.eta, *(one.eta for one in workers.states)])
        X = draw_words(softmax(eta, axis=1), state.beta_T[:, :TOPICS], rng)
        problem.counts.data[:] = X[:3].ravel()
        W, F = sweep._weights(state), [state.F]
        for row, (block, own) in enumerate(zip(blocks, workers.states, strict=True)):
            block.counts.data[:] = X[3 + row]
            part = np.zeros((1, TOPICS - 1)) if own.own is None else own.own
            F.append(part if block.features is None else part + block.features.dot(W))
        beta_T = state.beta_T[:, :TOPICS]
        of_urn = (state.urn.tau, state.urn.even, state.urn.base)
        kept.append((*of_urn, beta_T, state.S, state.B, np.concatenate(F), eta, X))
        return state

    monkeypatch.setattr(blocked_sweep, "draw_topics", draw_topics_and_words)
    state = sweep.begin(problem, state, seed, 0)
    for _ in range(n):
        state = sweep(problem, state, seed)
    return Everything(*(np.array(one) for one in zip(*kept, strict=True)))


def geweke_of_blocks(name, n, monkeypatch, seed=1):
    case = make_case(name)
    of_prior, names = statistics(draw_from_the_prior(case, 40000), case.Kxx is not None)
    of_chain, _ = statistics(draw_by_blocks(name, case, n, monkeypatch, seed), case.Kxx is not None)
    error = np.hypot(of_prior.std(0) / 200.0, batch_errors(of_chain, 25))
    z = (of_chain.mean(0) - of_prior.mean(0)) / np.where(error > 1e-12, error, np.inf)
    return {names[i]: float(z[i]) for i in np.argsort(-np.abs(z))}


@pytest.mark.parametrize("name", ["no kernel", "shared", "sum"])
def test_geweke_in_blocks(name, narrow_priors):
    z = geweke_of_blocks(name, 5000, narrow_priors)
    assert max(map(abs, z.values())) < 4, z


def test_geweke_in_blocks_sees_a_block_that_is_not_counted(narrow_priors):
    right = BlocksAtHand.sweep

    def half(self, values, number):
        sums = right(self, values, number)()
        return lambda: sums._replace(tally=sums.tally * 0.5)

    narrow_priors.setattr(BlocksAtHand, "sweep", half)
    z = geweke_of_blocks("free", 3000, narrow_priors)
    assert max(map(abs, z.values())) > 5


# And broken on purpose


def stronger_prior_of_logits(monkeypatch):
    right = documents.precision_of
    monkeypatch.setattr(documents, "precision_of", lambda S: 1.3 * right(S))


def degrees_off_by_three(monkeypatch):
    right = covariances.inverse_wishart
    monkeypatch.setattr(covariances, "inverse_wishart", lambda A, n, rng: right(A, n + 3, rng))


def one_table_for_every_word(monkeypatch):
    def wrong(key, first, counts, prior, out):
        out[:] = (counts > 0).sum(1)

    monkeypatch.setattr(_hot, "draw_tables", wrong)


def topics_without_their_prior(monkeypatch):
    right = _hot.draw_gammas

    def wrong(key, first, counts, prior, *rest):
        right(key, first, counts, np.full_like(prior, 0.1), *rest)

    monkeypatch.setattr(_hot, "draw_gammas", wrong)


def tau_of_too_many_tables(monkeypatch):
    right = urn.draw_tau
    monkeypatch.setattr(urn, "draw_tau", lambda tau, tables, *rest: right(tau, tables + 3.0, *rest))


def kernel_too_strong(monkeypatch):
    right = means.diagonalise
    monkeypatch.setattr(means, "diagonalise", lambda S, B: right(S, 3.0 * B))


def weights_not_counted(monkeypatch):
    right = means._dimension
    monkeypatch.setattr(means, "_dimension", lambda white: right(white) - 1)


def logits_that_forget_the_means(monkeypatch):
    right = covariances.residuals
    monkeypatch.setattr(covariances, "residuals", lambda state: right(state) + state.F)


BROKEN = [
    ("no kernel", stronger_prior_of_logits),
    ("no kernel", degrees_off_by_three),
    ("no kernel", one_table_for_every_word),
    ("no kernel", topics_without_their_prior),
    ("no kernel", tau_of_too_many_tables),
    ("free", kernel_too_strong),
    ("shared", weights_not_counted),
    ("identity", weights_not_counted),
    ("graph", logits_that_forget_the_means),
]


@pytest.mark.parametrize(("name", "break_it"), BROKEN)
def test_geweke_notices(name, break_it, narrow_priors):
    break_it(narrow_priors)
    z = geweke(name, 2500, narrow_priors)
    assert max(map(abs, z.values())) > 6, z
