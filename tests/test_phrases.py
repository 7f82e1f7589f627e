"""Phrases, forms of words and segmenters: learnt or chosen in training, saved, and the same for new texts."""

import json
import math
import pickle
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from gptm import CTM, Corpus, files, load
from gptm.cli.app import app
from gptm.corpus.phrases import PhraseJoiner, learn_phrases
from gptm.corpus.words import Words

PLAIN = Words(None, 1, 1.0)


def naive_pairs(segments, threshold, min_count):
    """Pairs by the definition, from segments of words that are neighbours."""
    words = Counter(word for segment in segments for word in segment)
    pairs = Counter(pair for segment in segments for pair in pairwise(segment))
    total = sum(words.values())
    found = []
    for (a, b), count in pairs.items():
        p, p_a, p_b = count / total, words[a] / total, words[b] / total
        if count >= min_count and p < 1:
            npmi = math.log(p / (p_a * p_b)) / -math.log(p)
            if npmi >= threshold - 1e-9:
                found.append((a, b))
    return sorted(found)


def stream_of(segments, vocabulary):
    flat = [[vocabulary.index(word) for word in segment] + [-1] for segment in segments]
    return np.array([token for segment in flat for token in segment])


segments_of_words = st.lists(
    st.lists(st.sampled_from(["new", "york", "tea", "cup", "city"]), max_size=6),
    min_size=1,
    max_size=25,
).filter(lambda segments: any(segments))


@settings(max_examples=150, deadline=None)
@given(segments_of_words, st.sampled_from([0.1, 0.3, 0.5, 0.8]), st.integers(1, 3))
def test_pairs_are_those_of_the_definition(segments, threshold, min_count):
    vocabulary = ["new", "york", "tea", "cup", "city"]
    tokens = stream_of(segments, vocabulary)
    found = learn_phrases(
        tokens, np.zeros(len(tokens)), vocabulary, threshold=threshold, min_count=min_count
    )
    assert [p for p in found if len(p) == 2] == naive_pairs(segments, threshold, min_count)


def test_npmi_is_that_of_gensim():
    npmi_scorer = pytest.importorskip("gensim.models.phrases").npmi_scorer
    rng = np.random.default_rng(0)
    vocabulary = [f"w{i}" for i in range(30)]
    tokens = rng.zipf(1.5, 4000) % 30
    tokens[1::7] = (tokens[:-1:7] * 7 + 3) % 30  # pairs that belong together
    total = len(tokens)
    words, pairs = Counter(tokens), Counter(pairwise(tokens))
    for threshold in (0.1, 0.25, 0.4):
        expected = sorted(
            (vocabulary[a], vocabulary[b])
            for (a, b), n in pairs.items()
            if n >= 4 and npmi_scorer(words[a], words[b], n, 30, 4, total) >= threshold
        )
        assert expected
        found = learn_phrases(tokens, np.zeros(total), vocabulary, threshold=threshold, min_count=4)
        assert [p for p in found if len(p) == 2] == expected


def naive_join(words, phrases):
    """The longest phrase at each place, from left to right."""
    if not words:
        return []
    for phrase in sorted(phrases, key=len, reverse=True):
        if tuple(words[: len(phrase)]) == phrase:
            return [" ".join(phrase), *naive_join(words[len(phrase) :], phrases)]
    return [words[0], *naive_join(words[1:], phrases)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=15),
    st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=4), max_size=5),
)
def test_joining_takes_the_longest_phrase_from_the_left(words, phrases):
    phrases = [tuple(phrase) for phrase in phrases]
    assert PhraseJoiner(phrases)(words) == naive_join(words, phrases)


TEXTS = [
    "The United States and New York City: the tea is good.",
    "In New York City the United States were, of course, green.",
    "A new, city, the states; and, united, tea. York is old.",
    "New York City has the tea of the United States",
    "Green tea, in the United States. New York City!",
] * 4


def test_phrases_are_found_and_counted_as_one_word():
    corpus = Corpus.from_texts(TEXTS, phrases=True, max_df=1.0)
    assert {"new york city", "united states"} <= set(corpus.words.phrases)
    counts = dict(zip(corpus.vocabulary, corpus.counts.sum(0).A1.tolist(), strict=True))
    assert counts["united states"] == counts["new york city"] == 16
    assert counts["united"] == counts["states"] == 4  # where they stand apart
    assert counts["york"] == 4
    report = corpus.report
    assert report.phrases.phrases == sum(" " in word for word in corpus.vocabulary)
    assert report.phrases.tokens == sum(n for word, n in counts.items() if " " in word)
    assert "united states" in report.phrases.examples
    assert f"joined to phrases: {report.phrases.phrases} phrases" in str(report)
    gone = (report.stop_words, report.rare, report.frequent, report.beyond)
    assert report.tokens == report.tokens_kept + sum(one.tokens for one in gone)
    assert json.loads(json.dumps(report.to_dict()))["phrases"]["phrases"] == report.phrases.phrases


