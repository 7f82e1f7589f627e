"""Scores that others report: against gensim, scikit-learn, scipy and plain loops."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import entropy

from gptm import Corpus, _hot, metrics

WORDS = [f"w{i}" for i in range(30)]


def random_texts(n=60, seed=0, longest=90):
    """Texts with words that repeat inside of windows; some are empty, some shorter than a window."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(len(WORDS), 0.5))
    texts = [[str(w) for w in rng.choice(WORDS, rng.integers(0, longest), p=p)] for _ in range(n)]
    return [*texts, [], WORDS, [*WORDS, *WORDS]]


def random_topics(K=7, n=10, seed=1):
    rng = np.random.default_rng(seed)
    return [[str(w) for w in rng.choice(WORDS, n, replace=False)] for _ in range(K)]


@pytest.mark.parametrize("window", [None, 1, 2, 7, 30, 500])
@pytest.mark.parametrize("name", ["c_v", "c_npmi"])
def test_coherence_is_that_of_gensim(name, window):
    pytest.importorskip("gensim")
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    texts, topics = random_texts(), random_topics()
    model = CoherenceModel(
        topics=topics,
        texts=texts,
        dictionary=Dictionary(texts),
        coherence=name,
        topn=10,
        window_size=window,
        processes=1,
    )
    with np.errstate(all="ignore"):
        expected = model.get_coherence_per_topic()
    options = {} if window is None else {"window": window}
    assert_allclose(getattr(metrics, name)(topics, texts, **options), expected, atol=1e-9)


def naive_counts(tokens_of_texts, n, window):
    """All windows one after the other, with gensim's rule: a word is out once one of its occurrences has left."""
    together, n_windows = np.zeros((n, n), dtype=np.int64), 0
    for tokens in tokens_of_texts:
        inside = set()
        for now in range(max(len(tokens) - window + 1, 1)):
            if now == 0:
                inside = {w for w in tokens[:window] if w >= 0}
            else:
                inside.discard(tokens[now - 1])
                inside |= {tokens[now + window - 1]} - {-1}
            n_windows += 1
            for a in inside:
                together[a, a] += 1
            for a, b in combinations(sorted(inside), 2):
                together[a, b] += 1
    return together, n_windows


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.lists(st.integers(-1, 4), max_size=14), min_size=1, max_size=4),
    window=st.integers(1, 8),
)
def test_windows_are_counted_as_one_by_one(compiled, texts, window):
    expected, n_windows = naive_counts(texts, 5, window)
    together = np.zeros((5, 5), dtype=np.int64)
    tokens = np.array([w for text in texts for w in text], dtype=np.int64)
    ends = np.cumsum([len(text) for text in texts])
    function = _hot.count_windows if compiled else _hot.count_windows.py_func
    since, inside = np.full(5, -1), np.empty(5, dtype=np.int64)
    function(tokens, ends, window, since, inside, together)
    assert_array_equal(np.triu(together) + np.tril(together, -1).T, expected)
    assert (since == -1).all()
    assert n_windows == sum(max(len(text) - window + 1, 1) for text in texts)


def test_topics_come_as_words_or_arrays():
    texts, topics = random_texts(), random_topics(n=4)
    beta = np.zeros((len(topics), len(WORDS)))
    for k, words in enumerate(topics):
        beta[k, [WORDS.index(word) for word in words]] = [0.4, 0.3, 0.2, 0.1]
    numbered = [[WORDS.index(word) for word in text] for text in texts]
    for score in (metrics.c_v, metrics.c_npmi):
        expected = score(topics, texts, n_words=4)
        assert_array_equal(score(beta, texts, WORDS, n_words=4), expected)
        assert_array_equal(score(beta.tolist(), texts, np.array(WORDS), n_words=4), expected)
        assert_array_equal(score(beta, numbered, n_words=4), expected)
        assert_array_equal(score([w[:2] for w in topics], texts), score(topics, texts, n_words=2))


