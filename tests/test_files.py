"""Files to counts and metadata: every format, every kind of column, every kind of damage."""

import contextlib
import csv
import gzip
import io
import json
import re
import sys
import tracemalloc
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import mmwrite
from scipy.sparse import csr_matrix, save_npz
from typer.testing import CliRunner

import gptm.files as files
from gptm import Corpus
from gptm.cli.app import app
from gptm.corpus import dates
from gptm.corpus.cells import is_missing
from gptm.corpus.words import Words
from gptm.files.parquet import import_parquet
from gptm.kernels.auto import auto_kernel

PLAIN = Words(None, 1, 1.0)

ROWS = [
    {"key": "d1", "date": "2020-01-31", "source": "Times", "score": "1.5", "refs": "d2;d3"},
    {"key": "d2", "date": "2021-02-28", "source": "Post", "score": "2", "refs": ""},
    {"key": "d3", "date": "", "source": "Times", "score": "", "refs": "d1"},
    {"key": "d4", "date": "2022-03-01", "source": "Post", "score": "-3e1", "refs": "d1;d4"},
]
BODIES = [
    "Green tea, black tea",
    'She said "coffee"\nand left the room',
    "Über naïve cafés, and 東京 tea",
    "Beans from Brazil and beans from Peru",
]
TABLE = [{**row, "body": body} for row, body in zip(ROWS, BODIES, strict=True)]


def csv_bytes(rows, encoding="utf-8", **options):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), **options)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode(encoding)


def jsonl_bytes(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def typed_rows():
    """The same table as a program would hold it."""
    return [
        {
            **row,
            "score": float(row["score"]) if row["score"] else None,
            "refs": row["refs"].split(";") if row["refs"] else None,
            "date": row["date"] or None,
        }
        for row in TABLE
    ]


def parquet_bytes(rows):
    out = io.BytesIO()
    frame = pd.DataFrame(rows)
    if "date" in frame:
        frame["date"] = pd.to_datetime(frame["date"])
    frame.to_parquet(out, index=False)
    return out.getvalue()


TABLES = {
    "data.csv": csv_bytes(TABLE),
    "data.tsv": csv_bytes(TABLE, delimiter="\t"),
    "semicolons.csv": csv_bytes(TABLE, delimiter=";"),
    "data.jsonl": jsonl_bytes(typed_rows()),
    "data.ndjson": jsonl_bytes(TABLE),
    "data.json": json.dumps(typed_rows(), indent=2).encode(),
    "dense.json": json.dumps(typed_rows()).encode(),
    "data.parquet": parquet_bytes(typed_rows()),
}


def put(folder, name, content):
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def problem(reading, kind):
    return next(one for one in reading.problems if one.kind == kind)


def check_table(reading):
    """`TABLE`, whichever way it came."""
    corpus = reading.corpus
    assert reading.columns.kinds == {
        "key": "id",
        "date": "date",
        "source": "category",
        "score": "number",
        "refs": "links",
        "body": "text",
    }
    assert corpus.ids.tolist() == ["d1", "d2", "d3", "d4"]
    frame = corpus.metadata
    assert frame.index.tolist() == ["d1", "d2", "d3", "d4"]
    assert pd.api.types.is_datetime64_dtype(frame["date"])
    assert frame["date"].dt.year.tolist()[:2] == [2020, 2021]
    assert frame["date"].isna().tolist() == [False, False, True, False]
    assert frame["score"].dtype == np.float64
    np.testing.assert_array_equal(frame["score"], [1.5, 2, np.nan, -30])
    assert frame["source"].tolist() == ["Times", "Post", "Times", "Post"]
    assert frame["refs"].tolist() == [["d2", "d3"], None, ["d1"], ["d1", "d4"]]
    counts, vocabulary, _ = PLAIN.count(BODIES)
    assert corpus.vocabulary.tolist() == vocabulary.tolist()
    assert (corpus.counts != counts).nnz == 0
    assert reading.problems == []


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", TABLES)
def test_tables_of_every_format(tmp_path, name, packed):
    path = put(tmp_path, name + packed, TABLES[name])
    reading = files.read(path, words=PLAIN)
    check_table(reading)
    assert files.sniff(path).kinds == reading.columns.kinds
    assert files.sniff(str(path)).format == reading.columns.format


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_standard_input(monkeypatch, name, packed):
    content = gzip.compress(TABLES[name]) if packed else TABLES[name]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    seen = []
    reading = files.read("-", words=PLAIN, progress=lambda done, total: seen.append((done, total)))
    check_table(reading)
    assert seen[-1] == (len(content), None)


def test_a_format_can_be_forced_or_told_by_the_content(tmp_path):
    check_table(files.read(put(tmp_path, "a.data", TABLES["data.tsv"]), format="tsv", words=PLAIN))
    check_table(files.read(put(tmp_path, "b", TABLES["data.jsonl"]), words=PLAIN))
    check_table(files.read(put(tmp_path, "c.bin", TABLES["data.parquet"]), words=PLAIN))
    check_table(files.read(put(tmp_path, "d.txt", TABLES["data.csv"]), format="csv", words=PLAIN))
    # A gzipped file is known by its first bytes, not by its name.
    check_table(files.read(put(tmp_path, "e.csv", gzip.compress(TABLES["data.csv"])), words=PLAIN))
    with pytest.raises(ValueError, match=r"format must be one of csv.*'xml'"):
        files.read(tmp_path / "b", format="xml")


def test_progress_tells_bytes(tmp_path):
    for name in ("data.csv", "data.parquet", "data.csv.gz"):
        path = put(tmp_path, name, TABLES[name.removesuffix(".gz")])
        seen = []
        files.read(path, progress=lambda done, total, seen=seen: seen.append((done, total)))
        assert seen[-1] == (path.stat().st_size,) * 2


def test_automatic_kernels_understand_the_metadata(tmp_path):
    reading = files.read(put(tmp_path, "data.csv", TABLES["data.csv"]), words=PLAIN)
    kernel = repr(auto_kernel(reading.corpus.metadata))
    assert "Matern('date')" in kernel
    assert "Matern('score')" in kernel
    assert "Categorical('source')" in kernel
    assert "Graph('refs', id='key')" in kernel
    assert "('key'" not in kernel


# -- columns -----------------------------------------------------------------------------------------------


def kinds_of(tmp_path, columns, **options):
    """Kinds of columns beside a text."""
    n = len(next(iter(columns.values())))
    table = {**columns, "body": [f"some words about tea number {'x' * (i % 7)}" for i in range(n)]}
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return files.read(put(tmp_path, "t.jsonl", jsonl_bytes(rows)), words=PLAIN, **options)


def test_columns_are_shown_with_reasons(tmp_path):
    columns = files.read(put(tmp_path, "data.csv", TABLES["data.csv"]), words=PLAIN).columns
    lines = str(columns).splitlines()
    assert lines[0].split() == ["column", "kind", "why"]
    assert len(lines) == 1 + len(columns) == 7
    assert lines[1].split() == ["key", "id", "is", "called", "'key'"]
    assert columns.text == ("body",)
    assert columns.id == "key"
    assert columns["score"].why == "all numbers"
    assert columns.to_frame().shape == (6, 3)
    assert json.loads(json.dumps(columns.to_list()))[0]["name"] == "key"
    assert "key: id" in repr(columns)


MIXED = "date:ISO8601|%d/%m/%Y|%d %B %Y|%B %d, %Y"


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("year", [1990, 1991, 1992, 1993], "number"),
        ("year", ["1990", "1991", "", "1993"], "number"),
        ("zip", ["01234", "01234", "99999", "99999"], "category"),
        ("label", [0, 1, 0, 1], "category"),
        ("flag", [True, False, True, None], "category"),
        ("when", ["31/12/2020", "13/01/2021", "01/02/2021", ""], "date:%d/%m/%Y"),
        ("when", ["12/31/2020", "01/13/2021", "01/02/2021", "NA"], "date:%m/%d/%Y"),
        ("when", ["31.12.2020", "13.01.2021", "01.02.2021", "1.1.2020"], "date:%d.%m.%Y"),
        ("when", ["4 March 2020", "5 May 2021", "31 July 2020", None], "date:%d %B %Y"),
        ("when", ["2020-01-01T10:00:00Z", "2020-01-01 10:00", "2020-01", "2020-05-05"], "date"),
        ("when", ["2020-01-31", "March 3, 1999", "31/12/1998", "5 May 2021"], MIXED),
        ("when", ["12-31-2020", "01-13-2021", "01-02-2021", "NA"], "date:%m-%d-%Y"),
        (
            "when",
            ["13/01/2021 10:00", "01/02/2021", "03/04/2021", ""],
            "date:%d/%m/%Y|%d/%m/%Y %H:%M",
        ),
        ("pub_date", [20200131, 20200201, 20200302, 20200303], "date"),
        ("when", ["Mon, 02 Mar 2020 10:00:00 +0100"] * 4, "date:%a, %d %b %Y %H:%M:%S %z"),
        ("vec", [[0.1, 0.2], [0.3, 0.4], [1, 2], [3.5, 4]], "vector"),
        ("vec", ["[0.1, 0.2]", "[0.3, 0.4]", "[1, 2]", "[3.5, 4]"], "vector"),
        ("tags", [["a", "b"], ["c"], [], None], "list"),
        ("author", ["A B", "A B", "C", "C"], "category"),
        ("title", ["A B", "B C", "C D", "D E"], "note"),
        ("page", [f"https://example.org/{i}" for i in range(4)], "note"),
        ("empty", [None, "", "NA", "nan"], "ignore"),
        ("long", ["-" * 300 + str(i) for i in range(4)], "ignore"),
    ],
)
def test_kinds_are_guessed(tmp_path, name, cells, kind):
    reading = kinds_of(tmp_path, {name: cells})
    assert reading.columns.kinds[name] == kind
    assert reading.columns["body"].kind == "text"
    assert (name in (reading.corpus.metadata if reading.corpus.metadata is not None else ())) == (
        kind != "ignore"
    )


@pytest.mark.parametrize(
    ("cells", "links"),
    [
        (["b;c", "a", "", "a;b"], [["b", "c"], ["a"], None, ["a", "b"]]),
        (["b|c", "a", "", "a | b"], [["b", "c"], ["a"], None, ["a", "b"]]),
        (["b, c", "a", "", "a,b"], [["b", "c"], ["a"], None, ["a", "b"]]),
        (["b c", "a", "", "a b"], [["b", "c"], ["a"], None, ["a", "b"]]),
        (['["b", "c"]', '["a"]', "[]", "['a', 'b']"], [["b", "c"], ["a"], [], ["a", "b"]]),
        ([["b", "c"], ["a"], [], ["a", None]], [["b", "c"], ["a"], [], ["a"]]),
        (["b;zz", "a", "", "a"], [["b", "zz"], ["a"], None, ["a"]]),
    ],
)
def test_links_in_every_spelling(tmp_path, cells, links):
    reading = kinds_of(tmp_path, {"id": list("abcd"), "to": cells})
    assert reading.columns.kinds["to"] == "links"
    assert reading.corpus.metadata["to"].tolist() == links


def test_links_by_numbers(tmp_path):
    reading = kinds_of(tmp_path, {"id": [1, 2, 3, 4], "parent": [None, 1, 1, 2]})
    assert reading.columns.kinds["parent"] == "links"
    assert reading.corpus.metadata["parent"].tolist() == [None, ["1"], ["1"], ["2"]]
    reading = kinds_of(tmp_path, {"id": [1, 2, 3, 4], "stars": [4, 1, 1, 2]})
    assert reading.columns.kinds["stars"] == "number"


