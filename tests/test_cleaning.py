"""What is taken out of texts before words are counted, and the stop words that people add."""

import json
import logging
import time

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from gptm import CTM, Corpus, files, load
from gptm.cli.app import app
from gptm.corpus import Words
from gptm.corpus.cleaning import PARTS, Cleaner
from gptm.corpus.token_pattern import TOKEN_PATTERN
from gptm.storage.model_file import load_attached

CLEANED = {
    "url": ("see https://t.co/abc123 now", "see now", {"urls": 1}),
    "url in capitals": ("see HTTP://TEA.ORG/A?b=c&d=e", "see", {"urls": 1}),
    "url without http": ("see www.tea.org, and pic.twitter.com/x1", "see and", {"urls": 2}),
    "url that was cut": ("see https://t… or https…", "see or", {"urls": 2}),
    "url before chinese": ("http://t.co/ab我们", "我们", {"urls": 1}),
    "no urls": ("and/or e.g./i.e. tea.Coffee/milk https", None, {}),
    "entities": ("Caf&eacute; &amp; t&#xE9;&#33;", "Café & té!", {"html": 4}),
    "escaped twice": ("tea &amp;amp; milk &amp;lt;br&amp;gt;", "tea & milk", {"html": 4}),
    "entity that was cut": ("tea &amp milk", "tea & milk", {"html": 1}),
    "no entities": ("R&D at AT&T, &bogus", None, {}),
    "tags": ("<p class='x'>tea<br/>milk</p>", "tea milk", {"html": 3}),
    "escaped tags": ("&lt;b&gt;tea&lt;/b&gt;", "tea", {"html": 6}),
    "comments": ("tea<!-- no -->milk<!DOCTYPE html>", "tea milk", {"html": 2}),
    "scripts": ("tea<script>var x;</script>milk<STYLE>p{}</STYLE>", "tea milk", {"html": 2}),
    "open script": ("tea <script> milk", "tea milk", {"html": 1}),
    "no tags": ("I <3 tea, 1 < 2 > 0, <Peter>", None, {"numbers": 4}),
    "mentions": ("RT @ann: tea for @bob_1, @ann@tea.social", ": tea for ,", {"mentions": 3}),
    "no mentions": ("tea @ five, a@b", None, {}),
    "emails": ("ask ann.b+c@tea.co.uk", "ask", {"emails": 1}),
    "hashtags": ("#tea is fine", None, {}),
    "numbers": ("in 2017 covid19 cost 1,000.5 a_1", None, {"numbers": 4}),
}


