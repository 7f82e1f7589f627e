"""New documents: what the kernel says of them and what their words add, against the reference."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.linalg import inv
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import softmax

import naive
from checks import check_gradient, check_stationary, fitted_value
from gptm import GPTM
from gptm import kernels as k
from gptm.corpus import counts
from gptm.inference.em.document_step import Prior, infer_documents, prior_start
from gptm.inference.mean_solve import (
    diagonalise,
    document_means,
    dual_coefficients,
    residuals,
    solve_means,
    view_logits,
)
from gptm.kernels import Documents
from gptm.operators import Spectral, SpectralCross
from gptm.prediction import new_documents
from gptm.prediction.new_documents import (
    MAX_INNER,
    climb,
    held_out_bounds,
    infer_new_jointly,
    predicted_prior,
)
from gptm.prediction.simulate import sample_documents
from gptm.prediction.theta import weighted_points

KINDS = ("identity", "shared", "free", "rank one", "none")


class Fitted:
    """D training documents with a posterior, and n new ones, of one squared-exponential kernel."""

    def __init__(self, seed=0, kind="identity", b=0.7, D=7, n=5, K=3, V=9, singular=False):
        p = naive.random_problem(seed, D=D, V=V, K=K)
        rng = np.random.default_rng(seed + 1000)
        points = rng.uniform(0, 3, D + n)
        if singular:
            points[D // 2 : D] = points[: D - D // 2]
        kernel = np.exp(-0.5 * (points[:, None] - points) ** 2)
        if not singular:
            kernel += 0.1 * np.eye(D + n)
        self.Kxx, self.Ktx, self.Ktt = kernel[:D, :D], kernel[D:, :D], kernel[D:, D:]
        v = rng.standard_normal(K)
        self.B = {"rank one": np.outer(v, v), "none": np.zeros((K, K))}.get(kind)
        if self.B is None:
            self.B = naive.coregionalisation(kind, p.Sigma, b, p.B)
        self.p = p
        operator = Spectral.from_dense(self.Kxx)
        view = view_logits(operator, p.lam)
        means = solve_means(operator, view, p.mu, diagonalise(p.Sigma, self.B))
        a = residuals(view, means)
        self.F, alpha = document_means(view, means), dual_coefficients(a, means)
        self.parameters = fitted_value(
            p.beta, D=D, mu=p.mu, Sigma=p.Sigma, B=self.B, alpha=alpha, F=self.F
        )
        self.cross = SpectralCross(operator, self.Ktx, self.Ktt)
        self.X = np.array([rng.multinomial(rng.integers(5, 40), p.beta[d % K]) for d in range(n)])
        self.X = self.X.astype(float)

    def prior_of(self, rows):
        return predicted_prior(
            self.parameters,
            SpectralCross(self.cross.training, self.Ktx[rows], self.Ktt[rows][:, rows]),
            len(rows),
        )

    def infer(self, rows, n_jobs=1):
        rows = np.arange(len(self.X))[rows]
        posterior, _ = infer_documents(
            csr_matrix(self.X[rows]),
            self.prior_of(rows),
            self.parameters.beta_T,
            None,
            max_inner=MAX_INNER,
            tol=1e-7,
            n_jobs=n_jobs,
        )
        return posterior


def prior_covariance(prior, d):
    return inv(prior.T @ np.diag(np.broadcast_to(prior.weight, prior.mean.shape)[d]) @ prior.T.T)


# What the kernel says


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("singular", [False, True])
def test_predicted_prior(kind, seed, singular):
    fitted = Fitted(seed, kind, singular=singular)
    p = fitted.p
    prior = predicted_prior(fitted.parameters, fitted.cross, len(fitted.X))
    means, covs = naive.predict_eta(
        p.lam, p.mu, p.Sigma, fitted.B, fitted.Kxx, fitted.Ktx, np.diag(fitted.Ktt)
    )
    assert_allclose(prior.mean, means, rtol=1e-8, atol=1e-10)
    for d, cov in enumerate(covs):
        assert_allclose(prior_covariance(prior, d), cov, rtol=1e-8, atol=1e-10)


def test_what_depends_on_the_fit_alone_is_computed_once(monkeypatch):
    """Calls of single documents would spend more on it than on their own document."""
    parameters = Fitted(kind="free").parameters
    first = new_documents.basis_of(parameters)
    expected = diagonalise(parameters.Sigma, parameters.B)
    assert all(np.array_equal(a, b) for a, b in zip(first, expected, strict=True))
    monkeypatch.setattr(new_documents, "diagonalise", None)
    assert new_documents.basis_of(parameters) is first


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_counts_as_they_should_be_are_not_checked_at_length(monkeypatch, kind):
    model = GPTM(2, kernel=k.Identity(), inference="variational", max_iter=2, random_state=0)
    X = csr_matrix(np.random.default_rng(0).poisson(1.0, (12, 6)).astype(kind))
    model.fit(X)
    wanted = model.transform(X.toarray())
    with monkeypatch.context() as patch:
        patch.setattr(counts, "validate_data", None)
        assert np.array_equal(model.transform(X), wanted)
    for bad in (-1.0, np.nan, np.inf):
        wrong = X.astype(float)
        wrong.data[3] = bad
        with pytest.raises(ValueError, match=r"Negative|NaN|infinity"):
            model.transform(wrong)
    with pytest.raises(ValueError, match="features"):
        model.transform(X[:, :5])


def test_prediction_far_away_is_the_prior():
    """No relation to the training documents: N(mu, Sigma + k(x, x) B)."""
    fitted = Fitted(kind="free")
    own = np.array([0.5, 2.0])
    nothing = SpectralCross(fitted.cross.training, np.zeros((2, 7)), np.diag(own))
    prior = predicted_prior(fitted.parameters, nothing, 2)
    for d in range(2):
        assert_allclose(prior.mean[d], fitted.p.mu)
        assert_allclose(prior_covariance(prior, d), fitted.p.Sigma + own[d] * fitted.B, rtol=1e-10)


def test_prediction_at_a_training_document_is_its_mean():
    """With the kernel's own value and no further noise, F_* is F."""
    fitted = Fitted(kind="free")
    again = SpectralCross(fitted.cross.training, fitted.Kxx[:3], fitted.Kxx[:3, :3])
    prior = predicted_prior(fitted.parameters, again, 3)
    assert_allclose(prior.mean, fitted.p.mu + fitted.F[:3], rtol=1e-9, atol=1e-11)
    cov = naive.posterior_F(fitted.p.lam, fitted.p.mu, fitted.p.Sigma, fitted.B, fitted.Kxx)[1]
    for d, block in enumerate(naive.document_blocks(cov, 7, 3)[:3]):
        assert_allclose(prior_covariance(prior, d), fitted.p.Sigma + block, rtol=1e-8, atol=1e-10)


