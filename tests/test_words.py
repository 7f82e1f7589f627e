"""Texts to counts: the same as scikit-learn's on everything at once, and a true report."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from gptm import Corpus
from gptm.stopwords import LANGUAGES, guess_language
from gptm.words import TOKEN_PATTERN, Counting, Removed, Words, WordsReport

TEXTS = [
    "The green tea is a tea of the morning.",
    "Black tea, black coffee; the coffee is strong!",
    "",
    "Über den Tee: Äpfel und Öl, naïve café",
    "coffee beans and tea leaves and tea cups",
    "12 34 a b c",
]

PLAIN = Words(stop_words=None, min_df=1, max_df=1.0)


def vectorizer(words, **changes):
    """scikit-learn's way with the same settings, all of them given."""
    given_settings = {
        "stop_words": sorted(words.stop_list()) or None,
        "min_df": words.min_df,
        "max_df": words.max_df,
        "max_features": words.max_features,
        "ngram_range": words.ngram_range,
        "token_pattern": words.token_pattern,
        "lowercase": words.lowercase,
        "strip_accents": words.strip_accents,
    }
    return CountVectorizer(**{**given_settings, **changes})


def same_as_sklearn(words, texts, chunk=2):
    counting = Counting(words)
    for start in range(0, len(texts), chunk):
        counting.add(texts[start : start + chunk])
    counts, vocabulary, report = counting.finish()
    reference = vectorizer(words)
    expected = reference.fit_transform(texts)
    assert vocabulary.tolist() == reference.get_feature_names_out().tolist()
    assert (counts != expected).nnz == 0
    assert counts.has_sorted_indices
    return counts, vocabulary, report


SETTINGS = [
    PLAIN,
    Words("english", 1, 1.0),
    Words(None, 2, 1.0),
    Words(None, 1, 0.5),
    Words(None, 0.2, 0.4),
    Words(None, 1, 2),
    Words(None, 1, 1.0, max_features=4),
    Words("english", 1, 1.0, ngram_range=(1, 2)),
    Words(None, 1, 1.0, ngram_range=(2, 3)),
    Words(None, 1, 1.0, lowercase=False),
    Words(None, 1, 1.0, strip_accents="unicode"),
    Words(None, 1, 1.0, token_pattern=r"\S+"),
    Words(None, 1, 1.0, token_pattern=r"(\w)\w+"),
    Words(("tea", "coffee"), 1, 1.0, ngram_range=(1, 2)),
]


@pytest.mark.parametrize("words", SETTINGS, ids=str)
def test_equals_count_vectorizer(words):
    same_as_sklearn(words, TEXTS)


