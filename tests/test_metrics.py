"""Scores against plain loops, and the split of words that they rest on."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_matrix, csr_array, csr_matrix, issparse

from gptm import CTM, Corpus, metrics
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
        with pytest.raises(ValueError, match=r"(?s)no words to score.*more words"):
            function(theta, beta, np.zeros((3, 15)))
        with pytest.raises(ValueError, match="no document with a weight above zero"):
            function(theta, beta, np.eye(3, 15), sample_weight=np.zeros(3))
    model = CTM(2, random_state=0).fit(random_counts())
    for method in (model.score, model.perplexity):
        with pytest.raises(ValueError, match=r"no words to score.*none left to hold out"):
            method(np.eye(3, 15, dtype=int))


@pytest.mark.parametrize("function", [log_likelihood, mean_log_likelihood, perplexity])
def test_shapes_that_do_not_fit_are_errors(function):
    theta, topics = random_model(3)
    X = random_counts()[:3]
    with pytest.raises(ValueError, match=r"theta must .* expected shape \(3, 4\), got \(2, 4\)"):
        function(theta=theta[:2], topics=topics, counts=X)
    with pytest.raises(ValueError, match=r"theta must .* expected shape \(3, 4\), got \(5, 4\)"):
        function(np.ones((5, 4)) / 4, topics, X)  # more rows would go unnoticed otherwise
    with pytest.raises(ValueError, match=r"expected shape \(3, 4\), got \(3, 3\)"):
        function(theta[:, :3], topics, X)
    with pytest.raises(ValueError, match="word of the topics: expected 15, got 14"):
        function(theta, topics, X[:, :14])  # fewer words as well
    with pytest.raises(ValueError, match="topics must be an array"):
        function(theta, topics[0], X)
    assert_array_equal(
        function(theta.tolist(), topics.tolist(), X.tolist()), function(theta, topics, X)
    )


def test_weights_of_documents_are_repetitions():
    theta, topics = random_model(4)
    X, weight = random_counts(4, seed=1), np.array([2, 0, 1, 3])
    twice = np.repeat(np.arange(4), weight)
    for function in (mean_log_likelihood, perplexity):
        assert function(theta, topics, X, sample_weight=weight) == pytest.approx(
            function(theta[twice], topics, X[twice]), rel=1e-12
        )
        with pytest.raises(ValueError, match=r"sample_weight .* expected shape \(4,\), got \(3,\)"):
            function(theta, topics, X, sample_weight=weight[:3])
        for odd in (-1.0, np.nan, np.inf):
            with pytest.raises(ValueError, match=r"sample_weight .* numbers of zero or more"):
                function(theta, topics, X, sample_weight=[odd, 1.0, 1.0, 1.0])


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
    names = ["log_likelihood", "perplexity", "split_tokens", "top_words", "npmi_coherence", "frex"]
    names += ["exclusivity", "lift", "prominence", "relevance", "word_scores", "topic_diversity"]
    for name in names:
        assert callable(getattr(metrics, name))


def test_split_of_a_huge_count():
    seen, rest = split_tokens([[3e12, 5]], observed=0.25)
    assert (seen + rest).toarray().tolist() == [[3e12, 5]]
    assert_allclose(seen[0, 0] / 3e12, 0.25, rtol=1e-4)


# Topics in words


def random_topics(K=4, V=15, seed=0):
    """Topics with probabilities of zero, ties, and a word (the last) that no topic has."""
    beta = np.random.default_rng(seed).dirichlet(np.full(V, 0.5), K)
    beta[0, 2] = beta[1, 3] = 0.0
    beta[2, 4] = beta[2, 5]
    beta[:, -1] = 0.0
    return beta / beta.sum(axis=1, keepdims=True)


def best(values, n):
    """The n largest, one by one; of equal values the first."""
    left, found = list(range(len(values))), []
    while left and len(found) < n:
        top = max(left, key=lambda w: (values[w], -w))
        left.remove(top)
        found.append(top)
    return found


def npmi_of_pair(X, v, w):
    D = len(X)
    with_v = sum(X[d, v] > 0 for d in range(D)) / D
    with_w = sum(X[d, w] > 0 for d in range(D)) / D
    both = sum(X[d, v] > 0 and X[d, w] > 0 for d in range(D)) / D
    if both == 0:
        return -1.0
    return 0.0 if both == 1 else np.log(both / (with_v * with_w)) / -np.log(both)


def rank(values, w):
    """Of value w among all, counted from 1; equal values share the mean of their ranks."""
    below = sum(v < values[w] for v in values)
    same = sum(v == values[w] for v in values)
    return below + (same + 1) / 2


def part(beta, i, w):
    total = sum(beta[j, w] for j in range(len(beta)))
    return beta[i, w] / total if total > 0 else 0.0


def test_top_words_are_those_of_a_loop():
    beta = random_topics()
    for n in (1, 3, 15, 40):
        assert metrics.top_words(beta, n).tolist() == [best(row, n) for row in beta]


odd_weights = st.sampled_from([0.0, 0.25, 0.25, 1.0, -1.0, -np.inf, np.inf, np.nan])


@settings(max_examples=50)
@given(
    arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 9)), elements=odd_weights),
    st.integers(1, 12),
)
def test_top_words_are_those_of_a_stable_sort(weights, n):
    in_order = np.argsort(-weights, axis=1, kind="stable")
    assert_array_equal(metrics.top_words(weights, n), in_order[:, :n])


@pytest.mark.parametrize("make", [np.asarray, csr_matrix, csr_array, coo_matrix, np.ndarray.tolist])
@pytest.mark.parametrize("n_words", [2, 5, 15])
def test_coherence_is_that_of_a_loop(make, n_words):
    beta, X = random_topics(), random_counts()
    X[:, 0] += 1  # in every document
    X[:, 1] *= np.arange(40) < 3  # rare: some pairs never meet
    X[:, 6] = 0  # never
    expected = [
        np.mean([npmi_of_pair(X, v, w) for v, w in combinations(best(row, n_words), 2)])
        for row in beta
    ]
    assert_allclose(metrics.npmi_coherence(beta, make(X), n_words), expected, rtol=1e-12)


def test_coherence_goes_from_never_to_only_together():
    topics = np.eye(4)[:2] + np.eye(4)[1:3] + 1e-9
    assert_allclose(metrics.npmi_coherence(topics, [[1, 2, 0, 0], [0, 0, 1, 0]], 2), [1, -1])
    assert_allclose(metrics.npmi_coherence(topics, np.ones((3, 4)), 2), [0, 0])
    independent = np.repeat([[0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 0]], 5, axis=0)
    assert_allclose(metrics.npmi_coherence(topics, independent, 2), [0, 0], atol=1e-12)


def test_coherence_asks_whether_a_word_occurs_not_how_often():
    beta, X = random_topics(), random_counts()
    expected = metrics.npmi_coherence(beta, X)
    assert_array_equal(metrics.npmi_coherence(beta, 0.25 * X**2), expected)
    zeros = csr_matrix(X.astype(float))
    zeros.data[::3] = 0.0  # stored, but zeros
    assert_array_equal(
        metrics.npmi_coherence(beta, zeros), metrics.npmi_coherence(beta, zeros.toarray())
    )


def test_coherence_is_that_of_gensim():
    reason = "gensim, the second source of the coherence, is not installed"
    coherencemodel = pytest.importorskip("gensim.models.coherencemodel", reason=reason)
    corpora = pytest.importorskip("gensim.corpora", reason=reason)
    X = np.random.default_rng(1).poisson(1.0, (60, 12))
    X[:, 0] += 1  # no document is empty: gensim would not count it
    beta = np.random.default_rng(2).dirichlet(np.full(12, 0.5), 5)
    texts = [[f"w{w:02}" for w in range(12) for _ in range(row[w])] for row in X]
    words = [[f"w{w:02}" for w in row] for row in metrics.top_words(beta, 6)]
    by_gensim = coherencemodel.CoherenceModel(
        topics=words,
        texts=texts,
        dictionary=corpora.Dictionary(texts),
        coherence="c_npmi",
        window_size=1000,  # whole documents
        topn=6,
        processes=1,
    )
    occurs = (X > 0).astype(int)
    assert (occurs.T @ occurs).min() > 0  # where the definitions agree
    found = metrics.npmi_coherence(beta, X, 6)
    assert_allclose(found, by_gensim.get_coherence_per_topic(), atol=1e-9)


def test_one_word_has_no_coherence():
    with np.errstate(all="raise"):
        assert np.isnan(metrics.npmi_coherence([[1.0], [1.0]], [[1], [0]])).all()
        assert np.isnan(metrics.npmi_coherence(random_topics(), random_counts(), 1)).all()


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
def test_frex_is_the_harmonic_mean_of_two_ranks(weight):
    beta = random_topics()
    found = metrics.frex(beta, weight)
    assert found.shape == beta.shape
    for i in range(4):
        parts = [part(beta, i, w) for w in range(15)]
        for w in range(15):
            frequency, exclusive = rank(beta[i], w) / 15, rank(parts, w) / 15
            expected = 1 / (weight / exclusive + (1 - weight) / frequency)
            assert found[i, w] == pytest.approx(expected, rel=1e-12)
    assert_array_equal(metrics.frex(beta), metrics.frex(beta, 0.5))


def test_prominence_damps_words_that_every_document_has():
    beta, rates = random_topics(), np.arange(15.0) ** 2
    found = metrics.prominence(beta, rates)
    for i in range(4):
        for w in range(15):
            assert found[i, w] == pytest.approx(beta[i, w] / (w**2 + 0.1) ** 0.6, rel=1e-12)
    rare = metrics.prominence(beta, 1e-6 * rates)
    assert_array_equal(metrics.top_words(rare), metrics.top_words(beta))
    assert_array_equal(metrics.prominence(beta, np.zeros(15)), beta * 0.1**-0.6)


def test_exclusivity_is_that_of_a_loop():
    beta = random_topics()
    for n in (1, 5, 40):
        expected = [np.mean([part(beta, i, w) for w in best(beta[i], n)]) for i in range(4)]
        assert_allclose(metrics.exclusivity(beta, n), expected, rtol=1e-12)


def test_exclusivity_of_equal_and_of_separate_topics():
    assert_allclose(metrics.exclusivity(np.full((4, 8), 1 / 8)), 0.25)
    assert_allclose(metrics.exclusivity(np.kron(np.eye(3), [[0.5, 0.5]]), 2), 1.0)


def test_lift_and_relevance_are_those_of_a_loop():
    beta, counts = random_topics(), random_counts().sum(axis=0)
    counts[7] = 0  # a word that never occurs has no lift
    found = metrics.lift(beta, counts)
    relevances = {share: metrics.relevance(beta, counts, share) for share in (0.0, 0.6, 1.0)}
    for i in range(4):
        for w in range(15):
            lifted = beta[i, w] / (counts[w] / counts.sum()) if counts[w] else 0.0
            assert found[i, w] == pytest.approx(lifted, rel=1e-12)
            for share, relevance in relevances.items():
                if lifted > 0:
                    expected = share * np.log(beta[i, w]) + (1 - share) * np.log(lifted)
                    assert relevance[i, w] == pytest.approx(expected, rel=1e-12, abs=1e-12)
                else:
                    assert relevance[i, w] == -np.inf
    assert_allclose(metrics.lift(beta, counts / counts.sum()), found, rtol=1e-12)
    assert_array_equal(metrics.relevance(beta, counts), relevances[0.6])


def test_relevance_goes_from_lift_to_probability():
    beta, counts = random_topics(), random_counts().sum(axis=0)
    by_lift = metrics.top_words(metrics.relevance(beta, counts, 0.0), 5)
    assert_array_equal(by_lift, metrics.top_words(metrics.lift(beta, counts), 5))
    by_probability = metrics.top_words(metrics.relevance(beta, counts, 1.0), 5)
    assert_array_equal(by_probability, metrics.top_words(beta, 5))


def test_word_scores_are_those_of_a_loop():
    beta = np.random.default_rng(0).dirichlet(np.ones(9), 4)
    found = metrics.word_scores(beta)
    for i in range(4):
        for w in range(9):
            mean = sum(np.log(beta[j, w]) for j in range(4)) / 4
            expected = beta[i, w] * (np.log(beta[i, w]) - mean)
            assert found[i, w] == pytest.approx(expected, rel=1e-10, abs=1e-15)


def test_word_scores_of_impossible_words_are_zero():
    beta = random_topics()
    scores = metrics.word_scores(beta)
    assert np.isfinite(scores).all()
    assert not scores[beta == 0].any()
    assert scores[1, 2] > scores[1, 3]  # a word that topic 0 cannot have tells topic 1 from it


def test_diversity_counts_different_words():
    beta = random_topics()
    for n in (1, 3, 15, 40):
        lists = [best(row, n) for row in beta]
        expected = len(set().union(*lists)) / sum(map(len, lists))
        assert metrics.topic_diversity(beta, n) == expected
    assert metrics.topic_diversity(np.kron(np.eye(3), np.full((1, 25), 0.04))) == 1.0
    assert metrics.topic_diversity(np.tile(beta[:1], (4, 1)), 3) == 0.25


@settings(max_examples=60, deadline=None)
@given(
    beta=arrays(np.float64, (3, 6), elements=st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.5])),
    X=arrays(np.int64, (4, 6), elements=st.integers(0, 2)),
)
def test_scores_of_topics_stay_within_their_bounds(beta, X):
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        assert (np.abs(metrics.npmi_coherence(beta, X)) <= 1 + 1e-12).all()
        assert ((metrics.frex(beta) > 0) & (metrics.frex(beta) <= 1)).all()
        assert ((metrics.exclusivity(beta) >= 0) & (metrics.exclusivity(beta) <= 1)).all()
        assert np.isfinite(metrics.word_scores(beta)).all()
        if X.sum() > 0:
            assert (metrics.lift(beta, X.sum(axis=0)) >= 0).all()
            assert not np.isnan(metrics.relevance(beta, X.sum(axis=0), 0.3)).any()
        assert 1 / 3 <= metrics.topic_diversity(beta, 2) <= 1


def test_measures_of_topics_say_what_is_wrong():
    beta, X = random_topics(), random_counts()
    with pytest.raises(ValueError, match=r"(?s)counts.*expected 15, got 14.*vocabulary"):
        metrics.npmi_coherence(beta, X[:, 1:])
    with pytest.raises(ValueError, match=r"an array of numbers.*<object object.*components_"):
        metrics.npmi_coherence(object(), X)
    with pytest.raises(ValueError, match=r"an array of numbers.*Corpus.*corpus\.counts"):
        metrics.npmi_coherence(beta, Corpus(X))
    for function in (metrics.frex, metrics.exclusivity, metrics.word_scores, metrics.top_words):
        with pytest.raises(ValueError, match=r"(?s)one row per topic.*\(15,\).*components_"):
            function(beta[0])
    for wrong in (0, 2.5, "ten", True):
        with pytest.raises(ValueError, match="n_words"):
            metrics.top_words(beta, wrong)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="weight must lie between 0"):
            metrics.frex(beta, wrong)
        with pytest.raises(ValueError, match="lambda_ must lie between 0"):
            metrics.relevance(beta, X.sum(axis=0), wrong)
    with pytest.raises(ValueError, match=r"(?s)word_counts.*\(15,\), got \(40, 15\).*Sum"):
        metrics.lift(beta, X)
    with pytest.raises(ValueError, match=r"(?s)word_rates.*\(15,\), got \(40, 15\).*mean"):
        metrics.prominence(beta, X)
    for wrong in (np.full(15, np.nan), np.arange(-1, 14)):
        with pytest.raises(ValueError, match="word_rates must be finite numbers of zero or more"):
            metrics.prominence(beta, wrong)
    for wrong in (np.zeros(15), np.full(15, np.nan), np.arange(-1, 14)):
        with pytest.raises(ValueError, match="word_counts must be finite numbers of zero or more"):
            metrics.lift(beta, wrong)
