"""Model files from strangers: damage is seen, sizes are not believed, and nothing in a file is a path or a command."""

import contextlib
import io
import json
import re
import struct
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from safetensors import safe_open
from safetensors.numpy import load_file
from safetensors.numpy import save as to_bytes
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_matrix

import gptm
from fuzz_files import COUNTS, D, V, flipped, run, write_models
from gptm._basics.plain_json import check_depth, parse_json
from gptm._basics.sparse_arrays import from_sparse_arrays
from gptm._basics.terminal import printable, printable_json
from gptm.corpus.token_pattern import TOKEN_PATTERN, expanded
from gptm.corpus.word_patterns import why_slow
from gptm.corpus.words import Words
from gptm.files.matrix_market import parse_matrix_market
from gptm.storage import load_attached, read_header
from gptm.storage.checksum import with_checksums
from gptm.storage.corpus_arrays import pack_column, pack_texts, unpack_column, unpack_texts

READERS = {"load": gptm.load, "load_attached": load_attached, "read_header": read_header}
TALL = 2**50


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return {path.stem: path for path in write_models(tmp_path_factory.mktemp("models"))}


def parts(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["gptm"]), load_file(path)


@pytest.fixture
def changed(tmp_path, originals):
    """A model's file with its header and arrays changed by a function, and with new checksums."""

    def write(change, name="terms"):
        header, tensors = parts(originals[name])
        change(header, tensors)
        path = tmp_path / "hostile.gptm"
        path.write_bytes(to_bytes(tensors, {"gptm": json.dumps(with_checksums(header, tensors))}))
        return path

    return write


def refused(path, reader=gptm.load, match=r"\w"):
    """The file is refused with a sentence that names it, quickly and without much memory."""
    tracemalloc.start()
    begin = time.perf_counter()
    try:
        with pytest.raises(ValueError, match=match) as error:
            reader(path)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - begin < 10
    assert path.name in str(error.value)


# Damage


