"""Documents from texts and counts; whatever is selected, counts and metadata stay together."""

import copy
import pickle
import types
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import coo_matrix, csr_array, csr_matrix, issparse

from gptm import CTM, GPTM, Corpus
from gptm import kernels as k

TEXTS = ["Green tea and black tea.", "Coffee beans!", "", "the and of", "tea, coffee; Tea"]


def full_corpus():
    counts = np.arange(20).reshape(5, 4)
    metadata = pd.DataFrame({"year": [2000, 2001, 2002, 2003, 2004]}, index=list("vwxyz"))
    ids = [f"d{i}" for i in range(5)]
    return Corpus(counts, list("abcd"), metadata=metadata, ids=ids, texts=list("ABCDE"))


# From texts


def test_words_are_counted_one_row_per_text():
    corpus = Corpus.from_texts(TEXTS)
    assert corpus.shape == (5, 5)
    assert len(corpus) == 5
    assert list(corpus.vocabulary) == ["beans", "black", "coffee", "green", "tea"]
    assert issparse(corpus.counts)
    expected = [[0, 1, 0, 1, 2], [1, 0, 1, 0, 0], [0] * 5, [0] * 5, [0, 0, 1, 0, 2]]
    assert corpus.counts.toarray().tolist() == expected  # texts without a counted word stay
    assert list(corpus.texts) == TEXTS
    assert corpus.metadata is None
    assert corpus.ids is None


def test_metadata_and_ids_travel_along():
    metadata = pd.DataFrame({"year": range(5)})
    corpus = Corpus.from_texts(TEXTS, metadata, list("abcde"))
    pd.testing.assert_frame_equal(corpus.metadata, metadata)
    assert list(corpus.ids) == list("abcde")
    keywords = Corpus.from_texts(TEXTS, metadata={"year": range(5)}, ids=range(5))
    assert keywords.metadata["year"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("make", [tuple, iter, np.array, pd.Series, lambda t: (text for text in t)])
def test_texts_may_come_in_any_container(make):
    corpus = Corpus.from_texts(make(TEXTS))
    assert_array_equal(corpus.counts.toarray(), Corpus.from_texts(TEXTS).counts.toarray())
    assert isinstance(make(TEXTS), types.GeneratorType) or list(corpus.texts) == TEXTS


def test_words_of_any_alphabet_and_no_numbers():
    corpus = Corpus.from_texts(["Größe 1999 naïve x", "чай и чай", "お茶 tea2go"], stop_words=None)
    words = set(corpus.vocabulary)
    assert {"größe", "naïve", "чай", "お茶"} <= words
    assert not words & {"1999", "x"}


def test_new_texts_are_read_with_the_training_vocabulary():
    training = Corpus.from_texts(TEXTS)
    new = Corpus.from_texts(
        ["tea and unheard words", "beans beans"], vocabulary=training.vocabulary
    )
    assert_array_equal(new.vocabulary, training.vocabulary)
    assert new.counts.toarray().tolist() == [[0, 0, 0, 0, 1], [2, 0, 0, 0, 0]]
    nothing = Corpus.from_texts(["unheard", ""], vocabulary=training.vocabulary)
    assert nothing.shape == (2, 5)
    assert nothing.counts.sum() == 0


def test_a_given_vocabulary_keeps_its_order():
    corpus = Corpus.from_texts(TEXTS, vocabulary=["tea", "beans", "absent"])
    assert list(corpus.vocabulary) == ["tea", "beans", "absent"]
    assert np.asarray(corpus.counts.sum(axis=0)).ravel().tolist() == [4, 1, 0]


def test_rare_and_common_words_are_left_out():
    texts = [f"common word{i // 2} rare{i}" for i in range(120)]
    corpus = Corpus.from_texts(
        [text.translate(str.maketrans("0123456789", "abcdefghij")) for text in texts]
    )
    assert len(corpus.vocabulary) == 60  # in two texts each; `common` in all, `rare` in one
    assert all(word.startswith("word") for word in corpus.vocabulary)


def test_what_is_asked_for_is_done():
    texts = ["common tea", "common coffee", "common tea", "common milk"]
    assert set(Corpus.from_texts(texts, min_df=2).vocabulary) == {"common", "tea"}
    assert set(Corpus.from_texts(texts, max_features=1).vocabulary) == {"common"}
    assert "common tea" in Corpus.from_texts(texts, ngram_range=(1, 2)).vocabulary
    assert "tea" not in Corpus.from_texts(texts, stop_words=["tea"]).vocabulary
    assert "the" in Corpus.from_texts(["the tea"], stop_words=None).vocabulary


@pytest.mark.parametrize("max_df", [0.6, 2])
def test_a_limit_on_common_words_holds_for_few_texts_too(max_df):
    texts = ["common tea", "common coffee", "common tea", "common milk"]
    assert "common" not in Corpus.from_texts(texts, max_df=max_df).vocabulary


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ("one text", ["list of strings"]),
        ([], ["at least one"]),
        (pd.DataFrame({"text": ["tea"]}), ["DataFrame", "one column", "metadata=df"]),
        ({"text": ["tea"]}, ["dict", "one column", "metadata=df"]),
        (["tea", None], ["position 1", "None", "empty string", "fillna('')"]),
        (["tea", np.nan], ["position 1", "nan", "float"]),
        ([b"tea"], ["position 0", "bytes"]),
        (["", ""], ["no word", "2 texts"]),
        (["the and of"], ["no word", "stop_words=None"]),
    ],
)
def test_texts_that_cannot_be_counted_are_refused(texts, words):
    with pytest.raises(ValueError, match=r"\w") as error:
        Corpus.from_texts(texts)
    for word in words:
        assert word in str(error.value)