@pytest.mark.parametrize(
    "texts",
    [
        ["green tea"] * 9 + ["tea green"],
        ["green, tea. red: wine"] * 9,
        ["green the tea"] * 9,
        ["green 7 tea"] * 9,
        ["green x tea"] * 9,
        ["green\n\ntea"] * 9,
    ],
)
def test_what_stands_between_words_keeps_them_apart(texts):
    phrases = Corpus.from_texts(texts, phrases=True, stop_words="english", max_df=1.0).words.phrases
    assert phrases == (("green tea",) if texts[0] == "green tea" else ())


def test_lines_and_hyphens_do_not_part_words():
    texts = ["tall-ship and green\ntea"] * 9
    words = Corpus.from_texts(texts, phrases=True, stop_words="english", max_df=1.0).words
    assert words.phrases == ("green tea", "tall ship")


some_words = st.sampled_from(["new", "york", "city", "the", "of", "tea", "Tea,", "cup.", "12", "x"])
some_texts = st.lists(st.lists(some_words, max_size=10).map(" ".join), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(some_texts, st.integers(1, 3), st.integers(1, 7))
def test_new_texts_are_joined_as_in_training(texts, min_df, chunk):
    words = Words("english", min_df, 1.0, phrases=True)
    try:
        counts, vocabulary, _ = words.count(texts)
    except ValueError:
        return
    corpus = Corpus.from_texts(texts, words=words)
    after = Words.from_dict(json.loads(json.dumps(corpus.words.to_dict())))
    assert after == corpus.words
    assert (after.transform(texts, vocabulary) != counts).nnz == 0
    fixed = Corpus.from_texts(texts, vocabulary=vocabulary, words=after)
    assert (fixed.counts != counts).nnz == 0
    frequency = np.asarray((counts > 0).sum(0)).ravel()
    for phrase in after.phrases:  # none was joined only to be left out as too rare
        assert frequency[list(vocabulary).index(phrase)] >= min_df


def test_phrases_do_not_depend_on_how_texts_are_cut_into_chunks(tmp_path):
    expected = Corpus.from_texts(TEXTS, phrases=True)
    path = tmp_path / "t.csv"
    pd.DataFrame({"body": TEXTS}).to_csv(path, index=False)
    reading = files.read(path, words=Words(phrases=True))
    assert reading.words == expected.words
    assert reading.report == expected.report
    assert (reading.corpus.counts != expected.counts).nnz == 0


def test_phrases_can_be_given():
    words = Words("english", 1, 1.0, phrases=["State of the  Union", "green tea"])
    counts, vocabulary, _ = words.count(["the state of the Union, green-tea; green. Tea", "union"])
    assert vocabulary.tolist() == ["green", "green tea", "state of the union", "tea", "union"]
    assert counts.toarray().tolist() == [[1, 1, 1, 1, 0], [0, 0, 0, 0, 1]]
    with pytest.raises(ValueError, match="phrases must have two words or more each"):
        Words(phrases=["vitamin c"]).count(["vitamin c"])
    vocabulary = ["tea", "green tea"]
    only = Words(None, phrases=True).transform(["green tea and tea"], vocabulary)
    assert only.toarray().tolist() == [[1, 1]]


@pytest.mark.parametrize("odd", ["new york", 3, [1], 0.5])
def test_odd_phrases_are_refused(odd):
    with pytest.raises(ValueError, match="phrases must be True, False or a list of phrases"):
        Words(phrases=odd)


def test_phrases_and_ngrams_exclude_each_other():
    with pytest.raises(ValueError, match=r"ngram_range must be \(1, 1\) where phrases are counted"):
        Words(phrases=True, ngram_range=(1, 2))
    pairs = Corpus.from_texts(TEXTS, ngram_range=(1, 2), max_df=1.0)
    assert "york city" in pairs.vocabulary  # n-grams stay as they are


@pytest.mark.parametrize(
    "settings_of_words",
    [{"phrases": True}, {"word_forms": "stems"}, {"word_forms": "lemmas", "phrases": True}],
    ids=str,
)
def test_a_model_keeps_them(settings_of_words, tmp_path):
    pytest.importorskip("simplemma")
    pytest.importorskip("snowballstemmer")
    corpus = Corpus.from_texts(TEXTS, max_df=1.0, **settings_of_words)
    model = CTM(2, random_state=0, max_iter=3, inference="variational").fit(corpus)
    model.save(tmp_path / "m.gptm")
    again = load(tmp_path / "m.gptm")
    assert again.fitted_.words == corpus.words
    assert_array_equal(again.transform(TEXTS), model.transform(corpus))


def test_the_command_line_has_them(tmp_path, monkeypatch):
    pytest.importorskip("simplemma")
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"body": TEXTS}).to_csv("t.csv", index=False)
    run = CliRunner().invoke
    options = ["--phrases", "--word-forms", "lemmas:english", "--max-df", "1.0"]
    fit = run(app, ["fit", "t.csv", "-t", "2", "--max-iter", "3", "-o", "m.gptm", *options])
    assert fit.exit_code == 0, fit.stderr
    assert "joined to phrases" in fit.stderr
    expected = Corpus.from_texts(TEXTS, phrases=True, word_forms="lemmas:english", max_df=1.0)
    model = load("m.gptm")
    assert list(model.feature_names_in_) == list(expected.vocabulary)
    new = run(app, ["transform", "m.gptm", "t.csv"])
    assert new.exit_code == 0, new.stderr
    theta = pd.read_csv(pd.io.common.StringIO(new.stdout)).filter(like="topic_")
    np.testing.assert_allclose(theta, model.transform(expected), rtol=1e-6)
    both = run(app, ["fit", "t.csv", "--phrases", "--ngrams", "2"])
    assert both.exit_code == 2
    assert "--ngrams must be 1-1 where phrases are counted" in both.stderr


