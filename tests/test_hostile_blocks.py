"""A corpus on disk that somebody changed on purpose, checksums and all, is read or refused."""

import json

import numpy as np
import pytest

import gptm
from fuzz_inputs import check_helpful
from gptm.corpus.block_files import checksum
from test_blocks import corpus_of

pa = pytest.importorskip("pyarrow")

FIRST = "block-000000.arrow"
VALUES = [None, True, -1, 0, 1e308, 2**70, "x\x1b[31m", "/etc/passwd", f"../other/{FIRST}"]
VALUES += [[], {}, ["a"], {"a": 1}, float("nan")]


@pytest.fixture
def folder(tmp_path):
    return corpus_of().to_blocks(tmp_path / "blocks", block_documents=12)


def change_manifest(folder, change):
    manifest = json.loads((folder / "corpus.json").read_text())
    change(manifest)
    (folder / "corpus.json").write_text(json.dumps(manifest))


def load(folder):
    """All documents, and a selection, for which the manifest is asked how many there are."""
    corpus = gptm.open_corpus(folder)
    repr(corpus), corpus.digest, corpus[:1].load()
    return corpus.load()


def same_or_helpful(folder, expected):
    try:
        corpus = load(folder)
    except ValueError as error:
        check_helpful(error)
        return
    counts = corpus.counts
    assert np.isfinite(counts.data).all()
    assert (counts != expected.counts).nnz == 0


@pytest.mark.parametrize("place", ["manifest", "block", "words"])
def test_a_changed_manifest_is_refused_or_changes_nothing(folder, place):
    original, expected = (folder / "corpus.json").read_text(), load(folder)
    parts = {
        "manifest": lambda m: m,
        "block": lambda m: m["blocks"][0],
        "words": lambda m: m["words"],
    }
    part = parts[place]
    for name in part(json.loads(original)):
        for value in VALUES:
            if (name, value) == ("documents", 0):  # an honest folder without that block
                continue
            change_manifest(folder, lambda m, name=name, value=value: part(m).update({name: value}))
            same_or_helpful(folder, expected)
            (folder / "corpus.json").write_text(original)


@pytest.mark.parametrize("name", [f"../other/{FIRST}", "/etc/passwd", FIRST + "\n", ""])
def test_blocks_are_in_the_folder_itself(folder, name):
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / FIRST).write_bytes((folder / FIRST).read_bytes())
    change_manifest(folder, lambda m: m["blocks"][0].update(file=name))
    with pytest.raises(ValueError, match=r"file must be block-NNNNNN\.arrow"):
        gptm.open_corpus(folder)


def test_a_manifest_cannot_ask_for_memory(folder):
    change_manifest(folder, lambda m: m["blocks"][0].update(documents=2**30))
    with pytest.raises(ValueError, match="documents must be"):
        gptm.open_corpus(folder)


@pytest.mark.parametrize("words", [{}, "abc", 5, None, [["tea"]], [None] * 10])
def test_a_vocabulary_is_a_list_of_words(folder, words):
    (folder / "vocabulary.json").write_text(json.dumps(words))
    with pytest.raises(ValueError, match="vocabulary must be a list of words"):
        gptm.open_corpus(folder)


def lists(cells, type_):
    return pa.array(cells, pa.list_(type_))


ARRAYS = {
    "counts of text": ("counts", lambda n: lists([["a"]] * n, pa.string())),
    "fewer counts than words": ("counts", lambda n: lists([[1]] * n, pa.int32())),
    "missing counts": ("counts", lambda n: lists([None] * n, pa.int32())),
    "a missing count": ("counts", lambda n: lists([[None]] * n, pa.int32())),
    "numbers for lists": ("words", lambda n: pa.array(range(n))),
    "words between others": ("words", lambda n: lists([[0.5]] * n, pa.float64())),
    "no ids": ("id", lambda n: pa.array([None] * n, pa.string())),
    "ids that are lists": ("id", lambda n: lists([["a"]] * n, pa.string())),
    "bytes for names": ("column:who", lambda n: pa.array([b"\xff"] * n)),
    "lists for numbers": ("column:stars", lambda n: lists([[1]] * n, pa.int32())),
    "texts for vectors": ("column:place", lambda n: pa.array(["a"] * n)),
}


def write_table(folder, table):
    """Put a table in place of the first block, and let the manifest believe it."""
    path = folder / FIRST
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    seal(folder)


def seal(folder):
    path = folder / FIRST
    now = {"bytes": path.stat().st_size, "crc32": checksum(path)}
    change_manifest(folder, lambda m: m["blocks"][0].update(now))


def read_table(folder):
    with pa.OSFile(str(folder / FIRST)) as source:
        return pa.ipc.open_file(source).read_all()


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_other_types_and_lengths_are_refused(folder, name):
    table = read_table(folder)
    column, make = ARRAYS[name]
    place = table.schema.get_field_index(column)
    table = table.set_column(place, column, make(len(table)))
    write_table(folder, table)
    with pytest.raises(ValueError, match=f"{FIRST} is not what was written"):
        load(folder)


def test_a_column_twice_and_a_mark_that_is_no_text_are_refused(folder):
    table = read_table(folder)
    write_table(folder, table.append_column("words", table.column("words")))
    with pytest.raises(ValueError, match="a column is there twice"):
        load(folder)
    write_table(folder, table.replace_schema_metadata({"vocabulary": b"\xff"}))
    with pytest.raises(ValueError, match="vocabulary of another corpus"):
        load(folder)


def test_flipped_bytes_with_a_new_checksum_are_read_or_refused(folder):
    """Offsets that lead out of their arrays would end the process."""
    content, rng = (folder / FIRST).read_bytes(), np.random.default_rng(0)
    ends = {"read": 0, "refused": 0}
    for _ in range(150):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), rng.choice([1, 2, 8])):
            damaged[place] ^= int(rng.integers(1, 256))
        (folder / FIRST).write_bytes(damaged)
        seal(folder)
        try:
            load(folder)
            ends["read"] += 1
        except ValueError as error:
            check_helpful(error)
            ends["refused"] += 1
    assert min(ends.values()) > 5
