"""Tables out: CSV, TSV, JSON lines and Parquet, to a path or a stream."""

import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.atomic_files import replace_file
from gptm.files.formats import find_format, suffix
from gptm.files.parquet import import_parquet

WRITABLE = ("csv", "tsv", "jsonl", "parquet")


def write_table(frame: pd.DataFrame, target: Any, format: str | None = None) -> None:
    """Write a table such that `read` gets it back, as exactly as the format allows.

    Parameters
    ----------
    frame : DataFrame
        An index other than 0, 1, 2, ... becomes the first column. Lists become JSON in CSV files.
    target : path, "-" for standard output, or a stream of text or bytes
        A path that ends in ".gz" is written gzipped. A file appears when it is complete, and not before.
    format : {"csv", "tsv", "jsonl", "parquet"}, optional
        By default by the suffix; CSV for streams.

    Examples
    --------
    >>> import io
    >>> import pandas as pd
    >>> from gptm.files import write_table
    >>> out = io.StringIO()
    >>> write_table(pd.DataFrame({"id": ["a"], "topic 0": [0.25]}), out, "jsonl")
    >>> out.getvalue()
    '{"id": "a", "topic 0": 0.25}\\n'
    """
    is_path = isinstance(target, str | os.PathLike) and str(target) != "-"
    chosen = _format(target if is_path else "-", format)
    content = _RENDER[chosen](_with_index(frame))
    if not is_path:
        _to_stream(sys.stdout if isinstance(target, str) else target, content, chosen)
        return
    data = content.encode("utf-8") if isinstance(content, str) else content
    if str(target).lower().endswith(".gz"):
        data = gzip.compress(data, mtime=0)  # no date inside: the same table, the same bytes
    replace_file(target, data)


def write_tables(frames: Iterable[pd.DataFrame], target: Any, format: str | None = None) -> int:
    """Write tables with the same columns as one table, one after the other; the number of rows.

    Only one of them need be in memory. Targets and formats are those of `write_table`.

    Examples
    --------
    >>> import io
    >>> import pandas as pd
    >>> from gptm.files.writer import write_tables
    >>> out = io.StringIO()
    >>> write_tables((pd.DataFrame({"a": [i]}) for i in range(2)), out, "csv")
    2
    >>> out.getvalue()
    'a\\n0\\n1\\n'
    """
    is_path = isinstance(target, str | os.PathLike) and str(target) != "-"
    chosen = _format(target if is_path else "-", format)
    if not is_path:
        stream = sys.stdout if isinstance(target, str) else target
        if chosen == "parquet":
            frame = pd.concat(list(frames), ignore_index=True)
            write_table(frame, stream, chosen)
            return len(frame)
        return _write_parts(frames, chosen, lambda text: _to_stream(stream, text, chosen))
    waiting = f"{os.fspath(target)}.part"
    try:
        if chosen == "parquet":
            rows = _write_row_groups(frames, waiting)
        else:
            opened = gzip.open if str(target).lower().endswith(".gz") else open
            with opened(waiting, "wb") as file:
                rows = _write_parts(frames, chosen, lambda text: file.write(text.encode("utf-8")))
        os.replace(waiting, target)
    finally:
        with suppress(FileNotFoundError):
            os.remove(waiting)
    return rows


def _write_parts(frames: Iterable[pd.DataFrame], format: str, write: Callable[[str], Any]) -> int:
    rows = 0
    for number, frame in enumerate(frames):
        text = _RENDER[format](frame)
        if number and format != "jsonl":
            text = text.partition("\n")[2]  # names of columns stand on the first line alone
        write(text)
        rows += len(frame)
    return rows


def _write_row_groups(frames: Iterable[pd.DataFrame], path: str) -> int:
    import_parquet()
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    rows, writer = 0, None
    try:
        for frame in frames:
            table = pyarrow.Table.from_pandas(frame.rename(columns=str), preserve_index=False)
            writer = writer or ParquetWriter(path, table.schema)
            writer.write_table(table.cast(writer.schema))
            rows += len(frame)
    finally:
        if writer is not None:
            writer.close()
    return rows


def _format(path: Any, format: str | None) -> str:
    written_as = format or find_format(path) or ("csv" if str(path) == "-" else "")
    if written_as not in WRITABLE:
        given = repr(format) if format else f"a file that ends in {suffix(path)!r}"
        raise ValueError(
            f"tables are written as {', '.join(WRITABLE)}; got {given}. Name the format, or end the file's name in "
            ".csv, .tsv, .jsonl or .parquet, with .gz after it if you like."
        )
    return written_as


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    if plain:
        return frame
    name = frame.index.name or "id"
    if name in frame.columns:
        return frame.reset_index(drop=True)
    return frame.rename_axis(name).reset_index()


def _csv(frame: pd.DataFrame, separator: str) -> str:
    lists = {
        name: values.map(
            lambda cell: json.dumps(_plain(cell), ensure_ascii=False) if _is_list(cell) else cell
        )
        for name, values in frame.items()
        if values.dtype == object and any(map(_is_list, values))
    }
    return frame.assign(**lists).to_csv(index=False, sep=separator, lineterminator="\n")


def _jsonl(frame: pd.DataFrame) -> str:
    names = [str(name) for name in frame.columns]
    columns = [[_plain(cell) for cell in values] for _, values in frame.items()]
    rows = zip(*columns, strict=True)
    return "".join(
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows
    )


def _parquet(frame: pd.DataFrame) -> bytes:
    import_parquet()
    buffer = io.BytesIO()
    frame.rename(columns=str).to_parquet(buffer, index=False, engine="pyarrow")
    return buffer.getvalue()


_RENDER: dict[str, Any] = {
    "csv": lambda frame: _csv(frame, ","),
    "tsv": lambda frame: _csv(frame, "\t"),
    "jsonl": _jsonl,
    "parquet": _parquet,
}


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray)


def _plain(value: Any) -> Any:
    """A value in terms of JSON; missing is null."""
    if _is_list(value):
        return [_plain(item) for item in (sorted(value) if isinstance(value, set) else value)]
    if isinstance(value, str | bool | int):
        return value
    if pd.isna(value):
        return None
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, date):  # pandas' and Python's datetimes too
        return value.isoformat()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return str(value)


def _to_stream(stream: Any, content: str | bytes, format: str) -> None:
    """Write text to text streams, bytes to others; a text stream may have one of bytes below it."""
    is_text = isinstance(stream, io.TextIOBase) or hasattr(stream, "encoding")
    if isinstance(content, bytes):
        below = getattr(stream, "buffer", None) if is_text else stream
        if below is None:
            raise ValueError(f"{format} is bytes, and the stream takes text. Write to a file.")
        if is_text:
            stream.flush()
        below.write(content)
    else:
        stream.write(content if is_text else content.encode("utf-8"))
