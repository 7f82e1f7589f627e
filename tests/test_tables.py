"""What people read in a fitted model: topics in words, representative documents, correlations."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import gptm
from checks import fitted_value
from gptm import CTM, GPTM, Corpus, metrics
from gptm import kernels as k
from gptm.tables import correlation_table, topic_table

D, V, K = 60, 24, 3


def three_topics(rng):
    """Topics over words of their own, and a few that all share."""
    beta = np.full((K, V), 0.002)
    for i in range(K):
        beta[i, 6 * i : 6 * i + 6] = rng.uniform(0.5, 1.0, 6)
    beta[:, 18:] += rng.uniform(0.5, 1.5, 6)
    return beta / beta.sum(axis=1, keepdims=True)


def counts_of_topics(seed=0):
    """Documents of three topics, one of them empty, and their time: the first topic rises with it."""
    rng = np.random.default_rng(seed)
    beta = three_topics(rng)
    theta = rng.dirichlet(np.full(K, 0.2), D)
    X = np.array([rng.multinomial(30, p) for p in theta @ beta])
    X[7] = 0
    return X, {"t": 10.0 * theta[:, 0]}


X, TIME = counts_of_topics()
WORDS = [f"word{w}" for w in range(V)]
TEXTS = [f"text {d} " + "x" * 300 * (d % 2) for d in range(D)]
CORPUS = Corpus(X, WORDS, ids=[f"id{d}" for d in range(D)], texts=TEXTS)


def fitted(model, X=X, **data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).set_params(random_state=0, max_iter=30).fit(X, **data)


@pytest.fixture(scope="module")
def model():
    return fitted(CTM(K), CORPUS)


# Topics


def test_topics_have_words_and_scores(model):
    table = model.topics(4)
    assert table.columns.tolist() == [
        "words",
        "probable",
        "frex",
        "lift",
        "score",
        "coherence",
        "exclusivity",
        "share",
    ]
    assert table.index.tolist() == [0, 1, 2]
    assert table.index.name == "topic"
    beta = model.components_
    share = np.array([sum(model.doc_topics_[:, i]) for i in range(K)]) / len(X)
    assert_allclose(table["share"], share, rtol=1e-12)
    in_corpus = sum(share[i] * beta[i] for i in range(K))
    orders = {
        "words": beta / (model.fitted_.word_rates + 0.1) ** 0.6,
        "probable": beta,
        "frex": metrics.frex(beta),
        "lift": beta / in_corpus,
        "score": metrics.word_scores(beta),
    }
    for column, weights in orders.items():
        for i in range(K):
            expected = [WORDS[w] for w in sorted(range(V), key=lambda w: -weights[i, w])[:4]]
            assert table[column][i] == ", ".join(expected), column
    assert_allclose(table["coherence"], metrics.npmi_coherence(beta, X), rtol=1e-12)
    assert_allclose(table["exclusivity"], metrics.exclusivity(beta), rtol=1e-12)


def test_lift_is_over_the_words_of_the_corpus_not_of_the_topics():
    beta = np.array([[0.60, 0.25, 0.15], [0.60, 0.20, 0.20], [0.10, 0.10, 0.80]])
    share = np.array([0.90, 0.05, 0.05])
    table = topic_table(fitted_value(beta, doc_topics=share[None]), 3, ["a", "b", "c"])
    in_corpus = [sum(share[i] * beta[i, w] for i in range(3)) for w in range(3)]
    expected = sorted(
        "abc", key=lambda word: -beta[1, "abc".index(word)] / in_corpus["abc".index(word)]
    )
    assert table["lift"][1] == ", ".join(expected) == "c, a, b"


@pytest.mark.parametrize("seed", range(5))
def test_words_that_tell_topics_apart_are_their_own(seed):
    """The words that all topics share are probable, but neither exclusive nor lifted."""
    beta, names = three_topics(np.random.default_rng(seed)), np.array(WORDS)
    table = topic_table(fitted_value(beta, doc_topics=np.full((1, K), 1 / K)), 5, names)

    def n_own(column):
        return [
            len(set(words.split(", ")) & set(WORDS[6 * i : 6 * i + 6]))
            for i, words in enumerate(table[column])
        ]

    assert max(n_own("words")) < 5
    assert n_own("lift") == n_own("score") == [5, 5, 5]
    assert sum(n_own("frex")) > sum(n_own("words"))  # a compromise between the two
    assert all(words.split(", ")[0] in WORDS[:18] for words in table["frex"])


def test_fitted_topics_have_words_of_their_own_too(model):
    for column in ("lift", "score"):
        own = [set(words.split(", ")) for words in model.topics(5)[column]]
        assert not any(words & set(WORDS[18:]) for words in own), column
        assert len(set().union(*own)) == 5 * K


def test_scores_do_not_depend_on_the_number_of_words_shown(model):
    few, many = model.topics(1), model.topics(50)
    for column in ("coherence", "exclusivity", "share"):
        assert_array_equal(few[column], many[column])
    for column in ("words", "frex", "lift", "score"):
        assert all(len(words.split(", ")) == 1 for words in few[column])
        assert all(len(words.split(", ")) == V for words in many[column])
        starts = [words.split(", ")[0] for words in many[column]]
        assert starts == few[column].tolist()


def test_a_narrow_print_shows_words_and_shares(model):
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        printed = str(model.topics())
    assert "word" in printed.split("\n")[3]
    assert "share" in printed.split("\n")[0]


def test_names_given_replace_all_words(model):
    upper = [word.upper() for word in WORDS]
    named, known = model.topics(feature_names=upper), model.topics()
    for column in ("words", "frex", "lift", "score"):
        assert named[column].str.lower().tolist() == known[column].tolist()


def test_coherence_survives_saving(model, tmp_path):
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    assert not again.topics()["coherence"].isna().any()
    pd.testing.assert_frame_equal(again.topics(), model.topics())


def test_coherence_is_that_of_the_last_fit():
    model = fitted(CTM(K, warm_start=True))
    other, _ = counts_of_topics(seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(other)
    expected = metrics.npmi_coherence(model.components_, other)
    assert_allclose(model.topics()["coherence"], expected, rtol=1e-12)


def test_topics_of_a_corpus_of_one_word_have_no_coherence():
    table = fitted(CTM(2), np.ones((3, 1), dtype=int)).topics()
    assert table["coherence"].isna().all()
    assert table["words"].tolist() == ["0", "0"]


def test_topics_without_smoothing_stay_finite():
    """Words that a topic cannot have, and words that no topic can have."""
    table = fitted(CTM(K, smoothing=0.0), np.column_stack([X, np.zeros(D, dtype=int)])).topics(3)
    assert np.isfinite(table[["coherence", "exclusivity", "share"]]).all(axis=None)
    for column in ("words", "frex", "lift", "score"):
        assert not any("24" in words.split(", ") for words in table[column])


# Documents


def test_representative_documents_have_most_of_the_topic(model):
    theta = model.doc_topics_
    for topic in range(K):
        table = model.representative_documents(topic, 7)
        assert table.columns.tolist() == [
            "position",
            "share",
            "id",
            "text",
        ]  # it was fitted to a corpus
        expected = sorted(range(D), key=lambda d: -theta[d, topic])[:7]
        assert table["position"].tolist() == expected
        assert_array_equal(table["share"], theta[expected, topic])
    assert len(model.representative_documents(0)) == 5
    assert len(model.representative_documents(np.int64(0), 1000)) == D


def test_a_corpus_adds_ids_and_the_beginning_of_texts(model):
    table = model.representative_documents(1, 10, corpus=CORPUS)
    assert table.columns.tolist() == ["position", "share", "id", "text"]
    assert table["id"].tolist() == [f"id{d}" for d in table["position"]]
    assert table["text"].tolist() == [TEXTS[d][:200] for d in table["position"]]
    assert table["text"].str.len().max() == 200
    without_texts = Corpus(X, WORDS, ids=CORPUS.ids)
    columns = model.representative_documents(1, corpus=without_texts).columns
    assert columns.tolist() == ["position", "share", "id"]
    plain = model.representative_documents(1, corpus=Corpus(X))
    assert plain.columns.tolist() == ["position", "share"]


def test_representative_documents_say_what_is_wrong(model):
    for wrong in (3, -1, 0.5, "tea", True):
        with pytest.raises(ValueError, match="topic must be a number from 0 to 2; got"):
            model.representative_documents(wrong)
    with pytest.raises(ValueError, match=r"one topic; got \[0, 1\]"):
        model.representative_documents([0, 1])
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got 0"):
        model.representative_documents(0, 0)
    with pytest.raises(ValueError, match=r"(?s)60 training documents.*corpus of 59.*fitted to"):
        model.representative_documents(0, corpus=CORPUS[1:])
    with pytest.raises(ValueError, match=r"(?s)gptm\.Corpus.*type list.*fitted to"):
        model.representative_documents(0, corpus=TEXTS)


# Correlations


def correlation_of_proportions(covariance, n=400_000):
    """Of the centred log-proportions that a covariance of logits means, by drawing them."""
    rng = np.random.default_rng(0)
    eta = rng.multivariate_normal(np.zeros(len(covariance)), covariance, n)
    log_theta = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
    return np.corrcoef(log_theta - log_theta.mean(axis=1, keepdims=True), rowvar=False)


def random_covariance(n=4, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T + 0.1 * np.eye(n)


def test_correlations_are_those_of_drawn_proportions():
    covariance = random_covariance()
    table = correlation_table(covariance)
    assert_allclose(table, correlation_of_proportions(covariance), atol=0.01)
    assert_array_equal(table, table.T)
    assert_array_equal(np.diagonal(table), 1.0)


def test_correlations_do_not_see_a_shift_common_to_all_topics():
    covariance = random_covariance()
    shift = np.random.default_rng(1).standard_normal(4)
    cross = np.outer(shift, np.ones(4))  # the shift may go along with the topics
    shifted = covariance + 3.0 + cross + cross.T
    assert_allclose(correlation_table(shifted), correlation_table(covariance), atol=1e-12)


def test_correlations_of_topics_that_vary_alike():
    assert_allclose(correlation_table(np.eye(5)), np.eye(5) * 1.25 - 0.25)
    assert_allclose(correlation_table(2.0 * np.eye(2)), [[1, -1], [-1, 1]])


@pytest.mark.parametrize("covariance", [np.ones((1, 1)), np.zeros((3, 3)), np.full((3, 3), 7.3)])
def test_topics_that_do_not_vary_have_no_correlation(covariance):
    with np.errstate(all="raise"):
        assert_array_equal(correlation_table(covariance), np.eye(len(covariance)))


def test_residual_and_prior_correlations_of_a_model():
    kernel = k.RBF("t", length_scale=2.0)
    model = fitted(GPTM(K, kernel=kernel), metadata=TIME)
    residual, prior = model.topic_correlations(), model.topic_correlations("prior")
    Sigma, B = model.topic_covariance_, model.coregionalization_
    assert_allclose(residual, correlation_of_proportions(Sigma), atol=0.01)
    assert_allclose(prior, correlation_of_proportions(Sigma + B), atol=0.01)
    assert not np.allclose(prior, residual, atol=0.05)  # time says a lot here
    assert residual.index.name == residual.columns.name == "topic"
    pd.testing.assert_frame_equal(model.topic_correlations(of="residual"), residual)


def test_the_scale_of_a_kernel_as_given_counts():
    kernel = 4.0 * k.RBF("t", length_scale=2.0)
    model = fitted(GPTM(K, kernel=kernel, learn_kernel=False), metadata=TIME)
    whole = model.topic_covariance_ + 4.0 * model.coregionalization_
    assert_allclose(model.topic_correlations("prior"), correlation_table(whole), atol=1e-12)


@pytest.mark.parametrize("unkernelled", [CTM(K), GPTM(K, kernel=None)])
def test_without_a_kernel_the_residual_is_all(unkernelled):
    model = fitted(unkernelled)
    pd.testing.assert_frame_equal(model.topic_correlations("prior"), model.topic_correlations())


def test_correlations_survive_saving(tmp_path):
    model = fitted(GPTM(K, kernel=k.Matern("t", length_scale=2.0)), metadata=TIME)
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm").topic_correlations("prior")
    assert_allclose(again, model.topic_correlations("prior"), rtol=1e-12)


def test_correlations_say_what_is_wrong(model):
    with pytest.raises(ValueError, match="of must be one of 'residual', 'prior'; got 'posterior'"):
        model.topic_correlations("posterior")


def test_nothing_can_be_read_before_a_fit():
    model = CTM(2)
    reads = [
        model.topics,
        lambda: model.representative_documents(0),
        model.topic_correlations,
        model.topic_words,
        model.to_frame,
        model.to_octis,
    ]
    for read in reads:
        with pytest.raises(NotFittedError):
            read()
