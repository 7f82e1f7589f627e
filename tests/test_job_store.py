"""The job store: what is done is found again, and a run that is cut off loses no more than one job."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_store import Store, code_digest

KEYS = st.text(min_size=1, max_size=4)
RESULTS = st.dictionaries(
    st.text(max_size=3), st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "results.jsonl"


@given(puts=st.lists(st.tuples(KEYS, RESULTS)))
def test_the_last_result_of_each_job_is_found_again_in_order(tmp_path_factory, puts):
    path = tmp_path_factory.mktemp("store") / "results.jsonl"
    store = Store(path)
    for key, result in puts:
        store.put(key, result)
    expected = dict(puts)  # keeps the place of the first
    assert list(store.results().items()) == list(expected.items())
    assert list(Store(path).results().items()) == list(expected.items())
    assert not path.exists() or path.read_bytes().count(b"\n") == len(expected)


def test_a_store_that_is_only_read_writes_nothing(path):
    assert Store(path).get("a") is None
    assert not path.parent.exists()


def test_each_job_is_one_line(path):
    store = Store(path, {"a": "f1", "b": "f2"})
    store.put("a", {"x": 1})
    store.put("b", {"x": 2})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"key": "a", "fingerprint": "f1", "result": {"x": 1}},
        {"key": "b", "fingerprint": "f2", "result": {"x": 2}},
    ]


def test_another_fingerprint_means_not_done_and_is_replaced(path):
    Store(path, {"a": "old", "b": "same"}).put("a", {"x": 1})
    Store(path, {"a": "old", "b": "same"}).put("b", {"x": 2})
    store = Store(path, {"a": "new", "b": "same"})
    assert store.results() == {"b": {"x": 2}}
    store.put("a", {"x": 3})
    assert Store(path, {"a": "new", "b": "same"}).results() == {"a": {"x": 3}, "b": {"x": 2}}


@pytest.mark.parametrize("kept", [1, 10, -1])
def test_a_line_that_was_cut_off_is_left_out_and_then_replaced(path, kept):
    Store(path).put("a", {"x": 1})
    whole = path.read_bytes()
    Store(path).put("b", {"x": 2})
    path.write_bytes(whole + path.read_bytes()[len(whole) :][:kept])
    store = Store(path)
    assert store.results() == {"a": {"x": 1}}
    store.put("c", {"x": 3})
    assert Store(path).results() == {"a": {"x": 1}, "c": {"x": 3}}


def test_writing_that_fails_leaves_a_file_that_can_be_read(path, monkeypatch):
    store = Store(path)
    store.put("a", {"x": 1})
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        store.put("a", {"x": 2})
    monkeypatch.undo()
    assert path.read_bytes() == before
    store.put("b", {"x": 3})
    assert Store(path).results() == {"a": {"x": 2}, "b": {"x": 3}}


def test_what_json_cannot_hold_is_refused_and_changes_nothing(path):
    store = Store(path)
    store.put("a", {"x": 1})
    with pytest.raises(ValueError, match="JSON"):
        store.put("a", {"x": float("nan")})
    assert store.get("a") == Store(path).get("a") == {"x": 1}


@pytest.mark.parametrize("line", ["no JSON", "[1]", '{"key": "a"}', "3"])
def test_a_file_of_another_kind_is_named(path, line):
    path.parent.mkdir()
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match=r"results.jsonl, line 1: expected a JSON object"):
        Store(path)


FACTOR = 2


def double(number):
    return FACTOR * number


def test_a_constant_that_code_uses_changes_its_digest(monkeypatch):
    before = code_digest(double)
    monkeypatch.setitem(double.__globals__, "FACTOR", 3)
    code_digest.cache_clear()
    assert code_digest(double) != before
    code_digest.cache_clear()
