"""Rows of Excel workbooks (.xlsx): the first sheet, whose first row names the columns."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from gptm.corpus.cells import is_missing
from gptm.corpus.problems import ProblemLog
from gptm.files.rows import Row, distinct_names
from gptm.files.streams import Input, check_archive


def import_openpyxl() -> Any:
    """The package openpyxl, or an error that says how to get it."""
    try:
        import openpyxl
    except ImportError:
        raise ImportError(
            "Excel files need the package openpyxl, which is not installed: pip install 'gptm[excel]'"
        ) from None
    return openpyxl


def sheet_rows(source: Input, log: ProblemLog, stack: ExitStack) -> Iterator[Row]:
    """The rows of the first sheet, numbered as in it; formulas have the values that the workbook was saved with."""
    openpyxl = import_openpyxl()
    log.unit = "row"
    content = stack.enter_context(source.seekable())
    try:
        check_archive(content)
        book = openpyxl.load_workbook(content, read_only=True, data_only=True, keep_links=False)
        sheets = book.worksheets
    except Exception as error:  # zipfile's, the XML parser's and openpyxl's own errors
        raise ValueError(f"{source.name} cannot be read as an Excel workbook ({error}).") from None
    stack.callback(book.close)
    if not sheets:
        raise ValueError(f"{source.name} is an Excel workbook without a sheet of cells.")
    if len(sheets) > 1:
        others = ", ".join(repr(sheet.title) for sheet in sheets[1:4])
        detail = f"{sheets[0].title!r} is read, not {others}"
        log.add("other sheets", None, detail, count=len(sheets) - 1)
    sheets[0].reset_dimensions()  # a sheet may claim to be much larger than it is
    return _rows(sheets[0], source.name, log)


def _rows(sheet: Any, name: str, log: ProblemLog) -> Iterator[Row]:
    names: list[str] | None = None
    try:
        for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
            if all(map(is_missing, cells)):
                continue
            if names is None:
                names = distinct_names(["" if c is None else str(c) for c in _trimmed(cells)], log)
                continue
            if not all(map(is_missing, cells[len(names) :])):
                log.add("broken line", number, f"expected {len(names)} cells, got {len(cells)}")
                continue
            yield number, dict.fromkeys(names) | dict(zip(names, cells, strict=False))
    except (ValueError, KeyError, SyntaxError, EOFError, OSError) as error:  # SyntaxError: of XML
        raise ValueError(f"{name} cannot be read as an Excel workbook ({error}).") from None


def _trimmed(cells: tuple[Any, ...]) -> list[Any]:
    """The cells without empty ones at the end."""
    end = next((i for i in range(len(cells), 0, -1) if cells[i - 1] is not None), 0)
    return list(cells[:end])