def test_other_mistakes_are_not_blamed_on_the_texts():
    with pytest.raises(ValueError, match="tea") as error:
        Corpus.from_texts(TEXTS, vocabulary=["tea", "tea"])
    assert "no word" not in str(error.value)
    with pytest.raises(ValueError, match="min_df") as error:
        Corpus.from_texts(TEXTS, min_df=-1)
    assert "no word" not in str(error.value)


# From counts


@pytest.mark.parametrize("texts", [["2017", "1 2 3"], ["a b c", "茶 水"]])
def test_texts_without_words_say_what_words_are(texts):
    with pytest.raises(ValueError, match=r"(?s)0 of 0 tokens.*two letters or more.*token_pattern="):
        Corpus.from_texts(texts)
    corpus = Corpus.from_texts(texts, token_pattern=r"\w+", keep="numbers", max_df=1.0)
    assert corpus.counts.sum() > 0


@pytest.mark.parametrize("make", [np.asarray, csr_matrix, csr_array, coo_matrix, np.ndarray.tolist])
def test_counts_may_come_in_any_container(make):
    X = np.array([[1, 0, 2], [0, 3, 0]])
    corpus = Corpus(make(X))
    assert corpus.shape == (2, 3)
    assert_array_equal(corpus.counts.toarray(), X)
    assert corpus.vocabulary is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"vocabulary": ["a"]}, ["vocabulary", "expected 3", "got 1"]),
        ({"metadata": {"year": [1]}}, ["metadata", "expected 2", "got 1"]),
        ({"ids": ["a"]}, ["ids", "expected 2", "got 1"]),
        ({"ids": ["a", "a"]}, ["ids", "different", "'a'"]),
        ({"texts": ["a"]}, ["texts", "expected 2", "got 1"]),
        ({"metadata": [1, 2]}, ["metadata", "DataFrame", "list"]),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments, words):
    with pytest.raises(ValueError, match=r"\w") as error:
        Corpus(np.ones((2, 3)), **arguments)
    for word in words:
        assert word in str(error.value)


def test_metadata_of_a_dict_keeps_the_order_of_its_values():
    shuffled = pd.Series([10, 20, 30], index=[2, 0, 1])  # as after sorting or filtering
    plain = pd.Series([1, 2, 3])
    corpus = Corpus(np.ones((3, 2)), metadata={"a": shuffled, "b": plain})
    assert corpus.metadata["a"].tolist() == [10, 20, 30]
    assert corpus.metadata["b"].tolist() == [1, 2, 3]
    filtered = pd.Series([7, 8, 9], index=[5, 6, 7])
    corpus = Corpus(np.ones((3, 2)), metadata={"a": filtered, "b": plain})
    assert corpus.metadata["a"].tolist() == [7, 8, 9]


def test_metadata_of_another_library_is_read():
    class Polars:  # what such frames offer
        columns = ("year",)

        def to_dict(self, *, as_series):
            assert not as_series
            return {"year": [2000, 2001]}

    corpus = Corpus(np.ones((2, 2)), metadata=Polars())
    assert corpus.metadata["year"].tolist() == [2000, 2001]