def test_vectors_of_zeros_and_ones_are_no_links_to_documents_that_are_numbered(tmp_path):
    columns = {"id": [0, 1, 2, 3], "v": np.eye(4, dtype=int).tolist(), "to": [[1], [2], [3], [0]]}
    reading = kinds_of(tmp_path, columns)
    assert reading.columns.kinds["v"] == "vector"
    assert reading.columns.kinds["to"] == "links"


def test_links_by_numbers_that_a_program_wrote_as_floats(tmp_path):
    text = "id,parent,body\n1,,green tea\n2,1.0,black tea\n3,2.0,more tea\n"
    reading = read_csv(tmp_path, text)
    assert reading.corpus.metadata["parent"].tolist() == [None, ["1"], ["2"]]


def test_ids_are_guessed(tmp_path):
    assert kinds_of(tmp_path, {"doc_id": list("abcd")}).columns.id == "doc_id"
    assert kinds_of(tmp_path, {"user_id": list("aacd")}).columns.id is None
    assert kinds_of(tmp_path, {"paper_id": list("abcd")}).columns.id == "paper_id"
    paper = kinds_of(tmp_path, {"paper": list("abcd"), "cites": ["b", "a;c", "", "a"]})
    assert paper.columns.kinds["paper"] == "id"
    assert paper.columns.kinds["cites"] == "links"
    assert kinds_of(tmp_path, {"year": [1, 2, 3, 4]}).corpus.ids is None


def test_links_tell_what_the_ids_are_although_one_repeats(tmp_path):
    posts = [f"p{i}" for i in range(30)]
    columns = {
        "post": [*posts, "p7"],
        "cites": ["", *posts],
        "url": [f"http://example.org/{i}" for i in range(31)],
    }
    reading = kinds_of(tmp_path, columns)
    assert reading.columns.id == "post"
    assert reading.columns["post"].why == "hardly any repeats, and 'cites' links to it"
    assert reading.columns.kinds["cites"] == "links"
    assert problem(reading, "duplicate id").count == 1


def test_what_is_no_text_is_refused(tmp_path):
    path = put(tmp_path, "model.gptm", b"\x10\x00\x00\x00{},\x00\xff\n" * 9)
    with pytest.raises(ValueError, match=r"model\.gptm is not a text file.*Expected a table"):
        files.read(path)


def test_a_copy_of_the_ids_is_no_column_of_links(tmp_path):
    reading = kinds_of(tmp_path, {"id": list("abcd"), "name": list("abcd")})
    assert reading.columns.kinds == {"id": "id", "name": "note", "body": "text"}
    twice = kinds_of(tmp_path, {"one": ["a b", "c d", "e f"], "two": ["a b", "c d", "e f"]})
    assert twice.columns.kinds == {"one": "note", "two": "note", "body": "text"}


def test_kinds_can_be_told(tmp_path):
    told = {"year": "category", "n": "ignore", "when": "date:%Y", "who": "note"}
    columns = {
        "year": [1990, 1990, 1991, None],
        "n": [1, 2, 3, 4],
        "when": ["1990", "1991", "x", ""],
        "who": list("aabb"),
    }
    reading = kinds_of(tmp_path, columns, kinds=told)
    assert {name: reading.columns.kinds[name] for name in told} == told
    frame = reading.corpus.metadata
    assert frame["year"].tolist()[:3] == ["1990", "1990", "1991"]
    assert isinstance(frame["year"].dtype, pd.CategoricalDtype)
    assert frame["year"].isna().tolist() == [False] * 3 + [True]
    assert "n" not in frame
    assert frame["when"].dt.year.tolist()[:2] == [1990, 1991]
    assert problem(reading, "not a date").lines == (3,)
    assert frame["who"].tolist() == list("aabb")


def test_a_category_of_one_name_is_called_so(tmp_path):
    reading = kinds_of(tmp_path, {"source": ["Times"] * 4})
    assert reading.columns["source"].why == "one name"


def test_text_can_be_told_and_joined(tmp_path):
    path = put(tmp_path, "data.csv", TABLES["data.csv"])
    reading = files.read(path, text="source", words=PLAIN)
    assert reading.corpus.vocabulary.tolist() == ["post", "times"]
    for text in ("source,body", ["source", "body"]):
        both = files.read(path, text=text, words=PLAIN, keep_texts=True)
        assert both.columns.text == ("source", "body")
        assert both.texts[0] == "Times\nGreen tea, black tea"
        assert "source" not in both.corpus.metadata
    by_kind = files.read(path, kinds={"source": "text"}, words=PLAIN)
    assert by_kind.columns.text == ("source",)


def test_unknown_columns_are_refused_with_the_nearest_name(tmp_path):
    path = put(tmp_path, "data.csv", TABLES["data.csv"])
    for options in ({"text": "bodi"}, {"id": "bodi"}, {"kinds": {"bodi": "note"}}):
        with pytest.raises(ValueError, match=r"'bodi'.*columns are .*mean 'body'"):
            files.read(path, **options)
    with pytest.raises(ValueError, match=r"kinds must give .*; got kinds=\{'date': 'time'\}"):
        files.read(path, kinds={"date": "time"})
    with pytest.raises(ValueError, match="date format"):
        files.read(path, kinds={"date": "date:%Q"})


def test_the_text_is_the_longest_column_not_the_one_called_so(tmp_path):
    rows = [
        {"text": "", "headline": f"Tea {i} in town", "story": f"A long story about tea, part {i}"}
        for i in range(30)
    ]
    reading = files.read(put(tmp_path, "t.csv", csv_bytes(rows)), words=PLAIN)
    assert reading.columns.text == ("story",)
    assert reading.columns["text"].kind == "ignore"
    assert reading.columns["headline"].kind == "note"


def test_a_text_of_letters_with_marks_is_a_text(tmp_path):
    hindi = ["यह किताब मेरी है", "वह चाय पीती है", "मैं घर में हूँ"]
    rows = [{"who": f"Author Number{i}", "what": one} for i, one in enumerate(hindi)]
    path = tmp_path / "hindi.csv"
    path.write_bytes(csv_bytes(rows))
    reading = files.read(path, words=PLAIN)
    assert reading.columns.text == ("what",)
    assert {"किताब", "मेरी", "हूँ"} <= set(reading.corpus.vocabulary)


def test_a_text_without_blanks_is_a_text_and_told_of(tmp_path):
    chinese = [
        "我每天早上喝绿茶然后去上班",
        "中午和同事一起吃饭聊天喝咖啡",
        "晚上在家里看书写信听音乐",
    ]
    rows = [{"id": i, "city": "北京市", "what": one} for i, one in enumerate(chinese)]
    path = put(tmp_path, "chinese.csv", csv_bytes(rows))
    with pytest.warns(UserWarning, match="segmenter"):
        assert files.read(path, words=PLAIN).columns.text == ("what",)


def test_counts_of_words_in_two_spellings_are_matched(tmp_path):
    path = tmp_path / "c.ldac"
    path.write_text("2 0:3 1:2\n", encoding="utf-8")
    new = files.read_documents(
        path, words=PLAIN, vocabulary=["tea", "grün"], file_vocabulary=["grün", "gru\u0308n"]
    )
    assert new.corpus.counts.toarray().tolist() == [[0, 5]]


def test_a_table_without_text(tmp_path):
    rows = [{"a": str(i), "b": f"https://example.org/{i}"} for i in range(30)]
    with pytest.raises(ValueError, match=r"no column looks like text; the columns are 'a', 'b'"):
        files.read(put(tmp_path, "t.csv", csv_bytes(rows)))


def test_texts_are_kept_on_request(tmp_path):
    path = put(tmp_path, "data.csv", TABLES["data.csv"])
    assert files.read(path).texts is None
    assert files.read(path).corpus.texts is None
    assert files.read(path, keep_texts=True).texts == BODIES
    assert files.read(path, keep_texts=5).texts == [body[:5] for body in BODIES]


def test_nested_objects_and_late_columns(tmp_path):
    rows = [
        {"body": "black tea", "meta": {"year": 1990, "by": {"name": "Ann"}}},
        {"body": ["green", "tea"], "late": 3},
    ]
    reading = files.read(put(tmp_path, "t.jsonl", jsonl_bytes(rows)), text="body", words=PLAIN)
    assert list(reading.corpus.metadata) == ["meta.year", "meta.by.name", "late"]
    np.testing.assert_array_equal(reading.corpus.metadata["late"], [np.nan, 3])
    assert reading.corpus.counts.sum() == 4


WRITTEN = {
    "%d.%m.%y": ["31.12.12", "13.01.99", "7.9.12"],
    "%m/%d/%y %H:%M": ["10/16/12 22:59", "1/31/99 0:05", "12/13/05 07:30"],
    "%d/%m/%y %H:%M": ["16/10/12 22:59", "31/1/99 0:05", "13/12/05 07:30"],
    "%m/%d/%y %H:%M:%S": ["10/16/12 22:59:01", "1/31/99 0:05:59"],
    "%m/%d/%y %I:%M %p": ["10/16/12 10:59 PM", "1/31/99 12:05 AM"],
    "%d.%m.%y %H:%M": ["16.10.12 22:59", "31.1.99 0:05"],
    "%d-%b-%y": ["16-Oct-12", "31-Jan-99"],
    "%b-%y": ["Sep-12", "Jan-99", "Mar-05"],
    "%m/%Y": ["09/2012", "1/1999", "03/2005"],
    "%m/%d/%Y %I:%M %p": ["9/27/2012 4:05 PM", "01/31/1999 11:00 AM", "3/14/2005 12:30 pm"],
    "%d/%m/%Y %I:%M %p": ["27/9/2012 4:05 PM", "31/01/1999 11:00 AM", "14/3/2005 12:30 pm"],
    "%A, %B %d, %Y": ["Friday, September 7, 2012", "Monday, January 4, 1999"],
    "%B %d, %Y": ["September 7th, 2012", "January 1st, 1999", "March 3, 2005"],
    "%d. %B %Y": ["7. September 2012", "31. January 1999"],
    "%a, %d %b %Y %H:%M:%S": ["Fri, 07 Sep 2012 10:00:00 GMT", "Mon, 04 Jan 1999 00:00:00 GMT"],
    "%d.%m.%Y %H:%M": ["31.12.2012 10:00 UTC", "07.09.1999 11:30 UTC"],
    "ISO8601": ["2012-Q3", "1999 Q1", "Q2 2005", "2005q4", "2012-09-07 10:00 UTC"],
}


@pytest.mark.parametrize("form", WRITTEN)
def test_dates_in_many_forms(tmp_path, form):
    cells = WRITTEN[form] * 2
    rows = [{"body": f"tea {i} cup", "when": cell} for i, cell in enumerate(cells)]
    reading = files.read(put(tmp_path, "t.csv", csv_bytes(rows)), text="body", words=PLAIN)
    assert reading.columns.kinds["when"] == ("date" if form == "ISO8601" else f"date:{form}")
    assert reading.problems == []
    dates = reading.corpus.metadata["when"]
    assert dates.dt.year.tolist()[:2] == [2012, 1999]
    assert all(date.month == 9 for date, cell in zip(dates, cells, strict=True) if "Sep" in cell)


def test_forms_that_are_not_tried_fit_nothing():
    """A form is tried only where the cells have its marks."""
    day = datetime(2012, 9, 17, 22, 59)
    texts = [day.strftime(form) for form in dates._FORMS if form != dates.ISO]
    texts += [
        "2012-09-17T22:59Z",
        "2012-Q3",
        "17th September 2012",
        "1999",
        "12",
        "soon",
        "9 / 17 / 2012",
    ]
    for text in texts:
        cells = np.array([text, text.upper()], dtype=object)
        fitting = [form for form in dates._FORMS if dates._fits(cells, form).any()]
        assert set(fitting) <= set(dates._possible(cells)), text
    assert dates._possible(np.array(["12", "1999"], dtype=object)) == [dates.ISO]
    assert "%m/%d/%Y" not in dates._possible(np.array(["12", "soon"], dtype=object))