def test_damaged_files_give_the_same_answer_or_an_error():
    ends, _ = run(300)
    assert ends["error"] > 200


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_every_flipped_bit_is_seen_by_who_reads_it(reader, originals, tmp_path):
    content = originals["terms"].read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    rng = np.random.default_rng(0)
    path = tmp_path / "model.gptm"
    good = repr(reader(originals["terms"]))
    for place in rng.integers(8, header, 60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            assert repr(reader(path)) == good
        except ValueError as error:
            assert "model.gptm" in str(error)  # noqa: PT017


def test_a_flipped_array_names_the_array(originals, tmp_path):
    header, tensors = parts(originals["none"])
    tensors["Sigma"][0, 0] += 1e-9
    path = tmp_path / "model.gptm"
    path.write_bytes(to_bytes(tensors, {"gptm": json.dumps(header)}))
    refused(path, match="checksum of its array 'Sigma'.*Get it again")
    assert read_header(path)["model"] == "CTM"  # which reads no arrays


def test_documents_have_checksums_too(originals, tmp_path):
    header, tensors = parts(originals["none"])
    tensors["corpus.counts.data"][0] += 1
    path = tmp_path / "model.gptm"
    path.write_bytes(to_bytes(tensors, {"gptm": json.dumps(header)}))
    refused(path, load_attached, match="checksum of its array 'corpus.counts.data'")
    gptm.load(path)  # which reads no documents


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_changed_header_has_another_checksum(reader, originals, tmp_path):
    header, tensors = parts(originals["none"])
    header["reading"]["id"] = "other"
    path = tmp_path / "model.gptm"
    path.write_bytes(to_bytes(tensors, {"gptm": json.dumps(header)}))
    refused(path, reader, match="checksum of its header")


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_file_without_checksums_must_be_an_old_one(reader, originals, tmp_path):
    header, tensors = parts(originals["none"])
    plain = {key: value for key, value in header.items() if "checksum" not in key}
    path = tmp_path / "model.gptm"
    path.write_bytes(to_bytes(tensors, {"gptm": json.dumps(plain)}))
    refused(path, reader, match="checksum")
    path.write_bytes(to_bytes(tensors, {"gptm": json.dumps(plain | {"schema": 2})}))
    reader(path)


def test_checksums_cost_little(originals):
    from gptm.storage.checksum import array_checksum

    large = np.zeros(30_000_000, dtype=np.uint8)
    begin = time.perf_counter()
    array_checksum(large)
    assert time.perf_counter() - begin < 1.0  # about 0.03 s on an idle machine


# Sizes that are not believed


def put(name, value):
    def change(header, tensors):
        tensors[name] = np.ascontiguousarray(value)

    return change


def entry(name, *place):
    """Set one entry of an array."""

    def with_value(value):
        def change(header, tensors):
            tensors[name] = tensors[name].copy()
            tensors[name][place or 0] = value

        return change

    return with_value


ARRAYS = {
    "n": ("none", put("training.n", [TALL])),
    "n of no documents": ("none", put("training.n", [0])),
    "n of a float": ("none", put("training.n", [20.0])),
    "sparse rows": ("graph", put("counts.shape", [TALL, V])),
    "sparse columns": ("graph", put("counts.shape", [D, TALL])),
    "links": ("graph", put("training.links.shape", [D, TALL])),
    "edges": ("neighbours", put("training.edges.shape", [D, 2**31 - 1])),
    "points": ("neighbours", put("training.points.shape", [D, TALL])),
    "negative shape": ("graph", put("training.links.shape", [-1, -1])),
    "groups": ("terms", entry("training.1.0.codes")(TALL)),
    "groups of nobody": ("terms", entry("training.1.0.codes")(-TALL)),
    "empty topics": ("none", put("components", np.zeros((3, 0)))),
    "no documents": ("none", put("lam", np.zeros((0, 3)))),
    "many documents without topics": ("none", put("lam", np.zeros((2**40, 0)))),
    "topics of one axis": ("none", put("components", np.ones(V))),
    "topics of half the precision": ("none", put("components", np.full((3, V), 1 / V, np.float32))),
    "topics of whole numbers": ("none", put("components", np.eye(3, V, dtype=np.int64))),
    "rows of draws": ("terms", entry("draws.rows")(D)),
}


@pytest.mark.parametrize(("name", "change"), ARRAYS.values(), ids=ARRAYS)
def test_sizes_and_types_are_checked_first(name, change, changed):
    refused(changed(change, name))


VALUES = {
    "a topic of NaN": ("none", entry("components", 0, 0)(np.nan)),
    "a negative topic": ("none", put("components", np.tile([2.0, -1.0] + [0.0] * (V - 2), (3, 1)))),
    "a topic that does not sum to one": ("none", entry("components", 0, 0)(5.0)),
    "a document that does not sum to one": ("none", entry("doc_topics", 0, 0)(5.0)),
    "an infinite mean": ("none", entry("mu", 0)(np.inf)),
    "a huge mean": ("none", entry("mu", 0)(1e300)),
    "a covariance that is not symmetric": ("none", entry("Sigma", 0, 1)(0.5)),
    "a covariance that is not positive": ("none", put("Sigma", -np.eye(3))),
    "a covariance of draws": ("terms", entry("draws.S", 0, 0, 0)(-5.0)),
    "a negative variance": ("none", entry("nu2", 0, 0)(-1.0)),
    "a document of minus one word": ("none", entry("lengths", 0)(-1.0)),
    "an infinite point": ("terms", entry("training.0.0.points", 0, 0)(np.inf)),
    "a scale of zero": ("neighbours", entry("training.scale", 0)(0.0)),
    "a negative link": ("neighbours", entry("training.edges.data", 0)(-1.0)),
    "a link of one side": ("neighbours", entry("training.edges.data", 0)(1e6)),
    "an infinite link": ("graph", entry("training.links.data", 0)(np.inf)),
    "a weight of NaN": ("terms", entry("draws.part0.weights", 0, 0, 0)(np.nan)),
}


@pytest.mark.parametrize(("name", "change"), VALUES.values(), ids=VALUES)
def test_values_that_no_model_has(name, change, changed):
    refused(changed(change, name))


def setting(*place):
    def with_value(value):
        def change(header, tensors):
            inside = header
            for key in place[:-1]:
                inside = inside[key]
            inside[place[-1]] = value

        return change

    return with_value


KERNEL = ("kernel", "params")
HEADERS = {
    "n_components": ("none", setting("parameters", "n_components")(-1)),
    "n_components in words": ("none", setting("parameters", "n_components")("3")),
    "n_jobs": ("none", setting("parameters", "n_jobs")([])),
    "a reason": ("none", setting("reason")("\x1b[2J")),
    "joint": ("none", setting("joint")("yes")),
    "words": ("none", setting("vocabulary")([1] * V)),
    "names of topics": ("none", setting("topic_names")("abc")),
    "neighbours": ("neighbours", setting(*KERNEL, "n_neighbors")(0)),
    "neighbours of NaN": ("neighbours", setting(*KERNEL, "n_neighbors")(float("nan"))),
    "bandwidth": ("neighbours", setting(*KERNEL, "bandwidth")(0.0)),
    "columns": ("neighbours", setting(*KERNEL, "on")(True)),
    "kappa": ("graph", setting(*KERNEL, "kappa")(float("inf"))),
}


@pytest.mark.parametrize(("name", "change"), HEADERS.values(), ids=HEADERS)
def test_settings_that_no_model_has(name, change, changed):
    refused(changed(change, name))


def raw_header(path, text):
    """A file whose header is a text."""
    path.write_bytes(to_bytes({"mu": np.zeros(1)}, {"gptm": text}))
    return path


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 900 + "]" * 900])
def test_deep_nesting_is_an_error(reader, text, tmp_path):
    refused(raw_header(tmp_path / "deep.gptm", text), reader, match="nested too deeply")