def test_a_million_tokens_take_seconds():
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"{a}{b}{c}" for a in "bcdfghklmn" for b in "aeiou" for c in "rstvwxyz"])
    texts = [" ".join(vocabulary[rng.zipf(1.3, 500) % len(vocabulary)]) for _ in range(2000)]
    start = time.process_time()
    Words(None, phrases=True).count(texts)
    assert time.process_time() - start < 30  # about 3 on an idle machine


def test_a_corpus_on_disk_needs_the_phrases_themselves(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"body": TEXTS}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match="phrases must be a list for a corpus on disk"):
        files.read_to_blocks(tmp_path / "t.csv", tmp_path / "a", words=Words(phrases=True))
    learnt = Corpus.from_texts(TEXTS, phrases=True, max_df=1.0)
    blocks = files.read_to_blocks(tmp_path / "t.csv", tmp_path / "b", words=learnt.words, n_jobs=1)
    assert list(blocks.corpus.vocabulary) == list(learnt.vocabulary)
    assert blocks.corpus.words == learnt.words


# Forms of words


def test_lemmas_and_stems_are_those_of_their_libraries():
    simplemma, snowball = map(pytest.importorskip, ("simplemma", "snowballstemmer"))
    words = ["cities", "parties", "running", "went", "tea"]
    text = " ".join(words)
    for forms, find in (
        ("lemmas:english", lambda word: simplemma.lemmatize(word, lang="en")),
        ("stems:english", snowball.stemmer("english").stemWord),
    ):
        _, vocabulary, _ = replace(PLAIN, word_forms=forms).count([text])
        assert vocabulary.tolist() == sorted(map(find, words))
    _, vocabulary, _ = replace(PLAIN, word_forms="lemmas:german").count(["Häuser gingen"])
    assert vocabulary.tolist() == ["gehen", "haus"]


def test_the_language_of_forms_is_that_of_the_texts():
    pytest.importorskip("simplemma")
    german = ["Die Häuser sind nicht die, die in den Städten waren."] * 3
    corpus = Corpus.from_texts(german, word_forms="lemmas")
    assert corpus.words.word_forms == "lemmas:german"
    assert list(corpus.vocabulary) == ["haus", "stadt"]
    alone = Corpus.from_texts(german, word_forms="lemmas", stop_words=None)
    assert alone.words.word_forms == "lemmas:german"
    told = Corpus.from_texts(["houses cities"], word_forms="lemmas", stop_words="english")
    assert told.words.word_forms == "lemmas:english"
    with pytest.raises(ValueError, match=r"word_forms must name a language .* 'lemmas:english'"):
        Corpus.from_texts(["xyz uvw"], word_forms="lemmas")


def test_stop_words_are_words_and_forms():
    """Stop words are known as they are written, and those that are added stop all forms of a word."""
    pytest.importorskip("simplemma")
    words = Words("english+run,houses", 1, 1.0, word_forms="lemmas")
    _, vocabulary, report = words.count(["he was running from house to house, houses were seen"])
    assert vocabulary.tolist() == ["house"]
    assert report.stop_words.tokens == 8


