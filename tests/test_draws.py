"""The posterior of F given words, against dense Gaussian algebra; and the parameters that error bars take.

The reference keeps every term of the kernel and every document's own part as unknowns of one Gaussian, and sees the
words through their sum: nothing of it knows of weight spaces, conjugate gradients, or of eta integrated out.
"""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import block_diag, eigh
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

import naive
from gptm import draws, weightspace
from gptm import kernels as k
from gptm.draws import Gaussian, Posterior, conjugate_gradients
from gptm.information import Words, contrasts, see_words
from gptm.kernels import Documents
from gptm.kernels.terms import terms_of
from gptm.operators import Features, build_operator
from gptm.parallel import BLOCK
from gptm.refit import Fitted, refit
from gptm.weightspace import SplitWeightSpace, Stacked, WeightSpace, weight_space

D, K = 12, 3
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "t": np.linspace(0.0, 10.0, D),
        "u": RNG.normal(size=D),
        "g": list("abc" * (D // 3)),
        "links": [[(j + 1) % D, (j + 5) % D] if j % 4 else [] for j in range(D)],
        "other": [[(j + 3) % D] for j in range(D)],
    }
)
HOLES = FRAME.assign(
    t=FRAME["t"].where(np.arange(D) % 4 > 0), g=FRAME["g"].where(np.arange(D) % 5 > 0)
)

# The kernel, the documents, and whether all is solved in weight space.
CASES = {
    "category": (k.Categorical("g"), FRAME, True),
    "linear": (k.Linear("t", "u"), FRAME, True),
    "features": (k.Linear("u") + 0.7 * k.Categorical("g"), FRAME, True),
    "curve": (k.RBF("t", length_scale=2.0) + 0.5 * k.Categorical("g"), FRAME, True),
    "missing values": (k.RBF("t", length_scale=2.0) + k.Categorical("g"), HOLES, True),
    "own": (0.5 * k.Identity() + k.Linear("u"), FRAME, True),
    "identity": (k.Identity(), FRAME, False),
    "graph": (k.Graph("links", kappa=0.8), FRAME, False),
    "graph and features": (k.Graph("links", kappa=0.8) + 0.6 * k.Categorical("g"), FRAME, False),
    "graphs": (k.Graph("links", kappa=0.5) + k.Graph("other", kappa=1.0), FRAME, False),
    "all": (k.Graph("links", kappa=0.8) + k.Linear("u") + k.Categorical("g"), HOLES, False),
    "product": (k.RBF("t", length_scale=3.0) * k.Categorical("g") + k.Linear("u"), FRAME, True),
}


class Setup(NamedTuple):
    """A kernel, what words say, parameters, and the posterior under test."""

    grams: list
    words: Words
    parameters: Gaussian
    posterior: Posterior


def seen(rng, empty=(), blind=()):
    """Information of random size and direction; `blind` documents say nothing along one direction."""
    information, gradient = np.zeros((D, K, K)), np.zeros((D, K))
    for d in range(D):
        A = rng.normal(size=(K, K - 1 if d in blind else K))
        if d not in empty:
            information[d] = rng.choice([0.3, 3.0, 30.0]) * A @ A.T / K
            gradient[d] = information[d] @ rng.normal(size=K)
    return Words(information, gradient)


def prepare(name, *, B=None, empty=(3,), blind=(1, 5), exact=2000, seed=0):
    kernel, frame, _ = CASES[name]
    rng = np.random.default_rng(seed)
    bound = kernel.bind(Documents(D, frame))
    terms = Stacked([part.structure for part in terms_of(bound)])
    words = seen(rng, empty, blind)
    B = naive.random_covariance(rng, K) if B is None else B
    parameters = Gaussian(rng.normal(size=K), naive.random_covariance(rng, K), B)
    operator = build_operator(bound.structure, exact=exact)
    grams = [part.gram() for part in terms_of(bound)]
    return Setup(grams, words, parameters, Posterior(operator, terms, words, parameters))


