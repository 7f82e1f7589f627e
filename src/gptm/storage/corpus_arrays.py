"""Tables of documents as plain arrays, so that they fit into a model's file; and back, with the same types.

Long lists of texts become two arrays: lengths, and all texts in a row, compressed. Nothing is ever run on the way back.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.memory import check_bytes
from gptm._basics.plain_json import parse_json
from gptm._basics.sparse_arrays import csr_parts, from_csr_parts
from gptm.corpus import Corpus
from gptm.corpus.kinds import check_kinds, kinds_of, with_kinds

Tensors = dict[str, np.ndarray]
Header = dict[str, Any]

_MISSING = -1  # in place of a length
_MOST_INFLATED = 1032  # bytes that one compressed byte can stand for
_NUMPY = "biuf"
_NULLABLE = {"boolean", "Float32", "Float64"} | {
    f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)
}
# A name as in Europe/Berlin, or an offset. pandas would take dateutil/... for the path of a file.
_ZONE = re.compile(r"(?!dateutil)[A-Za-z][\w+-]*(/[\w+-]+)*|UTC[+-]\d\d:\d\d")
_OLD_PANDAS = int(pd.__version__.split(".")[0]) < 3  # there "str" turns what is missing into text
_NONE, _NAN, _NAT, _NA = None, {"missing": "nan"}, {"missing": "NaT"}, {"missing": "NA"}


def pack_texts(texts: Iterable[str | None], name: str, tensors: Tensors) -> None:
    """Keep a list of texts, None among them, under a name."""
    pieces = [None if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = [_MISSING if piece is None else len(piece) for piece in pieces]
    content = zlib.compress(b"".join(piece for piece in pieces if piece is not None), 6)
    tensors[f"{name}.lengths"] = np.array(lengths, dtype=np.int64)
    tensors[f"{name}.bytes"] = np.frombuffer(content, dtype=np.uint8)


def unpack_texts(name: str, tensors: Tensors) -> list[str | None]:
    """The list of texts that `pack_texts` kept."""
    compressed = tensors[f"{name}.bytes"]
    lengths = _checked_lengths(name, tensors, _MOST_INFLATED * (compressed.size + 1))
    content = _inflate(compressed, int(lengths[lengths > 0].sum()))
    ends = np.cumsum(np.maximum(lengths, 0))
    return [
        None if length == _MISSING else content[end - length : end].decode("utf-8", "surrogatepass")
        for length, end in zip(lengths.tolist(), ends.tolist(), strict=True)
    ]


def pack_column(values: pd.Series, name: str, tensors: Tensors) -> Header:
    """Keep a column under a name; what comes back belongs into the header."""
    for kind, (fits, pack, _) in _KINDS.items():
        if fits(values):
            return {"kind": kind} | pack(values, name, tensors)
    raise AssertionError("the last kind takes everything")


def unpack_column(header: Header, name: str, tensors: Tensors) -> pd.Series:
    """The column that `pack_column` kept, with the types it had."""
    return _KINDS[header["kind"]][2](header, name, tensors)


def pack_frame(frame: pd.DataFrame, name: str, tensors: Tensors) -> list[Header]:
    """Keep a table under a name, with the kinds of its columns; its row names are not kept."""
    kinds = kinds_of(frame)
    return [
        {"name": str(label), "holds": kinds.get(str(label))}
        | pack_column(frame.iloc[:, i], f"{name}.{i}", tensors)
        for i, label in enumerate(frame.columns)
    ]


def unpack_frame(headers: list[Header], name: str, tensors: Tensors, n_rows: int) -> pd.DataFrame:
    """The table that `pack_frame` kept."""
    columns = [unpack_column(header, f"{name}.{i}", tensors) for i, header in enumerate(headers)]
    if any(len(column) != n_rows for column in columns):
        raise ValueError(f"the columns of {name!r} do not all have {n_rows} rows")
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(n_rows))
    names = [header["name"] for header in headers]
    if not all(isinstance(label, str) for label in names):
        raise ValueError(f"the names of the columns of {name!r} must be texts")
    kinds = {header["name"]: header["holds"] for header in headers if header.get("holds")}
    if not all(isinstance(kind, str) for kind in kinds.values()):
        raise ValueError(f"the kinds of the columns of {name!r} must be texts")
    check_kinds(kinds)
    return with_kinds(frame.set_axis(names, axis=1), kinds)


def pack_corpus(
    corpus: Corpus, texts: Sequence[str] | None, prefix: str, tensors: Tensors
) -> Header:
    """Keep counts, words, metadata and ids of documents, and their texts where given."""
    n, V = corpus.shape
    if texts is not None and len(texts) != n:
        raise ValueError(f"texts must have one entry per document: expected {n}, got {len(texts)}.")
    tensors |= csr_parts(corpus.counts, f"{prefix}counts")
    if corpus.vocabulary is not None:
        pack_texts(corpus.vocabulary, f"{prefix}vocabulary", tensors)
    if texts is not None:
        pack_texts(texts, f"{prefix}texts", tensors)
    frame, ids = corpus.metadata, corpus.ids
    return {
        "shape": [n, V],
        "vocabulary": corpus.vocabulary is not None,
        "texts": texts is not None,
        "metadata": None if frame is None else pack_frame(frame, f"{prefix}metadata", tensors),
        "ids": None if ids is None else _pack_ids(ids, f"{prefix}ids", tensors),
    }


def unpack_corpus(header: Header, prefix: str, tensors: Tensors) -> Corpus:
    """The documents that `pack_corpus` kept."""
    n, V = header["shape"]
    if not all(type(size) is int and size > 0 for size in (n, V)):
        raise ValueError(f"documents cannot have the shape {header['shape']!r}")
    counts = from_csr_parts(tensors, f"{prefix}counts", (n, V))
    texts: Any = unpack_texts(f"{prefix}texts", tensors) if header["texts"] else None
    words: Any = unpack_texts(f"{prefix}vocabulary", tensors) if header["vocabulary"] else None
    frame, ids = header["metadata"], header["ids"]
    if frame is not None:
        frame = unpack_frame(frame, f"{prefix}metadata", tensors, n)
    if ids is not None:
        values = unpack_column(ids, f"{prefix}ids", tensors)
        ids = np.array(values.tolist()) if ids["array"] == "U" else values.to_numpy()
    corpus = Corpus(counts, words, metadata=frame, texts=texts)
    if ids is not None and len(ids) != n:
        raise ValueError(f"there are {len(ids)} ids for {n} documents")
    corpus.ids = ids  # as they were, repeated ones of a bootstrap too
    return corpus


def _pack_ids(ids: np.ndarray, name: str, tensors: Tensors) -> Header:
    plain = pd.Series(ids.tolist(), dtype=object) if ids.dtype.kind in "UO" else pd.Series(ids)
    return {"array": ids.dtype.kind} | pack_column(plain, name, tensors)


def _checked_lengths(name: str, tensors: Tensors, most: int) -> np.ndarray:
    """Lengths of the items of a list, which together must not be more than `most`."""
    lengths = tensors[f"{name}.lengths"]
    if lengths.ndim != 1 or lengths.dtype != np.int64 or lengths.min(initial=0) < _MISSING:
        raise ValueError(f"the lengths of {name!r} must be whole numbers")
    if lengths.astype(np.float64).sum() > most:  # whole numbers might overflow
        raise ValueError(f"the lengths of {name!r} are more than its content can have")
    return lengths


def _inflate(compressed: np.ndarray, size: int) -> bytes:
    """Exactly so many bytes: a file must not unpack to more than it says, or than the machine can hold."""
    if compressed.ndim != 1 or compressed.dtype != np.uint8:
        raise ValueError("compressed texts must be bytes")
    check_bytes(2 * size, f"the texts in the file have {size:,} bytes")
    machine = zlib.decompressobj()
    try:
        content = machine.decompress(compressed.tobytes(), size + 1)
    except zlib.error as error:
        raise ValueError(f"the texts are damaged ({error})") from error
    if len(content) != size or not machine.eof:
        raise ValueError(f"the texts do not have the {size} bytes that their lengths say")
    return content


# Columns of numbers and of dates: the numbers as they are in memory.


def _pack_numbers(values: pd.Series, name: str, tensors: Tensors) -> Header:
    tensors[name] = np.ascontiguousarray(values.to_numpy())
    return {}


def _unpack_numbers(header: Header, name: str, tensors: Tensors) -> pd.Series:
    return pd.Series(_column(name, tensors, _NUMPY))


def _column(name: str, tensors: Tensors, kinds: str) -> np.ndarray:
    """The one array of a column, with numbers of such kinds."""
    array = tensors[name]
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise ValueError(f"{name!r} must be a column of numbers")
    return array


def _is_time(values: pd.Series) -> bool:
    return isinstance(values.dtype, pd.DatetimeTZDtype) or (
        isinstance(values.dtype, np.dtype) and values.dtype.kind in "mM"
    )


def _pack_times(values: pd.Series, name: str, tensors: Tensors) -> Header:
    zone = getattr(values.dtype, "tz", None)
    plain = values if zone is None else values.dt.tz_convert("UTC").dt.tz_localize(None)
    array = plain.to_numpy()
    tensors[name] = np.ascontiguousarray(array.view(np.int64))
    return {"dtype": array.dtype.str, "zone": None if zone is None else _zone_name(zone)}


def _zone_name(zone: Any) -> str:
    """What pandas knows a time zone by; UTC where it has no name, which changes no moment."""
    try:
        pd.Timestamp(0, tz=str(zone))
    except (KeyError, ValueError, OSError):
        return "UTC"
    return str(zone) if _ZONE.fullmatch(str(zone)) else "UTC"


def _unpack_times(header: Header, name: str, tensors: Tensors) -> pd.Series:
    dtype = np.dtype(header["dtype"])
    if dtype.kind not in "mM":
        raise ValueError(f"{header['dtype']!r} is not a type of dates")
    values = pd.Series(_column(name, tensors, "i").astype(np.int64).view(dtype))
    zone = header["zone"]
    if zone is not None and not _ZONE.fullmatch(zone):
        raise ValueError(f"{zone!r} is not a time zone")
    if zone is None:
        return values
    _check_years(values)
    return values.dt.tz_localize("UTC").dt.tz_convert(zone)


def _check_years(values: pd.Series) -> None:
    """Time zones are for years that Python knows; pandas fails on others, though not before somebody looks at them."""
    years = values.dt.year
    if not ((years > 1) & (years < 9999) | values.isna()).all():
        raise ValueError("dates with a time zone must be of the years 2 to 9998")


# pandas' own types.


def _pack_categories(values: pd.Series, name: str, tensors: Tensors) -> Header:
    tensors[name] = np.ascontiguousarray(values.cat.codes.to_numpy())
    levels = pack_column(pd.Series(values.cat.categories), f"{name}.levels", tensors)
    return {"levels": levels, "ordered": bool(values.cat.ordered)}


def _unpack_categories(header: Header, name: str, tensors: Tensors) -> pd.Series:
    levels = pd.Index(unpack_column(header["levels"], f"{name}.levels", tensors))
    codes = _column(name, tensors, "i")
    return pd.Series(pd.Categorical.from_codes(codes, levels, ordered=header["ordered"]))


def _is_nullable(values: pd.Series) -> bool:
    kind = getattr(values.dtype, "kind", "O")
    return pd.api.types.is_extension_array_dtype(values.dtype) and kind in _NUMPY


def _pack_nullable(values: pd.Series, name: str, tensors: Tensors) -> Header:
    missing = values.isna().to_numpy()
    kind = values.dtype.kind
    plain = np.dtype({"b": "bool", "i": "int64", "u": "uint64", "f": "float64"}[kind])
    tensors[name] = np.ascontiguousarray(values.to_numpy(dtype=plain, na_value=plain.type(0)))
    tensors[f"{name}.missing"] = missing
    return {"dtype": str(values.dtype)}


def _unpack_nullable(header: Header, name: str, tensors: Tensors) -> pd.Series:
    if header["dtype"] not in _NULLABLE:
        raise ValueError(f"{header['dtype']!r} is not a type of pandas with missing values")
    values = pd.Series(_column(name, tensors, _NUMPY)).astype(object)
    values[_column(f"{name}.missing", tensors, "b")] = pd.NA
    return values.astype(header["dtype"])


def _pack_periods(values: pd.Series, name: str, tensors: Tensors) -> Header:
    tensors[name] = np.ascontiguousarray(pd.PeriodIndex(values).asi8)
    return {"frequency": str(values.dtype).removeprefix("period[").removesuffix("]")}


def _unpack_periods(header: Header, name: str, tensors: Tensors) -> pd.Series:
    return pd.Series(
        pd.PeriodIndex.from_ordinals(_column(name, tensors, "i"), freq=header["frequency"])
    )


# Texts, lists, and whatever else a cell may hold.


def _is_text(values: pd.Series) -> bool:
    """Whether a column holds texts, and for a missing one always the same."""
    if isinstance(values.dtype, pd.StringDtype):
        return True
    return all(isinstance(value, str) or value is None for value in values)


def _pack_text(values: pd.Series, name: str, tensors: Tensors) -> Header:
    missing = values.isna().to_numpy()
    texts = (None if gone else str(v) for gone, v in zip(missing, values, strict=True))
    pack_texts(texts, name, tensors)
    return {"dtype": str(values.dtype)}


def _unpack_text(header: Header, name: str, tensors: Tensors) -> pd.Series:
    if header["dtype"] not in ("object", "str", "string"):
        raise ValueError(f"{header['dtype']!r} is not a type of texts")
    values = pd.Series(unpack_texts(name, tensors), dtype=object)
    as_it_is = header["dtype"] == "object" or (header["dtype"] == "str" and _OLD_PANDAS)
    return values if as_it_is else values.astype(header["dtype"])


def _vector_type(values: pd.Series) -> str | None:
    """The container of a column of lists of floats, if it is one."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    if all(isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype == np.float64 for v in present):
        return "array"
    if all(type(v) is list and v and all(type(x) is float for x in v) for v in present):
        return "list"
    return None