def test_many_topics_are_counted_in_several_passes(monkeypatch):
    texts, topics = random_texts(), random_topics(K=9)
    expected = metrics.c_v(topics, texts)
    monkeypatch.setattr("gptm.metrics.window_coherence._WORDS", 20)
    monkeypatch.setattr("gptm.metrics.window_coherence._AT_ONCE", 50)
    assert_array_equal(metrics.c_v(topics, texts), expected)


def test_words_that_no_text_has_are_never_together():
    texts = [["tea", "milk"], ["tea"], ["war"]]
    assert metrics.c_npmi([["tea", "nowhere"]], texts)[0] == -1.0
    assert np.isfinite(metrics.c_v([["tea", "milk", "nowhere"]], texts)).all()
    assert np.isnan(metrics.c_v([["tea"]], texts)).all()
    score = metrics.c_v([["tea", "nowhere"], ["at", "sea"], ["tea", "milk"]], texts)
    assert np.isnan(score).tolist() == [True, True, False]
    assert np.isnan(metrics.c_npmi([["tea"]], texts)).all()


@pytest.mark.parametrize("score", [metrics.c_v, metrics.c_npmi])
def test_topics_of_which_no_text_has_a_word_have_no_coherence(score):
    texts = [["tea", "war"], ["war", "army"]]
    with pytest.raises(ValueError, match="vocabulary="):
        score(np.eye(3), texts)  # numbers of columns
    with pytest.raises(ValueError, match="'Tea' in the topics and 'tea' in the texts"):
        score([["Tea", "War"]], texts)
    with pytest.raises(ValueError, match="None in the texts"):
        score([["tea", "war"]], [[], []])


def test_bad_texts_and_topics():
    with pytest.raises(
        ValueError, match=r"texts must be lists of tokens; got texts as strings. Spl"
    ):
        metrics.c_v([["a", "b"]], ["a b"])
    with pytest.raises(ValueError, match="at least one text"):
        metrics.c_npmi([["a", "b"]], [])
    with pytest.raises(ValueError, match="topics must be an array, or a list of words"):
        metrics.c_v(["ab"], [["a"]])
    with pytest.raises(ValueError, match="expected 2 words"):
        metrics.c_v([[0.5, 0.5]], [["a"]], ["a"])
    with pytest.raises(ValueError, match="window must be"):
        metrics.c_v([["a", "b"]], [["a"]], window=0)


def test_topics_are_scored_by_the_words_of_a_corpus():
    rng = np.random.default_rng(0)
    themes = ["tea cup milk leaf", "war army navy peace"]
    texts = [" ".join(rng.permutation(themes[i % 2].split())) for i in range(40)]
    corpus = Corpus.from_texts(texts, stop_words=None)
    tokens = [corpus.words.tokenizer()(text) for text in texts]
    beta = np.array([[word in theme for word in corpus.vocabulary] for theme in themes]) + 0.0
    good = metrics.c_npmi(beta, tokens, corpus.vocabulary, n_words=4)
    mixed = metrics.c_npmi([["tea", "war", "cup", "army"]], tokens)
    assert_allclose(good, 1.0)
    assert mixed[0] < 0


# Diversity


def naive_rbo(a, b, p):
    """Webber et al., eq. 32, for lists of one length: agreement to the end, and the last one from there on."""
    depth = len(a)
    total = 0.0
    for d in range(1, depth + 1):
        total += (1 - p) * p ** (d - 1) * len(set(a[:d]) & set(b[:d])) / d
    rest = 1 - (1 - p) * sum(p ** (d - 1) for d in range(1, depth + 1))
    return total + rest * len(set(a) & set(b)) / depth


@pytest.mark.parametrize("weight", [0.3, 0.9, 0.99])
def test_rank_biased_overlap_is_the_sum_over_depths(weight):
    topics = random_topics()
    expected = 1 - np.mean([naive_rbo(a, b, weight) for a, b in combinations(topics, 2)])
    assert metrics.inverted_rbo(topics, weight=weight) == pytest.approx(expected, rel=1e-12)