def test_quarters_begin_with_their_first_day(tmp_path):
    rows = [{"body": f"tea {i}", "when": cell} for i, cell in enumerate(["2012-Q3", "Q1 1999"])]
    reading = files.read(put(tmp_path, "t.csv", csv_bytes(rows)), text="body", words=PLAIN)
    assert reading.corpus.metadata["when"].dt.strftime("%Y-%m-%d").tolist() == [
        "2012-07-01",
        "1999-01-01",
    ]


@pytest.mark.parametrize(
    ("cells", "kind", "other", "message"),
    [
        (
            ["01/02/2020", "03/04/2020", "05/05/2020", "07/08/2020"],
            "date:%m/%d/%Y",
            "date:%d/%m/%Y",
            "3 lines, day/month or month/day: column 'when' holds '01/02/2020', read as 2 January 2020.",
        ),
        (
            ["01-02-2020", "03-04-2020", "", "07-08-2020"],
            "date:%d-%m-%Y",
            "date:%m-%d-%Y",
            "read as 1 February 2020.",
        ),
        (
            ["1999-12-31", "March 3, 1999", "3/4/1999", "2001-01-02"],
            "date:ISO8601|%m/%d/%Y|%B %d, %Y",
            "date:ISO8601|%d/%m/%Y|%B %d, %Y",
            "1 line, day/month or month/day: column 'when' holds '3/4/1999', read as 4 March 1999.",
        ),
    ],
)
def test_ambiguous_dates_are_noted_with_what_was_assumed(tmp_path, cells, kind, other, message):
    reading = kinds_of(tmp_path, {"when": cells})
    assert reading.columns.kinds["when"] == kind
    found = problem(reading, "ambiguous dates").message
    assert message in found
    assert f"kinds={{'when': {kind!r}}} or kinds={{'when': {other!r}}}." in found
    this = reading.corpus.metadata["when"]
    told = kinds_of(tmp_path, {"when": cells}, kinds={"when": other}, strict=True)
    that = told.corpus.metadata["when"]
    assert (this.notna() == that.notna()).all()
    assert (this != that).sum() > 0
    as_assumed = kinds_of(tmp_path, {"when": cells}, kinds={"when": kind}, strict=True)
    assert as_assumed.corpus.metadata["when"].equals(this)


def test_years_of_two_digits(tmp_path):
    cells = ["10/16/17 22:59", "1/31/69 0:05", "12/13/99 07:30", "2/28/00 1:00"]
    reading = kinds_of(tmp_path, {"when": cells})
    years = reading.corpus.metadata["when"].dt.year.tolist()
    assert years == [datetime.strptime(cell, "%m/%d/%y %H:%M").year for cell in cells]
    assert years == [2017, 1969, 1999, 2000]
    assert not reading.problems
    odd = kinds_of(tmp_path, {"when": ["10/16/17", "1/31/65", "12/13/68", "2/28/00"]})
    assert problem(odd, "two-digit years").lines == (2, 3)
    assert "holds '1/31/65', read as 2065" in problem(odd, "two-digit years").message
    assert "with four digits" in problem(odd, "two-digit years").message


@pytest.mark.parametrize(
    ("cell", "kind", "offered"),
    [
        ("10/16/17 22:59", "date", "date:%m/%d/%y %H:%M"),
        ("10/16/17 22:59", "date:%d.%m.%Y", "date:%m/%d/%y %H:%M"),
        ("2017-10-16", "date:%d.%m.%Y", "date:%Y-%m-%d"),
        ("2017y10m", "date", "date:%d.%m.%Y %H:%M"),
    ],
)
def test_a_column_without_any_date_is_an_error_that_offers_the_format(
    tmp_path, cell, kind, offered
):
    columns = {"when": [cell, "", cell, "NA"]}
    first = re.escape(f"the first is {cell!r}. ")
    message = f"column 'when': no cell is a date.*{first}.*{re.escape(offered)}"
    with pytest.raises(ValueError, match=message):
        kinds_of(tmp_path, columns, kinds={"when": kind})
    with pytest.raises(ValueError, match=message):
        Corpus.from_texts(["green tea"] * 4, columns, kinds={"when": kind})
    path = put(tmp_path, "t.csv", pd.DataFrame({"body": ["tea"] * 4} | columns).to_csv().encode())
    arguments = ["fit", str(path), "--text", "body", "--column", f"when={kind}"]
    result = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "m.gptm")])
    assert result.exit_code == 1
    assert f"--column 'when={offered}'" in result.stderr
    # Where nothing is there to fail, nothing does.
    assert kinds_of(tmp_path, {"when": ["", "NA", "", ""]}, kinds={"when": kind}).corpus.ids is None


def test_dates_in_both_orders_are_never_mixed(tmp_path):
    cells = [*(f"{month:02}/20/2020" for month in range(1, 13)), *["02/03/2020"] * 27, "20/03/2020"]
    reading = kinds_of(tmp_path, {"when": cells})
    assert reading.columns.kinds["when"] == "date:%m/%d/%Y"
    assert reading.corpus.metadata["when"].isna().tolist() == [False] * 39 + [True]
    assert problem(reading, "not a date").count == 1
    assert "but the other order alone fits 1 more" in problem(reading, "ambiguous dates").message


def test_the_order_of_day_and_month_is_settled_by_any_cell(tmp_path):
    cells = ["01/02/2020"] * 700 + ["13/02/2020"]  # one that a sample would miss
    reading = kinds_of(tmp_path, {"when": cells})
    assert reading.columns.kinds["when"] == "date:%d/%m/%Y"
    assert not reading.problems


def test_a_column_with_too_many_other_things_for_dates_is_told_of(tmp_path):
    cells = ["2020-01-31", "March 3, 1999", "2020-03-01", "soon"]
    reading = kinds_of(tmp_path, {"when": cells})
    assert reading.columns.kinds["when"] == "note"
    found = problem(reading, "dates and others")
    assert "column 'when' holds '2020-01-31', but also 'soon'" in found.message
    kind = "date:ISO8601|%B %d, %Y"
    assert f"kinds={{'when': {kind!r}}} to treat the others as missing" in found.message
    told = kinds_of(tmp_path, {"when": cells}, kinds={"when": kind})
    assert told.corpus.metadata["when"].isna().tolist() == [False, False, False, True]


def test_mixed_forms_are_shown_by_an_example_each(tmp_path):
    reading = kinds_of(tmp_path, {"when": ["2020-01-31", "March 3, 1999", "2020-03-01"]})
    assert reading.columns["when"].why == "all dates, written in 2 ways: 2020-01-31; March 3, 1999"


def test_odd_values_become_missing_and_are_noted(tmp_path):
    reading = kinds_of(tmp_path, {"n": [*range(39), "many"]})
    assert reading.columns["n"].kind == "number"
    assert "98%" in reading.columns["n"].why
    assert np.isnan(reading.corpus.metadata["n"].iloc[-1])
    found = problem(reading, "not a number")
    assert (found.count, found.lines) == (1, (40,))
    assert "'many'" in found.message


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["268,01", "3,5", "", "-7"], [268.01, 3.5, np.nan, -7]),
        (["1.234,5", "1.234", "12", "0,125"], [1234.5, 1234, 12, 0.125]),
        (["1234,567", "1,5e3", "2", "3"], [1234.567, 1500, 2, 3]),
    ],
)
@pytest.mark.parametrize("told", [None, "number", "number:comma"])
def test_numbers_with_decimal_commas(tmp_path, cells, numbers, told):
    rows = [{"body": f"tea {i} cup", "price": cell} for i, cell in enumerate(cells)]
    path = put(tmp_path, "t.csv", csv_bytes(rows, delimiter=";"))
    reading = files.read(path, words=PLAIN, text="body", kinds=told and {"price": told})
    assert reading.columns.kinds["price"] == (told or "number:comma")
    np.testing.assert_allclose(reading.corpus.metadata["price"], numbers)
    assert reading.problems == []


def test_a_trained_comma_settles_what_new_cells_leave_open(tmp_path):
    def read_new(*cells):
        rows = [{"body": "tea cup", "price": cell} for cell in cells]
        path = put(tmp_path, "new.csv", csv_bytes(rows, delimiter=";"))
        kinds = {"price": "number:comma"}
        new = files.read_documents(path, words=PLAIN, vocabulary=["tea"], text="body", kinds=kinds)
        return list(new.corpus.metadata["price"])

    assert read_new("1,234", "2") == [1.234, 2]
    assert read_new("1.234", "2") == [1234, 2]
    assert read_new("268.01", "1.234") == [268.01, 1.234]  # a file with points


@pytest.mark.parametrize("cells", [["1,234", "5,678", "9,012", "3,456"], ["1,2", "3,x", "y", "z"]])
def test_commas_that_may_be_anything_are_no_decimals(tmp_path, cells):
    assert kinds_of(tmp_path, {"n": cells}).columns.kinds["n"] == "note"


def test_links_between_commas_are_no_decimals(tmp_path):
    reading = kinds_of(tmp_path, {"id": [1, 2, 3, 4], "to": ["2,3", "1,4", "1", "1,2"]})
    assert reading.columns.kinds["to"] == "links"


def test_decimals_are_no_links_to_documents_that_are_numbered(tmp_path):
    """Before and after the comma of every price are numbers of documents."""
    ids = list(range(1, 41))
    prices = [f"{1 + 7 * i % 30},{1 + i % 9}" for i in ids]
    reading = kinds_of(tmp_path, {"id": ids, "price": prices, "cites": prices})
    assert reading.columns.kinds["price"] == "number:comma"
    expected = [float(one.replace(",", ".")) for one in prices]
    np.testing.assert_allclose(reading.corpus.metadata["price"], expected)
    assert reading.columns.kinds["cites"] == "links"


def test_a_column_without_a_single_number_is_told_how_to_write_them(tmp_path):
    reading = kinds_of(tmp_path, {"n": ["$1", "$2", "$3", "$4"]}, kinds={"n": "number"})
    message = problem(reading, "not a number").message
    assert "No cell of the column is a number: write them as 1234.5" in message
    assert "category" not in message


# -- damage ------------------------------------------------------------------------------------------------


def read_csv(tmp_path, text, **options):
    content = text.encode() if isinstance(text, str) else text
    return files.read(put(tmp_path, "t.csv", content), words=PLAIN, keep_texts=True, **options)


def strict_fails(tmp_path, text, match):
    with pytest.raises(ValueError, match=match):
        read_csv(tmp_path, text, strict=True)


def test_broken_lines_are_left_out_and_reported(tmp_path):
    text = "id,body,n\na,green tea,1\nb,black,tea,2\nc\nd,tea with milk,3\n"
    reading = read_csv(tmp_path, text)
    assert reading.corpus.ids.tolist() == ["a", "d"]
    found = problem(reading, "broken line")
    assert (found.count, found.lines) == (2, (3, 4))
    assert "expected 3 fields, got 4" in found.message
    assert json.loads(json.dumps(found.to_dict()))["lines"] == [3, 4]
    strict_fails(tmp_path, text, r"t\.csv: broken line: 2 lines \(line 3, 4\)")