# What the words add, each document alone


@pytest.mark.parametrize("kind", ["identity", "shared", "free"])
def test_inference_ends_at_the_maximum_of_each_document(kind):
    fitted = Fitted(1, kind)
    prior = predicted_prior(fitted.parameters, fitted.cross, len(fitted.X))
    lam, nu2 = fitted.infer(slice(None))
    for d, x_d in enumerate(fitted.X):
        Sigma = prior_covariance(prior, d)
        arguments = x_d, fitted.p.beta, prior.mean[d], Sigma
        best = naive.optimise_document(*arguments, lam[d], nu2[d])
        top = naive.document_bound(*arguments[:2], *best, *arguments[2:])
        reached = naive.document_bound(*arguments[:2], lam[d], nu2[d], *arguments[2:])
        assert reached >= top - 1e-5
        assert_allclose(lam[d], best[0], atol=4e-3)  # where the bound is flat


@pytest.mark.parametrize("seed", range(4))
def test_a_guess_is_nearer_than_the_prior(seed):
    """The same maxima as from the prior, and higher bounds on the way there."""
    rng = np.random.RandomState(seed)
    n, K, V = 100, 20, 400
    beta, variance = rng.dirichlet(np.full(V, 0.05), K), 4.0
    X, _ = sample_documents(
        beta, np.zeros(K), variance * np.eye(K), lengths=np.full(n, 30), rng=rng
    )
    counts, beta_T = X.astype(float), np.ascontiguousarray(beta.T)
    prior = Prior(np.zeros((n, K)), np.eye(K) / np.sqrt(variance), np.ones(K))

    def bound_from(start, max_inner):
        (lam, nu2), statistics = infer_documents(
            counts, prior, beta_T, start, max_inner=max_inner, tol=1e-9, n_jobs=1
        )
        divergence = (lam**2 + nu2) / variance - np.log(nu2 / variance) - 1.0
        return statistics.terms.sum() - 0.5 * divergence.sum()

    plain = prior_start(prior)
    assert bound_from(None, 3) > bound_from(plain, 3)
    assert_allclose(bound_from(None, 500), bound_from(plain, 500), rtol=1e-5)


