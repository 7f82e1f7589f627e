"""The GPLVM: its objective column by column, its slopes by differences, its optimum by what made the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.spatial import procrustes
from scipy.stats import multivariate_normal
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from checks import check_gradient
from experiments.gplvm import embed, fit_gram, gram_of, log_joint, principal_start

D, P, Q = 14, 9, 2
VARIANCE, LENGTH_SCALE, NOISE = 1.3, 0.7, 0.2
PARAMETERS = np.log([VARIANCE, LENGTH_SCALE, NOISE])


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def X(rng):
    return rng.standard_normal((D, Q))


@pytest.fixture(scope="module")
def Y(rng):
    return rng.standard_normal((D, P))


def joined(X):
    return np.concatenate([PARAMETERS, X.ravel()])


def test_objective_is_the_sum_over_columns(X, Y):
    C = VARIANCE * RBF(LENGTH_SCALE)(X) + NOISE * np.eye(D)
    words = multivariate_normal(np.zeros(D), C).logpdf(Y.T).sum()
    prior = multivariate_normal(np.zeros(Q)).logpdf(X).sum()
    assert_allclose(log_joint(joined(X), Y @ Y.T, P)[0], words + prior, rtol=1e-12)


def test_gradient(X, Y):
    S = Y @ Y.T
    check_gradient(lambda v: log_joint(v, S, P)[0], lambda v: log_joint(v, S, P)[1], joined(X))


def test_gram_is_that_of_centred_tfidf(rng):
    counts = csr_matrix(rng.poisson(0.8, (D, P)).astype(float))
    Y = TfidfTransformer(sublinear_tf=True).fit_transform(counts).toarray()
    Y -= Y.mean(0)
    S, p = gram_of(counts)
    assert p == P
    assert_allclose(np.trace(S), D * P)
    assert_allclose(S, Y @ Y.T * (D * P / (Y**2).sum()), atol=1e-12)


def test_start_is_the_principal_components(Y):
    Y = Y - Y.mean(0)
    places = principal_start(Y @ Y.T, P, Q)[3:].reshape(D, Q)
    left = np.linalg.svd(Y)[0][:, :Q]
    assert_allclose(np.abs(places), np.abs(left) * np.sqrt(D), atol=1e-10)


def test_places_that_made_the_data_are_found(rng):
    n, p, noise = 60, 200, 0.1
    X = rng.uniform(-1.5, 1.5, (n, 2))
    C = RBF(1.5)(X) + noise * np.eye(n)
    Y = np.linalg.cholesky(C) @ rng.standard_normal((n, p))
    S = Y @ Y.T
    found = fit_gram(S, p, 2)
    truth = log_joint(np.concatenate([np.log([1.0, 1.5, noise]), X.ravel()]), S, p)[0]
    start = principal_start(S, p, 2)
    assert found.objective > truth > log_joint(start, S, p)[0]
    assert procrustes(X, found.X)[2] < 0.5 * procrustes(X, start[3:].reshape(n, 2))[2]
    assert_allclose(found.noise, noise, rtol=0.1)


def test_same_places_for_any_number_of_threads(rng):
    counts = csr_matrix(rng.poisson(0.3, (80, 200)).astype(float))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(embed(counts, 2).X)
    assert_array_equal(*found)


def test_documents_without_words_have_a_place():
    counts = np.repeat([[3, 2, 0, 0], [0, 0, 2, 3], [0, 0, 0, 0]], 4, axis=0)
    assert np.isfinite(embed(csr_matrix(counts), 2).X).all()