def dense_posterior(grams, words, parameters):
    """Mean and covariance of all terms at all documents, term by term: (P D K,) and its square."""
    mu, Sigma, B = parameters
    n = len(grams[0])
    prior = block_diag(*(np.kron(gram, B) for gram in grams), np.kron(np.eye(n), Sigma))
    # eta - mu is the sum of the terms and of its own part.
    A = np.tile(np.eye(n * K), len(grams) + 1)
    information = block_diag(*words.information)
    S = A @ prior @ A.T
    gain = prior @ A.T @ information @ np.linalg.inv(np.eye(n * K) + S @ information)
    covariance = prior - gain @ A @ prior
    pull = words.gradient.ravel() - information @ np.tile(mu, n)
    size = len(grams) * n * K
    return (covariance @ A.T @ pull)[:size], covariance[:size, :size]


def at_documents(posterior, batch):
    """(P D K, draws) of the deviations of some draws, in the reference's order."""
    rows = []
    for part, one in zip(posterior.structures, batch, strict=True):
        total = 0.0
        if one.weights is not None:
            r, n, _ = one.weights.shape
            total = total + (part.features.to_dense() @ one.weights.reshape(r, -1)).reshape(D, n, K)
        for rest in (one.own, *one.graphs):
            total = total if rest is None else total + rest
        rows.append(total.transpose(0, 2, 1).reshape(D * K, -1))
    return np.concatenate(rows)


class OneAtATime:
    """Hands out a one for a single random number of each draw: the draws are then columns of the map from noise."""

    def __init__(self, n):
        self.n, self.start = n, 0

    def standard_normal(self, shape):
        per_draw = int(np.prod(shape)) // self.n
        table = np.zeros((per_draw, self.n))
        here = np.arange(per_draw)
        table[here, self.start + here] = 1.0
        self.start += per_draw
        return table.reshape(shape[0], K, self.n).transpose(0, 2, 1).reshape(shape)


def root_of_covariance(posterior, monkeypatch):
    """(P D K, noise) the linear map from independent noise to the deviations, exactly."""
    n = D * K  # noise of the words
    for part in posterior.structures:
        n += K * (0 if part.features is None else part.features.width)
        n += D * K * (bool(part.own.any()) + len(part.graphs))
    noise = OneAtATime(n)
    with monkeypatch.context() as patch:
        patch.setattr(np.random, "default_rng", lambda seed: noise)
        (batch,) = posterior.batches(n)
    assert noise.start == n
    return at_documents(posterior, batch)


# How far weight space may be off: directions with a signal to noise under a thousandth keep their prior.
def slack(name):
    return 2e-3 if name in ("curve", "product", "missing values") else 2e-5


@pytest.mark.parametrize("name", CASES)
def test_the_way_of_solving_is_the_one_meant(name):
    assert (prepare(name).posterior.weights is not None) == CASES[name][2]


@pytest.mark.parametrize("name", CASES)
def test_means_are_those_of_the_dense_posterior(name):
    setup = prepare(name)
    mean, _ = dense_posterior(*setup[:3])
    total = mean.reshape(-1, D, K).sum(0)
    F, v = setup.posterior.mean()
    np.testing.assert_allclose(F, total, atol=slack(name) * np.abs(total).max())
    alpha = v @ setup.posterior.back  # each term's mean is its kernel times alpha
    terms = np.concatenate([(gram @ alpha).ravel() for gram in setup.grams])
    np.testing.assert_allclose(terms, mean, atol=slack(name) * np.abs(mean).max())


@pytest.mark.parametrize("name", CASES)
def test_covariances_of_draws_are_those_of_the_dense_posterior(name, monkeypatch):
    """Of every term with itself and with all others, to the solver's precision: no Monte Carlo in it."""
    setup = prepare(name)
    _, covariance = dense_posterior(*setup[:3])
    root = root_of_covariance(setup.posterior, monkeypatch)
    np.testing.assert_allclose(root @ root.T, covariance, atol=slack(name) * covariance.max())


@pytest.mark.parametrize("name", ["features", "missing values", "graph", "all"])
def test_draws_have_that_covariance(name):
    setup = prepare(name)
    _, covariance = dense_posterior(*setup[:3])
    n = 4000
    found = np.hstack([at_documents(setup.posterior, b) for b in setup.posterior.batches(n, 7)])
    variance = np.diagonal(covariance)
    assert found.shape == (len(variance), n)
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / n) + 1e-4
    assert np.abs((found @ found.T / n - covariance) / error).max() < 5.5
    assert np.abs(found.mean(1) / np.sqrt(variance / n + 1e-8)).max() < 4.5