def test_new_documents_do_not_see_one_another():
    fitted = Fitted(kind="free", n=9)
    together = fitted.infer(slice(None))
    threads = fitted.infer(slice(None), n_jobs=2)
    assert np.array_equal(threads.lam, together.lam)
    for rows in ([0], [4, 2], [8, 7, 6, 5, 4, 3, 2, 1, 0]):
        some = fitted.infer(rows)
        assert_allclose(some.lam, together.lam[rows], rtol=1e-12)
        assert_allclose(some.nu2, together.nu2[rows], rtol=1e-12)


def test_new_document_without_words_keeps_the_prior():
    fitted = Fitted(kind="free")
    fitted.X[[1, 3]] = 0
    prior = predicted_prior(fitted.parameters, fitted.cross, len(fitted.X))
    lam, nu2 = fitted.infer(slice(None))
    for d in (1, 3):
        assert_allclose(lam[d], prior.mean[d], rtol=1e-12)
        assert_allclose(nu2[d], 1 / np.diag(inv(prior_covariance(prior, d))), rtol=1e-10)
    assert np.abs(lam[0] - prior.mean[0]).max() > 0.01


# The paper's way, jointly


def joint(fitted):
    posterior, F_new = infer_new_jointly(
        csr_matrix(fitted.X), fitted.parameters, fitted.cross, n_jobs=1
    )
    F_bar = naive.conditional_mean(fitted.F, fitted.Kxx, fitted.Ktx)
    Kbar = naive.conditional_kernel(fitted.Kxx, fitted.Ktx, fitted.Ktt)
    return posterior, F_new, F_bar, Kbar


@pytest.mark.parametrize("seed", range(4))
def test_joint_means_solve_the_corrected_equation(seed):
    """With B = I: eq. 20 with its right-hand side put right, which is where (19) is stationary."""
    fitted = Fitted(seed, "identity", b=1.0)
    posterior, F_new, F_bar, Kbar = joint(fitted)
    lam, Sigma = posterior.lam - fitted.p.mu, fitted.p.Sigma
    expected = naive.map_new_documents_F(lam, F_bar, Sigma, Kbar)
    assert_allclose(F_new, expected, rtol=1e-7, atol=1e-9)
    check_stationary(lambda F: naive.objective_19(F, lam, F_bar, Sigma, Kbar), F_new, tol=1e-6)
    assert np.abs(F_new - F_bar).max() > 0.01


@pytest.mark.parametrize("kind", ["identity", "shared", "free"])
def test_joint_means_of_any_coregionalisation(kind):
    fitted = Fitted(2, kind)
    posterior, F_new, F_bar, Kbar = joint(fitted)
    args = fitted.p.mu, fitted.p.Sigma, fitted.B, Kbar
    change = naive.posterior_F(posterior.lam - F_bar, *args)[0]
    assert_allclose(F_new, F_bar + change, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("seed", "b"), [(3, 0.1), (3, 1.0), (3, 100.0), (3, 2000.0), (17, 1e4)])