# Selecting


SELECTIONS = {
    "slice": (slice(1, 3), [1, 2]),
    "list": ([3, 0], [3, 0]),
    "array": (np.array([4, 4, 1]), [4, 4, 1]),
    "mask": (np.array([True, False, False, True, False]), [0, 3]),
    "list of booleans": ([True, False, False, True, False], [0, 3]),
    "number": (2, [2]),
    "numpy number": (np.int64(2), [2]),
    "from the end": (-1, [4]),
    "step": (slice(None, None, -2), [4, 2, 0]),
    "nothing": ([], []),
    "nothing by slice": (slice(0, 0), []),
    "as scikit-learn does": ((np.array([1, 2]), Ellipsis), [1, 2]),
}


@pytest.mark.parametrize(("rows", "expected"), SELECTIONS.values(), ids=SELECTIONS)
def test_selected_documents_keep_all_that_is_theirs(rows, expected):
    corpus = full_corpus()
    selected = corpus[rows]
    assert isinstance(selected, Corpus)
    assert len(selected) == len(expected)
    assert_array_equal(selected.counts.toarray(), corpus.counts.toarray()[expected])
    assert selected.metadata["year"].tolist() == [2000 + d for d in expected]
    assert list(selected.ids) == [f"d{d}" for d in expected]
    assert list(selected.texts) == [list("ABCDE")[d] for d in expected]
    assert list(selected.vocabulary) == list("abcd")
    assert corpus.shape == (5, 4)


def test_a_bare_corpus_can_be_selected_from():
    selected = Corpus(np.eye(3))[[2, 0]]
    assert_array_equal(selected.counts.toarray(), np.eye(3)[[2, 0]])
    assert selected.metadata is selected.ids is selected.texts is selected.vocabulary is None


@pytest.mark.parametrize("rows", [5, [0, 9], (0, 1), (slice(None), slice(None))])
def test_what_is_not_there_cannot_be_selected(rows):
    with pytest.raises(IndexError):
        full_corpus()[rows]


def test_iteration_ends():
    assert [document.ids[0] for document in full_corpus()] == [f"d{i}" for i in range(5)]


# Elsewhere


def test_representation_tells_the_sizes():
    assert repr(full_corpus()) == "Corpus(5 documents, 4 words, 190 tokens, metadata: year)"
    assert (
        repr(Corpus(np.ones((2000, 3), dtype=int)))
        == "Corpus(2,000 documents, 3 words, 6,000 tokens)"
    )


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_a_corpus_can_be_copied(duplicate):
    corpus, again = full_corpus(), duplicate(full_corpus())
    assert_array_equal(again.counts.toarray(), corpus.counts.toarray())
    pd.testing.assert_frame_equal(again.metadata, corpus.metadata)
    assert list(again.ids) == list(corpus.ids)


def test_fit_takes_a_corpus_and_its_metadata():
    rng = np.random.default_rng(0)
    X, metadata = rng.poisson(2.0, (20, 6)), pd.DataFrame({"t": np.arange(20.0)})
    model = GPTM(2, kernel=k.RBF("t", length_scale=4.0), random_state=0, max_iter=5, tol=1.0)
    apart = model.fit(X, metadata=metadata)
    theta, score = apart.transform(X, metadata=metadata), apart.score(X, metadata=metadata)
    corpus = Corpus(X, list("abcdef"), metadata=metadata)
    together = model.fit(corpus)
    assert_array_equal(together.transform(corpus), theta)
    assert together.score(corpus) == score
    assert together.feature_names_in_.tolist() == list("abcdef")
    other = pd.DataFrame({"t": np.arange(20.0)[::-1]})
    assert (together.transform(corpus, metadata=other) != theta).any()  # what is passed wins
    assert "a" in CTM(2, random_state=0).fit(corpus).topics().to_string()


def test_a_new_fit_forgets_the_old_words():
    X = np.random.default_rng(0).poisson(2.0, (20, 6))
    model = CTM(2, random_state=0).fit(Corpus(X, list("abcdef")))
    model.fit(Corpus(X))
    assert not hasattr(model, "feature_names_in_")
    model.fit(Corpus(X, list("uvwxyz"))).fit(X)
    assert not hasattr(model, "feature_names_in_")