def _pack_vectors(values: pd.Series, name: str, tensors: Tensors) -> Header:
    rows = [None if value is None else np.asarray(value, np.float64) for value in values]
    lengths = [_MISSING if row is None else len(row) for row in rows]
    tensors[f"{name}.lengths"] = np.array(lengths, dtype=np.int64)
    tensors[name] = np.concatenate([row for row in rows if row is not None])
    return {"container": _vector_type(values)}


def _unpack_vectors(header: Header, name: str, tensors: Tensors) -> pd.Series:
    numbers = _column(name, tensors, "f")
    lengths = _checked_lengths(name, tensors, numbers.size)
    ends = np.cumsum(np.maximum(lengths, 0))
    pieces = [
        None if n == _MISSING else numbers[end - n : end]
        for n, end in zip(lengths, ends, strict=True)
    ]
    if header["container"] == "list":
        return _objects([None if piece is None else piece.tolist() for piece in pieces])
    return _objects(pieces)


def _pack_cells(values: pd.Series, name: str, tensors: Tensors) -> Header:
    try:
        cells = [json.dumps(_cell(value), ensure_ascii=False) for value in values]
    except TypeError as error:
        raise ValueError(
            f"metadata column {values.name!r} cannot be kept in a model's file: {error}. Leave the column out, or "
            "turn it into numbers, dates, texts or lists of these."
        ) from None
    pack_texts(cells, name, tensors)
    return {}