def test_joint_inference_ends_at_the_joint_maximum(seed, b):
    """Over lam, nu2 and F_* at once; a strong kernel must not leave it halfway there.

    With F_* at its maximum, lam - mu - F_bar has the quadratic penalty of its marginal covariance.
    """
    fitted = Fitted(seed, "identity", b=b)
    posterior, _, F_bar, Kbar = joint(fitted)
    p, shape = fitted.p, posterior.lam.shape
    P, S_inv = inv(p.Sigma), inv(naive.marginal_covariance(p.Sigma, fitted.B, Kbar))

    def negative(y):
        lam, nu2 = y[0], np.exp(y[1])
        r = (lam - p.mu - F_bar).ravel()
        words = sum(naive.words_and_normaliser(*row) for row in rows(lam, nu2))
        return -words + 0.5 * r @ S_inv @ r + 0.5 * np.sum(np.diag(P) * nu2 - y[1])

    def rows(lam, nu2):
        return ((x_d, p.beta, lam[d], nu2[d]) for d, x_d in enumerate(fitted.X))

    def negative_gradient(y):
        lam, nu2 = y[0], np.exp(y[1])
        pull = (S_inv @ (lam - p.mu - F_bar).ravel()).reshape(shape)
        t = fitted.X.sum(axis=1)[:, None] * softmax(lam + nu2 / 2, axis=1)
        n = np.array([x_d @ naive.phi(lam[d], p.beta) for d, x_d in enumerate(fitted.X)])
        return np.array([pull + t - n, 0.5 * (np.diag(P) * nu2 + t * nu2 - 1)])

    reached = np.array([posterior.lam, np.log(posterior.nu2)])
    check_gradient(negative, negative_gradient, reached + 0.1)
    best = minimize(
        lambda y: negative(y.reshape(2, *shape)),
        reached.ravel(),
        jac=lambda y: negative_gradient(y.reshape(2, *shape)).ravel(),
        method="BFGS",
        options={"gtol": 1e-7},
    )
    assert negative(reached) <= best.fun + 1e-5


def test_joint_inference_of_documents_without_words():
    """All empty: nothing moves F_* away from F_bar."""
    fitted = Fitted(0, "identity", b=1.0)
    fitted.X[:] = 0
    posterior, F_new, F_bar, _ = joint(fitted)
    assert_allclose(F_new, F_bar, rtol=1e-7, atol=1e-9)
    assert_allclose(posterior.lam, fitted.p.mu + F_bar, rtol=1e-7, atol=1e-9)


def test_joint_inference_couples_documents():
    """Words of one document move the mean of another one: the paper's procedure."""
    fitted = Fitted(1, "identity", b=1.0)
    before = joint(fitted)[1]
    fitted.X[0] = 30 * fitted.X[0]
    after = joint(fitted)[1]
    assert np.abs(after[1:] - before[1:]).max() > 1e-3


def test_joint_inference_of_known_documents():
    """New documents that repeat training documents have no freedom left: F_* is F."""
    fitted = Fitted(0, "free")
    fitted.cross = SpectralCross(fitted.cross.training, fitted.Kxx[:5], fitted.Kxx[:5, :5])
    _, F_new = infer_new_jointly(csr_matrix(fitted.X), fitted.parameters, fitted.cross, n_jobs=1)
    assert_allclose(F_new, fitted.F[:5], rtol=1e-7, atol=1e-9)


def test_joint_inference_of_no_documents():
    fitted = Fitted(0, "free")
    cross = SpectralCross(fitted.cross.training, np.empty((0, 7)), np.empty((0, 0)))
    posterior, F_new = infer_new_jointly(csr_matrix((0, 9)), fitted.parameters, cross, n_jobs=1)
    assert posterior.lam.shape == posterior.nu2.shape == F_new.shape == (0, 3)


# Extrapolated alternation