def test_new_texts_are_counted_as_the_training_texts_were():
    texts = ["the green tea of the hill", "a cup of green tea", "black coffee in a cup"]
    corpus = Corpus.from_texts(texts, ngram_range=(1, 2))
    again = Corpus.from_texts(texts, vocabulary=corpus.vocabulary)
    assert (corpus.counts != again.counts).nnz == 0
    assert "green tea" in corpus.vocabulary


def test_a_given_vocabulary_may_hold_stop_words():
    words = ["fire", "system", "the"]
    counts = Corpus.from_texts(["fire in the system"], vocabulary=words).counts
    assert counts.toarray().tolist() == [[1, 1, 1]]


def test_pairs_of_words_are_counted_in_new_texts_as_in_training():
    """With stop words between them, which the vocabulary does not hold."""
    training = Corpus.from_texts(["state of the union", "union of workers"], ngram_range=(1, 2))
    assert "state union" in training.vocabulary
    new = Corpus.from_texts(["the state of the union"], vocabulary=training.vocabulary)
    assert new.counts[0, list(training.vocabulary).index("state union")] == 1


def test_rows_in_another_order_than_the_texts_are_refused():
    """Sorted by date, a table would give every text another one's metadata."""
    frame = pd.DataFrame({"text": ["red green", "green blue", "blue red"], "day": [3, 1, 2]})
    with pytest.raises(
        ValueError, match=r"same labels in another order.*metadata\.loc\[texts\.index\]"
    ):
        Corpus.from_texts(frame["text"], metadata=frame.sort_values("day"))
    for metadata in (frame, frame.sort_values("day").reset_index(drop=True), {"day": frame["day"]}):
        assert len(Corpus.from_texts(frame["text"], metadata=metadata)) == 3
    with pytest.raises(
        ValueError, match=r"metadata must be a pandas or polars DataFrame.*got list"
    ):
        Corpus.from_texts(frame["text"], metadata=frame[["day"]].to_dict("records"))


def test_documents_that_are_cut_into_words():
    tokens = [["green", "tea", "Tea"], ("tea",), [], np.array(["war", "tea"])]
    corpus = Corpus.from_tokens(tokens, metadata={"day": [1, 2, 3, 4], "id": list("abcd")})
    assert list(corpus.vocabulary) == ["Tea", "green", "tea", "war"]
    assert corpus.counts.toarray().tolist() == [[1, 1, 1, 0], [0, 0, 1, 0], [0] * 4, [0, 0, 1, 1]]
    assert corpus.texts.tolist() == ["green tea Tea", "tea", "", "war tea"]
    assert corpus.ids.tolist() == list("abcd")
    assert list(Corpus.from_tokens(tokens, min_df=2).vocabulary) == ["tea"]
    with warnings.catch_warnings():
        warnings.simplefilter(
            "error"
        )  # scikit-learn warns of capital letters where it would fold them
        new = Corpus.from_tokens([["tea", "rain"]], vocabulary=corpus.vocabulary)
    assert new.counts.toarray().tolist() == [[0, 0, 1, 0]]
    model = CTM(2, random_state=0, max_iter=10).fit(corpus)
    assert model.transform(new).shape == (1, 2)
    assert "text" in model.representative_documents(0)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["a text"], r"position 0 is 'a text' of type str. For texts use Corpus.from_texts"),
        ([["tea"], [("tea", 2)]], r"position 1 is \[\('tea', 2\)\] of type list"),
        ([["tea"], None], "position 1 is None of type NoneType"),
        ([[], []], "there is no word in the 2 documents"),
        ([["tea"] * 50, [1] * 90], "position 1 is .{60} of type list"),
    ],
)
def test_what_is_not_cut_into_words(tokens, message):
    with pytest.raises(ValueError, match=message):
        Corpus.from_tokens(tokens)


def test_lists_of_words_are_no_texts_and_the_error_says_where_to_go():
    for wrong in (Corpus.from_texts, CTM(2).fit):
        with pytest.raises(ValueError, match=r"cut into words use Corpus\.from_tokens"):
            wrong([["green", "tea"], ["war", "army"]])
    with pytest.raises(ValueError, match=r"fit\(df\['text'\]\)"):
        CTM(2).fit(pd.DataFrame({"text": ["green tea", "war"]}))