def _unpack_cells(header: Header, name: str, tensors: Tensors) -> pd.Series:
    return _objects([_value(parse_json(text or "null")) for text in unpack_texts(name, tensors)])


def _objects(values: list[Any]) -> pd.Series:
    """A column of objects as they are: pandas would guess a type for them."""
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return pd.Series(array, dtype=object)


def _cell(value: Any) -> Any:
    """One value as JSON; a dictionary says what JSON cannot."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _NAN if np.isnan(value) else {"float": str(value)} if np.isinf(value) else value
    if value is pd.NaT or value is pd.NA:
        return _NAT if value is pd.NaT else _NA
    if isinstance(value, list):
        return [_cell(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_cell(item) for item in value]}
    if isinstance(value, set | frozenset):
        return {"set": [_cell(item) for item in sorted(value, key=str)]}
    if isinstance(value, np.ndarray):
        return {"array": [_cell(item) for item in value.tolist()], "dtype": value.dtype.str}
    if hasattr(value, "isoformat"):
        return {"time": pd.Timestamp(value).isoformat()}
    raise TypeError(f"it holds {value!r} of type {type(value).__name__}")


def _value(cell: Any) -> Any:
    """The value that `_cell` wrote."""
    if isinstance(cell, list):
        return [_value(item) for item in cell]
    if not isinstance(cell, dict):
        return cell
    if "missing" in cell:
        return {"nan": np.nan, "NaT": pd.NaT, "NA": pd.NA}[cell["missing"]]
    if "float" in cell:
        return float(cell["float"])
    if "tuple" in cell:
        return tuple(_value(item) for item in cell["tuple"])
    if "set" in cell:
        return {_value(item) for item in cell["set"]}
    if "time" in cell:
        return pd.Timestamp(cell["time"])
    return _array([_value(item) for item in cell["array"]], cell["dtype"])


def _array(values: list[Any], name: str) -> np.ndarray:
    """An array of a type by its name, whose items must not be larger than the values ask for."""
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise ValueError(f"{name!r} is not a type of values in a cell") from None
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    fits = 0 <= dtype.itemsize <= 4 * max(longest, 1)  # numpy 2.0 wraps around
    if dtype.kind not in "biufUOmM" or (dtype.kind == "U" and not fits):
        raise ValueError(f"{name!r} is not a type of values in a cell")
    return np.array(values, dtype=dtype)


_Kind = tuple[
    Callable[[pd.Series], bool],
    Callable[[pd.Series, str, Tensors], Header],
    Callable[[Header, str, Tensors], pd.Series],
]
# The first one that fits a column keeps it.
_KINDS: dict[str, _Kind] = {
    "numbers": (
        lambda v: isinstance(v.dtype, np.dtype) and v.dtype.kind in _NUMPY,
        _pack_numbers,
        _unpack_numbers,
    ),
    "times": (_is_time, _pack_times, _unpack_times),
    "categories": (
        lambda v: isinstance(v.dtype, pd.CategoricalDtype),
        _pack_categories,
        _unpack_categories,
    ),
    "periods": (lambda v: isinstance(v.dtype, pd.PeriodDtype), _pack_periods, _unpack_periods),
    "nullable": (_is_nullable, _pack_nullable, _unpack_nullable),
    "text": (_is_text, _pack_text, _unpack_text),
    "vectors": (lambda v: _vector_type(v) is not None, _pack_vectors, _unpack_vectors),
    "cells": (lambda v: True, _pack_cells, _unpack_cells),
}