def test_lines_that_lack_their_last_cells_are_kept(tmp_path):
    text = "body,year,source\ngreen tea,2001,Leaf\nblack tea,2002\nmilk tea,2003,Leaf\n"
    reading = read_csv(tmp_path, text)
    assert reading.texts == ["green tea", "black tea", "milk tea"]
    assert list(reading.corpus.metadata["year"]) == [2001, 2002, 2003]
    assert reading.corpus.metadata["source"].isna().tolist() == [False, True, False]
    found = problem(reading, "short line")
    assert (found.count, found.lines) == (1, (3,))
    assert "expected 3 fields, got 2" in found.message
    strict_fails(tmp_path, text, "short line")
    two = read_csv(tmp_path, "body,label\ngreen tea,x\nblack tea\n")
    assert two.texts == ["green tea", "black tea"]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id;text, body\n1;green tea, black tea\n2;milk\n3;a, b and c d\n", "id|text, body"),
        ("id,a;b;c,text\n1,x,green tea\n2,y,black tea\n", "id|a;b;c|text"),
        ("sep=;\nid;a,b,c\n1;green tea\n2;black tea\n", "id|a,b,c"),
        ('"sep=|"\r\nid|a;b;c\r\n1|green tea\r\n2|black tea\r\n', "id|a;b;c"),
        ('id;"a, b; c"\n1;"green;\ntea, cup"\n2;"black tea"\n', "id|a, b; c"),
        ("id|text;\n", None),
    ],
)
def test_the_separator_gives_rows_of_one_width(tmp_path, text, columns):
    path = put(tmp_path, "t.csv", text.encode())
    if columns is None:
        with pytest.raises(ValueError, match="holds no documents"):
            files.read(path)
        return
    reading = files.read(path, words=PLAIN)
    assert "|".join(one.name for one in reading.columns) == columns
    assert reading.problems == []


def test_the_line_that_names_the_separator_is_counted(tmp_path):
    reading = read_csv(tmp_path, "sep=;\nid;body\na;green tea\nb;\n")
    assert problem(reading, "empty text").lines == (4,)


ODD_HEADERS = [
    "1,green tea\n",
    "a7,2019-03-01,green tea\n",
    f"x,{'green tea ' * 30}\n",
    "x,12.5,tea\n",
]


@pytest.mark.parametrize("first", ODD_HEADERS)
def test_a_file_without_a_header_is_told_of(tmp_path, first):
    width = first.count(",")
    rows = "".join(f"b{i}{',2020-05-04' * (width - 1)},black tea\n" for i in range(3))
    reading = files.read(put(tmp_path, "t.csv", (first + rows).encode()), words=PLAIN)
    found = problem(reading, "odd header")
    assert (found.count, found.lines) == (1, (1,))
    assert "put a line with names above" in found.message
    assert len(found.message) < 300
    assert max(map(len, str(reading.columns).splitlines())) < 120


@pytest.mark.parametrize(
    "header", ["id,body", ",0,body", "0,1,2,body", "year 2001,body", "q1,body"]
)
def test_usual_headers_are_not_told_of(tmp_path, header):
    width = header.count(",")
    text = f"{header}\n{'x,' * width}green tea\n{'y,' * width}black tea\n"
    assert files.read(put(tmp_path, "t.csv", text.encode()), words=PLAIN).problems == []


def test_strict_reading_lists_all_problems(tmp_path):
    text = "id,body,n\na,green tea,1\na,,2\nb,tea,3,4\n"
    with pytest.raises(ValueError, match=r"(?s)broken line.*\n.*empty text.*\n.*duplicate id"):
        read_csv(tmp_path, text, strict=True, id="id")
    side = put(tmp_path, "side.csv", b"id,year\na,2001\nz,2002\n")
    with pytest.raises(ValueError, match=r"(?s)t\.csv: broken line.*side\.csv: unmatched row"):
        read_csv(tmp_path, text, strict=True, id="id", metadata=side)


def test_all_texts_empty(tmp_path):
    with pytest.raises(ValueError, match=r"all texts are empty, in the column 'body'"):
        files.read(put(tmp_path, "t.csv", b"id,body\na,\nb,\n"), text="body")
    with pytest.raises(ValueError, match=r"t\.txt: all texts are empty\. Expected words"):
        files.read(put(tmp_path, "t.txt", b"\n\n\n"))
    (tmp_path / "texts").mkdir()
    put(tmp_path / "texts", "a.txt", b"")
    with pytest.raises(ValueError, match=r"texts: all texts are empty\. Expected words"):
        files.read(tmp_path / "texts")
    path = put(tmp_path, "new.csv", b"id,body\na,\nb,\n")
    with pytest.raises(ValueError, match=r"all texts are empty, in the column 'body'"):
        files.read(path)
    new = files.read_documents(path, words=PLAIN, vocabulary=["tea"], text="body")
    assert new.corpus.counts.sum() == 0


def test_problems_of_a_folder_name_the_files(tmp_path):
    put(tmp_path, "a.txt", b"green tea")
    put(tmp_path, "b.txt", b"")
    put(tmp_path, "c.txt", b"gr\xfcn tea")
    reading = files.read(tmp_path, words=PLAIN)
    assert "1 file (b.txt)" in problem(reading, "empty text").message
    assert "1 file (c.txt)" in problem(reading, "undecodable bytes").message
    assert problem(reading, "empty text").lines == (2,)


def test_line_numbers_count_line_breaks_inside_of_texts(tmp_path):
    reading = read_csv(tmp_path, 'id,body\na,"green\ntea\n\nleaf"\n\nb,x,y\nc,tea pot\n')
    assert problem(reading, "broken line").lines == (7,)
    assert reading.texts == ["green\ntea\n\nleaf", "tea pot"]


def test_an_open_quote_spoils_one_line(tmp_path):
    rows = "".join(f'{i},"tea, number {i}"\n' for i in range(10))
    reading = read_csv(tmp_path, f'id,body\nx,"green, tea\n{rows}')
    assert reading.corpus.ids.tolist() == [str(i) for i in range(10)]
    assert problem(reading, "broken line").lines == (2,)
    last = read_csv(tmp_path, f'id,body\n{rows}x,"green, tea\n')
    assert len(last.corpus) == 10
    assert problem(last, "broken line").lines == (12,)
    kept = read_csv(tmp_path, f'id,body\nx,"green tea\n{rows}')
    assert kept.texts[0] == '"green tea'
    assert problem(kept, "misquoted line").lines == (2,)


def test_quotes_in_the_wrong_places_are_read_as_well_as_possible(tmp_path):
    reading = read_csv(
        tmp_path, 'id,body\na,"she said "tea" to me"\nb,5" of tea\nc,"a ""b"" c d"\n'
    )
    assert reading.corpus.ids.tolist() == ["a", "b", "c"]
    assert reading.texts[1:] == ['5" of tea', 'a "b" c d']
    assert problem(reading, "misquoted line").lines == (2,)


def test_broken_json_lines(tmp_path):
    content = b'{"body": "green tea"}\n{"body": \n\n[1]\n"tea"\n{"body": "black tea"}\n'
    reading = files.read(put(tmp_path, "t.jsonl", content), words=PLAIN)
    assert len(reading.corpus) == 2
    assert problem(reading, "broken line").lines == (2, 4, 5)
    cut = files.read(put(tmp_path, "t.json", b'[{"body": "green tea"},\n{"body": "bl'), words=PLAIN)
    assert len(cut.corpus) == 1
    assert {one.kind for one in cut.problems} == {"broken line", "cut short"}


def test_a_wrong_encoding_is_reported(tmp_path):
    content = "id,body\na,plain tea\nb,café naïve\nc,Öl\n".encode("latin-1")
    reading = read_csv(tmp_path, content, encoding="utf-8")
    assert reading.texts == ["plain tea", "caf� na�ve", "�l"]
    found = problem(reading, "undecodable bytes")
    assert (found.count, found.lines) == (2, (3, 4))
    assert "replaced by �" in found.message
    assert "encoding=" in found.message
    right = read_csv(tmp_path, content, encoding="latin-1")
    assert right.texts[1] == "café naïve"
    assert right.problems == []
    strict_fails(tmp_path, content, "undecodable bytes")
    with pytest.raises(ValueError, match=r"encoding must be.*'klingon'"):
        read_csv(tmp_path, content, encoding="klingon")
    # The sign itself, in a sound file, is no damage.
    assert read_csv(tmp_path, "body\ntea � tea\n").problems == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_marks_and_line_ends(tmp_path, encoding, end):
    content = f"id,body{end}a,grüner tee{end}b,kalter kaffee{end}".encode(encoding)
    options = {"encoding": encoding} if encoding.endswith("le") else {}
    reading = read_csv(tmp_path, content, **options)
    assert reading.corpus.ids.tolist() == ["a", "b"]
    assert reading.texts == ["grüner tee", "kalter kaffee"]
    assert reading.problems == []


def test_undecodable_wide_characters(tmp_path):
    content = "id,body\na,green tea\nb,black tea".encode("utf-16") + b"\x00"
    reading = read_csv(tmp_path, content)
    assert len(reading.corpus) == 2
    assert problem(reading, "undecodable bytes").lines == (3,)


def test_a_missing_text_has_no_words(tmp_path):
    """As R writes it; the same word inside of a text is a word."""
    content = "id,title,body\na,none,green tea of none\nb,NA,NA\nc,tea,null\n"
    path = put(tmp_path, "t.csv", content.encode())
    reading = files.read(path, text="title,body", words=PLAIN)
    assert sorted(reading.corpus.vocabulary) == ["green", "none", "of", "tea"]
    assert reading.corpus.counts.sum(1).ravel().tolist()[0] == [4, 0, 1]
    assert problem(reading, "empty text").lines == (3,)


def test_empty_texts_are_documents(tmp_path):
    text = "id,body\na,green tea\nb,\nc,  \n"
    reading = read_csv(tmp_path, text)
    assert reading.corpus.counts.sum(1).ravel().tolist()[0] == [2, 0, 0]
    assert problem(reading, "empty text").lines == (3, 4)
    assert reading.report.empty_documents == 2
    strict_fails(tmp_path, text, "empty text")


def test_repeated_and_missing_ids_are_kept(tmp_path):
    rows = "".join(f"k{i},some tea here\n" for i in range(30))
    text = f"id,body\n{rows}k3,more tea\nk3,and more tea\n,nameless tea\n"
    reading = read_csv(tmp_path, text)
    assert reading.corpus.ids.tolist()[-3:] == ["k3", "k3", "row 33"]
    found = problem(reading, "duplicate id")
    assert (found.count, found.lines) == (2, (32, 33))
    assert "'k3'" in found.message
    assert problem(reading, "missing id").lines == (34,)
    assert len(reading.corpus[:5]) == 5
    strict_fails(tmp_path, text, "duplicate id")


def test_only_the_first_lines_are_named(tmp_path):
    reading = read_csv(tmp_path, "a,body\n1,some tea\n" + "x,y,z\n" * 50)
    found = problem(reading, "broken line")
    assert (found.count, found.lines) == (50, (3, 4, 5, 6, 7))
    assert "line 3, 4, 5, 6, 7, ..." in found.message