@pytest.mark.parametrize("case", CLEANED)
def test_parts_are_taken_out_and_counted(case):
    text, expected, removed = CLEANED[case]
    cleaner = Cleaner()
    assert cleaner(text).split() == (text if expected is None else expected).split()
    assert dict(cleaner.removed) == removed
    assert Cleaner(PARTS)(text) == text
    keeping = Cleaner({*removed, "numbers"})  # an address may have digits
    keeping(text)
    assert not keeping.removed


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab1 .,:;!?-_@&<>/#\"'é…\n"), max_size=60))
def test_a_clean_text_stays_clean(text):
    once = Cleaner()(text)
    again = Cleaner()
    if once == Cleaner()(once):  # parts may come together where something between them went
        again(once)
        assert set(again.removed) <= {"numbers"}  # which stay in the text
    assert Cleaner(PARTS)(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        *("<a ", "<script>", "</script>", "&amp;", "&amp", "a.b", "a-", "@", "a@", "RT ", "a.com/"),
        *("x@a.", "<!", "http:/", "www.", "a.", "&a1", "RT @", "<b ", "&#1", "<script></script>"),
    ],
)
def test_no_text_takes_long(piece):
    times = []
    for n in (30_000, 120_000):
        text = "/@…" + piece * (n // len(piece))
        start = time.perf_counter()
        Cleaner()(text)
        times.append(time.perf_counter() - start)
    assert times[1] < 12 * times[0] + 0.2  # 4 times as long a text; squares would give 16


TWEETS = [
    "RT @ann: the tea &amp; the milk https://t.co/x1 in 2017",
    "the coffee of @bob is not good &lt;3 http://t.co/y2",
    "ask ann@tea.org about it",
] * 8
CLEAN_WORDS = ["ask", "coffee", "good", "milk", "tea"]


def of_file(path):
    return files.read(path, text="body").corpus


def of_command(path):
    model = path.with_suffix(".gptm")
    arguments = ["fit", str(path), "--text", "body", "-t", "2", "--max-iter", "3", "-o", str(model)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    return load_attached(model).corpus


@pytest.mark.parametrize("door", ["texts", "csv", "jsonl", "folder", "command"])
def test_every_door_cleans(door, tmp_path):
    table = pd.DataFrame({"id": [f"d{i:02d}" for i in range(24)], "body": TWEETS})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    (tmp_path / "f").mkdir()
    for row in table.itertuples():
        (tmp_path / "f" / f"{row.id}.txt").write_text(row.body, encoding="utf-8")
    corpus = {
        "texts": lambda: Corpus.from_texts(TWEETS),
        "csv": lambda: of_file(tmp_path / "t.csv"),
        "jsonl": lambda: of_file(tmp_path / "t.jsonl"),
        "folder": lambda: files.read(tmp_path / "f").corpus,
        "command": lambda: of_command(tmp_path / "t.csv"),
    }[door]()
    assert sorted(corpus.vocabulary) == CLEAN_WORDS
    if door != "command":
        expected = {"urls": 16, "html": 16, "emails": 8, "mentions": 16, "numbers": 16}
        assert corpus.report.cleaned == expected


def test_cleaning_is_announced_in_one_line(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "gptm"):
        Corpus.from_texts(TWEETS)
    (record,) = caplog.records
    assert record.getMessage() == (
        "taken out of the texts: 16 URLs, 16 HTML tags and entities, 8 e-mail addresses, 16 @names, "
        "16 numbers and words with digits (keep='urls,html,emails,mentions,numbers' keeps them)"
    )
    caplog.clear()
    with caplog.at_level(logging.WARNING, "gptm"):
        Corpus.from_texts(["green tea", "black tea"])
        Corpus.from_texts(TWEETS, vocabulary=["tea"])  # as in training, where it was said
        Corpus.from_texts(TWEETS, keep="all")
    assert not caplog.records
    path = tmp_path / "t.csv"
    pd.DataFrame({"body": [*TWEETS, "one @name"]}).to_csv(path, index=False)
    assert "17 @names, 16 numbers and words with digits (keep='urls" in str(files.read(path))
    arguments = ["fit", str(path), "-t", "2", "--max-iter", "3", "-o", str(tmp_path / "m.gptm")]
    said = CliRunner().invoke(app, arguments).stderr
    assert "16 URLs" in said
    assert said.count("keep 'urls,html,emails,mentions,numbers' keeps them") == 1
    report = CliRunner().invoke(app, [*arguments, "--json"]).stdout
    assert json.loads(report)["words_report"]["cleaned"]["mentions"] == 17


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ("urls", {"https", "http"}),
        (["html"], {"amp", "lt"}),
        ("mentions", {"rt", "ann", "bob"}),
        ("emails", {"ann", "org"}),
        ("numbers", {"2017", "3"}),
        ("all", {"https", "amp", "rt", "org", "2017", "x1"}),
    ],
)
def test_every_part_can_be_kept(keep, words, tmp_path):
    corpus = Corpus.from_texts(TWEETS, keep=keep, max_df=1.0)
    assert words <= set(corpus.vocabulary)
    path = tmp_path / "t.csv"
    pd.DataFrame({"body": TWEETS}).to_csv(path, index=False)
    option = keep if isinstance(keep, str) else ",".join(keep)
    arguments = [
        "fit",
        str(path),
        "-t",
        "2",
        "--max-iter",
        "3",
        "--keep",
        option,
        "--max-df",
        "1.0",
    ]
    result = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "m.gptm")])
    assert result.exit_code == 0, result.stderr
    model = load(tmp_path / "m.gptm")
    assert sorted(model.feature_names_in_) == sorted(corpus.vocabulary)
    assert model.fitted_.words.keep == corpus.words.keep


def test_numbers_are_words_where_they_are_kept():
    text = "1,000.5 cups in 2017: 7 covid19 b2b x हिंदी2 3.14 5."
    assert Words(keep="numbers").tokenizer()(text) == (
        ["1,000.5", "cups", "in", "2017", "7", "covid19", "b2b", "हिंदी2", "3.14", "5"]
    )
    assert Words().tokenizer()(text) == ["cups", "in"]
    own = Words(token_pattern=r"\d+", keep="numbers")  # which decides
    assert own.tokenizer()("tea 12") == ["12"]
    assert own.token_pattern != TOKEN_PATTERN


def test_new_texts_are_cleaned_as_in_training(tmp_path):
    for keep in ((), ("mentions",)):
        corpus = Corpus.from_texts(TWEETS, keep=keep)
        model = CTM(2, random_state=0, max_iter=3, inference="variational").fit(corpus)
        model.save(tmp_path / "m.gptm")
        again = load(tmp_path / "m.gptm")
        assert again.fitted_.words == corpus.words
        assert_array_equal(again.transform(TWEETS[:3]), model.transform(corpus[:3]))
    pd.DataFrame({"body": TWEETS}).to_csv(tmp_path / "t.csv", index=False)
    model.save(tmp_path / "m.gptm", words=corpus.words.to_dict())
    result = CliRunner().invoke(
        app, ["transform", str(tmp_path / "m.gptm"), str(tmp_path / "t.csv")]
    )
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("keep", ["links", ["urls", "tea"], [1], 5, {"urls": 1, "x": 2}])
def test_unknown_parts_are_refused(keep):
    with pytest.raises(ValueError, match="keep must name what is kept, of urls, html"):
        Words(keep=keep)