@pytest.mark.parametrize("name", ["graph", "graph and features", "all"])
def test_graphs_that_are_not_decomposed_give_the_same(name, monkeypatch):
    setup = prepare(name, exact=0)
    mean, covariance = dense_posterior(*setup[:3])
    F, _ = setup.posterior.mean()
    total = mean.reshape(-1, D, K).sum(0)
    np.testing.assert_allclose(F, total, atol=1e-4 * np.abs(total).max())
    root = root_of_covariance(setup.posterior, monkeypatch)
    np.testing.assert_allclose(root @ root.T, covariance, atol=1e-3 * covariance.max())


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("name", ["features", "missing values", "graph and features"])
def test_singular_B(name, rank, monkeypatch):
    A = np.random.default_rng(rank).normal(size=(K, rank))
    setup = prepare(name, B=A @ A.T)
    mean, covariance = dense_posterior(*setup[:3])
    F, _ = setup.posterior.mean()
    np.testing.assert_allclose(F, mean.reshape(-1, D, K).sum(0), atol=1e-4)
    root = root_of_covariance(setup.posterior, monkeypatch)
    top = max(covariance.max(), 1e-12)
    np.testing.assert_allclose(root @ root.T, covariance, atol=2e-3 * top)


@pytest.mark.parametrize("name", ["features", "missing values", "graph"])
def test_without_words_there_is_the_prior(name, monkeypatch):
    setup = prepare(name, empty=range(D))
    F, v = setup.posterior.mean()
    assert not F.any()
    assert not v.any()
    root = root_of_covariance(setup.posterior, monkeypatch)
    prior = block_diag(*(np.kron(gram, setup.parameters.B) for gram in setup.grams))
    np.testing.assert_allclose(root @ root.T, prior, atol=1e-9)


def test_an_empty_document_learns_from_its_neighbours_only():
    """Alone with its value it keeps the prior; with a value that others have it follows them."""
    setup = prepare("missing values", empty=(0, 3))
    F, _ = setup.posterior.mean()  # document 0 misses both values, document 3 neither
    np.testing.assert_allclose(F[0], 0.0, atol=1e-8)
    assert np.abs(F[3]).max() > 0.01


def test_precision_is_what_integrating_eta_out_leaves():
    setup = prepare("features")
    posterior, P = setup.posterior, np.linalg.inv(setup.parameters.Sigma)
    for d, I in enumerate(setup.words.information):
        expected = I - I @ np.linalg.inv(P + I) @ I
        np.testing.assert_allclose(posterior.precision[d], expected, atol=1e-10)
    assert not posterior.precision[3].any()  # an empty document