def test_a_gzipped_file_that_ends_early(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"id": i, "body": " ".join(rng.choice(["tea", "cup", "pot"], 9))} for i in range(20_000)
    ]
    content = gzip.compress(csv_bytes(rows))
    path = put(tmp_path, "t.csv", content[: len(content) // 2])
    reading = files.read(path, words=PLAIN)
    assert 1000 < len(reading.corpus) < 20_000
    assert problem(reading, "cut short").count == 1
    with pytest.raises(ValueError, match="cut short"):
        files.read(path, strict=True)


def test_repeated_and_nameless_columns(tmp_path):
    reading = read_csv(tmp_path, "a,a,,body\n1,2,3,some tea\n2,3,4,more tea\n")
    assert list(reading.corpus.metadata) == ["a", "a 2", "column 3"]
    assert problem(reading, "repeated column").count == 1


def test_blanks_after_separators(tmp_path):
    reading = read_csv(tmp_path, 'body, id, to\n"tea, green", a , "b;c"\nblack tea, b, a\n')
    assert reading.texts == ["tea, green", "black tea"]
    assert reading.corpus.ids.tolist() == ["a", "b"]
    assert reading.corpus.metadata["to"].tolist() == [["b", "c"], ["a"]]


def test_spreadsheets_are_refused(tmp_path):
    with pytest.raises(ValueError, match="spreadsheet"):
        files.read(put(tmp_path, "t.xlsx", b"PK\x03\x04 and more"))


def test_one_column(tmp_path):
    reading = read_csv(tmp_path, 'text\ngreen tea, black tea\n"quoted, ""tea"""\n\n""\n')
    assert reading.texts == ["green tea, black tea", 'quoted, "tea"', ""]
    assert reading.corpus.metadata is None
    assert reading.corpus.ids is None
    assert reading.columns.kinds == {"text": "text"}


@pytest.mark.parametrize("content", ["", "\n \n", "id,body\n", "id,body\n\n\n", "\ufeff"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.tsv"])
def test_files_without_documents(tmp_path, content, name):
    path = put(tmp_path, name, content.encode())
    with pytest.raises(ValueError, match="holds no documents; expected"):
        files.read(path)
    with pytest.raises(ValueError, match="holds no documents; expected"):
        files.sniff(path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.txt", b"\n\n", "Expected words in one of them"),
        ("t.jsonl", b'{"counts": {}}\n{"counts": {}}\n', "with a word in one of them"),
        ("t.ldac", b"x\n", "expected one row of counts for each document"),
    ],
)
def test_files_without_words_say_what_was_expected(tmp_path, name, content, expected):
    vocabulary = ["tea"] if name == "t.ldac" else None
    with pytest.raises(ValueError, match=expected):
        files.read(put(tmp_path, name, content), words=PLAIN, vocabulary=vocabulary)


def test_missing_files(tmp_path):
    table = pd.DataFrame({"text": ["green tea"]})
    with pytest.raises(TypeError, match=r"got DataFrame.*Corpus\.from_texts\(df\['text'\]"):
        files.read(table)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        files.read(tmp_path / "none.csv")
    with pytest.raises(ValueError, match=r"holds no \.txt or \.md files"):
        files.read(tmp_path)


def test_long_texts(tmp_path):
    long = "tea " * 100_000
    reading = read_csv(tmp_path, csv_bytes([{"id": "a", "body": long}, {"id": "b", "body": "tea"}]))
    assert reading.corpus.counts.toarray().tolist() == [[100_000], [1]]
    assert csv.field_size_limit() == 131_072


def test_no_word_left(tmp_path):
    with pytest.raises(ValueError, match=r"no word of the 2 texts"):
        files.read(put(tmp_path, "t.csv", b"id,body\na,the of\nb,and is\n"), words=Words("english"))


# -- round trips -------------------------------------------------------------------------------------------

characters = st.characters(exclude_categories=["Cs"])
cells = st.text(st.one_of(characters, st.sampled_from("\",;\t\r\n'|\\ ")), max_size=30)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=8),
    st.sampled_from([",", ";", "\t", "|"]),
    # Before Python 3.13 the writer leaves \r without quotes where lines end in \n alone.
    st.sampled_from([("\r\n", csv.QUOTE_MINIMAL), ("\r\n", csv.QUOTE_ALL), ("\n", csv.QUOTE_ALL)]),
    st.sampled_from(["t.csv", "t.csv.gz"]),
)
def test_any_text_survives_csv(tmp_path, rows, separator, style, name):
    end, quoting = style
    table = [{"first": a, "body": b, "last": str(i)} for i, (a, b) in enumerate(rows)]
    content = csv_bytes(table, delimiter=separator, lineterminator=end, quoting=quoting)
    words = Words(None, 1, 1.0, token_pattern=r"(?s).+", lowercase=False)
    path = put(tmp_path, name, content)
    bodies = ["" if is_missing(body) else body for _, body in rows]
    if not any(bodies):
        with pytest.raises(ValueError, match="all texts are empty"):
            files.read(path, text="body", words=words)
        return
    reading = files.read(path, text="body", words=words, keep_texts=True, kinds={"first": "note"})
    assert reading.texts == bodies
    assert {one.kind for one in reading.problems} <= {"empty text"}
    assert reading.corpus.metadata["last"].tolist() == list(range(len(rows)))


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200), st.sampled_from(["t.csv", "t.tsv", "t.jsonl", "t.txt", "t.json"]))
def test_any_bytes_are_read_or_refused_with_a_reason(tmp_path, content, name):
    path = put(tmp_path, name, b"id,body\n1,tea\n" + content)
    with contextlib.suppress(ValueError):  # nothing else
        files.read(path, words=PLAIN)


# -- other forms -------------------------------------------------------------------------------------------


def test_one_document_per_line(tmp_path):
    path = put(tmp_path, "t.txt.gz", b"green tea, black tea\n\ncoffee\n")
    reading = files.read(path, words=PLAIN, keep_texts=True)
    assert reading.texts == ["green tea, black tea", "", "coffee"]
    assert problem(reading, "empty text").lines == (2,)


def make_folder(tmp_path):
    folder = tmp_path / "texts"
    for name, text in {
        "b/two.txt": "black tea",
        "a/one.v2.txt": "green tea",
        "a/three.txt.gz": "coffee",
        "a/notes.md": "no document",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        put(folder, name, text.encode())
    return folder


def test_a_folder_of_texts(tmp_path):
    folder = make_folder(tmp_path)
    seen = []
    reading = files.read(
        folder,
        words=PLAIN,
        keep_texts=True,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert reading.corpus.ids.tolist() == ["a/one.v2", "a/three", "b/two"]
    assert reading.texts == ["green tea", "coffee", "black tea"]
    assert reading.corpus.metadata["folder"].tolist() == ["a", "a", "b"]
    assert seen[-1][0] == seen[-1][1]
    (folder / "a/three.txt.gz").write_bytes("caf\xe9".encode("latin-1"))
    damaged = files.read(folder, words=PLAIN)
    assert problem(damaged, "undecodable bytes").lines == (2,)
    assert "a/three.txt" in problem(damaged, "undecodable bytes").message


def test_a_folder_as_people_leave_it(tmp_path):
    (tmp_path / "texts" / ".git").mkdir(parents=True)
    (tmp_path / "texts" / "__MACOSX").mkdir()
    folder = tmp_path / "texts"
    for name in ("a.txt", "c.TXT.gz", ".hidden.txt", ".git/config.txt", "__MACOSX/a.txt"):
        put(folder, name, f"tea from {name}".encode())
    for name in ("x.html", "y.html", "README", "z.md", ".DS_Store"):
        put(folder, name, b"\0\xff")
    reading = files.read(folder, words=PLAIN, strict=True)
    assert reading.corpus.ids.tolist() == ["a", "c"]
    assert "folder" not in reading.corpus.metadata
    message = problem(reading, "skipped files").message
    assert message.startswith(
        "skipped files: 4 files, left out: only .txt is read, not .html, .md, no suffix."
    )
    (folder / "a.txt").unlink()
    (folder / "c.TXT.gz").unlink()
    put(folder, "z.md", b"# green tea")
    reading = files.read(folder, words=PLAIN)
    assert reading.corpus.ids.tolist() == ["z"]
    (folder / "z.md").unlink()
    with pytest.raises(
        ValueError, match=r"no .txt or .md files, but 3 others \(.html, no suffix\)"
    ):
        files.read(folder)


def test_a_table_of_metadata_beside_a_folder(tmp_path):
    folder = make_folder(tmp_path)
    rows = [
        {"id": "b/two", "year": 1992},
        {"id": "a/one.v2", "year": 1990},
        {"id": "z", "year": 2000},
    ]
    side = put(tmp_path, "side.csv", csv_bytes(rows))
    reading = files.read(folder, metadata=side, words=PLAIN)
    np.testing.assert_array_equal(reading.corpus.metadata["year"], [1990, np.nan, 1992])
    assert problem(reading, "unmatched document").lines == (2,)
    assert problem(reading, "unmatched row").lines == (4,)
    other = put(tmp_path, "other.csv", csv_bytes([{"id": "q", "year": 1}]))
    with pytest.raises(ValueError, match=r"no id of .*other\.csv"):
        files.read(folder, metadata=other)


def test_repeated_ids_in_a_table_of_metadata(tmp_path):
    documents = put(tmp_path, "a.csv", csv_bytes([{"id": i, "text": f"tea {i} cup"} for i in "ab"]))
    rows = [("a", 1), ("b", 2), ("a", 3), ("q", 4)]
    side = put(tmp_path, "side.csv", csv_bytes([{"id": i, "year": year} for i, year in rows]))
    reading = files.read(documents, metadata=side, words=PLAIN)
    np.testing.assert_array_equal(reading.corpus.metadata["year"], [1, 2])
    found = problem(reading, "duplicate id in metadata")
    assert found.lines == (4,)
    assert "an earlier row has the same id: 'a'" in found.message
    assert problem(reading, "unmatched row").lines == (5,)


def test_ids_that_match_without_being_equal_are_no_column_in_both_files(tmp_path):
    for folder, name in (("a", "one.txt"), ("b", "two.txt")):
        (tmp_path / "texts" / folder).mkdir(parents=True)
        put(tmp_path / "texts" / folder, name, b"green tea")
    side = put(tmp_path, "side.csv", b"id,year\none.txt,1\ntwo.txt,2\n")
    reading = files.read(tmp_path / "texts", metadata=side, words=PLAIN)
    assert list(reading.corpus.metadata["year"]) == [1, 2]
    assert list(reading.corpus.ids) == ["a/one", "b/two"]
    assert not reading.problems


def test_columns_in_both_files_are_told_of(tmp_path):
    own = [{"id": i, "text": f"tea {i} cup", "year": 1, "month": 2} for i in "ab"]
    documents = put(tmp_path, "a.csv", csv_bytes(own))
    other = [{"id": i, "text": "milk", "year": 7, "month": 2, "day": 3} for i in "ab"]
    reading = files.read(documents, metadata=put(tmp_path, "b.csv", csv_bytes(other)), words=PLAIN)
    metadata = reading.corpus.metadata
    assert [list(metadata[name]) for name in ("year", "month", "day")] == [[1, 1], [2, 2], [3, 3]]
    assert "text" not in metadata
    found = problem(reading, "column in both files")  # the months are the same
    assert found.message.startswith("column in both files: 2 columns, taken from the documents'")
    assert found.message.count("'text'; 'year'") == 1


COUNTS = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 1], [1, 1, 1]])
VOCABULARY = ["milk", "tea", "straße"]


def write_counts(folder, form, packed=""):
    path = folder / f"ap.{form}"
    if form == "mtx":
        mmwrite(str(path), csr_matrix(COUNTS))
    elif form == "npz":
        save_npz(path, csr_matrix(COUNTS))
    else:
        lines = []
        for row in COUNTS:
            pairs = [f"{word}:{count}" for word, count in enumerate(row) if count]
            lines.append(" ".join([str(len(pairs)), *pairs]))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if packed:
        content = path.read_bytes()
        path.unlink()
        path = put(folder, path.name + packed, content)
    return path


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("form", ["mtx", "npz", "ldac", "lda-c", "dat"])
def test_counts_with_a_vocabulary(tmp_path, form, packed):
    path = write_counts(tmp_path, form, packed)
    with pytest.raises(ValueError, match=r"need a vocabulary.*none beside"):
        files.read(path)
    words = put(tmp_path, "words.list", "\n".join(VOCABULARY).encode())
    put(tmp_path, "vocab.txt", "\n".join(VOCABULARY).encode() + b"\n")
    for vocabulary in (VOCABULARY, words, str(words), None):
        reading = files.read(path, vocabulary=vocabulary)
        assert reading.corpus.counts.toarray().tolist() == COUNTS.tolist()
        assert reading.corpus.vocabulary.tolist() == VOCABULARY
        assert reading.report.tokens_kept == COUNTS.sum()
        assert reading.report.empty_documents == 1
    assert files.sniff(path).format == reading.columns.format
    assert len(files.sniff(path)) == 0
    with pytest.raises(ValueError, match=r"[Vv]ocabulary"):
        files.read(path, vocabulary=["a", "b"])


