"""The generative process: what it draws has the moments that the model says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

import naive
from gptm.prediction.simulate import sample_documents


def within_standard_errors(draws, expected, errors=5):
    """True when the mean of the draws (first axis) is as expected, entry by entry."""
    standard_error = draws.std(axis=0) / np.sqrt(len(draws))
    return np.all(np.abs(draws.mean(axis=0) - expected) <= errors * standard_error + 1e-12)


def draw(p, n_draws=1, seed=0, length=5, **changes):
    """Latent variables of n_draws corpora, one after the other."""
    rng = np.random.RandomState(seed)
    arguments = {"lengths": np.full(len(p.Kxx), length), "B": p.B, "Kxx": p.Kxx, **changes}
    return [sample_documents(p.beta, p.mu, p.Sigma, rng=rng, **arguments) for _ in range(n_draws)]


@pytest.mark.parametrize("singular", [False, True])
def test_moments_of_F(singular):
    """vec F ~ N(0, Kxx (x) B)."""
    p = naive.random_problem(0, D=4, singular=singular)
    vec_F = np.array([latent.F.ravel() for _, latent in draw(p, 4000)])
    products = vec_F[:, :, None] * vec_F[:, None, :]
    assert within_standard_errors(vec_F, 0)
    assert within_standard_errors(products, np.kron(p.Kxx, p.B))
    assert not within_standard_errors(products, np.kron(p.Kxx, np.diag(np.diag(p.B))))


def test_moments_of_eta():
    """eta - F ~ N(mu, Sigma), whatever F is."""
    p = naive.random_problem(1, D=200)
    _, latent = draw(p, seed=1)[0]
    noise = latent.eta - latent.F - p.mu
    assert within_standard_errors(noise, 0)
    assert within_standard_errors(noise[:, :, None] * noise[:, None, :], p.Sigma)
    assert within_standard_errors(noise[:, :, None] * latent.F[:, None, :], 0)
    assert_allclose(latent.theta, softmax(latent.eta, axis=1), rtol=1e-12)


def test_words_come_from_the_documents_mixture():
    p = naive.random_problem(2)
    counts, latent = draw(p, length=100_000)[0]
    probability = latent.theta @ p.beta
    error = np.sqrt(probability * (1 - probability) / 100_000)
    assert np.all(np.abs(counts.toarray() / 100_000 - probability) <= 5 * error + 1e-9)


def test_lengths_are_exact():
    p = naive.random_problem(3)
    lengths = np.array([0, 1, 7, 0, 300, 2, 5])
    counts, _ = draw(p, lengths=lengths)[0]
    assert counts.shape == p.X.shape
    assert np.array_equal(np.asarray(counts.sum(axis=1)).ravel(), lengths)


@pytest.mark.parametrize("missing", ["Kxx", "B"])
def test_without_a_kernel_there_are_no_means(missing):
    p = naive.random_problem(4)
    _, latent = draw(p, **{missing: None})[0]
    assert np.array_equal(latent.F, np.zeros((7, 3)))


def test_singular_covariances():
    """Sigma = 0 leaves mu + F; B of rank one moves all topics along one direction."""
    p = naive.random_problem(5)
    v = np.array([1.0, -2.0, 0.5])
    p = p._replace(Sigma=np.zeros((3, 3)), B=np.outer(v, v))
    _, latent = draw(p)[0]
    assert_allclose(latent.eta, p.mu + latent.F, rtol=1e-12)
    along = latent.F @ v / (v @ v)
    assert_allclose(latent.F, np.outer(along, v), atol=1e-7)
    assert np.abs(along).min() > 1e-4


def test_the_seed_decides():
    p = naive.random_problem(6)
    (one, _), (again, _), (other, _) = draw(p)[0], draw(p)[0], draw(p, seed=1)[0]
    assert np.array_equal(one.toarray(), again.toarray())
    assert not np.array_equal(one.toarray(), other.toarray())
