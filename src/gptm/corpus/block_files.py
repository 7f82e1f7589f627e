"""Write one block of a corpus to disk: an Arrow file with a row for each document.

Lists of words and of counts have the same offsets, and so are a sparse matrix as they are.
"""

import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, InputError
from gptm.corpus.kinds import base_kind

WORDS, COUNTS, ID, TEXT, COLUMN = "words", "counts", "id", "text", "column:"
_PIECE = 1 << 24  # bytes that a checksum reads at a time


def import_arrow() -> Any:
    """The package pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise ImportError(
            "a corpus on disk needs the package pyarrow, which is not installed: pip install 'gptm[parquet]'"
        ) from None
    return pyarrow


def write_block(path: Path, corpus: Any, mark: str) -> None:
    """Write the documents of a corpus; `mark` says which vocabulary their words are of."""
    pa = import_arrow()
    counts = corpus.counts
    offsets = pa.array(counts.indptr.astype(np.int32))
    whole = (
        bool((counts.data == np.floor(counts.data)).all()) and counts.data.max(initial=0) < 2**31
    )
    values = counts.data.astype(np.int32 if whole else np.float64)
    columns = {
        WORDS: pa.ListArray.from_arrays(offsets, pa.array(counts.indices.astype(np.int32))),
        COUNTS: pa.ListArray.from_arrays(offsets, pa.array(values)),
    }
    if corpus.ids is not None:
        columns[ID] = _ids(pa, corpus.ids)
    if corpus.texts is not None:
        columns[TEXT] = pa.array(corpus.texts.tolist(), type=pa.string())
    frame, kinds = corpus.metadata, corpus.kinds
    for name in [] if frame is None else frame.columns:
        columns[COLUMN + name] = _encoded(pa, name, kinds.get(name, "note"), frame[name])
    table = pa.table(columns).replace_schema_metadata({"vocabulary": mark})
    with pa.OSFile(os.fspath(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=max(len(table), 1))


def checksum(path: Path) -> int:
    """CRC-32 of a file."""
    value = 0
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            value = zlib.crc32(piece, value)
    return value


def _ids(pa: Any, ids: np.ndarray) -> Any:
    if ids.dtype.kind in "iu":
        return pa.array(ids)
    return pa.array([str(name) for name in ids], type=pa.string())


def _encoded(pa: Any, name: str, kind: str, values: pd.Series) -> Any:
    """A column of metadata: as pandas has it where that has a type, else as its kind says."""
    base = base_kind(kind)
    try:
        if isinstance(values.dtype, pd.CategoricalDtype) and base != "id":
            levels = values.cat.remove_unused_categories()
            return pa.array(levels).cast(pa.dictionary(pa.int32(), pa.string()))
        if values.dtype.kind in "biufmM":
            return pa.array(values, from_pandas=True)
        cells = [None if _absent(cell) else cell for cell in values]
        if base in ("links", "list"):
            return pa.array(
                [None if c is None else [str(x) for x in c] for c in cells],
                type=pa.list_(pa.string()),
            )
        if base == "vector":
            return pa.array(
                [None if c is None else np.asarray(c, dtype=float) for c in cells],
                type=pa.list_(pa.float64()),
            )
        return pa.array([None if c is None else str(c) for c in cells], type=pa.string())
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        TypeError,
        ValueError,
    ) as error:
        raise InputError(
            f"the column {name!r} cannot be stored as {kind} ({' '.join(str(error).split())}). Leave it out, with ",
            Argument("kinds", {name: "ignore"}),
            ".",
        ) from None


def _absent(cell: Any) -> bool:
    return (
        cell is None
        or cell is pd.NA
        or cell is pd.NaT
        or (isinstance(cell, float) and cell != cell)
    )