def test_rank_biased_overlap_of_arrays_and_limits():
    beta = np.random.default_rng(0).dirichlet(np.ones(12), 4)
    words = [[str(w) for w in row] for row in metrics.top_words(beta, 5)]
    assert metrics.inverted_rbo(beta, 5) == metrics.inverted_rbo(words, 5)
    assert metrics.inverted_rbo(np.eye(3), 1) == 1.0
    assert metrics.inverted_rbo([["a", "b"]] * 3) == pytest.approx(0.0, abs=1e-15)
    assert math.isnan(metrics.inverted_rbo([["a"]]))
    with pytest.raises(ValueError, match="weight must lie between 0 and 1"):
        metrics.inverted_rbo(beta, weight=1.0)


# Clusters


def test_purity_and_mutual_information_are_those_of_their_definitions():
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(4), 200)
    labels = rng.choice(["a", "b", "c"], 200)
    clusters = theta.argmax(1)
    by_cluster = [Counter(labels[clusters == k]) for k in range(4)]
    expected = sum(max(counts.values()) for counts in by_cluster) / 200
    assert metrics.purity(theta, labels) == pytest.approx(expected)
    joint = np.array([[np.mean((clusters == k) & (labels == n)) for n in "abc"] for k in range(4)])
    information = entropy(joint.sum(0)) + entropy(joint.sum(1)) - entropy(joint.ravel())
    mean = (entropy(joint.sum(0)) + entropy(joint.sum(1))) / 2
    assert metrics.nmi(theta, labels) == pytest.approx(information / mean, rel=1e-9)
    for score in (metrics.purity, metrics.nmi):
        assert score(clusters, labels) == score(theta, labels)
        assert score(labels, labels) == pytest.approx(1.0)


def test_documents_without_a_label_do_not_count():
    theta = np.eye(2)[[0, 0, 1, 1, 0]]
    labels = ["a", "a", "b", None, float("nan")]
    assert metrics.purity(theta, labels) == 1.0
    assert metrics.nmi(theta, labels) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="one label for each of 5 documents; got 2 labels"):
        metrics.nmi(theta, ["a", "b"])
    with pytest.raises(ValueError, match="at least one label"):
        metrics.purity(theta, [None] * 5)
    with pytest.raises(ValueError, match="theta must have one row"):
        metrics.purity(np.zeros((0, 2)), [])


# Significance


def test_significance_is_the_divergence_of_scipy():
    rng = np.random.default_rng(0)
    beta, theta = rng.dirichlet(np.ones(9), 3), rng.dirichlet(np.ones(3), 20)
    beta[1, 4] = 0.0
    beta /= beta.sum(1, keepdims=True)
    uniform, mean = np.full(9, 1 / 9), theta.mean(0) @ beta
    score = metrics.topic_significance
    assert_allclose(score(beta), [entropy(row, uniform) for row in beta])
    assert_allclose(score(beta, theta, "vacuous"), [entropy(row, mean) for row in beta])
    by_topic = [entropy(column / column.sum(), np.full(20, 1 / 20)) for column in theta.T]
    assert_allclose(score(beta, theta, "background"), by_topic)
    assert_allclose(score([[0.5, 0.5], [1.0, 0.0]], np.ones((4, 2)), "background"), 0.0, atol=1e-15)
    assert_array_equal(score([[0.0, 0.0], [0.5, 0.5]]), [0.0, 0.0])


def test_significance_needs_proportions_of_these_topics():
    beta = np.full((2, 3), 1 / 3)
    with pytest.raises(ValueError, match="theta must have the proportions of documents"):
        metrics.topic_significance(beta, against="vacuous")
    with pytest.raises(ValueError, match="2 columns, one per topic; got shape"):
        metrics.topic_significance(beta, np.ones((4, 3)), "background")
    with pytest.raises(ValueError, match="against must be one of"):
        metrics.topic_significance(beta, against="nothing")