@pytest.mark.parametrize("odd", ["roots", "lemmas:klingon", 3, "stems:"])
def test_odd_forms_are_refused(odd):
    with pytest.raises(ValueError, match="word_forms must be 'lemmas' or 'stems'"):
        Words(word_forms=odd)


def test_languages_without_forms_and_packages_that_are_missing(monkeypatch):
    pytest.importorskip("snowballstemmer")
    with pytest.raises(ValueError, match="word_forms must have a language that there are stems"):
        Words(None, word_forms="stems:bulgarian").count(["tea"])
    from gptm.corpus import word_forms

    for forms, package in (("lemmas", "simplemma"), ("stems", "snowballstemmer")):
        word_forms._lemmas.cache_clear()
        word_forms._stems.cache_clear()
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=rf"{package}.*gptm\[lemmas\]"):
            Words(None, word_forms=f"{forms}:english").count(["tea"])


# Segmenters

CHINESE = [
    "我每天早上喝绿茶然后去上班。",
    "中午和同事一起吃饭聊天喝绿茶。",
    "晚上不喝咖啡，只喝绿茶。",
]


def by_pairs(text):
    return [text[i : i + 2] for i in range(0, len(text), 2)]


class Splitter:
    def __call__(self, text):
        return text.split("-")


def test_chinese_is_cut_by_jieba(recwarn):
    jieba = pytest.importorskip("jieba")
    corpus = Corpus.from_texts(CHINESE, segmenter="jieba", stop_words=None, max_df=1.0)
    assert not [w for w in recwarn if "without spaces" in str(w.message)]
    jieba.setLogLevel(60)
    expected = {word for text in CHINESE for word in jieba.lcut(text) if len(word) > 1}
    assert set(corpus.vocabulary) == expected >= {"绿茶", "同事", "上班"}
    assert corpus.counts[:, list(corpus.vocabulary).index("绿茶")].sum() == 3


def test_japanese_is_cut_by_janome():
    pytest.importorskip("janome")
    words = Words(None, 1, 1.0, segmenter="janome")
    assert {"緑茶", "仕事"} <= set(words.count(["私は毎朝緑茶を飲んでから仕事に行きます。"])[1])


def test_any_function_can_cut_texts_but_is_never_saved(tmp_path):
    corpus = Corpus.from_texts(CHINESE, segmenter=by_pairs, stop_words=None, max_df=1.0)
    assert "绿茶" in corpus.vocabulary
    model = CTM(2, random_state=0, max_iter=3, inference="variational").fit(corpus)
    expected = model.transform(CHINESE)
    assert_array_equal(expected, model.transform(corpus))
    assert pickle.loads(pickle.dumps(corpus.words)) == corpus.words
    path = tmp_path / "m.gptm"
    model.save(path)
    again = load(path)
    assert again.fitted_.words.segmenter == "function:by_pairs"
    with pytest.raises(ValueError, match=r"by 'by_pairs', a function, which a model file cannot"):
        again.transform(CHINESE)
    words = replace(again.fitted_.words, segmenter=by_pairs)
    new = Corpus.from_texts(CHINESE, vocabulary=again.feature_names_in_, words=words)
    assert_array_equal(again.transform(new), expected)
    assert Words(segmenter=Splitter()).to_dict()["segmenter"] == "function:Splitter"


def test_odd_segmenters(monkeypatch):
    for odd in ("klingon", 3, ["jieba"]):
        with pytest.raises(ValueError, match="segmenter must be one of 'jieba', 'janome'"):
            Words(segmenter=odd)
    for function in (str.upper, len):
        with pytest.raises(ValueError, match="must be a function from a text to a list"):
            Words(None, segmenter=function).count(["tea"])
    from gptm.corpus import segmenters

    for name, extra in (("jieba", "chinese"), ("janome", "japanese")):
        segmenters._jieba.cache_clear()
        segmenters._janome.cache_clear()
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setitem(sys.modules, f"{name}.tokenizer", None)
        with pytest.raises(ImportError, match=rf"gptm\[{extra}\]"):
            Words(None, segmenter=name).count(["tea"])
    segmenters._jieba.cache_clear()
    segmenters._janome.cache_clear()


def test_texts_without_blanks_are_told_what_to_pass():
    with pytest.warns(UserWarning, match=r"Pass segmenter='jieba' for Chinese"):
        Corpus.from_texts(CHINESE * 3, stop_words=None)