@pytest.mark.parametrize("rate", [0.0, 0.5, 0.9999])
def test_climb_to_the_fixed_point_of_a_linear_map(rate):
    """Also where plain steps would need tens of thousands of rounds."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    A = Q @ np.diag(rate * np.linspace(0.2, 1, 6)) @ Q.T
    H = np.eye(6) - A  # the update is a gradient step on -1/2 (x - target)' H (x - target)
    target = rng.standard_normal((3, 2))
    values = []

    def update(x):
        gap = (x - target).ravel()
        values.append(-0.5 * gap @ H @ gap)
        return target + (A @ gap).reshape(3, 2), values[-1]

    found, converged = climb(update, np.zeros((3, 2)), tol=1e-10, max_iter=60)
    assert converged
    assert len(values) < 60
    assert_allclose(found, target, atol=1e-6)


def test_climb_drops_an_extrapolation_that_goes_down():
    """A value with a narrow ridge: what is accepted never falls."""
    accepted = []

    def value(x):
        return float(-(x**4).sum())

    def update(x):
        accepted.append(value(x))
        return x - 0.05 * x**3, accepted[-1]

    found, _ = climb(update, np.array([3.0, -2.0]), tol=1e-12, max_iter=500)
    assert np.abs(found).max() < 0.1
    assert max(accepted) <= 0


def test_climb_says_when_it_was_stopped():
    calls = []

    def update(x):
        calls.append(x)
        return x + 1, float(x.sum())

    found, converged = climb(update, np.zeros(2), tol=1e-8, max_iter=17)
    assert not converged
    assert np.all(np.isfinite(found))
    assert len(calls) <= 2 * 17 + 1


def test_a_singular_B_has_its_density_where_it_has_any():
    """What is zero but for rounding is no direction: a little of it must not change the answer."""
    rng = np.random.default_rng(0)
    X, frame = rng.poisson(0.8, (40, 20)), pd.DataFrame({"t": np.arange(40.0)})
    model = GPTM(3, kernel=k.RBF("t"), random_state=0, max_iter=5, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, metadata=frame)
    found = []
    for rounding in (0.0, 1e-16, -1e-16):
        B = np.diag([1.0, 0.5, rounding])
        parameters = replace(model.fitted_, B=B)
        alpha = parameters.alpha * np.array([1.0, 1.0, 0.0])
        parameters = replace(parameters, alpha=alpha, F=model.fitted_.bound.gram() @ alpha)
        bound = model.fitted_.bound
        cross = bound.cross(bound.read(Documents(5, frame[:5] + 0.5)), joint=True)
        found.append(held_out_bounds(csr_matrix(X[:5] * 1.0), parameters, cross, 1))
    assert_allclose(found[1], found[0], rtol=1e-6)
    assert_allclose(found[2], found[0], rtol=1e-6)


def test_a_kernel_that_is_zero_has_a_density_too():
    X = np.random.default_rng(0).poisson(0.8, (30, 12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GPTM(2, kernel=k.Linear("c"), random_state=0, max_iter=3).fit(
            X, metadata={"c": np.ones(30)}
        )
    found = model.perplexity(X[:5], metadata={"c": np.ones(5)}, kind="joint")
    assert np.isfinite(found)


# Standard deviations of proportions


@pytest.mark.parametrize("K", [2, 3, 8])
def test_spread_without_words_is_that_of_the_prior(K):
    rng = np.random.default_rng(K)
    Sigma, mu = naive.random_covariance(rng, K), rng.standard_normal(K)
    prior = Prior(mu[None], np.linalg.cholesky(inv(Sigma)), np.ones(K))
    beta_T = np.full((4, K), 0.25)
    found = weighted_points(csr_matrix((1, 4)), prior, beta_T, n_points=512, n_jobs=None).std
    drawn = softmax(rng.multivariate_normal(mu, Sigma, 100_000), axis=1)
    assert_allclose(found[0], drawn.std(0), rtol=0.15)
    assert abs(found.mean() / drawn.std(0).mean() - 1.0) < 0.03


@pytest.mark.parametrize("n_words", [0, 5, 100])
def test_errors_of_proportions_are_as_large_as_said(n_words):
    rng = np.random.default_rng(0)
    beta = rng.dirichlet(np.full(60, 0.1), 2)
    theta = rng.dirichlet([0.7, 0.7], 200)
    X = np.array([rng.multinomial(60, one @ beta) for one in theta])
    model = GPTM(2, kernel=None, random_state=0, max_iter=100).fit(X)
    corpus, latent = model.sample(2000, n_words=n_words, random_state=1, return_latent=True)
    found, spread, (low, high) = model.transform(corpus, return_std=True, quantiles=(0.05, 0.95))
    errors = latent.theta - found
    assert 0.9 < np.sqrt((errors**2).mean() / (spread**2).mean()) < 1.1
    assert 0.87 < np.mean((low <= latent.theta) & (latent.theta <= high)) < 0.93


@pytest.mark.parametrize("words", [0, 3])
def test_spread_where_the_prior_says_nothing(words):
    """As a linear term's does far outside of the training documents."""
    K = 3
    prior = Prior(np.zeros((1, K)), np.eye(K), np.full(K, 1e-180))
    beta_T = np.random.default_rng(0).dirichlet(np.ones(5), K).T.copy()
    counts = csr_matrix(np.full((1, 5), words))
    found = weighted_points(counts, prior, beta_T, n_jobs=None)
    assert all(np.isfinite(part).all() for part in found)
    spread = found.std
    assert ((spread > 0.1) & (spread <= 0.5)).all()
