"""Rows of Parquet files."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from gptm.corpus.problems import ProblemLog
from gptm.files.rows import Row, flat
from gptm.files.streams import REPLACED, Input

_BATCH = 500  # rows at a time


def import_parquet() -> Any:
    """The module pyarrow.parquet, or an error that says how to get it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            "Parquet files need the package pyarrow, which is not installed: pip install 'gptm[parquet]'"
        ) from None
    return pyarrow.parquet


def parquet_rows(
    source: Input, log: ProblemLog, stack: ExitStack
) -> tuple[Iterator[Row], Callable[[], None]]:
    """The rows, and a function that tells how far they are; the stack closes what was opened."""
    parquet = import_parquet()
    log.unit = "row"
    content = stack.enter_context(source.seekable())
    try:
        table = parquet.ParquetFile(content)
    except Exception as error:  # pyarrow's own errors have no common parent
        raise ValueError(f"{source.name} cannot be read as a Parquet file ({error}).") from None
    number = 0

    def rows() -> Iterator[Row]:
        nonlocal number
        batches = table.iter_batches(batch_size=_BATCH)
        while True:
            try:
                batch = next(batches, None)
            except (OSError, ValueError) as error:
                log.add("cut short", number, " ".join(str(error).split()))
                return
            if batch is None:
                return
            for cells in _cells(batch, number, log):
                number += 1
                yield number, flat(cells)

    def report() -> None:
        source.report(number / max(table.metadata.num_rows, 1))

    return rows(), report


def _cells(batch: Any, before: int, log: ProblemLog) -> list[dict[str, Any]]:
    """The rows of a batch; strings that are no UTF-8, which some programs write, are mended and noted."""
    try:
        return batch.to_pylist()
    except UnicodeDecodeError:
        columns = {
            name: _mended(column, before, log)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _mended(column: Any, before: int, log: ProblemLog) -> list[Any]:
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        from pyarrow import binary

        cells = column.cast(binary()).to_pylist()
    for row, cell in enumerate(cells):
        if cell is not None:
            cells[row] = cell.decode("utf-8", errors="replace")
            if "\ufffd" in cells[row]:
                log.add("undecodable bytes", before + row + 1, REPLACED)
    return cells
