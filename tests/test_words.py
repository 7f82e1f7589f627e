"""Texts to counts: the same as scikit-learn's on everything at once, and a true report."""

import json
import pickle
import unicodedata
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from gptm import Corpus
from gptm.corpus.stop_words import LANGUAGES, guess_language
from gptm.corpus.token_pattern import expanded
from gptm.corpus.words import Counting, Words
from gptm.corpus.words_report import Removed, WordsReport

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
        "token_pattern": expanded(words.token_pattern),
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


HINDI = "माँ हिंदी में चाय पीती है, हिंदी2 नहीं"
ARABIC = "كِتَابٌ جَدِيدٌ"
MARKED = {
    "hindi": (HINDI, ["माँ", "हिंदी", "में", "चाय", "पीती", "है", "नहीं"]),
    "arabic with vowels": (ARABIC, ARABIC.split()),
    "thai": ("น้ำชา", ["น้ำชา"]),
    "hebrew with points": ("שָׁלוֹם", [unicodedata.normalize("NFC", "שָׁלוֹם")]),
    "decomposed": (unicodedata.normalize("NFD", "über Öl, naïve 2ö ö2"), ["über", "öl", "naïve"]),
    "a mark of an emoji": ("❤\ufe0ftea❤\ufe0f", ["tea"]),
}


@pytest.mark.parametrize("case", MARKED)
def test_marks_belong_to_the_letters_before_them(case):
    text, expected = MARKED[case]
    assert PLAIN.tokenizer()(text) == expected
    corpus = Corpus.from_texts([text], stop_words=None)
    assert corpus.vocabulary.tolist() == sorted(set(expected))


def test_many_marks_take_no_time():
    assert PLAIN.tokenizer()("a" + "\u0316" * 50_000 + "2") == []


def test_letters_are_the_same_however_they_are_written():
    one, other = (unicodedata.normalize(form, "grün Café über") for form in ("NFC", "NFD"))
    words = Words((unicodedata.normalize("NFD", "über"),), 1, 1.0)
    counts, vocabulary, _ = words.count([one, other])
    assert vocabulary.tolist() == ["café", "grün"]
    assert counts.toarray().tolist() == [[1, 1], [1, 1]]
    corpus = Corpus.from_texts([one, other], stop_words=words.stop_words)
    assert corpus.vocabulary.tolist() == ["café", "grün"]
    given_words = [unicodedata.normalize("NFD", "café")]
    counts, vocabulary, _ = words.count([one], given_words)
    assert (vocabulary.tolist(), counts.toarray().tolist()) == (given_words, [[1]])
    corpus = Corpus.from_texts([one], vocabulary=given_words)
    assert (corpus.vocabulary.tolist(), corpus.counts.toarray().tolist()) == (given_words, [[1]])


def test_stop_words_with_marks_are_found():
    text = "यह किताब मेरी है और वह किताब उसकी है"
    assert guess_language([text], Words().tokenizer()) == "hindi"
    assert "और" not in Words("hindi", 1, 1.0).count([text])[1]


def test_what_contractions_leave_is_no_word():
    text = "We don't know, they've said it isn't so, you'll see, she wouldn't and couldn't"
    _, vocabulary, _ = Words("english", 1, 1.0).count([text])
    assert vocabulary.tolist() == ["know", "said"]
    assert Corpus.from_texts([text]).vocabulary.tolist() == ["know", "said"]


CHINESE = "我每天早上喝绿茶然后去上班。中午和同事一起吃饭聊天。"
SEGMENTED = "我 每天 早上 喝 绿茶 然后 去 上班 。 中午 和 同事 一起 吃饭 聊天 。"
THAI = "ฉันดื่มชาเขียวทุกเช้าแล้วไปทำงาน"


@pytest.mark.parametrize("text", [CHINESE, THAI, "私は毎朝緑茶を飲んでから仕事に行きます。"])
def test_scripts_without_blanks_are_told_of_once(text):
    texts = [f"{text} {i}" for i in range(30)] + ["green tea"] * 70
    for count in (lambda: PLAIN.count(texts * 20), lambda: Corpus.from_texts(texts)):
        with pytest.warns(UserWarning, match="segmenter") as told:
            count()
        assert len(told) == 1


@pytest.mark.parametrize("text", [SEGMENTED, "green tea from 東京", "나는 매일 아침 녹차를 마신다"])
def test_scripts_with_blanks_are_not_told_of(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PLAIN.count([text] * 5)


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
    counting = Counting(Words(max_df=1.0))
    counting.add(["das ist der Tee und die Tasse ist nicht da"] * 1000)
    counting.add(["the tea is on the table"] * 9000)
    assert counting.words.stop_words == "german"
    _, vocabulary, report = counting.finish()
    assert report.language == "german"
    assert "der" not in vocabulary
    assert "the" in vocabulary


@pytest.mark.parametrize("size", [1, 7, 400, 2000])
def test_the_language_does_not_depend_on_how_texts_are_cut_into_chunks(size):
    texts = ["the tea is on the table"] * 300 + ["das ist der Tee und die Tasse ist nicht da"] * 900
    counting = Counting(Words(max_df=1.0))
    for start in range(0, len(texts), size):
        counting.add(texts[start : start + size])
    counts, vocabulary, report = counting.finish()
    expected = Words(max_df=1.0).count(texts)
    assert report == expected[2]
    assert vocabulary.tolist() == expected[1].tolist()
    assert (counts != expected[0]).nnz == 0


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
    with pytest.raises(ValueError, match="never a file"):
        Words.from_dict({"stop_words": __file__})


def test_new_texts_settle_the_language_where_the_settings_leave_it_open():
    pairs = Words(ngram_range=(1, 2))
    assert pairs.transform(["the state of the union"], ["state union"]).toarray().tolist() == [[1]]
    assert Words().transform(["the green tea"], ["tea"]).toarray().tolist() == [[1]]


def test_words_can_be_pickled():
    assert pickle.loads(pickle.dumps(Words("de"))) == Words("german")
