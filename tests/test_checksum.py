"""Checksums of headers and arrays: same for what is the same, different for anything else."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gptm.storage.checksum import (
    array_checksum,
    check_arrays,
    check_header,
    header_checksum,
    with_checksums,
)

ARRAYS = {
    "mu": np.arange(3.0),
    "none": np.zeros((0, 4)),
    "one": np.array(2.0),
    "flags": np.array([True, False]),
    "half": np.arange(6, dtype=np.float16).reshape(2, 3),
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_a_header_keeps_its_checksum_on_the_way_through_json(header):
    signed = with_checksums(header, ARRAYS)
    again = json.loads(json.dumps(signed))
    check_header(again)
    check_arrays(again, ARRAYS, ARRAYS)
    backwards = dict(reversed(list(again.items())))
    assert header_checksum(backwards) == signed["checksum"]


@pytest.mark.parametrize("change", [{"a": 2}, {"b": 1}, {"checksum": "0" * 32}, {"checksum": None}])
def test_a_changed_header_is_noticed(change):
    header = with_checksums({"a": 1}, ARRAYS)
    with pytest.raises(ValueError, match="checksum of its header"):
        check_header(header | change)


@given(st.sampled_from(sorted(ARRAYS)), st.integers(0, 2**16), st.integers(1, 255))
def test_every_changed_byte_is_noticed(name, place, flip):
    array = ARRAYS[name].copy()
    if not array.size:
        return
    content = array.reshape(-1).view(np.uint8)
    content[place % len(content)] ^= flip
    with pytest.raises(ValueError, match=f"array '{name}'"):
        check_arrays(with_checksums({}, ARRAYS), ARRAYS | {name: array}, ARRAYS)


def test_type_and_shape_belong_to_the_checksum():
    zeros = np.zeros(6)
    others = [zeros.reshape(2, 3), zeros.reshape(3, 2), zeros.astype(np.float32), zeros[:5]]
    others += [zeros.view(np.int64), zeros.view(np.uint64)]
    assert len({array_checksum(array) for array in [zeros, *others]}) == 7
    assert array_checksum(np.zeros((0, 4))) != array_checksum(np.zeros((4, 0)))


def test_an_array_in_another_layout_has_the_same_checksum():
    array = np.arange(12.0).reshape(3, 4)
    assert array_checksum(np.asfortranarray(array)) == array_checksum(array)
    assert array_checksum(array[:, ::2]) == array_checksum(array[:, ::2].copy())


def test_arrays_that_are_missing_or_new_are_noticed():
    header = with_checksums({}, ARRAYS)
    for names in (ARRAYS.keys() - {"mu"}, ARRAYS.keys() | {"more"}):
        with pytest.raises(ValueError, match="arrays that were written"):
            check_arrays(header, {}, names)