alphabet = st.sampled_from(["tea", "Tea", "the", "und", "öl", "x", "12", "café", "don't", ","])
documents = st.lists(st.lists(alphabet, max_size=8).map(" ".join), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(documents, st.integers(1, 5), st.sampled_from([(1, 1), (1, 2), (2, 2)]), st.integers(1, 3))
def test_equals_count_vectorizer_on_any_texts(texts, chunk, ngrams, min_df):
    words = Words("english", min_df, 1.0, ngram_range=ngrams)
    try:
        vectorizer(words).fit_transform(texts)
    except ValueError:
        with pytest.raises(ValueError, match=r"no word of the|leave room"):
            words.count(texts)
        return
    counts, vocabulary, report = same_as_sklearn(words, texts, chunk)
    again = words.transform(texts, vocabulary)
    assert (again != counts).nnz == 0
    assert report.tokens_kept == counts.sum()
    assert report.empty_documents == (counts.sum(1) == 0).sum()
    if ngrams == (1, 1):  # every token is accounted for
        gone = (report.stop_words, report.rare, report.frequent, report.beyond)
        assert report.tokens == report.tokens_kept + sum(one.tokens for one in gone)


@pytest.mark.parametrize("n", [3, 10, 150, 1200])
def test_defaults_are_those_of_corpus(n):
    rng = np.random.default_rng(0)
    some = np.array(["the", "is", *(f"{a}{b}{c}" for a in "abcd" for b in "efgh" for c in "xyz")])
    texts = [" ".join(rng.choice(some, 8)) + " the and of tea" for _ in range(n)]
    counts, vocabulary, report = Words().count(texts)
    corpus = Corpus.from_texts(texts)
    assert report.language == "english"
    assert vocabulary.tolist() == corpus.vocabulary.tolist()
    assert (counts != corpus.counts).nnz == 0


def test_token_pattern_is_that_of_corpus():
    from gptm import corpus

    assert corpus._TOKEN == TOKEN_PATTERN


def test_report_says_what_was_removed():
    texts = ["the tea tea", "the tea milk", "tea of rare", "tea milk"]
    _, vocabulary, report = Words("english", 2, 0.6).count(texts)
    assert vocabulary.tolist() == ["milk"]
    assert report == WordsReport(
        documents=4,
        empty_documents=2,
        tokens=11,
        tokens_kept=2,
        words_kept=1,
        language="english",
        min_df=2,
        max_df=0.6,
        stop_words=Removed(2, 3, ("the", "of")),
        rare=Removed(1, 1, ("rare",)),
        frequent=Removed(1, 5, ("tea",)),
    )
    text = str(report)
    assert "2 of 11 tokens" in text
    assert "stop words (english): 2 words, 3 tokens, such as the, of" in text
    assert "too rare (fewer than 2 documents): 1 word, 1 token, such as rare" in text
    assert "without any counted word: 2 documents" in text
    assert json.loads(json.dumps(report.to_dict()))["rare"]["examples"] == ["rare"]


def test_max_features_are_reported():
    _, vocabulary, report = Words(None, 1, 1.0, max_features=1).count(["tea tea milk cup"])
    assert vocabulary.tolist() == ["tea"]
    assert report.beyond == Removed(2, 2, ("cup", "milk"))


def test_unknown_words_are_counted_and_reported():
    counts, vocabulary, report = Words("english").count(["the tea zebra zebra", ""], ["tea", "cup"])
    assert vocabulary.tolist() == ["tea", "cup"]  # the order given
    assert counts.toarray().tolist() == [[1, 0], [0, 0]]
    assert report.unknown == Removed(1, 2, ("zebra",))
    assert report.stop_words.tokens == 1
    assert report.empty_documents == 1


@pytest.mark.parametrize("words", [w for w in SETTINGS if w.stop_words != "auto"], ids=str)
def test_transform_repeats_the_training_counts(words):
    counts, vocabulary, _ = words.count(TEXTS)
    after = Words.from_dict(json.loads(json.dumps(words.to_dict())))
    assert after == words
    assert hash(after) == hash(words)
    again = after.transform(TEXTS, vocabulary)
    assert (again != counts).nnz == 0


def test_automatic_stop_words_are_settled_by_the_first_texts():
    counting = Counting(Words())
    counting.add(["das ist der Tee und die Tasse ist nicht da"])
    counting.add(["the tea is on the table"])
    assert counting.words.stop_words == "german"
    _, vocabulary, report = counting.finish()
    assert report.language == "german"
    assert "der" not in vocabulary
    assert "the" in vocabulary


SENTENCES = {
    "english": "The government said that it would not be able to pay for all of the new roads this year.",
    "german": "Die Regierung sagte, dass sie in diesem Jahr nicht alle neuen Straßen bezahlen kann.",
    "french": "Le gouvernement a dit qu'il ne pourrait pas payer toutes les nouvelles routes de cette année.",
    "spanish": "El gobierno dijo que no podría pagar todas las carreteras nuevas de este año para los pueblos.",
    "italian": "Il governo ha detto che non potrà pagare tutte le nuove strade di questo anno per la gente.",
    "portuguese": "O governo disse que não poderá pagar todas as novas estradas deste ano para os seus povos.",
    "dutch": "De regering zei dat zij niet in staat is om dit jaar alle nieuwe wegen van het land te betalen.",
    "swedish": "Regeringen sade att den inte kan betala för alla de nya vägarna som ska byggas i år.",
    "russian": "Правительство сказало, что оно не может заплатить за все эти дороги, но и не хочет.",
    "polish": "Rząd powiedział, że nie może zapłacić za wszystkie te drogi, ale będzie się starał dla nas.",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_languages_are_told_apart(language):
    assert guess_language([SENTENCES[language]], Words().tokenizer()) == language


def test_no_language_without_stop_words():
    assert guess_language(["tea coffee milk cup"] * 5, Words().tokenizer()) is None
    assert guess_language([], Words().tokenizer()) is None


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_a_list(code):
    words = Words(code)
    assert words.stop_words == LANGUAGES[code]
    assert len(words.stop_list()) > 50
    assert all(
        word == word.strip() and not word.startswith('"') for word in words.tokenizer()("a b")
    )


def test_several_languages_and_files_of_stop_words(tmp_path):
    both = Words("en+German").stop_list()
    assert {"the", "der"} <= both
    path = tmp_path / "stop.txt"
    path.write_text("# my words\nTee\n\nDon't\n", encoding="utf-8")
    for given_path in (path, str(path)):
        words = Words(given_path)
        assert words.stop_words == ("Tee", "Don't")
        assert {"tee", "don"} <= words.stop_list()
    path.unlink()
    assert Words.from_dict(words.to_dict()) == words  # the file is not needed any more


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stop_words": "klingon"}, "languages are arabic"),
        ({"stop_words": [1]}, "must hold strings"),
        ({"min_df": 0}, "min_df must be"),
        ({"max_df": 1.5}, "max_df must be"),
        ({"min_df": "a"}, "min_df must be"),
        ({"max_df": True}, "max_df must be"),
        ({"max_features": 0}, "max_features"),
        ({"ngram_range": (2, 1)}, "ngram_range"),
        ({"ngram_range": 2}, "ngram_range"),
        ({"token_pattern": "("}, "regular expression"),
        ({"token_pattern": "(a)(b)"}, "one group"),
        ({"strip_accents": "no"}, "strip_accents"),
    ],
)
def test_wrong_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Words(**arguments)


def test_wrong_texts_are_refused():
    with pytest.raises(ValueError, match="got one string"):
        PLAIN.count("tea")
    with pytest.raises(ValueError, match="position 1 is None"):
        PLAIN.count(["tea", None])
    with pytest.raises(ValueError, match="got none"):
        PLAIN.count([])
    with pytest.raises(ValueError, match="each word once"):
        PLAIN.transform(["tea"], ["tea", "tea"])
    with pytest.raises(ValueError, match="leave room"):
        Words(None, 3, 1).count(["tea"])
    with pytest.raises(ValueError, match=r"no word of the 2 texts.*(?s:.)*stop words"):
        Words("english").count(["the", "of"])
    with pytest.raises(ValueError, match=r"got \['odd'\]"):
        Words.from_dict({"odd": 1})


def test_pairs_need_settled_stop_words():
    with pytest.raises(ValueError, match=r"reading\.words"):
        Words(ngram_range=(1, 2)).transform(["green tea"], ["green tea"])
    assert Words().transform(["the green tea"], ["tea"]).toarray().tolist() == [[1]]


def test_words_can_be_pickled():
    assert pickle.loads(pickle.dumps(Words("de"))) == Words("german")
