"""Files of every format with damaged bytes: each ends in a corpus, or in an error that helps.

`python tests/fuzz_readers.py 10000` damages so many files and counts how they ended; `make fuzz-readers` does that. The
suite runs some hundred of them (`test_fuzz.py`). The same seed draws the same files.
"""

import gzip
import io
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from openpyxl import Workbook
from scipy.io import mmwrite
from scipy.sparse import csr_matrix, save_npz

import gptm.files as files
from fuzz_inputs import check_helpful, main, require, try_all
from gptm.corpus.words import Words
from gptm.files.formats import find_format

SLOW = 20.0  # seconds for one file
WORDS = Words(None, 1, 1.0)
ROWS = [
    {"key": "d1", "when": "2020-01-31", "source": "Times", "score": 1.5, "refs": ["d2", "d3"]},
    {"key": "d2", "when": "2021-02-28", "source": "Post", "score": 2, "refs": []},
    {"key": "d3", "when": None, "source": "Times", "score": None, "refs": ["d1"]},
    {"key": "d4", "when": "2022-03-01", "source": "Post", "score": -3e1, "refs": ["d1"]},
]
BODIES = [
    "Green tea, black tea",
    'She said "coffee"\nand left the room',
    "Über naïve cafés, and 東京 tea",
    "Beans from Brazil and beans from Peru",
]
TABLE = [{**row, "body": body} for row, body in zip(ROWS, BODIES, strict=True)]
COUNTS = csr_matrix(np.array([[1, 0, 2], [0, 0, 0], [0, 3, 1], [1, 1, 1]]))


def _flat():
    """The table with one text a cell."""
    return pd.DataFrame([{**row, "refs": ";".join(row["refs"])} for row in TABLE])


def _saved(save, name):
    """The bytes that a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        save(path)
        return path.read_bytes()


def _workbook():
    book = Workbook()
    frame = _flat().astype(object)
    book.active.append(list(frame))
    for row in frame.where(frame.notna(), None).itertuples(index=False):
        book.active.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _ldac():
    rows = (zip(row.indices, row.data, strict=True) for row in (COUNTS[i] for i in range(4)))
    lines = [[f"{word}:{count}" for word, count in row] for row in rows]
    return "".join(" ".join([str(len(line)), *line]) + "\n" for line in lines).encode()


SOUND = {
    "t.csv": _flat().to_csv(index=False).encode(),
    "semicolons.csv": _flat().to_csv(index=False, sep=";", decimal=",").encode("cp1252", "replace"),
    "t.tsv": _flat().to_csv(index=False, sep="\t").encode("utf-16"),
    "t.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in TABLE).encode(),
    "t.json": json.dumps(TABLE, indent=1).encode(),
    "bags.jsonl": b'{"id": "a", "counts": {"tea": 2, "milk": 1}}\n{"id": "b", "counts": {}}\n',
    "t.txt": "\n".join(BODIES).encode(),
    "t.parquet": _saved(pd.DataFrame(TABLE).to_parquet, "t.parquet"),
    "t.xlsx": _workbook(),
    "t.mtx": _saved(lambda path: mmwrite(str(path), COUNTS), "t.mtx"),
    "t.npz": _saved(lambda path: save_npz(path, COUNTS), "t.npz"),
    "t.ldac": _ldac(),
}
# What programs write where they should not, in text files and inside of numbers.
PIECES = [
    b"\x00",
    b"\xff",
    b"\xff\xfe",
    b'"',
    b"'",
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\\",
]
PIECES += [b"-1", b"1e400", b"nan", b"99999999999999999999", b"18446744073709551616", b"0x10", b""]
PIECES += [b"{", b"}", b"[" * 3000, b"]", b":", b"null", b"\xed\xa0\x80", b"\\ud800", b"=cmd()"]
PIECES += [
    "٣".encode(),
    "\u2028".encode(),
    "\u202e".encode(),
    b"\x1b[31m",
    b"2020-13-45",
    b"%",
    b" ",
]
PIECES += [b"1:", b"0:0", b"%%MatrixMarket matrix coordinate real symmetric\n", b"PK\x03\x04"]


@st.composite
def damaged(draw, content):
    """Bytes with some changes: flipped, cut, repeated, or with odd pieces put in."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        length = draw(st.sampled_from([0, 1, 2, 4, 8, 40, 400]))
        way = draw(st.sampled_from(["flip", "flip", "cut", "drop", "repeat", "piece", "piece"]))
        if way == "flip" and content:
            content[place] ^= draw(st.integers(1, 255))
        elif way == "cut":
            del content[place:]
        elif way == "drop":
            del content[place : place + length]
        elif way == "repeat":
            content[place:place] = content[place : place + length] * draw(st.sampled_from([1, 50]))
        else:
            content[place : place + length] = draw(st.sampled_from(PIECES))
    return bytes(content)


@st.composite
def broken_files(draw):
    """A name and damaged content; packed before the damage or after it, or under the name of another format."""
    name = draw(st.sampled_from(list(SOUND)))
    content = SOUND[name]
    form = draw(st.sampled_from(["plain"] * 6 + ["packed", "pack", "other name", "twice"]))
    if form == "packed":
        return name + ".gz", draw(damaged(gzip.compress(content, mtime=0)))
    content = draw(damaged(content))
    if form == "other name":
        name = draw(st.sampled_from([*SOUND, "t", "t.dat", "t.xlsm", "t.ndjson"]))
    if form == "twice":
        content = content + content
    return (name + ".gz", gzip.compress(content, mtime=0)) if form == "pack" else (name, content)


def check_corpus(reading):
    """A corpus that can be: counts, words and metadata that go together."""
    corpus = reading.corpus
    require(corpus.counts.shape[1] == len(corpus.vocabulary), "words that are not the columns")
    data = corpus.counts.data
    require(np.isfinite(data).all() and (data > 0).all(), "counts that are not positive")
    ids = corpus.ids
    require(ids is None or len(ids) == corpus.counts.shape[0], "ids that are not the rows")
    if corpus.metadata is not None:
        require(len(corpus.metadata) == corpus.counts.shape[0], "metadata that are not the rows")
    str(reading), repr(reading.columns)


def read(name, content, outcomes, strict):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        vocabulary = (
            ["milk", "tea", "straße"] if find_format(path) in ("mtx", "ldac", "npz") else None
        )
        try:
            reading = files.read(path, words=WORDS, vocabulary=vocabulary, strict=strict)
        except ValueError as error:
            check_helpful(error)
            outcomes["refused"] += 1
        else:
            check_corpus(reading)
            outcomes["corpus"] += 1


def run_cases(first_seed, n, outcomes, failures=None):
    """Damage `n` files. Failures are collected by kind; without a place for them the first is raised."""

    def check(case):
        file, strict = case
        began = time.perf_counter()
        read(*file, outcomes, strict)
        require(time.perf_counter() - began < SLOW, "too slow")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try_all(st.tuples(broken_files(), st.booleans()), check, first_seed, n, outcomes, failures)


if __name__ == "__main__":
    sys.exit(main(run_cases, *map(int, sys.argv[1:] or [10_000])))