@pytest.mark.parametrize("form", ["mtx", "ldac"])
def test_the_vocabulary_beside_is_named(tmp_path, form, caplog):
    path = write_counts(tmp_path, form)
    beside = put(tmp_path, "vocab.txt", "\n".join(VOCABULARY).encode())
    files.read(path)
    assert str(beside) in caplog.text
    put(tmp_path, "vocab.txt", b"a\nb\n")
    with pytest.raises(ValueError, match=r"vocab\.txt.*2"):
        files.read(path)


def test_counts_with_metadata_row_by_row(tmp_path):
    path = write_counts(tmp_path, "mtx")
    side = put(tmp_path, "side.jsonl", jsonl_bytes([{"key": f"k{i}", "n": i} for i in range(4)]))
    reading = files.read(path, vocabulary=VOCABULARY, metadata=side)
    assert reading.corpus.ids.tolist() == ["k0", "k1", "k2", "k3"]
    assert reading.corpus.metadata["n"].tolist() == [0, 1, 2, 3]
    short = put(tmp_path, "short.jsonl", jsonl_bytes([{"n": 1}]))
    with pytest.raises(ValueError, match=r"one row per document: expected 4, got 1"):
        files.read(path, vocabulary=VOCABULARY, metadata=short)


def test_counts_the_other_way_round_and_other_vocabularies(tmp_path):
    path = tmp_path / "t.mtx"
    mmwrite(str(path), csr_matrix(COUNTS.T))
    put(tmp_path, "v.json", json.dumps({"tea": 1, "milk": 0, "straße": 2}).encode())
    put(tmp_path, "v.txt", "0\tmilk\t5\n1\ttea\t9\n2\tstraße\t1\n\n".encode())
    for name in ("v.json", "v.txt"):
        reading = files.read(path, vocabulary=tmp_path / name)
        assert reading.corpus.counts.toarray().tolist() == COUNTS.tolist()
        assert reading.corpus.vocabulary.tolist() == VOCABULARY
    bad = put(tmp_path, "bad.json", b'{"tea": 1, "milk": 7}')
    with pytest.raises(ValueError, match="must number its words"):
        files.read(path, vocabulary=bad)


def test_words_of_counts_can_be_limited(tmp_path):
    path = write_counts(tmp_path, "npz")
    reading = files.read(path, vocabulary=VOCABULARY, words=Words(["milk"], 3, 1.0))
    assert reading.corpus.vocabulary.tolist() == ["straße"]
    assert reading.report.stop_words.tokens == 2
    assert reading.report.rare.examples == ("tea",)


def test_damaged_counts(tmp_path):
    path = put(tmp_path, "t.ldac", b"1 0:2\n2 0:1\nx\n1 1:1 \n\n0\n")
    reading = files.read(path, vocabulary=["a", "b"])
    assert reading.corpus.counts.toarray().tolist() == [[2, 0], [0, 1], [0, 0]]
    assert problem(reading, "broken line").lines == (2, 3)
    for name in ("t.mtx", "t.npz"):
        with pytest.raises(ValueError, match=r"t\..* (cannot be read as|is not) a "):
            files.read(put(tmp_path, name, b"something else"), vocabulary=["a"])
    save_npz(tmp_path / "neg.npz", csr_matrix([[1.0, 2.0], [0.0, -3.0]]))
    with pytest.raises(ValueError, match=r"none below zero; \w+ 2 has -3.0"):
        files.read(tmp_path / "neg.npz", vocabulary=["a", "b"])
    save_npz(tmp_path / "half.npz", csr_matrix([[0.5, 2.0], [1, 1]]))
    half = files.read(tmp_path / "half.npz", vocabulary=["a", "b"])
    assert problem(half, "fractional counts").lines == (1,)
    with pytest.raises(ValueError, match=r"expected 3, got a matrix of 2 x 2"):
        files.read(tmp_path / "half.npz", vocabulary=["a", "b", "c"])


# -- new documents -----------------------------------------------------------------------------------------


def test_new_documents_are_read_as_the_training_ones(tmp_path):
    path = put(tmp_path, "data.csv", TABLES["data.csv"])
    trained = files.read(path, words=Words(min_df=1, max_df=1.0, ngram_range=(1, 2)))
    kinds = json.loads(json.dumps(trained.columns.kinds))
    words = Words.from_dict(json.loads(json.dumps(trained.words.to_dict())))
    again = files.read_documents(
        path, words=words, vocabulary=trained.corpus.vocabulary, kinds=kinds
    )
    assert (again.corpus.counts != trained.corpus.counts).nnz == 0
    assert again.columns.kinds == trained.columns.kinds
    assert again.corpus.ids.tolist() == trained.corpus.ids.tolist()
    pd.testing.assert_frame_equal(again.corpus.metadata, trained.corpus.metadata)


def test_new_documents_lack_columns_and_bring_unknown_words(tmp_path):
    path = put(tmp_path, "new.csv", b"body,date,score\nzebra tea tea,2020-05-05,many\n")
    kinds = {"key": "id", "body": "text", "date": "date", "score": "number", "source": "category"}
    new = files.read_documents(path, words=PLAIN, vocabulary=["coffee", "tea"], kinds=kinds)
    assert new.corpus.counts.toarray().tolist() == [[0, 2]]
    assert new.report.unknown.examples == ("zebra",)
    assert new.corpus.ids is None
    assert "source" not in new.corpus.metadata  # for transform to decide what that means
    assert pd.api.types.is_datetime64_dtype(new.corpus.metadata["date"])
    assert np.isnan(new.corpus.metadata["score"]).all()
    assert {one.kind for one in new.problems} == {"missing column", "not a number"}
    assert problem(new, "missing column").message.endswith("not in the file: 'source'.")
    with pytest.raises(ValueError, match="'story'"):
        files.read_documents(path, words=PLAIN, vocabulary=["tea"], kinds={"story": "text"})


def test_every_kind_of_column_may_be_missing(tmp_path):
    path = put(tmp_path, "new.csv", b"body\ngreen tea\n")
    kinds = {kind: kind for kind in files.KINDS if kind not in ("text", "id", "ignore")}
    kinds["old"] = "date:%d/%m/%Y"
    new = files.read_documents(path, words=PLAIN, vocabulary=["tea"], text="body", kinds=kinds)
    assert new.corpus.metadata is None
    assert problem(new, "missing column").count == len(kinds)
    with pytest.raises(ValueError, match="missing column"):
        files.read_documents(path, words=PLAIN, vocabulary=["tea"], kinds=kinds, strict=True)


def test_the_account_can_be_printed(tmp_path):
    text = str(read_csv(tmp_path, "id,body\na,green tea\nb,c,d\n"))
    assert text.splitlines()[0].startswith("1 document, 2 words")
    assert "column  kind" in text
    assert "broken line: 1 line (line 3)" in text


def test_new_counts_are_matched_by_word(tmp_path):
    path = write_counts(tmp_path, "ldac")
    new = files.read_documents(
        path, words=PLAIN, vocabulary=["tea", "cup", "milk"], file_vocabulary=VOCABULARY
    )
    assert new.corpus.vocabulary.tolist() == ["tea", "cup", "milk"]
    assert new.corpus.counts.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [3, 0, 0], [1, 0, 1]]
    assert new.report.unknown.examples == ("straße",)
    assert new.report.unknown.tokens == 4


def test_a_fixed_vocabulary_for_texts(tmp_path):
    path = put(tmp_path, "data.csv", TABLES["data.csv"])
    reading = files.read(path, vocabulary=["tea", "beans"], words=PLAIN)
    assert reading.corpus.counts.toarray().tolist() == [[2, 0], [0, 0], [1, 0], [0, 2]]


# -- memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["big.csv", "big.jsonl.gz"])
def test_memory_follows_the_counts(tmp_path, name):
    rng = np.random.default_rng(0)
    some = np.array(["longword" * 5 + a + b + c for a in "abcde" for b in "fghij" for c in "klmno"])
    bodies = [" ".join(rng.choice(some[: 20 + i], 450)) for i in range(100)]
    path = tmp_path / name
    opener = gzip.open if name.endswith(".gz") else open
    n = 1000
    with opener(path, "wt", encoding="utf-8") as file:
        if "csv" in name:
            file.write("id,body,year\n")
        for i in range(n):
            body, year = bodies[i % 100], 1900 + i % 100
            row = json.dumps({"id": i, "body": body, "year": year})
            file.write(f"{i},{body},{year}\n" if "csv" in name else row + "\n")
    size = sum(len(bodies[i % 100]) for i in range(n))
    assert size > 19e6
    del bodies
    files.read(put(tmp_path, "small.csv", TABLES["data.csv"]))  # modules load before we measure
    tracemalloc.start()
    reading = files.read(path, words=PLAIN)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(reading.corpus) == n
    assert reading.corpus.counts.sum() == n * 450
    assert peak < size / 4


# -- tables out --------------------------------------------------------------------------------------------


def sample_frame():
    return pd.DataFrame(
        {
            "id": ["tea", "milk,cup", 'say "tea"\n'],
            "topic 0": [0.1, 1 / 3, np.nan],
            "n": [1, 2, 3],
            "date": pd.to_datetime(["2020-01-01", None, "2021-05-05"]),
            "links": [["b", "ü"], [], None],
            "source": pd.Categorical(["x", None, "x"]),
        }
    )


@pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.jsonl", "o.parquet"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_tables_are_written_and_read_again(tmp_path, name, packed):
    frame = sample_frame()
    path = tmp_path / (name + packed)
    files.write_table(frame, path)
    files.write_table(frame, path)  # over what is there
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(packed)
    content = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
    if "parquet" in name:
        back = pd.read_parquet(io.BytesIO(content))
    elif "jsonl" in name:
        back = pd.DataFrame([json.loads(line) for line in content.decode().splitlines()])
    else:
        back = pd.read_csv(io.BytesIO(content), sep="\t" if "tsv" in name else ",")
    assert list(back) == list(frame)
    assert back["id"].tolist() == frame["id"].tolist()
    np.testing.assert_array_equal(back["topic 0"].to_numpy(dtype=float), frame["topic 0"])
    assert pd.to_datetime(back["date"]).tolist()[0] == pd.Timestamp("2020-01-01")
    first = back["links"][0]
    assert (json.loads(first) if isinstance(first, str) else list(first)) == ["b", "ü"]
    reading = files.read(path, text="id", words=PLAIN)
    assert reading.columns.kinds["date"] == "date"
    assert reading.columns.kinds["topic 0"] == "number"
    assert reading.columns.kinds["links"] == "list"


def test_tables_to_streams(capsysbinary, monkeypatch):
    frame = pd.DataFrame({"x": [1.5]}, index=pd.Index(["ä"], name="key"))
    text, data = io.StringIO(), io.BytesIO()
    files.write_table(frame, text, "csv")
    files.write_table(frame, data, "jsonl")
    assert text.getvalue() == "key,x\nä,1.5\n"
    assert data.getvalue().decode() == '{"key": "ä", "x": 1.5}\n'
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", out)
    files.write_table(frame, "-")
    out.flush()
    assert out.buffer.getvalue().decode() == "key,x\nä,1.5\n"
    files.write_table(frame, "-", "parquet")
    assert b"PAR1" in out.buffer.getvalue()
    with pytest.raises(ValueError, match="takes text"):
        files.write_table(frame, io.StringIO(), "parquet")