@pytest.mark.parametrize("name", ["features", "graph and features"])
def test_draws_are_the_same_twice_and_in_any_number_of_batches(name, monkeypatch):
    posterior = prepare(name).posterior

    def drawn(n, seed):
        return [at_documents(posterior, batch) for batch in posterior.batches(n, seed)]

    one, again, other = (np.hstack(drawn(50, seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.1
    monkeypatch.setattr(draws, "_ENTRIES", 20 * D * K)
    assert [part.shape[1] for part in drawn(50, 3)] == [20, 20, 10]


@pytest.mark.parametrize("name", ["features", "missing values", "graph and features"])
def test_simulated_data_are_data_of_the_model(name):
    """v of simulated data has the covariance that v of the words has under the model, and none with the deviation."""
    setup = prepare(name)
    v, away = setup.posterior.simulated(4000, seed=2)
    n = v.shape[1]
    M = block_diag(*setup.posterior.W)
    gram = np.kron(sum(setup.grams), np.eye(K))
    expected = np.linalg.inv(np.eye(D * K) + M @ gram) @ M
    flat = v.transpose(0, 2, 1).reshape(D * K, n)
    variance = np.diagonal(expected)
    error = np.sqrt((np.outer(variance, variance) + expected**2) / n) + 2e-3 * variance.max()
    assert np.abs((flat @ flat.T / n - expected) / error).max() < 5.5
    _, covariance = dense_posterior(*setup[:3])
    total = covariance.reshape(len(setup.grams), D * K, len(setup.grams), D * K).sum((0, 2))
    left = away.transpose(0, 2, 1).reshape(D * K, n)
    spread = np.sqrt(np.diagonal(total))
    scale = np.outer(spread, np.sqrt(np.maximum(variance, 0.0))) / np.sqrt(n) + 1e-3
    assert np.abs(left @ flat.T / n / scale).max() < 5.5
    error = np.outer(spread, spread) * np.sqrt(2 / n) + 1e-3
    assert np.abs((left @ left.T / n - total) / error).max() < 5.5


@pytest.mark.parametrize("name", ["features", "curve", "missing values"])
def test_categories_apart_give_the_same(name, monkeypatch):
    monkeypatch.setattr(weightspace, "_SLIGHT", 0.0)
    together = prepare(name)
    monkeypatch.setattr(weightspace, "APART", 2)
    monkeypatch.setattr(weightspace, "_ENTRIES", 2 * K * K)  # a group or two at a time
    apart = prepare(name)
    found = apart.posterior.weights
    assert isinstance(getattr(found, "space", found), SplitWeightSpace)
    for one, other in zip(apart.posterior.mean(), together.posterior.mean(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    for one, other in zip(
        apart.posterior.simulated(3), together.posterior.simulated(3), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)


# The parts


def informed(rng):
    """(D, K, K) how sharply words see each document, one of them not at all."""
    A = rng.normal(size=(D, K, K))
    W = A @ A.transpose(0, 2, 1)
    W[2] = 0.0
    return W


def ridge(gram, W, s):
    """𝒦 (I + W 𝒦)^-1 s by Kronecker algebra."""
    Kxx = np.kron(gram, np.eye(K))
    flat = s.transpose(0, 2, 1).reshape(D * K, -1)
    found = Kxx @ np.linalg.solve(np.eye(D * K) + block_diag(*W) @ Kxx, flat)
    return found.reshape(D, K, -1).transpose(0, 2, 1)


@pytest.mark.parametrize("apart", [False, True])
def test_weight_space_is_the_ridge_regression_that_it_stands_for(apart):
    rng = np.random.default_rng(1)
    bound = (k.Linear("u") + k.Categorical("g")).bind(Documents(D, FRAME))
    features = bound.structure.features
    W = informed(rng)
    if apart:
        space = SplitWeightSpace(features.split(2), W, np.eye(1))
    else:
        space = WeightSpace(features, W, np.eye(features.width))
    found = space.fitted(s := rng.normal(size=(D, 4, K)))
    np.testing.assert_allclose(found, ridge(bound.gram(), W, s), atol=1e-9)


@pytest.mark.parametrize("apart", [2, 10**9])
def test_what_words_say_nothing_of_is_left_out(apart, monkeypatch):
    """Beside a category, or alone, a term too small to be seen changes nothing."""
    monkeypatch.setattr(weightspace, "APART", apart)
    rng = np.random.default_rng(1)
    bound = k.Categorical("g").bind(Documents(D, FRAME))
    small = (1e-9 * k.Linear("u")).bind(Documents(D, FRAME))
    W, s = informed(rng), rng.normal(size=(D, 4, K))
    space = weight_space(Stacked([bound.structure, small.structure]), W, 1.0)
    assert isinstance(space, SplitWeightSpace) == (apart == 2)
    np.testing.assert_allclose(space.fitted(s), ridge(bound.gram(), W, s), atol=1e-6)


@pytest.mark.parametrize("apart", [2, 10**9])
def test_features_are_not_written_out_in_weight_space(apart, monkeypatch):
    monkeypatch.setattr(weightspace, "APART", apart)
    bound = (k.RBF("t", length_scale=2.0) + k.Categorical("g")).bind(Documents(D, FRAME))
    terms = Stacked([part.structure for part in terms_of(bound)])
    rng = np.random.default_rng(1)
    W, s = informed(rng), rng.normal(size=(D, 4, K))
    with monkeypatch.context() as patch:
        patch.setattr(Features, "columns", None)
        found = weight_space(terms, W, 1e6).fitted(s)
    np.testing.assert_allclose(found, ridge(bound.gram(), W, s), atol=1e-5)


def test_conjugate_gradients_solve_each_draw_on_its_own():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(D * K, D * K))
    A = A @ A.T + 0.1 * np.eye(D * K)
    X = rng.normal(size=(D, 5, K)) * np.array([1.0, 1e-6, 1e6, 0.0, 1.0])[:, None]

    def applied(matrix):
        def product(Z):
            flat = Z.transpose(0, 2, 1).reshape(D * K, -1)
            return (matrix @ flat).reshape(D, K, -1).transpose(0, 2, 1)

        return product

    exact = applied(np.linalg.inv(A))(X)
    scale = np.abs(exact).max((0, 2)) + 1e-300
    for guess in (np.eye(D * K), np.diag(1 / np.diagonal(A)), np.linalg.inv(A)):
        found = conjugate_gradients(applied(A), applied(guess), X, 1e-10)
        assert (np.abs(found - exact).max((0, 2)) / scale < 1e-6).all()
        assert not found[:, 3].any()
    alone = conjugate_gradients(applied(A), applied(np.eye(D * K)), X[:, 4:], 1e-10)
    np.testing.assert_allclose(found[:, 4:], alone, rtol=1e-6, atol=1e-9 * scale[4])


def test_conjugate_gradients_tell_that_they_are_not_through(monkeypatch):
    """In the same words whatever is left, and not if their last step, here the second, is enough."""
    values = np.where(np.arange(D) % 2, 1.0, 3.0)[:, None, None]

    def solve(steps, seed=0):
        monkeypatch.setattr(draws, "_MAX_STEPS", steps)
        X = np.random.default_rng(seed).normal(size=(D, 2, K))
        np.testing.assert_allclose(
            conjugate_gradients(lambda Z: values * Z, lambda Z: Z, X, 1e-6),
            X / values,
            atol=1e-6 if steps > 1 else 1.5,
        )

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solve(2)
        assert not caught
        solve(1)
        solve(1, seed=1)
    assert [one.category for one in caught] == [ConvergenceWarning] * 2
    assert len({str(one.message) for one in caught}) == 1


# What the words say


def word_problem(seed=0, sharp=0.3, K=4):
    """Documents of very different lengths, the last of them empty."""
    rng = np.random.default_rng(seed)
    n, V = 10, 25
    beta = rng.dirichlet(np.full(V, sharp), K)
    lam = rng.normal(size=(n, K))
    nu2 = rng.uniform(0.05, 0.8, size=(n, K))
    theta = np.exp(lam) / np.exp(lam).sum(1, keepdims=True)
    lengths = rng.integers(1, 120, size=n)
    X = np.array([rng.multinomial(m, row) for m, row in zip(lengths, theta @ beta, strict=True)])
    X[-1] = 0
    return X.astype(float), beta, lam, nu2


def look(X, beta, lam, nu2, n_jobs=1):
    return see_words(csr_matrix(X), np.ascontiguousarray(beta.T), lam, nu2, n_jobs)


def differences(function, x, h):
    """Gradient by central differences."""
    return np.array(
        [(function(x + step) - function(x - step)) / (2 * h) for step in h * np.eye(len(x))]
    )


def complete_information(x, lam, nu2):
    """What words would say if their topics were known, in the coordinates of contrasts."""
    t = x.sum() * np.exp(lam + nu2 / 2) / np.exp(lam + nu2 / 2).sum()
    Q = contrasts(len(lam))
    return Q.T @ (np.diag(t) - np.outer(t, t) / max(t.sum(), 1e-300)) @ Q


@pytest.mark.parametrize("K", [2, 3, 7])
def test_contrasts_are_what_a_common_shift_leaves(K):
    Q = contrasts(K)
    assert Q.shape == (K, K - 1)
    np.testing.assert_allclose(Q.T @ Q, np.eye(K - 1), atol=1e-12)
    np.testing.assert_allclose(np.ones(K) @ Q, 0.0, atol=1e-12)
    np.testing.assert_allclose(Q @ Q.T, np.eye(K) - 1 / K, atol=1e-12)


@pytest.mark.parametrize("sharp", [0.05, 1.0])
def test_the_gradient_is_that_of_the_bound(sharp):
    X, beta, lam, nu2 = word_problem(sharp=sharp)
    Q = contrasts(4)
    words = look(X, beta, lam, nu2)
    at_lam = words.gradient - np.einsum("dkl,dl->dk", words.information, lam @ Q)
    for d in range(len(X)):

        def word_part(x, d=d):
            return naive.words_and_normaliser(X[d], beta, x, nu2[d])

        expected = differences(word_part, lam[d], 1e-5) @ Q
        np.testing.assert_allclose(at_lam[d], expected, atol=1e-7 * (1 + X[d].sum()))


@pytest.mark.parametrize("sharp", [0.05, 1.0, 30.0])
def test_information_lies_between_its_limits(sharp):
    X, beta, lam, nu2 = word_problem(sharp=sharp)
    for d, information in enumerate(look(X, beta, lam, nu2).information[:-1]):
        np.testing.assert_allclose(information, information.T, atol=1e-12)
        shares = eigh(information, complete_information(X[d], lam[d], nu2[d]), eigvals_only=True)
        assert shares.min() > 0.15 - 1e-6
        assert shares.max() < 1.0 + 1e-6


def test_information_is_the_curvature_of_the_bound_where_that_is_within_limits():
    X, beta, lam, nu2 = word_problem(sharp=0.05)
    Q = contrasts(4)
    compared = 0
    for d, information in enumerate(look(X, beta, lam, nu2).information[:-1]):

        def slope(x, d=d):
            zeta, phi = naive.zeta(x, nu2[d]), naive.phi(x, beta)
            return X[d] @ phi - X[d].sum() / zeta * np.exp(x + nu2[d] / 2)

        curvature = -Q.T @ differences(slope, lam[d], 1e-5) @ Q
        complete = complete_information(X[d], lam[d], nu2[d])
        shares = eigh(0.5 * (curvature + curvature.T), complete, eigvals_only=True)
        if shares.min() > 0.16 and shares.max() < 0.999:
            np.testing.assert_allclose(information, curvature, atol=1e-6 * (1 + X[d].sum()))
            compared += 1
    assert compared >= 3


def test_words_of_one_topic_each_say_all_there_is():
    X, _, lam, nu2 = word_problem()
    beta = np.zeros((4, X.shape[1]))
    beta[np.arange(X.shape[1]) % 4, np.arange(X.shape[1])] = 4 / X.shape[1]
    for d, information in enumerate(look(X, beta, lam, nu2).information):
        expected = complete_information(X[d], lam[d], nu2[d])
        np.testing.assert_allclose(information, expected, atol=1e-9 * (1 + X[d].sum()))


def test_topics_that_are_all_the_same_leave_the_least():
    X, beta, lam, nu2 = word_problem()
    beta = np.tile(beta[:1], (4, 1))
    for d, information in enumerate(look(X, beta, lam, np.zeros_like(nu2)).information):
        expected = 0.15 * complete_information(X[d], lam[d], np.zeros(4))
        np.testing.assert_allclose(information, expected, atol=1e-9 * (1 + X[d].sum()))


def test_an_empty_document_says_nothing():
    X, beta, lam, nu2 = word_problem()
    words = look(X, beta, lam, nu2)
    np.testing.assert_allclose(words.information[-1], 0.0, atol=1e-9)
    np.testing.assert_allclose(words.gradient[-1], 0.0, atol=1e-9)


def test_words_that_no_topic_has_do_no_harm():
    X, beta, lam, nu2 = word_problem()
    X[:, 3] = 2.0
    beta[:, 3] = 0.0
    words = look(X, beta / beta.sum(1, keepdims=True), lam, nu2)
    assert np.isfinite(words.information).all()
    assert np.isfinite(words.gradient).all()


def test_threads_do_not_matter_to_what_words_say():
    X, beta, lam, nu2 = word_problem()
    rows = np.random.default_rng(0).integers(0, len(X), size=2 * BLOCK + 7)
    one, many = (look(X[rows], beta, lam[rows], nu2[rows], n_jobs) for n_jobs in (1, 3))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)
    few = look(X, beta, lam, nu2)
    np.testing.assert_allclose(one.information, few.information[rows], atol=1e-10)


# Parameters for error bars


def corpus(n=60, n_words=60, seed=0):
    """A corpus of the model with groups, as a fit of it would leave: all at the truth."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"g": rng.choice(list("abcdef"), n), "t": np.linspace(0, 10, n)})
    bound = (k.Categorical("g") + k.RBF("t", length_scale=2.0)).bind(Documents(n, frame))
    beta = rng.dirichlet(np.full(30, 0.1), K)
    Sigma, B, mu = 0.4 * np.eye(K), naive.random_covariance(rng, K), np.array([0.5, 0.0, -0.5])
    root = np.linalg.cholesky(bound.gram() + 1e-9 * np.eye(n))
    F = root @ rng.normal(size=(n, K)) @ np.linalg.cholesky(B).T
    eta = mu + F + rng.multivariate_normal(np.zeros(K), Sigma, size=n)
    theta = np.exp(eta) / np.exp(eta).sum(1, keepdims=True)
    X = np.array([rng.multinomial(n_words, row) for row in theta @ beta]).astype(float)
    nu2 = np.full((n, K), 0.05)
    return Fitted(
        bound, csr_matrix(X), np.ascontiguousarray(beta.T), eta, nu2, Gaussian(mu, Sigma, B)
    )


def evidence(bound, words, parameters):
    """log of the words' Gaussian likelihood with eta integrated out, up to a constant."""
    mu, Sigma, B = parameters
    S = naive.marginal_covariance(Sigma, B, bound.gram())
    information = block_diag(*words.information)
    centre = np.tile(mu, bound.n)
    pull = words.gradient.ravel() - information @ centre
    inner = np.eye(len(S)) + S @ information
    offset = words.gradient.ravel() @ centre - 0.5 * centre @ information @ centre
    return (
        offset + 0.5 * pull @ np.linalg.solve(inner, S @ pull) - 0.5 * np.linalg.slogdet(inner)[1]
    )


ALL = {"fit_mean": True, "learn_covariance": True, "learn_kernel": True}


def test_refitting_finds_the_parameters_that_explain_the_words_best():
    fitted = corpus()
    start = fitted.parameters
    far = Gaussian(start.mu + 1.0, 0.2 * start.Sigma, 0.2 * start.B)
    _, posterior = refit(fitted._replace(parameters=far), **(ALL | {"learn_kernel": False}))
    Q = contrasts(K)
    inside = Gaussian(far.mu @ Q, Q.T @ far.Sigma @ Q, Q.T @ far.B @ Q)
    found = posterior.parameters
    np.testing.assert_array_equal(found.B, inside.B)
    best = evidence(fitted.bound, posterior.words, found)
    assert best > evidence(fitted.bound, posterior.words, inside) + 1.0
    for factor in (0.7, 1.4):
        moved = found._replace(Sigma=factor * found.Sigma)
        assert evidence(fitted.bound, posterior.words, moved) < best + 0.3
    for step in 0.3 * np.eye(K - 1):
        for sign in (1, -1):
            moved = found._replace(mu=found.mu + sign * step)
            assert evidence(fitted.bound, posterior.words, moved) < best + 0.1


def test_refitting_finds_strength_and_length_scale():
    fitted = corpus()
    weak = fitted.parameters._replace(B=0.1 * fitted.parameters.B)
    open_bound = (k.Categorical("g") + k.RBF("t")).bind(Documents(fitted.bound.n, frame_of(fitted)))
    short = open_bound.moved([0.3])
    bound, posterior = refit(fitted._replace(parameters=weak, bound=short), **ALL)
    Q, found = contrasts(K), posterior.parameters
    weak = Gaussian(weak.mu @ Q, Q.T @ weak.Sigma @ Q, Q.T @ weak.B @ Q)
    best = evidence(bound, posterior.words, found)
    assert best > evidence(short, posterior.words, weak) + 3.0
    for factor in (0.5, 2.0):
        moved = found._replace(B=factor * found.B)
        assert evidence(bound, posterior.words, moved) < best + 0.5
    (one,) = bound.learnables()
    assert 0.6 < one.value < 6.0
    for factor in (0.4, 2.5):
        there = bound.moved([factor * one.value])
        assert evidence(there, posterior.words, found) < best + 0.5


def frame_of(fitted):
    groups, curve = fitted.bound.bounds
    names = np.array(groups.levels)[groups.codes]
    return pd.DataFrame({"g": names, "t": curve.points[:, 0]})


def test_what_is_not_learnt_stays():
    fitted = corpus()
    bound, posterior = refit(fitted, fit_mean=False, learn_covariance=False, learn_kernel=False)
    Q = contrasts(K)
    mu, Sigma, B = fitted.parameters
    assert bound is fitted.bound
    np.testing.assert_allclose(posterior.parameters.mu, mu @ Q)
    np.testing.assert_allclose(posterior.parameters.Sigma, Q.T @ Sigma @ Q)
    np.testing.assert_allclose(posterior.parameters.B, Q.T @ B @ Q)


def test_refitting_is_the_same_twice_and_for_any_number_of_threads():
    fitted = corpus()
    (_, one), (_, two) = (refit(fitted, n_jobs=n_jobs, **ALL) for n_jobs in (1, 2))
    for a, b in zip(one.parameters, two.parameters, strict=True):
        np.testing.assert_array_equal(a, b)
