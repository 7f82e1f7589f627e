"""Scores against plain loops, and the split of words that they rest on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_matrix, csr_array, csr_matrix, issparse

from gptm import CTM, metrics
from gptm.metrics import log_likelihood, mean_log_likelihood, perplexity, split_tokens


def random_counts(D=40, V=15, seed=0):
    X = np.random.default_rng(seed).poisson(1.0, (D, V))
    X[3] = 0
    return X


def totals(matrix):
    return np.asarray(matrix.sum(axis=1)).ravel()


# Splitting


@pytest.mark.parametrize("observed", [0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("make", [np.asarray, csr_matrix, csr_array, coo_matrix, np.ndarray.tolist])
def test_the_parts_add_up(observed, make):
    X = random_counts()
    seen, rest = split_tokens(make(X), observed)
    assert issparse(seen)
    assert seen.shape == rest.shape == X.shape
    assert_array_equal((seen + rest).toarray(), X)
    assert seen.min() >= 0
    assert rest.min() >= 0
    assert_array_equal(totals(seen), np.ceil(observed * X.sum(axis=1)))
    for part in (seen, rest):
        assert (part.data != 0).all()
        part.check_format(full_check=True)


def test_the_given_counts_are_left_alone():
    for dtype in (np.float64, np.int64):
        X = csr_matrix(random_counts().astype(dtype))
        before = X.copy()
        split_tokens(X)
        assert_array_equal(X.toarray(), before.toarray())
        assert_array_equal(X.indices, before.indices)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(np.int64, (4, 5), elements=st.integers(0, 40)),
    observed=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_split_adds_up(X, observed, seed):
    seen, rest = split_tokens(X, observed, seed)
    assert_array_equal((seen + rest).toarray(), X)
    assert_array_equal(totals(seen), np.ceil(observed * X.sum(axis=1)))
    assert_array_equal(seen.toarray(), np.round(seen.toarray()))


def test_the_split_is_seeded():
    X = random_counts()
    first, again, other = (split_tokens(X, 0.5, seed)[0].toarray() for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert (first != other).any()
    assert_array_equal(first, split_tokens(X)[0].toarray())
    drawn = [split_tokens(X, 0.5, None)[0].toarray() for _ in range(2)]
    assert (drawn[0] != drawn[1]).any()


def test_a_split_does_not_depend_on_the_container():
    X = random_counts()
    assert_array_equal(split_tokens(X)[0].toarray(), split_tokens(csr_matrix(X))[0].toarray())


def test_every_token_has_the_same_chance():
    X = np.tile([[8, 4, 0, 2, 1]], (4000, 1))
    seen, _ = split_tokens(X, 0.4)
    share = np.asarray(seen.sum(axis=0)).ravel()[[0, 1, 3, 4]] / X.sum(axis=0)[[0, 1, 3, 4]]
    assert_allclose(share, 0.4, atol=0.02)  # ceil(0.4 * 15) = 6 of 15 tokens


def test_documents_of_one_token_hold_nothing_out():
    seen, rest = split_tokens(np.eye(3, dtype=int), 0.5)
    assert_array_equal(seen.toarray(), np.eye(3))
    assert rest.sum() == 0


def test_fractions_of_a_count_move_as_one_piece():
    X = np.random.default_rng(0).gamma(1.0, 2.0, (200, 10))
    seen, rest = split_tokens(X, 0.5)
    assert_allclose((seen + rest).toarray(), X, rtol=1e-14)
    fraction = X - np.floor(X)
    moved = seen.toarray() - np.floor(seen.toarray() + 1e-9)
    kept = np.isclose(moved, 0.0, atol=1e-8)
    assert (kept | np.isclose(moved, fraction, atol=1e-8)).all()
    assert 0.45 < 1 - kept.mean() < 0.55
    assert seen.min() >= 0
    assert rest.min() >= -1e-12


def test_large_counts_are_split_fast():
    X = np.array([[1_000_000, 5, 0], [0, 3_000_000, 1]])
    seen, rest = split_tokens(X, 0.5)
    assert_array_equal((seen + rest).toarray(), X)
    assert_array_equal(totals(seen), [500_003, 1_500_001])


@pytest.mark.parametrize("observed", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_the_share_must_lie_between_none_and_all(observed):
    with pytest.raises(ValueError, match="observed must lie between 0 and 1"):
        split_tokens(random_counts(), observed)


# Scoring


def random_model(D=40, V=15, K=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(K), D), rng.dirichlet(np.ones(V), K)


def loop(theta, beta, X):
    """log p of each document, word by word."""
    result = []
    for d in range(len(X)):
        total = 0.0
        for w in range(X.shape[1]):
            probability = sum(theta[d, i] * beta[i, w] for i in range(len(beta)))
            total += X[d, w] * np.log(probability)
        result.append(total)
    return np.array(result)


@pytest.mark.parametrize("make", [np.asarray, csr_matrix, csr_array, coo_matrix])
def test_log_likelihood_and_perplexity_are_those_of_a_loop(make):
    X = random_counts()
    theta, beta = random_model()
    expected = loop(theta, beta, X)
    assert_allclose(log_likelihood(theta, beta, make(X)), expected, rtol=1e-12)
    assert log_likelihood(theta, beta, make(X))[3] == 0.0  # an empty document
    mean = expected.sum() / X.sum()
    assert mean_log_likelihood(theta, beta, make(X)) == pytest.approx(mean, rel=1e-12)
    assert perplexity(theta, beta, make(X)) == pytest.approx(np.exp(-mean), rel=1e-12)


def test_perplexity_of_uniform_topics_is_the_number_of_words():
    theta, _ = random_model()
    assert perplexity(theta, np.full((4, 15), 1 / 15), random_counts()) == pytest.approx(15.0)


def test_perplexity_of_a_sure_guess_is_one():
    X = np.array([[3, 0], [0, 5]])
    assert perplexity(np.eye(2), np.eye(2), X) == pytest.approx(1.0)


def test_an_impossible_word_is_very_unlikely_but_not_nan():
    value = perplexity(np.eye(2), np.eye(2), np.array([[1, 1], [0, 1]]))
    assert value > 1e50
    assert not np.isnan(value)


def test_fractional_counts_weigh_as_much_as_they_are():
    theta, beta = random_model()
    X = random_counts() * 0.37
    assert_allclose(log_likelihood(theta, beta, X), loop(theta, beta, X), rtol=1e-12)
    assert perplexity(theta, beta, X) == pytest.approx(perplexity(theta, beta, random_counts()))


def test_nothing_to_score_is_an_error():
    theta, beta = random_model(3)
    for function in (perplexity, mean_log_likelihood):
        with pytest.raises(ValueError, match=r"(?s)no held-out token.*more words"):
            function(theta, beta, np.zeros((3, 15)))
    model = CTM(2, random_state=0).fit(random_counts())
    for method in (model.score, model.perplexity):
        with pytest.raises(ValueError, match="no held-out token"):
            method(np.eye(3, 15, dtype=int))


# A model's own scores


def test_score_and_perplexity_are_document_completion():
    X, new = random_counts(), random_counts(seed=1)
    model = CTM(3, random_state=0).fit(X)
    for observed in (0.2, 0.5):
        seen, rest = split_tokens(new, observed, 0)
        by_hand = perplexity(model.transform(seen), model.components_, rest)
        assert model.perplexity(new, observed=observed) == pytest.approx(by_hand, rel=1e-12)
    assert model.perplexity(new) == model.perplexity(new, observed=0.5)
    assert model.score(new) == pytest.approx(-np.log(model.perplexity(new)), rel=1e-12)
    assert model.score(new) == model.score(new)


def test_more_words_seen_predict_the_others_better():
    rng = np.random.default_rng(0)
    beta = rng.dirichlet(np.full(30, 0.1), 3)
    theta = rng.dirichlet(np.full(3, 0.2), 150)
    X = np.array([rng.multinomial(60, row) for row in theta @ beta])
    model = CTM(3, random_state=0).fit(X[:100])
    shares = [model.perplexity(X[100:], observed=share) for share in (0.05, 0.2, 0.5)]
    assert shares[0] > shares[1] > shares[2]
    best = perplexity(theta[100:], beta, split_tokens(X[100:], 0.5, 0)[1])
    assert best < shares[2] < 1.1 * best


def test_public_names_are_there():
    for name in ("log_likelihood", "perplexity", "split_tokens"):
        assert callable(getattr(metrics, name))


def test_split_of_a_huge_count():
    seen, rest = split_tokens([[3e12, 5]], observed=0.25)
    assert (seen + rest).toarray().tolist() == [[3e12, 5]]
    assert_allclose(seen[0, 0] / 3e12, 0.25, rtol=1e-4)