def test_tables_in_no_known_format(tmp_path):
    for name in ("t.xlsx", "t", "t.mtx"):
        with pytest.raises(ValueError, match="tables are written as csv"):
            files.write_table(sample_frame(), tmp_path / name)
    with pytest.raises(ValueError, match="'xml'"):
        files.write_table(sample_frame(), tmp_path / "t.csv", "xml")


def test_without_pyarrow_the_message_says_what_to_install(monkeypatch, tmp_path):
    path = put(tmp_path, "t.parquet", TABLES["data.parquet"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for call in (import_parquet, lambda: files.read(path)):
        with pytest.raises(ImportError, match=r"pip install 'gptm\[parquet\]'"):
            call()


def test_a_file_that_is_no_parquet(tmp_path):
    with pytest.raises(ValueError, match="cannot be read as a Parquet file"):
        files.read(put(tmp_path, "t.parquet", b"something else"))


def test_damage_inside_of_a_parquet_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    body = pa.array([b"green tea", b"caf\xe9 tea", None]).cast(pa.string(), safe=False)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"body": body, "n": [1, 2, 3]}), path)
    reading = files.read(path, words=PLAIN, keep_texts=True)
    assert reading.texts == ["green tea", "caf� tea", ""]
    assert problem(reading, "undecodable bytes").lines == (2,)
    assert problem(reading, "empty text").message.startswith("empty text: 1 row (row 3)")
    rows = pa.table({"body": [f"green tea {i}" for i in range(4000)]})
    pq.write_table(rows, path, row_group_size=1000, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    middle = pq.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    content[middle : middle + 30] = bytes(30)
    cut = files.read(put(tmp_path, "t.parquet", bytes(content)), words=PLAIN)
    assert len(cut.corpus) == 2000
    assert problem(cut, "cut short").lines == (2000,)


# Files that nobody vouches for


def write_matrix(folder, sizes, entries):
    (folder / "a.vocab").write_text("tea\ncoffee\n")
    lines = ["%%MatrixMarket matrix coordinate integer general", sizes, *entries]
    (folder / "a.mtx").write_text("\n".join(lines) + "\n")
    return folder / "a.mtx"


def test_counts_beyond_32_bits_stay_what_they_are(tmp_path):
    path = write_matrix(tmp_path, "2 2 3", ["1 1 5000000000", "2 2 3000000000", "1 2 1"])
    counts = files.read(path).corpus.counts.toarray()
    assert counts.tolist() == [[5_000_000_000, 1], [0, 3_000_000_000]]


@pytest.mark.parametrize("sizes", ["1000000000000 2 1", "2 500000000000 1", "2 2 400000000000"])
def test_the_header_of_a_matrix_is_not_believed(sizes, tmp_path):
    with pytest.raises(ValueError, match="promises"):
        files.read(write_matrix(tmp_path, sizes, ["1 1 5"]))


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_json_that_is_nested_too_deeply_is_an_error(name, tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    (tmp_path / name).write_text(deep if name == "a.json" else f'{{"text": {deep}}}')
    with pytest.raises(ValueError, match=r"broken line|JSON"):
        files.read(tmp_path / name)


def test_packed_files_are_bounded(tmp_path, monkeypatch):
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(b"text\n" + b"a " * 51_000_000)
    with pytest.raises(ValueError, match="GPTM_MOST_UNPACKED"):
        files.read(tmp_path / "a.csv.gz")
    np.savez_compressed(tmp_path / "a.npz", data=np.zeros(20_000_000))
    (tmp_path / "a.vocab").write_text("tea\n")
    with pytest.raises(ValueError, match="times its size"):
        files.read(tmp_path / "a.npz")


@pytest.mark.parametrize("setting", ["abc", "", "0", "-1", "nan"])
def test_the_limit_of_packed_files_must_be_a_number(tmp_path, monkeypatch, setting):
    monkeypatch.setattr("gptm.files.streams.ANY_SIZE", 10)
    monkeypatch.setenv("GPTM_MOST_UNPACKED", setting)
    with pytest.raises(ValueError, match="GPTM_MOST_UNPACKED must be a number of at least 1"):
        files.read(put(tmp_path, "t.csv.gz", csv_bytes(TABLE)), words=PLAIN)


@pytest.mark.parametrize(
    "encoding", ["hex", "rot13", "idna", "punycode", "undefined", "utf-8\x00", "", 5, None]
)
def test_what_is_no_encoding_of_text_is_refused(tmp_path, encoding):
    path = put(tmp_path, "t.csv", csv_bytes(TABLE))
    with pytest.raises(ValueError, match="encoding must be 'auto' or one that Python knows"):
        files.read(path, words=PLAIN, encoding=encoding)


def test_a_table_of_very_many_columns_is_refused_at_once(tmp_path):
    names = ",".join(f"c{i}" for i in range(100_000))
    (tmp_path / "a.csv").write_text(f"{names}\n{names}\n")
    with pytest.raises(ValueError, match="100,000 columns"):
        files.read(tmp_path / "a.csv")


def test_a_closed_standard_input_is_an_error(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ValueError, match="standard input is closed"):
        files.read("-")


# Encodings

ENCODED = "id,body\na,plain tea\nb,“café” – naïve, 5 € for señor Öl\nc,it’s the tea…\n"


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("cp1252", "cp1252"),
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32"),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.csv.gz", "texts", "unnamed"])
def test_encodings_are_recognised_and_said(tmp_path, encoding, found, name):
    texts = [line.partition(",")[2] for line in ENCODED.splitlines()[1:]]
    table = pd.DataFrame({"id": list("abc"), "body": texts})
    path = tmp_path / name
    if name == "texts":
        path.mkdir()
        for row in table.itertuples():
            (path / f"{row.id}.txt").write_bytes(row.body.encode(encoding))
    else:
        content = table.to_csv(index=False)
        if name == "t.jsonl":
            content = table.to_json(orient="records", lines=True, force_ascii=False)
        put(tmp_path, name, content.encode(encoding))
    reading = files.read(path, words=PLAIN, keep_texts=True)
    assert reading.texts == texts
    assert reading.encoding == found
    assert ("encoding: " in str(reading)) == (found != "utf-8")
    if encoding == "cp1252":
        message = problem(reading, "undecodable bytes").message
        assert "read as cp1252 (Western European)" in message
        assert "encoding='latin-1'" in message
        with pytest.raises(ValueError, match="read as cp1252"):
            files.read(path, words=PLAIN, strict=True)
    else:
        assert reading.problems == []


def test_the_command_says_the_encoding(tmp_path):
    path = put(tmp_path, "t.csv", (ENCODED * 3).replace("id,body\n", "").encode("cp1252"))
    path.write_bytes(b"id,body\n" + path.read_bytes())
    arguments = ["fit", str(path), "-t", "2", "--max-iter", "3", "-o", str(tmp_path / "m.gptm")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    assert "encoding: cp1252" in result.stderr
    assert "read as cp1252 (Western European). If letters are wrong" in result.stderr
    new = CliRunner().invoke(app, ["transform", str(tmp_path / "m.gptm"), str(path)])
    assert "read as cp1252" in new.stderr


def test_damaged_utf8_is_no_other_encoding(tmp_path):
    lines = ["id,body", *(f"{i},grüner tee {i}" for i in range(20))]
    content = "\n".join(lines).encode() + b"\n20,caf\xc3 tea\n21,gr\xc3\xbcn caf\xe9\n"
    reading = read_csv(tmp_path, content)
    assert reading.texts[-2:] == ["caf� tea", "grün caf�"]
    assert "replaced by �" in problem(reading, "undecodable bytes").message
    # A line that has both shows what the file is.
    assert read_csv(tmp_path, b"id,body\n1,gr\xc3\xbcn caf\xe9 tea\n").texts == ["grün caf� tea"]


def test_files_put_together_from_two_encodings(tmp_path):
    content = "id,body\na,grün tee\nb,café olé\n".encode("cp1252") + "c,grün tee\n".encode()
    reading = read_csv(tmp_path, content)
    assert reading.texts == ["grün tee", "café olé", "grün tee"]
    assert reading.encoding == "utf-8, cp1252"
    assert read_csv(tmp_path, "id,body\na,plain tea\n").encoding == "utf-8"


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "gb18030", "shift_jis"])
def test_other_encodings_are_not_taken_for_western_ones(tmp_path, encoding):
    text = "это зелёный чай" if encoding in ("cp1251", "koi8-r") else "緑茶東京大学"
    content = f"id,body\na,{text}\nb,plain tea with milk\nc,tea and coffee\n".encode(encoding)
    path = put(tmp_path, "t.csv", content)
    reading = files.read(path, text="body", words=PLAIN)
    assert "replaced by �" in problem(reading, "undecodable bytes").message
    named = files.read(path, text="body", words=PLAIN, encoding=encoding, keep_texts=True)
    assert named.texts[0] == text


def test_bytes_that_are_no_text_are_not_taken_for_wide_letters(tmp_path):
    rng = np.random.default_rng(0)
    for n in (64, 5000):
        content = rng.integers(0, 4, n).astype(np.uint8).tobytes()
        with pytest.raises(ValueError, match="is not a text file"):
            files.read(put(tmp_path, "unnamed", content))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["我每天早上喝绿茶", "это зелёный чай", "it’s tea — café", "tea"])
def test_wide_letters_of_any_script_are_recognised_without_a_mark(tmp_path, encoding, text):
    rows = "".join(f"{i},{text} and {text}\n" for i in range(200))
    path = put(tmp_path, "unnamed", f"id,body\n{rows}".encode(encoding))
    reading = files.read(path, text="body", words=PLAIN, keep_texts=True)
    assert reading.texts == [f"{text} and {text}"] * 200
    assert reading.encoding == encoding


@pytest.mark.parametrize("cell", ["\0", "tea\0", "\0a\0b", "我\0"])
def test_zeros_in_utf8_are_not_wide_letters(tmp_path, cell):
    for n in (1, 9):
        content = "id,body,x\n" + "".join(f"{i},green {cell} tea,{cell}\n" for i in range(n))
        reading = files.read(put(tmp_path, "t.csv", content.encode()), text="body", words=PLAIN)
        assert reading.encoding == "utf-8"
        assert len(reading.corpus) == n


# Excel


def workbook(path, rows, *more):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in more:
        book.create_sheet(title)
    book.save(path)
    return path


SHEET = [
    ["key", "when", "stars", "source", "body"],
    ["a", datetime(2020, 1, 31), 3, "Blatt", "Grüner Tee, schwarzer Tee"],
    ["b", datetime(2021, 2, 28, 10, 30), 4.5, "Funk", "Kaffee aus Brasilien"],
    [],
    ["c", None, None, "Blatt", "Tee und Kaffee mit Milch"],
    ["d", datetime(2022, 3, 1), 5, "Funk", None],
]


def test_excel_is_read_as_a_table_of_its_cells_is(tmp_path):
    path = workbook(tmp_path / "t.xlsx", SHEET)
    reading = files.read(path, text="body", words=PLAIN, keep_texts=True)
    frame = pd.DataFrame([row for row in SHEET[1:] if row], columns=SHEET[0])
    frame.to_csv(tmp_path / "t.csv", index=False)
    same = files.read(tmp_path / "t.csv", text="body", words=PLAIN, keep_texts=True)
    assert reading.texts == same.texts
    assert reading.corpus.ids.tolist() == same.corpus.ids.tolist() == list("abcd")
    pd.testing.assert_frame_equal(reading.corpus.metadata, same.corpus.metadata)
    assert {c.name: c.base for c in reading.columns} == {c.name: c.base for c in same.columns}
    assert problem(reading, "empty text").message.startswith("empty text: 1 row (row 6)")
    assert reading.encoding == ""
    assert files.sniff(path).format == "xlsx"
    unnamed = tmp_path / "unnamed"
    unnamed.write_bytes(path.read_bytes())
    assert files.read(unnamed, text="body", words=PLAIN).columns.format == "xlsx"


