"""What a model that goes on learning needs for its next update, as named arrays and a header, and back."""

from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm._basics.validation import check_number
from gptm.fitted import Fitted, Past, Stream
from gptm.storage.array_checks import check_finite
from gptm.storage.corpus_arrays import (
    Header,
    Tensors,
    pack_column,
    pack_frame,
    unpack_column,
    unpack_frame,
)

_STREAM = "stream."  # begins the names of arrays
_COUNTED = ("updates", "documents", "tokens", "started")
_PAST = ("tally", "weights", "logits", "spread", "squares")


def pack_stream(fitted: Fitted, tensors: Tensors) -> Header | None:
    """Keep the stream and the kernel's columns; what comes back belongs into the header."""
    stream, columns = fitted.stream, fitted.columns
    if stream is None:
        return None
    tensors[f"{_STREAM}base"] = np.ascontiguousarray(stream.base)
    header: Header = {name: int(getattr(stream, name)) for name in _COUNTED}
    header |= {"draws": float(stream.draws), "tau": float(stream.tau), "even": float(stream.even)}
    header |= {"columns": None, "index": None, "past": stream.past is not None, "cells": None}
    if columns is not None:
        header["columns"] = pack_frame(columns, f"{_STREAM}columns", tensors)
        index = pd.Series(columns.index.to_numpy())
        header["index"] = pack_column(index, f"{_STREAM}index", tensors)
    if stream.past is not None:
        for name in _PAST:
            tensors[f"{_STREAM}{name}"] = np.ascontiguousarray(getattr(stream.past, name))
        if stream.past.cells is not None:
            header["cells"] = pack_frame(stream.past.cells, f"{_STREAM}cells", tensors)
    return header


def read_stream(
    header: Any, tensors: Tensors, shape: tuple[int, int, int]
) -> tuple[Stream | None, pd.DataFrame | None]:
    """The stream and the kernel's columns from a file, for a model of (documents, words, topics)."""
    if header is None:
        return None, None
    (D, V, K), columns = shape, None
    for name in _COUNTED:
        check_number(name, header[name], least=0, integer=True)
    for name in ("draws", "tau", "even"):
        check_number(name, header[name], least=0.0)
    base = _checked("base", tensors, (V,))
    if header["columns"] is not None:
        columns = unpack_frame(header["columns"], f"{_STREAM}columns", tensors, D)
        index = unpack_column(header["index"], f"{_STREAM}index", tensors)
        columns = columns.set_axis(pd.Index(index.tolist()))
    stream = Stream(
        **{name: header[name] for name in _COUNTED},
        draws=header["draws"],
        tau=header["tau"],
        base=base,
        even=header["even"],
        past=_read_past(header["cells"], tensors, V, K) if header["past"] else None,
    )
    return stream, columns


def _read_past(header: Any, tensors: Tensors, V: int, K: int) -> Past:
    n_cells = len(tensors[f"{_STREAM}weights"])
    shapes = {"tally": (V, K), "weights": (n_cells,), "squares": (K, K)}
    shapes |= {"logits": (n_cells, K), "spread": (n_cells, K)}
    arrays = {name: _checked(name, tensors, shapes[name]) for name in _PAST}
    if any((arrays[name] < 0).any() for name in ("tally", "weights", "spread")):
        raise ValueError("sums of the past must not be negative")
    cells = None
    if header is not None:
        cells = unpack_frame(header, f"{_STREAM}cells", tensors, n_cells)
    elif n_cells != 1:
        raise ValueError("sums of the past do not fit the kernel")
    return Past(**arrays, cells=cells)


def _checked(name: str, tensors: Tensors, shape: tuple[int, ...]) -> Array:
    array = tensors[f"{_STREAM}{name}"]
    if array.shape != shape or array.dtype.kind != "f":
        raise ValueError(f"{name} of the stream has shape {array.shape}, expected {shape}")
    check_finite(name, array)
    return array
