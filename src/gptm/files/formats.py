"""Which format a file is in, and its rows."""

import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gptm._basics.errors import Argument, ArgumentError, InputError
from gptm._basics.progress import Tell
from gptm.corpus.problems import ProblemLog
from gptm.files.parquet import parquet_rows
from gptm.files.rows import Row, csv_rows, json_rows, line_rows
from gptm.files.spreadsheet import sheet_rows
from gptm.files.streams import Input, Lines, decode, wide_without_mark

FilePath = str | os.PathLike[str]

FORMATS = {
    "csv": "a table with a header; the separator is found",
    "tsv": "a table with a header, separated by tabs",
    "jsonl": "JSON lines, or one JSON array of objects",
    "parquet": "a Parquet file",
    "xlsx": "the first sheet of an Excel workbook, with a header",
    "lines": "one document per line",
    "folder": "a folder of .txt or .md files",
    "mtx": "Matrix Market counts, with a vocabulary",
    "ldac": "LDA-C counts, with a vocabulary",
    "npz": "counts saved by scipy.sparse.save_npz, with a vocabulary",
}
COUNTS = ("mtx", "ldac", "npz")
# Files of a folder that are documents: the first kind of which there are any.
TEXTS = (".txt", ".md")
_NAMED = 5  # suffixes of others that are named
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".txt": "lines",
    ".mtx": "mtx",
    ".mm": "mtx",
    ".ldac": "ldac",
    ".lda-c": "ldac",
    ".dat": "ldac",
    ".npz": "npz",
}


@dataclass
class Source:
    """Rows of an open file; `report` tells how far they are."""

    format: str
    rows: Iterator[Row]
    report: Callable[[], None] = lambda: None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def check_format(format: Any) -> None:
    """A format by name; None for one that is still to be found."""
    if format is not None and not (isinstance(format, str) and format in FORMATS):
        raise ArgumentError("format", f"must be one of {', '.join(FORMATS)}", format)


def find_format(path: FilePath, format: str | None = None) -> str:
    """The format as told, or by the suffix; "" where only the content can say."""
    check_format(format)
    if format is not None:
        return format
    if str(path) == "-":
        return ""
    if Path(path).is_dir():
        return "folder"
    return _SUFFIXES.get(suffix(path), "")


def suffix(path: FilePath) -> str:
    """The suffix in lower case, the one before a ".gz"."""
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix


def open_source(
    path: FilePath,
    *,
    format: str | None,
    encoding: str,
    log: ProblemLog,
    progress: Tell | None = None,
) -> Source:
    """The rows of a table, of lines, or of a folder of texts."""
    format_of_file = find_format(path, format)
    if format_of_file == "folder":
        return _open_folder(Path(path), encoding, log, progress)
    stack = ExitStack()
    source = stack.enter_context(Input(path, progress))
    try:
        return _open_file(
            source, format_of_file or _sniffed(source, encoding), encoding, log, stack
        )
    except BaseException:
        stack.close()
        raise


def _open_file(
    source: Input, format: str, encoding: str, log: ProblemLog, stack: ExitStack
) -> Source:
    rows: Iterator[Row]
    if format == "parquet":
        rows, report = parquet_rows(source, log, stack)
        return Source(format, rows, report, stack)
    if format == "xlsx":
        return Source(format, sheet_rows(source, log, stack), source.report, stack)
    lines = Lines(source, encoding, log)
    if format == "jsonl":
        rows = json_rows(lines, log)
    elif format == "lines":
        rows = line_rows(lines)
    else:
        rows = csv_rows(lines, log, "\t" if format == "tsv" else None)
    return Source(format, rows, source.report, stack)


def _sniffed(source: Input, encoding: str) -> str:
    """The format by the first bytes: JSON by its brackets, Parquet by its mark, else a table."""
    start = source.peek().removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:4] == b"PAR1":
        return "parquet"
    if start.startswith(b"%%MatrixMarket"):
        raise InputError(
            f"{source.name} is in Matrix Market format; pass ",
            Argument("format", "mtx"),
            " and ",
            Argument("vocabulary", ...),
            ".",
        )
    if start[:4] == b"PK\x03\x04":
        if b"[Content_Types].xml" in start or b"xl/" in start:
            return "xlsx"
        raise ValueError(
            f"{source.name} is a spreadsheet or an archive. Save the table as CSV or .xlsx, or unpack the archive."
        )
    if start[:4] == b"\xd0\xcf\x11\xe0":
        raise ValueError(f"{source.name} is an old Excel file (.xls). Save it as .xlsx or as CSV.")
    wide = start[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) or any(n in encoding for n in ("16", "32"))
    if b"\0" in start and not wide and not wide_without_mark(source.peek()):
        raise ValueError(
            f"{source.name} is not a text file: it holds bytes that do not occur in text. Expected a table (CSV, JSON "
            "lines, Parquet), or lines of text."
        )
    return "jsonl" if start.lstrip(b"\0")[:1] in (b"{", b"[") else "csv"


def _open_folder(folder: Path, encoding: str, log: ProblemLog, progress: Tell | None) -> Source:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}. Check the path.")
    inside = [
        file for file in folder.rglob("*") if _is_meant(file.relative_to(folder)) and file.is_file()
    ]
    wanted = next((ending for ending in TEXTS if ending in map(suffix, inside)), None)
    files = sorted(
        (file for file in inside if suffix(file) == wanted),
        key=lambda file: file.relative_to(folder).as_posix(),
    )
    others = [file for file in inside if suffix(file) != wanted]
    kinds = ", ".join(sorted({suffix(file) or "no suffix" for file in others})[:_NAMED])
    if not files:
        but = f", but {len(others):,} others ({kinds})" if others else ""
        raise ValueError(
            f"the folder {str(folder)!r} holds no .txt or .md files{but}. Expected one document per file."
        )
    if others:
        log.add("skipped files", None, f"only {wanted} is read, not {kinds}", count=len(others))
    log.unit = "file"
    log.names = [path.relative_to(folder).as_posix() for path in files]
    nested = any(path.parent != folder for path in files)
    total = sum(path.stat().st_size for path in files)
    done = 0

    def rows() -> Iterator[Row]:
        nonlocal done
        for number, path in enumerate(files, start=1):
            name = log.names[number - 1]
            with Input(path) as source, source.seekable() as file:
                content = file.read()
            done += path.stat().st_size
            base = name[: -len(".gz")] if name.lower().endswith(".gz") else name
            row: dict[str, Any] = {"id": base[: -len(suffix(base))]}
            if nested:
                row["folder"] = path.parent.relative_to(folder).as_posix()
            row["text"] = decode(content, encoding, log, number)
            yield number, row

    def report() -> None:
        if progress is not None:
            progress(done, total)

    return Source("folder", rows(), report)


def _is_meant(path: Path) -> bool:
    """Whether a file inside a folder is anybody's own: programs hide theirs behind a dot, or pack them along."""
    return not any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