def test_excel_beside_documents_and_on_the_command_line(tmp_path):
    path = workbook(tmp_path / "t.xlsx", SHEET, "Notes", "More")
    reading = files.read(path, text="body", words=PLAIN)
    assert "'Sheet' is read, not 'Notes', 'More'" in problem(reading, "other sheets").message
    assert files.read(path, text="body", words=PLAIN, kinds={"body": "text"}).corpus.shape[0] == 4
    put(tmp_path, "texts.csv", b"key,body\na,green tea\nd,black tea\n")
    joined = files.read(tmp_path / "texts.csv", text="body", metadata=path, words=PLAIN)
    assert joined.corpus.metadata["stars"].tolist() == [3, 5]
    rows = [SHEET[0], *([f"k{i}", *SHEET[1 + i % 2][1:]] for i in range(12))]
    many = workbook(tmp_path / "many.xlsx", rows)
    model = str(tmp_path / "m.gptm")
    arguments = ["fit", str(many), "--text", "body", "-t", "2", "--max-iter", "3", "-o", model]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    assert CliRunner().invoke(app, ["transform", model, str(many)]).exit_code == 0


def test_odd_workbooks(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="cannot be read as an Excel workbook"):
        files.read(put(tmp_path, "t.xlsx", b"something else"))
    whole = workbook(tmp_path / "w.xlsx", SHEET).read_bytes()
    with pytest.raises(ValueError, match="cannot be read as an Excel workbook"):
        files.read(put(tmp_path, "t.xlsx", whole[: len(whole) // 2]))
    with pytest.raises(ValueError, match="holds no documents"):
        files.read(workbook(tmp_path / "e.xlsx", []))
    wide = workbook(tmp_path / "b.xlsx", [["key", "body"], ["a", "green tea"], ["b", "tea", "x"]])
    assert problem(files.read(wide, words=PLAIN), "broken line").lines == (3,)
    with pytest.raises(ValueError, match=r"old Excel file \(.xls\)"):
        files.read(put(tmp_path, "t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"gptm\[excel\]"):
        files.read(tmp_path / "w.xlsx")


# Names of files as ids


FOLDERS = {
    "ids without endings": (["a.txt", "b.txt"], "id", ["b", "a"]),
    "names of files": (["a.txt", "b.txt"], "file", ["b.txt", "a.txt"]),
    "capitals and gzip": (["a.TXT", "b.txt.gz"], "file", ["b.txt", "a.txt"]),
    "paths": (["x/a.txt", "y/b.txt"], "path", ["y/b.txt", "./x/a.txt"]),
    "paths without endings": (["x/a.txt", "y/b.txt"], "path", ["y/b", "x/a"]),
    "bare names of nested files": (["x/a.txt", "y/b.txt"], "file", ["b.txt", "a.txt"]),
    "paths of files that are not nested": (["a.txt", "b.txt"], "path", ["data/b.txt", "data/a"]),
    "a column called anything": (["a.txt", "b.txt"], "speech", ["b.txt", "a.txt"]),
    "names with dots": (["a.v1.txt", "a.v2.txt"], "id", ["a.v2", "a.v1"]),
    "backslashes": (["x/a.txt", "y/b.txt"], "path", ["y\\b.txt", "x\\a.txt"]),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_files_of_a_folder_are_found_by_their_names(case, tmp_path):
    names, column, cells = FOLDERS[case]
    folder = tmp_path / "texts"
    for name, text in zip(names, ("green tea", "black tea"), strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    table = pd.DataFrame({column: cells, "year": [2002, 2001], "by": ["Bob", "Ann"]})
    table.to_csv(tmp_path / "more.csv", index=False)
    reading = files.read(folder, metadata=tmp_path / "more.csv", words=PLAIN, keep_texts=True)
    assert reading.problems == []
    assert reading.texts == ["green tea", "black tea"]
    assert reading.corpus.metadata["year"].tolist() == [2001, 2002]
    assert reading.corpus.metadata["by"].tolist() == ["Ann", "Bob"]


def test_bare_names_that_several_files_have_match_none(tmp_path):
    for name in ("x/a.txt", "y/a.txt"):
        (tmp_path / "f" / name).parent.mkdir(parents=True)
        (tmp_path / "f" / name).write_text("green tea")
    (tmp_path / "m.csv").write_text("id,year\na,2001\nb,2002\nc,2003\n")
    with pytest.raises(ValueError, match=r"no id of .*m.csv .* is an id of a document"):
        files.read(tmp_path / "f", metadata=tmp_path / "m.csv")


# Counts in JSON lines

BAGS = [
    {"id": "a", "year": 2001, "counts": {"tea": 2, "the": 1}},
    {"id": "b", "year": 2002, "counts": {"milk": 3, "café": 1.0}},
    {"id": "c", "year": 2003, "counts": {}},
    {"id": "d", "year": 2004, "counts": {"cafe\u0301": 1, "milk": 1, "tea": 0}},
]


@pytest.mark.parametrize("file", ["t.jsonl", "t.json", "t.jsonl.gz"])
def test_counts_in_json_lines_are_counts(tmp_path, file):
    content = json.dumps(BAGS).encode() if file == "t.json" else jsonl_bytes(BAGS)
    reading = files.read(put(tmp_path, file, content))
    corpus = reading.corpus
    assert corpus.vocabulary.tolist() == ["café", "milk", "tea", "the"]  # nothing is left out
    assert corpus.counts.toarray().tolist() == [[0, 0, 2, 1], [1, 3, 0, 0], [0] * 4, [1, 1, 0, 0]]
    assert corpus.counts.dtype.kind == "i"
    assert corpus.ids.tolist() == list("abcd")
    assert list(corpus.metadata) == ["id", "year"]
    assert reading.columns.kinds == {"id": "id", "year": "number", "counts": "text"}
    assert reading.texts is None
    assert files.sniff(tmp_path / file).kinds == reading.columns.kinds
    assert [one.kind for one in reading.problems] == ["empty text"]
    asked = files.read(tmp_path / file, words=Words("english", 1, 1.0))
    assert asked.corpus.vocabulary.tolist() == ["café", "milk", "tea"]
    fixed = files.read(tmp_path / file, vocabulary=["tea", "cup"])
    assert fixed.corpus.counts.toarray().tolist() == [[2, 0], [0, 0], [0, 0], [0, 0]]
    new = files.read_documents(
        tmp_path / file, words=PLAIN, vocabulary=["tea", "cup"], trained_text=["body"]
    )
    assert new.corpus.counts.toarray().tolist() == [[2, 0], [0, 0], [0, 0], [0, 0]]
    assert new.report.unknown.words == 3


def test_counts_beside_a_text_are_columns(tmp_path):
    rows = [
        {"body": f"the {word} tea is for all of the people", "counts": {"likes": i, "shares": 2}}
        for i, word in enumerate(("green", "black", "white"))
    ]
    path = put(tmp_path, "t.jsonl", jsonl_bytes(rows))
    reading = files.read(path, words=PLAIN)
    assert reading.columns.text == ("body",)
    assert reading.corpus.metadata["counts.likes"].tolist() == [0, 1, 2]
    told = files.read(path, words=PLAIN, text="counts")
    assert told.corpus.vocabulary.tolist() == ["likes", "shares"]
    words = [{"title": "the tea of the day", "counts": {f"word{i}": 1}} for i in range(5)]
    path = put(tmp_path, "w.jsonl", jsonl_bytes(words))
    assert files.read(path).columns.text == ("counts",)
    assert files.read(path, text="title", words=PLAIN).columns.text == ("title",)


def test_odd_counts_in_json_lines(tmp_path):
    for odd in (-1, float("nan"), float("inf")):
        path = put(tmp_path, "t.jsonl", jsonl_bytes([{"counts": {"tea": odd, "cup": 1}}]))
        with pytest.raises(ValueError, match=r"finite numbers, .* none below zero"):
            files.read(path)
    path = put(tmp_path, "t.jsonl", jsonl_bytes([{"counts": {"tea": 1.5}}, {"x": 3}]))
    reading = files.read(path)
    assert {one.kind for one in reading.problems} == {"empty text", "fractional counts"}
    with pytest.raises(ValueError, match="all counts are empty"):
        files.read(put(tmp_path, "t.jsonl", jsonl_bytes([{"counts": {}}, {"counts": {}}])))


def test_a_model_of_counts_takes_counts_and_texts(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {
            "id": str(i),
            "counts": dict(zip(rng.permutation(list("abcdef")).tolist(), [3, 1], strict=False)),
        }
        for i in range(30)
    ]
    rows = [row | {"counts": {2 * w: n for w, n in row["counts"].items()}} for row in rows]
    path = put(tmp_path, "t.jsonl", jsonl_bytes(rows))
    model = str(tmp_path / "m.gptm")
    run = CliRunner().invoke
    fit = run(app, ["fit", str(path), "-t", "2", "--max-iter", "3", "-o", model])
    assert fit.exit_code == 0, fit.stderr
    again = run(app, ["transform", model, str(path)])
    assert again.exit_code == 0, again.stderr
    put(tmp_path, "t.csv", b"id,body\nx,aa bb cc\ny,dd ee ff aa\n")
    texts = run(app, ["transform", model, str(tmp_path / "t.csv")])
    assert texts.exit_code == 0, texts.stderr
    assert len(texts.stdout.splitlines()) == 3


def test_counts_in_json_lines_go_to_blocks(tmp_path):
    pytest.importorskip("pyarrow")
    path = put(tmp_path, "t.jsonl", jsonl_bytes(BAGS))
    blocks = files.read_to_blocks(path, tmp_path / "blocks", n_jobs=1).corpus
    whole = files.read(path).corpus
    assert list(blocks.vocabulary) == list(whole.vocabulary)
    assert (blocks.whole_block(0).counts != whole.counts).nnz == 0


def test_columns_of_a_survey_are_printed_in_one_line():
    questions = [files.ColumnKind(f"q{i}", "number", "all numbers") for i in range(1, 61)]
    columns = files.Columns([files.ColumnKind("answer", "text", "the longest strings"), *questions])
    assert str(columns).splitlines() == [
        "column                   kind    why",
        "answer                   text    the longest strings",
        "q1 ... q60 (60 columns)  number  all numbers",
    ]
    assert len(columns.kinds) == 61
    assert len(str(files.Columns(questions[:30])).splitlines()) == 31  # few enough to print
    odd = [*questions[:20], files.ColumnKind("city", "category", "names"), *questions[20:24]]
    assert len(str(files.Columns([*odd, *questions[24:]])).splitlines()) == 4


def test_counts_that_no_number_counts_one_by_one_are_refused(tmp_path):
    """They became other counts, some of them below zero."""
    path = tmp_path / "t.ldac"
    path.write_text("2 0:1 2:2\n1 1:184467440737095516162\n")
    with pytest.raises(ValueError, match=r"at most 9e\+15 and none below zero; line 2 has 1\.84"):
        files.read(path, vocabulary=["tea", "milk", "oil"])


def test_names_of_columns_with_half_a_character_are_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "tea and milk", "x\\ud800": 3}\n{"text": "tea", "x\\ud800": 4}\n')
    with pytest.raises(ValueError, match="the name of a column must be valid Unicode"):
        files.read(path)