def test_what_is_nested_too_deeply_is_not_saved(tmp_path):
    model = gptm.CTM(2, random_state=0, max_iter=2, inference="variational", tol=0.9).fit(COUNTS)
    nested = []
    for _ in range(500):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply"):
        model.save(tmp_path / "model.gptm", reading={"more": nested})
    assert not (tmp_path / "model.gptm").exists()


def test_nesting_up_to_the_limit():
    text = "[" * 400 + "]" * 400
    check_depth(parse_json(text))
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(f"[{text}]")


def safetensors_file(path, header, data=b""):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


CLAIMS = {
    "more than there is": {"dtype": "F64", "shape": [2**47], "data_offsets": [0, 2**50]},
    "nothing, in two axes": {"dtype": "F64", "shape": [2**62, 0], "data_offsets": [0, 0]},
    "a type that numpy does not have": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
    "eighty axes": {"dtype": "F64", "shape": [1] * 80, "data_offsets": [0, 8]},
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_claims_of_the_container(claim, tmp_path):
    text = json.dumps({"schema": 2, "libraries": {}})
    header = {"__metadata__": {"gptm": text}, "components": claim}
    size = 8 if claim["data_offsets"][1] else 0
    refused(safetensors_file(tmp_path / "claim.gptm", header, bytes(size)))


def test_lengths_of_texts_that_overflow():
    tensors = {}
    pack_texts(["a", "b", "c", "d"], "texts", tensors)
    for lengths in ([2**62] * 4, [2**50, 0, 0, 0], [-2, 1, 1, 1], [1.0] * 4):
        with pytest.raises(ValueError, match="lengths"):
            unpack_texts("texts", tensors | {"texts.lengths": np.array(lengths)})


def column(values):
    tensors = {}
    return pack_column(pd.Series(values), "c", tensors), tensors


def test_a_time_zone_is_no_path(tmp_path):
    """pandas opens what follows `dateutil/`."""
    header, tensors = column(pd.date_range("2020", periods=2, tz="Europe/Berlin"))
    for zone in (f"dateutil/{tmp_path}", "../../etc/passwd", "/etc/passwd", 3):
        with pytest.raises((ValueError, TypeError)):
            unpack_column(header | {"zone": zone}, "c", tensors)
    assert str(unpack_column(header, "c", tensors).dtype.tz) == "Europe/Berlin"


@pytest.mark.parametrize(
    "zone", ["UTC", "+01:00", "US/Eastern", "Etc/GMT+5", "America/Port-au-Prince"]
)
def test_time_zones_come_back(zone):
    times = pd.Series(pd.date_range("2020", periods=2, tz=zone))
    header, tensors = column(times)
    again = unpack_column(header, "c", tensors)
    assert (again == times).all()
    assert str(again.dtype) == str(times.dtype)


def test_years_that_time_zones_do_not_have():
    header, tensors = column(pd.date_range("2020", periods=2, tz="UTC"))
    tensors["c"] = np.array([4_600_000_000_000, 0])
    with pytest.raises(ValueError, match="years"):
        unpack_column(header | {"dtype": "<M8[s]"}, "c", tensors)


@pytest.mark.parametrize("dtype", ["<U999999999", "V99999999999", "S1000000000"])
def test_items_of_an_array_are_no_larger_than_its_values(dtype):
    cell = json.dumps({"array": ["a"], "dtype": dtype})
    tensors = {}
    pack_texts([cell], "c", tensors)
    with pytest.raises(ValueError, match="not a type of values"):
        unpack_column({"kind": "cells"}, "c", tensors)


def test_positions_that_would_wrap_around():
    """In 32 bits, 2**32 is zero."""
    parts = {"m.data": np.ones(1), "m.indptr": np.array([0, 1]), "m.shape": np.array([1, 3])}
    for position in (2**32, 2**62, -(2**32)):
        with pytest.raises(ValueError, match="outside of its 3 columns"):
            from_sparse_arrays(parts | {"m.indices": np.array([position])}, "m")
    wrapped = {"m.indices": np.array([0]), "m.indptr": np.array([0, 2**32 + 1])}
    with pytest.raises(ValueError, match="do not cover"):
        from_sparse_arrays(parts | wrapped, "m")


# Settings are values


def test_stop_words_are_never_a_path(changed, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("password\n")
    for value in (
        str(secret),
        "../secret.txt",
        "english+" + str(secret),
        "+" + str(secret),
        "+a,b",
        {"path": str(secret)},
        [3],
    ):
        path = changed(setting("words", "stop_words")(value), "none")
        for reader in (read_header, load_attached):
            refused(path, reader, match="never a file")


@pytest.mark.parametrize(
    "value", [None, "auto", "english", "en", "English+german", "auto+german", ["a", "b"], []]
)
def test_stop_words_that_are_values(value, changed):
    path = changed(setting("words", "stop_words")(value), "none")
    assert load_attached(path).words["stop_words"] == value
    assert read_header(path)["words"]["stop_words"] == value


@pytest.mark.parametrize(
    "change",
    [
        setting("reading", "kinds")({"t": ["number"]}),
        setting("reading", "text")("body"),
        setting("reading", "id")(["who"]),
        setting("words")("english"),
        setting("libraries")({"gptm": 3}),
        setting("words", "token_pattern")(5),
        setting("words", "extra_stop_words")("words.txt"),
        setting("words", "extra_stop_words")([5]),
        setting("words", "keep")("urls"),
        setting("words", "keep")([["urls"]]),
        setting("words", "phrases")("phrases.txt"),
        setting("words", "phrases")([["new", "york"]]),
        setting("words", "word_forms")(["lemmas"]),
        setting("words", "segmenter")("os.system"),
        setting("words", "segmenter")({"function": "os.system"}),
    ],
)
def test_settings_of_another_kind(change, changed):
    refused(changed(change, "none"), read_header)


@pytest.mark.parametrize(
    ("name", "value"), [("word_forms", "roots"), ("keep", ["links"]), ("word_forms", "lemmas:xx")]
)
def test_settings_of_words_that_mean_nothing(name, value, changed):
    refused(changed(setting("words", name)(value), "none"), gptm.load)


def test_a_function_in_a_file_is_a_name_and_never_looked_up(changed, monkeypatch):
    path = changed(setting("words", "segmenter")("function:os.system"), "none")
    monkeypatch.setattr("os.system", lambda *_: pytest.fail("was run"))
    model = gptm.load(path)
    assert model.fitted_.words.segmenter == "function:os.system"
    with pytest.raises(ValueError, match="a function, which a model file cannot hold"):
        model.transform(["green tea"])


def test_what_would_be_refused_is_not_saved(tmp_path):
    model = gptm.CTM(2, random_state=0, max_iter=2, inference="variational", tol=0.9).fit(COUNTS)
    path = tmp_path / "model.gptm"
    with pytest.raises(ValueError, match="never a file"):
        model.save(path, words={"stop_words": "words.txt"})
    with pytest.raises(ValueError, match="n_jobs"):
        model.set_params(n_jobs=0).save(path)
    assert not path.exists()


def command(*arguments, **keywords):
    return subprocess.run(
        [sys.executable, "-m", "gptm", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **keywords,
    )


def test_a_slow_pattern_in_a_file_is_refused_at_once(changed, tmp_path):
    path = changed(setting("words", "token_pattern")("(?:[a-z]+)+Q"), "none")
    table = tmp_path / "new.csv"
    table.write_text("body\n" + "a" * 60 + "\n")
    done = command("transform", path, table)
    assert done.returncode == 1
    assert "must be fast on every text" in done.stderr


FINE = [
    TOKEN_PATTERN,
    r"(?u)\b\w\w+\b",
    r"[a-z]+(?:-[a-z]+)*",
    r"\w+(?:['’]\w+)?",
    r"(?:\w+-)*\w+",
    r"#?\w+",
    r"\d+(?:[.,]\d+)*|\w+",
    r"(?:[A-Z]\.)+|\w+",
    r"https?://\S+|\w+",
    r"[\w-]+@[\w.-]+|\w+",
    r"(?i)[a-z]{2,20}",
    r"(?<!\w)[a-z]+(?!\w)",
    r"(?:\w|-)+",
    r"[^\s,;]+",
]
SLOW = [
    "(?:[a-z]+)+Q",
    "(a*)*b",
    "(a|a)+b",
    "(a|aa)+b",
    "(?:a?){30}a{30}",
    r"(?:\w+\s?)+Q",
    "(?:a+b?)+c",
    "(?:a*-a*)*Q",
    "(?:-a*a*)*Q",
    "(?:-(?:a*)?)*Q",
    "a*a*a*a*a*b",
    r"(\w+)\1+",
    r"(?i)(?:[a-z]+[A-Z])+\d",
    r"(?=(?:a+)+Q)\w+",
    "(?:ba?|a)+c",
    "[𐐀-𐑏]+(?:[𐐀-𐑏]+)+Q",
    "(?:a" * 5000 + ")" * 5000,
]


@pytest.mark.parametrize("pattern", FINE)
def test_ordinary_patterns_are_fine(pattern):
    assert why_slow(expanded(pattern)) is None
    Words(token_pattern=pattern, stop_words=None)


@pytest.mark.parametrize("pattern", SLOW, ids=range(len(SLOW)))
def test_slow_patterns_are_found(pattern):
    assert why_slow(pattern) is not None


@pytest.mark.parametrize("pattern", SLOW[:-2])
def test_slow_patterns_are_refused_everywhere(pattern):
    with pytest.raises(ValueError, match=r"token_pattern must (be fast|have at most one group)"):
        Words(token_pattern=pattern)


pieces = st.recursive(
    st.sampled_from(["a", "b", "-", "[ab]", "[a-]", ".", r"\w", "[^-]"]),
    lambda inner: (
        st.lists(inner, min_size=2, max_size=4).map("".join)
        | st.lists(inner, min_size=2, max_size=3).map(lambda some: f"(?:{'|'.join(some)})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,3}", "{2,}", "*?", "{3}"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        )
    ),
    max_leaves=8,
)


@given(pieces, st.sampled_from(["Q", "-Q", ""]), st.sampled_from(["a", "-", "ab", "a-", "ba-"]))
def test_patterns_that_pass_are_fast(pattern, end, text):
    if why_slow(pattern + end) is None:
        begin = time.perf_counter()
        re.findall(pattern + end, text * 12 + "!")
        assert time.perf_counter() - begin < 1.0


# Terminals

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


@given(st.text())
def test_nothing_printable_commands_a_terminal(text):
    shown = printable(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    shown.encode()
    written = printable_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(written) == text
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", written)


def with_escapes(header, tensors):
    header["libraries"]["gptm"] = ESCAPE
    header["vocabulary"] = [f"{ESCAPE}{i}" for i in range(V)]
    header["topic_names"] = [ESCAPE, None, None]
    header["corpus"]["metadata"][0]["name"] = ESCAPE


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("name", ["info", "topics"])
def test_a_file_cannot_command_the_terminal(name, options, changed):
    path = changed(with_escapes, "none")
    done = command(*options, name, path)
    assert done.returncode == 0, done.stderr
    assert "31m" in done.stdout
    for text in (done.stdout, done.stderr):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def seed_with_escapes(header, tensors):
    header["parameters"]["random_state"] = ESCAPE


@pytest.mark.parametrize("change", [setting("reason")(ESCAPE), seed_with_escapes])
def test_an_error_cannot_command_the_terminal(change, changed):
    path = changed(change, "none")
    for options in ([], ["--debug"]):
        done = command(*options, "info", path)
        assert done.returncode == 1
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.stderr)


def test_flips_of_the_fuzzer_change_something(originals):
    content = originals["none"].read_bytes()
    rng = np.random.default_rng(0)
    assert all(flipped(content, rng) != content for _ in range(20))


# Matrix Market files, which scipy reads without looking where it writes


@pytest.mark.parametrize("field", ["integer", "real", "pattern"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_matrices_are_those_that_scipy_reads(field, symmetric):
    counts = np.random.default_rng(0).poisson(0.7, (12, 12))
    counts = counts + counts.T if symmetric else counts[:, :5]
    for X in (coo_matrix(counts), coo_matrix(counts.shape, dtype=int)):
        stream = io.BytesIO()
        mmwrite(stream, X, comment="one\ntwo", field=field)
        expected = mmread(io.BytesIO(stream.getvalue())).toarray()
        assert_array_equal(parse_matrix_market(stream.getvalue()).toarray(), expected)


def test_a_matrix_with_all_entries_written_out():
    X, stream = np.arange(12).reshape(4, 3), io.BytesIO()
    mmwrite(stream, X)
    assert_array_equal(parse_matrix_market(stream.getvalue()).toarray(), X)


MATRIX = b"%%MatrixMarket matrix coordinate integer general\n%\n2 3 2\n1 1 4\n2 3 5"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"4\n2 3 5", b"4\n2 3 5\xe0", "ascii"),  # scipy's reader ended the process
        (b"%%Matrix", b"Matrix", "first line"),
        (b"integer", b"complex", "'complex'; expected one of"),
        (b"general", b"hermitian", "'hermitian'; expected one of"),
        (b"2 3 2", b"2 3", "must have 3 numbers"),
        (b"2 3 2", b"2 3 99999", "promises 2 x 3 with 99999 entries"),
        (b"2 3 2", b"2 3 3", "promises 3 entries, and it has 2"),
        (b"1 1 4", b"0 1 4", "entry 1 is outside"),
        (b"1 1 4", b"1 4 4", "entry 1 is outside"),
        (b"1 1 4", b"1.5 1 4", "entry 1 is outside"),
        (b"1 1 4", b"1 1 4 4", "have more"),
        (b"2 3 5", b"2 3 5 5", "saw 4"),
        (b"2 3 5", b"2", "entry 2 is outside"),
        (b"2 3 5", b"2 3 x", "could not convert|float"),
        (b"coordinate", b"array", "must have 2 numbers"),
    ],
)
def test_damaged_matrices_are_refused(old, new, message):
    assert parse_matrix_market(MATRIX).nnz == 2
    with pytest.raises(ValueError, match=message):
        parse_matrix_market(MATRIX.replace(old, new))


@settings(max_examples=200)
@given(st.data())
def test_no_damage_to_a_matrix_ends_in_anything_but_an_error(data):
    damaged = bytearray(MATRIX)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + 1] = data.draw(st.binary(max_size=2))
    with contextlib.suppress(ValueError):
        parse_matrix_market(bytes(damaged))