# Stop words


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine.txt").write_text("# my words\nmilk\nTee\n", encoding="utf-8")
    (tmp_path / "old.txt").write_bytes("schön\n".encode("cp1252"))
    (tmp_path / "a+b.txt").write_text("plus\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SPECIFIED = {
    "english+mine.txt": ("english", ("milk", "Tee")),
    "en + mine.txt + german": ("english+german", ("milk", "Tee")),
    "+amp,rt": ("auto", ("amp", "rt")),
    "+amp": ("auto", ("amp",)),
    "auto+amp, rt": ("auto", ("amp", "rt")),
    "+german": ("auto+german", ()),
    "english+mine.txt+amp,milk": ("english", ("milk", "Tee", "amp")),
    "mine.txt": (("milk", "Tee"), ()),
    "mine.txt+old.txt": (("milk", "Tee", "schön"), ()),
    "a+b.txt": (("plus",), ()),
    "amp,rt": (("amp", "rt"), ()),
    "english+de,": ("english", ("de",)),
}


@pytest.mark.parametrize("given_words", SPECIFIED)
def test_stop_words_can_be_added(given_words, mine):
    words = Words(given_words)
    base, extra = SPECIFIED[given_words]
    assert (words.stop_words, words.extra_stop_words) == (base, extra)
    assert {word.lower() for word in extra} <= words.stop_list()
    (mine / "mine.txt").unlink()  # the settings hold the words
    after = Words.from_dict(json.loads(json.dumps(words.to_dict())))
    assert after == words
    assert after.stop_list() == words.stop_list()


def test_added_words_go_with_the_language_that_is_found():
    corpus = Corpus.from_texts(TWEETS, stop_words="+milk,ask")
    assert (corpus.words.stop_words, corpus.words.extra_stop_words) == ("english", ("milk", "ask"))
    assert list(corpus.vocabulary) == ["coffee", "good", "tea"]
    both = Words("+german").resolved(TWEETS)
    assert both.stop_words == "english+german"
    none = Words("+tea").resolved(["tea milk cup"])
    assert (none.stop_words, none.extra_stop_words) == (("tea",), ())
    pairs = Words("+milk", ngram_range=(1, 2))
    assert pairs.transform(["the state of milk union"], ["state union"]).toarray().tolist() == [[1]]


@pytest.mark.parametrize(
    ("given_words", "message"),
    [
        ("english+germn", r"Did you mean 'german'\? For a word, write 'germn,'"),
        ("english+other.txt", "There is no file 'other.txt'"),
        ("english++amp", "must be a language"),
        ("klingon", "must be a language"),
        ("", "must be a language"),
    ],
)
def test_odd_stop_words_are_refused(given_words, message, mine):
    with pytest.raises(ValueError, match=message):
        Words(given_words)


def test_extra_stop_words_are_words():
    assert Words(None, extra_stop_words=["tea"]) == Words(["tea"])
    for odd in ("tea", [1]):
        with pytest.raises(ValueError, match="extra_stop_words must be a list of words"):
            Words(extra_stop_words=odd)


def test_the_command_prints_the_list(mine):
    def run(*arguments):
        return CliRunner().invoke(app, ["words", *arguments])

    english = run("--stop-words", "english")
    assert english.exit_code == 0
    assert english.stdout.splitlines() == sorted(Words("english").stop_list())
    more = run("--stop-words", "english+mine.txt", "--json")
    assert set(json.loads(more.stdout)) == {*english.stdout.split(), "milk", "tee", "Tee".lower()}
    open_language = run("--stop-words", "+amp")
    assert open_language.exit_code == 2
    assert "expects the name of a language" in open_language.stderr
    assert run("--stop-words", "klingon").exit_code == 2
    none = run("--stop-words", "none")
    assert (none.exit_code, none.stdout) == (0, "")


def test_a_fit_takes_stop_words_from_a_file_and_does_not_write_over_it(mine):
    pd.DataFrame({"body": TWEETS}).to_csv("t.csv", index=False)
    arguments = ["fit", "t.csv", "-t", "2", "--max-iter", "3", "--stop-words", "english+mine.txt"]
    result = CliRunner().invoke(app, [*arguments, "-o", "m.gptm"])
    assert result.exit_code == 0, result.stderr
    assert "milk" not in load("m.gptm").feature_names_in_
    refused = CliRunner().invoke(app, [*arguments, "-o", "mine.txt", "--overwrite"])
    assert refused.exit_code == 2
    assert "would destroy the input" in refused.stderr
