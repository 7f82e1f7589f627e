"""Importance-weighted points against dense NumPy, integrals on grids and long chains."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, softmax

from gptm import _hot
from gptm._hot import document_mode, mode_approach, panel_factors, panels, point_summaries
from gptm.inference.em.document_step import Prior
from gptm.prediction.theta import _desk, sobol_normals, theta_by_points, weighted_points

FORMS = ("compiled", "python")


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


def form_of(function, form):
    return function if form == "compiled" else function.py_func


class Documents(NamedTuple):
    """Documents drawn from the model."""

    counts: csr_matrix
    prior: Prior
    beta_T: np.ndarray

    def take(self, rows):
        weight = self.prior.weight if self.prior.weight.ndim == 1 else self.prior.weight[rows]
        prior = Prior(self.prior.mean[rows], self.prior.T, weight)
        return Documents(self.counts[rows], prior, self.beta_T)

    def run(self, n_points=64, quantiles=(), n_jobs=1):
        return weighted_points(*self, n_points=n_points, quantiles=quantiles, n_jobs=n_jobs)


def draw(seed=0, K=5, V=40, n=6, length=30, sd=1.0):
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(V, 0.2), K) + 1e-12
    A = rng.standard_normal((K, K)) / np.sqrt(K)
    precision = np.linalg.inv(sd**2 * (0.5 * np.eye(K) + 0.5 * A @ A.T))
    weight, T = np.linalg.eigh(precision)
    mean = rng.normal(0, 0.5, (n, K))
    theta = softmax(mean + sd * rng.standard_normal((n, K)), axis=1)
    X = np.array([rng.multinomial(length, p / p.sum()) for p in theta @ beta]).astype(float)
    return Documents(csr_matrix(X), Prior(mean, T, weight), np.ascontiguousarray(beta.T))


def one(x_d, mean, cov, beta):
    """One document of dense counts, with the covariance of its prior."""
    weight, T = np.linalg.eigh(np.linalg.inv(cov))
    prior = Prior(np.atleast_2d(np.asarray(mean, dtype=float)), T, weight)
    x_d = np.atleast_2d(np.asarray(x_d, dtype=float))
    return Documents(csr_matrix(x_d), prior, np.ascontiguousarray(np.asarray(beta, dtype=float).T))


class Posterior:
    """log p of one document and its derivatives, written plainly."""

    def __init__(self, documents, d=0):
        weight = documents.prior.weight
        weight = weight if weight.ndim == 1 else weight[d]
        self.P = documents.prior.T @ np.diag(weight) @ documents.prior.T.T
        self.m, self.beta_T = documents.prior.mean[d], documents.beta_T
        self.x = documents.counts[[d]].toarray()[0]

    def log_p(self, eta):
        """Of one point or of rows of them."""
        r = eta - self.m
        words = np.log(softmax(eta, axis=-1) @ self.beta_T.T + 1e-300) @ self.x
        return words - 0.5 * np.sum((r @ self.P) * r, axis=-1)

    def phi(self, eta):
        phi = self.beta_T * softmax(eta)
        return phi / phi.sum(axis=1, keepdims=True)

    def score(self, eta):
        n = self.x @ self.phi(eta)
        return n - self.x.sum() * softmax(eta) - self.P @ (eta - self.m)

    def curvature(self, eta):
        q, phi = softmax(eta), self.phi(eta)
        words = np.diag(phi.T @ self.x) - (phi.T * self.x) @ phi
        return self.P + self.x.sum() * (np.diag(q) - np.outer(q, q)) - words


def normals(K, n_points):
    """The points as rows."""
    z = sobol_normals(K, n_points).z
    panels = z.reshape(len(z), -1, _hot.LANES)
    return np.moveaxis(panels, 2, 1).reshape(-1, panels.shape[1])[:n_points, :K]


def normalised(log_weights):
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def naive_points(documents, d, n_points):
    """The first round in dense NumPy: moments, and effective points."""
    post = Posterior(documents, d)
    best = minimize(lambda e: -post.log_p(e), post.m, jac=lambda e: -post.score(e), tol=1e-10)
    H, z = post.curvature(best.x), normals(len(post.m), n_points)
    eta = best.x + solve_triangular(np.linalg.cholesky(H).T, z.T).T
    log_weights = post.log_p(eta) + 0.5 * np.sum(z**2, axis=1)
    weights = normalised(log_weights)
    effective = 1 / np.sum(weights**2)
    wanted, low, high = min(n_points / 2, 4 * np.sqrt(n_points)), 0.0, 1.0
    if effective < wanted:
        for _ in range(40):
            middle = (low + high) / 2
            enough = 1 / np.sum(normalised(middle * log_weights) ** 2) >= wanted
            low, high = (middle, high) if enough else (low, middle)
        weights = normalised(low * log_weights)
    score = weights @ np.array([post.score(e) for e in eta])
    eta = eta + np.linalg.solve(H, score)
    theta, centred = softmax(eta, axis=1), eta - eta.mean(axis=1, keepdims=True)
    mean, logits = weights @ theta, weights @ centred
    std = np.sqrt(weights @ (theta - mean) ** 2)
    return mean, std, logits, weights @ (centred - logits) ** 2, effective


@pytest.mark.parametrize("K", [2, 5, 8, 11])
def test_against_dense_points(K):
    documents = draw(K, K=K)
    result, compared = documents.run(), 0
    for d in range(6):
        *moments, effective = naive_points(documents, d, 64)
        if effective < 17:
            continue  # there may be another round
        compared += 1
        for got, wanted in zip(result[:4], moments, strict=True):
            assert_allclose(got[d], wanted, rtol=1e-3, atol=1e-5)
        assert_allclose(result.effective[d], effective, rtol=1e-3)
    assert compared >= 4


# Against the truth


def grid_moments(documents, levels=()):
    """Means and standard deviations of theta for two or three topics, by sums over a grid of differences of logits."""
    post, K = Posterior(documents), documents.prior.T.shape[0]
    H = np.eye(K)[:, :-1] - np.eye(K)[:, -1:]  # differences from the last logit
    cov = H.T @ np.linalg.inv(post.P) @ H
    middle, sd = post.m @ H, np.sqrt(np.diag(cov))
    axes = [
        np.linspace(-9, 9, 4001 if K == 2 else 501) * s + c for c, s in zip(middle, sd, strict=True)
    ]
    u = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
    theta = softmax(np.concatenate([u, np.zeros((len(u), 1))], axis=1), axis=1)
    r = u - middle
    log_p = np.log(theta @ post.beta_T.T + 1e-300) @ post.x
    weights = normalised(log_p - 0.5 * np.sum((r @ np.linalg.inv(cov)) * r, axis=1))
    mean = weights @ theta
    return mean, np.sqrt(weights @ (theta - mean) ** 2)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(("length", "sd"), [(3, 1.0), (30, 1.0), (300, 2.0)])
@pytest.mark.parametrize("n_points", [64, 1024])
def test_against_a_grid(K, length, sd, n_points):
    for seed in range(3):
        documents = draw(seed, K=K, n=1, length=length, sd=sd)
        mean, std = grid_moments(documents)
        result = documents.run(n_points)
        close = 0.012 if n_points == 64 else 2e-3
        assert_allclose(result.theta[0], mean, atol=close)
        assert_allclose(result.std[0], std, atol=close)


def metropolis(post, seed=0, chains=400, burn=300, kept=300):
    """Draws of the logits by random walks."""
    rng = np.random.default_rng(seed)
    scale = np.linalg.cholesky(np.linalg.inv(post.P))
    eta = post.m + rng.standard_normal((chains, len(post.m))) @ scale.T
    value, draws = post.log_p(eta), []
    for step in range(burn + kept):
        there = eta + 0.5 * rng.standard_normal(eta.shape) @ scale.T
        new = post.log_p(there)
        moved = np.log(rng.random(chains)) < new - value
        eta, value = np.where(moved[:, None], there, eta), np.where(moved, new, value)
        if step >= burn and step % 5 == 0:
            draws.append(eta)
    return np.concatenate(draws)


@pytest.mark.parametrize("length", [8, 40])
def test_against_a_long_chain(length):
    documents = draw(3, n=1, length=length)
    draws = metropolis(Posterior(documents))
    theta, centred = softmax(draws, axis=1), draws - draws.mean(axis=1, keepdims=True)
    levels = (0.05, 0.5, 0.95)
    for n_points, close in ((64, 1.0), (4096, 0.5)):
        result = documents.run(n_points, levels)
        assert_allclose(result.theta[0], theta.mean(axis=0), atol=0.02 * close)
        assert_allclose(result.std[0], theta.std(axis=0), atol=0.03 * close)
        assert_allclose(result.logits[0], centred.mean(axis=0), atol=0.16 * close)
        assert_allclose(result.variance[0], centred.var(axis=0), rtol=1.6 * close - 0.6)
        below = np.mean(theta < result.quantiles[:, 0, None], axis=1)
        assert_allclose(below, np.tile(levels, (5, 1)).T, atol=0.14 * close)


# Documents of their own kind


@pytest.mark.parametrize("sd", [0.3, 1.0, 5.0])
def test_empty_documents_have_their_prior(sd):
    cov = sd**2 * np.array([[1.0, 0.2], [0.2, 0.8]])
    documents = one(np.zeros(4), [0.5, -0.5], cov, np.full((2, 4), 0.25))
    z, weights = np.polynomial.hermite_e.hermegauss(150)
    width = np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])
    share = expit(1.0 + width * z)
    mean = weights @ share / weights.sum()
    std = np.sqrt(weights @ (share - mean) ** 2 / weights.sum())
    for n_points in (64, 50):
        result = documents.run(n_points)
        assert_allclose(result.effective, n_points, rtol=1e-8)
        assert_allclose(result.theta[0], [mean, 1 - mean], atol=0.01)
        assert_allclose(result.std[0], std, atol=0.015)
        # The mean score of the points is taken to zero, so that this mean is exact.
        assert_allclose(result.logits[0], [0.5, -0.5], atol=1e-10)


def test_one_topic():
    result = one([2.0, 3.0], [0.7], [[2.0]], [[0.5, 0.5]]).run(quantiles=[0.1, 0.9])
    assert_allclose(result.theta, 1)
    assert_allclose(result.std, 0, atol=1e-12)
    assert_allclose(result.logits, 0, atol=1e-12)
    assert_allclose(result.quantiles, 1)


def test_a_word_counted_three_times():
    documents = draw(1)
    X = documents.counts.toarray()
    X[:, 4] = 3.0
    twins = np.concatenate([X, np.ones((6, 2))], axis=1)
    twins[:, 4] = 1.0
    beta_T = np.concatenate([documents.beta_T, documents.beta_T[[4, 4]]])
    once = Documents(csr_matrix(X), *documents[1:]).run()
    thrice = Documents(csr_matrix(twins), documents.prior, beta_T).run()
    assert_allclose(once.theta, thrice.theta, rtol=1e-8)
    assert_allclose(once.std, thrice.std, rtol=1e-8)


def test_words_that_no_topic_has_say_nothing():
    documents = draw(2)
    beta_T = np.concatenate([documents.beta_T, np.zeros((1, 5))])
    X = np.concatenate([documents.counts.toarray(), np.full((6, 1), 7.0)], axis=1)
    result = Documents(csr_matrix(X), documents.prior, beta_T).run()
    assert_allclose(result.theta, documents.run().theta, rtol=1e-10)


def test_large_and_fractional_counts():
    documents = draw(4, n=3, length=200)
    for scale in (0.01, 0.37, 1e5):
        scaled = documents._replace(counts=documents.counts * scale)
        result = scaled.run(1024)
        assert np.all(np.isfinite(result.theta))
        assert_allclose(result.theta.sum(axis=1), 1, rtol=1e-13)
        for d in range(3):
            assert np.all(result.theta[d] >= 0)
    assert np.all(result.std < 0.05)


def ambiguous(N=12.0, sd=1.5):
    """Half of the words are of topic 2; the others have topic 0 or topic 1, nothing says which: two modes."""
    beta = np.array([[0.5, 1e-12], [0.5, 1e-12], [1e-12, 0.5]])
    return one([N, N], np.zeros(3), sd**2 * np.eye(3), beta)


def test_two_modes_are_both_seen():
    """Few points around one of the modes are effective; another round reaches both."""
    documents = ambiguous()
    mean, std = grid_moments(documents)
    assert_allclose(mean[0], mean[1], atol=1e-6)
    result = documents.run(1024)
    assert_allclose(result.theta[0], mean, atol=0.03)
    assert_allclose(result.std[0], std, atol=0.03)


def test_another_round_where_few_points_are_effective():
    """The first round alone, as dense NumPy has it, has fewer effective points."""
    cases = [draw(seed, K=12, n=4, length=150, sd=3.0) for seed in range(4)]
    first = np.array([[naive_points(c, d, 64)[-1] for d in range(4)] for c in cases])
    then = np.array([c.run().effective for c in cases])
    hard = first < 7
    assert hard.sum() >= 3
    assert_allclose(then[first > 17], first[first > 17], rtol=0.05)  # others are left as they are
    assert np.mean(then[hard]) > 1.5 * np.mean(first[hard])


# The same for any number of threads


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_bits_do_not_depend_on_threads_or_other_documents():
    documents = draw(5, n=700)
    whole = documents.run(quantiles=[0.1, 0.9])
    assert same(whole, documents.run(quantiles=[0.1, 0.9], n_jobs=2))
    few = documents.take(slice(0, 2)).run(quantiles=[0.1, 0.9])
    assert same([x[..., :2, :] for x in whole[:4]], few[:4])
    assert np.array_equal(whole.effective[:2], few.effective)
    assert np.array_equal(whole.quantiles[:, :2], few.quantiles)
    assert np.array_equal(whole.theta, theta_by_points(*documents, n_points=64, n_jobs=2))


def test_memory_is_kept_for_single_documents():
    """Of calls with few words and topics; what an earlier, longer document left there changes nothing."""
    documents = draw(5, n=40)
    alone = [documents.take(slice(d, d + 1)).run() for d in range(40)]
    for d, one_by_one in enumerate(alone):
        for a, b in zip(one_by_one[:4], documents.run()[:4], strict=True):
            assert np.array_equal(a[0], b[d])
    assert _desk(20, 30, 64) is _desk(20, 40, 64)
    assert _desk(20, 10_000, 64) is not _desk(20, 10_000, 64)
    assert _desk(300, 30, 64) is not _desk(300, 30, 64)


def test_precision_of_each_document():
    documents = draw(6)
    own = documents.prior._replace(weight=np.tile(documents.prior.weight, (6, 1)))
    assert_allclose(documents._replace(prior=own).run().theta, documents.run().theta, rtol=1e-9)
    own.weight[3:] *= 4.0
    mixed, tight = documents._replace(prior=own), documents.prior.weight * 4.0
    wanted = documents._replace(prior=documents.prior._replace(weight=tight)).run().theta[3:]
    assert_allclose(mixed.run().theta[3:], wanted, rtol=1e-9)


def test_no_documents():
    documents = draw(0).take(slice(0, 0))
    result = documents.run(quantiles=[0.5])
    assert result.theta.shape == (0, 5)
    assert result.quantiles.shape == (1, 0, 5)


def test_rows_sum_to_one_and_logits_to_zero():
    result = draw(7, K=13).run()
    assert_allclose(result.theta.sum(axis=1), 1, rtol=1e-14)
    assert_allclose(result.logits.sum(axis=1), 0, atol=1e-12)


def test_quantiles():
    documents = draw(8, K=4)
    levels = [0.9, 0.0, 0.25, 0.5, 1.0]
    quantiles = documents.run(quantiles=levels).quantiles[np.argsort(levels)]
    assert np.all(np.diff(quantiles, axis=0) >= 0)
    assert np.all((quantiles >= 0) & (quantiles <= 1))
    alone = documents.run(quantiles=[0.25]).quantiles[0]
    assert np.array_equal(alone, quantiles[1])


# Pieces of the loops


def positive_definite(K, seed=0):
    A = np.random.default_rng(seed).standard_normal((K, K))
    return A @ A.T + K * np.eye(K)


@pytest.mark.parametrize("K", [8, 24])
def test_factorise_and_solve(form, K):
    A, U, roots = positive_definite(K), np.zeros((K, K)), np.zeros(K)
    x, b = np.zeros(K), np.arange(1.0, K + 1)
    assert form_of(panel_factors.factorise, form)(A, np.zeros(K), U, roots)
    assert_allclose(np.triu(U), np.linalg.cholesky(A).T, rtol=1e-12)
    assert_allclose(roots, 1 / np.diag(U), rtol=1e-12)
    x[:] = b
    form_of(panel_factors.solve, form)(U, roots, x)
    assert_allclose(A @ x, b, rtol=1e-10)
    columns = np.random.default_rng(1).standard_normal((K, 8))
    panel = columns.ravel().copy()
    form_of(panel_factors.solve_panel, form)(U, roots, panel)
    assert_allclose(np.triu(U) @ panel.reshape(K, 8), columns, rtol=1e-10, atol=1e-12)


def test_factorise_refuses(form):
    A, U, roots = positive_definite(8), np.zeros((8, 8)), np.zeros(8)
    least = np.linalg.cholesky(A).diagonal() ** 2
    assert form_of(panel_factors.factorise, form)(A, 0.99 * least, U, roots)
    assert not form_of(panel_factors.factorise, form)(A, 1.01 * least, U, roots)
    A[5, 5] = -1.0
    assert not form_of(panel_factors.factorise, form)(A, np.zeros(8), U, roots)


def test_add_gram(form):
    A, out = np.random.default_rng(0).standard_normal((5, 16)), np.ones((16, 16))
    form_of(panels.add_gram, form)(A, 4, out)
    assert_allclose(np.triu(out), np.triu(1 + A[:4].T @ A[:4]), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_sort_pairs_and_quantiles(form, n):
    rng = np.random.default_rng(n)
    values, weights = rng.random(n), rng.dirichlet(np.ones(n))
    order = np.argsort(values)
    sorted_values, sorted_weights = values[order], weights[order]
    form_of(point_summaries.sort_pairs, form)(values, weights)
    assert np.array_equal(values, sorted_values)
    assert np.array_equal(weights, sorted_weights)
    levels, out = np.array([0.0, 0.1, 0.5, 0.9, 1.0]), np.zeros(5)
    form_of(point_summaries.weighted_quantiles, form)(values, weights, levels, out)
    middles = np.cumsum(weights) - 0.5 * weights
    assert_allclose(out, np.interp(levels, middles, values), rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_score_is_zero_at_the_mode(form, seed):
    documents = draw(seed, K=5, n=1, length=100, sd=2.0)
    post, scratch = Posterior(documents), _hot.PointsScratch.of(5, 40, 8)
    words, data = documents.counts.indices, documents.counts.data
    topics = _hot.padded_rows(documents.beta_T)
    length, N = document_mode.gather(
        words, data, topics, scratch.words[1], scratch.words[0], scratch.beta
    )
    P = np.eye(8)
    P[:5, :5] = post.P
    m, eta = np.full((2, 8), _hot.NOWHERE)
    m[:5] = eta[:5] = post.m
    U, roots = np.zeros((8, 8)), np.zeros(8)
    form_of(_hot.find_mode, form)(
        scratch.places[:length],
        scratch.beta[:length],
        scratch.words[1, :length],
        N,
        P,
        np.zeros(8),
        np.zeros(8),
        m,
        eta,
        scratch.phi,
        scratch.square[2],
        U,
        roots,
        scratch.words[0, :length],
        scratch.rows,
    )
    assert np.abs(post.score(eta[:5])).max() < 1e-4
    wanted = np.linalg.cholesky(post.curvature(eta[:5])).T
    assert_allclose(np.triu(U)[:5, :5], wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_the_approach_ends_near_the_mode(form, seed):
    """Its gradient and curvature are those of dense NumPy, and what is left promises next to nothing."""
    documents = draw(seed, K=11, n=1, length=100, sd=2.0)
    post, scratch = Posterior(documents), _hot.PointsScratch.of(11, 40, 8)
    words, data = documents.counts.indices, documents.counts.data
    topics, (norms, counts) = _hot.padded_rows(documents.beta_T), scratch.words
    length, N = document_mode.gather(words, data, topics, counts, norms, scratch.beta)
    P = np.eye(16)
    P[:11, :11] = post.P
    m, eta, there = np.full((3, 16), _hot.NOWHERE)
    m[:11] = post.m
    there[:11] = post.m + np.random.default_rng(seed).standard_normal(11)
    of_words = scratch.beta[:length], counts[:length], N, P
    q, pull, slope = np.zeros((3, 16))
    values = []
    for start in (there[:11], post.m):
        eta[:11] = start
        value = form_of(mode_approach.log_posterior_and_slope, form)(
            *of_words, m, eta, q, pull, norms[:length], slope
        )
        values.append(value - post.log_p(eta[:11]))
        assert_allclose(slope[:11], post.score(eta[:11]), rtol=1e-9, atol=1e-9)
    assert_allclose(values[0], values[1], atol=1e-9)
    H, n = np.zeros((16, 16)), post.x @ post.phi(post.m)
    form_of(mode_approach.likely_curvature, form)(P, slope, pull, q, N, H)
    wanted = post.P + 0.4 * (np.diag(n) - np.outer(n, n) / N)
    assert_allclose(np.triu(H)[:11, :11], np.triu(wanted), atol=1e-9)
    tried = form_of(mode_approach.approach_mode, form)(
        *of_words,
        np.zeros(16),
        m,
        eta,
        H,
        scratch.square[3],
        np.zeros(16),
        norms[:length],
        scratch.steps,
        scratch.rows,
    )
    assert 0 < tried < 40
    g = post.score(eta[:11])
    assert g @ np.linalg.solve(post.curvature(eta[:11]), g) < 1e-5


def test_newton_steps_few_where_the_approach_is_near():
    """Most documents need a single factorisation of their curvature."""
    documents = draw(11, K=12, n=40, length=60, sd=2.0)
    _, (steps, _) = run_block(documents, "compiled")
    assert steps < 1.5 * 40


def run_block(documents, form, n_points=16, groups=()):
    """`weigh_block` of all documents, and its Newton steps and rounds."""
    n, K = documents.prior.mean.shape
    n_shares = max(groups) + 1 if groups else K
    nodes, none = sobol_normals(K, n_points), np.empty((1, n, n_shares))
    logits = np.empty((2, 0 if groups else n, K))
    out = _hot.PointsOut(*np.empty((2, n, n_shares)), *logits, np.empty(n), none)
    work = form_of(_hot.weigh_block, form)(
        documents.counts.indptr,
        documents.counts.indices,
        documents.counts.data,
        documents.prior.mean,
        documents.prior.T,
        documents.prior.weight[None],
        _hot.padded_rows(documents.beta_T),
        *nodes,
        n_points,
        np.array([0.5]),
        np.asarray(groups, dtype=np.int64),
        out,
        _hot.PointsScratch.of(K, 40, n_points),
    )
    return out, work


def test_the_loop_is_the_same_in_plain_python():
    documents = draw(9, K=3, n=3)
    empty = documents.counts.copy()
    empty.data[empty.indptr[1] : empty.indptr[2]] = 0.0
    documents = documents._replace(counts=empty)
    compiled, python = (run_block(documents, form)[0] for form in ("compiled", "python"))
    for a, b in zip(compiled, python, strict=True):
        assert_allclose(a, b, rtol=1e-9)


def test_points_are_standard_normals():
    z = normals(5, 1024)
    assert_allclose(z.mean(axis=0), 0, atol=0.01)
    assert_allclose(np.cov(z.T), np.eye(5), atol=0.03)
    assert_allclose(sobol_normals(5, 1024).half, 0.5 * np.sum(z**2, axis=1))
    assert sobol_normals(5, 1024) is sobol_normals(5, 1024)
