"""Files that commands write: refused before the work begins where they cannot or must not be written."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gptm.cli.session import Session, UsageError

_PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".eps", ".ps")


def check_folder(folder: Path, option: str = "--output") -> None:
    """Raise an error if nothing can be written into a folder."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; make it first, or choose another {option}.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"the folder {folder} cannot be written to; choose another {option}.")


def check_output(
    path: str | None,
    option: str = "--output",
    *,
    inputs: Sequence[str | None] = (),
    is_model: bool = False,
) -> None:
    """Raise an error if a file cannot or must not be written, before the work and not after it.

    Parameters
    ----------
    inputs : sequence of paths
        What the command reads: writing over it would destroy it.
    is_model : bool
        Whether a model is written, which may replace another one; a table or a page may not.
    """
    if path is None or path == "-":
        return
    check_folder(Path(path).parent, option)
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder; {option} expects a file.")
    for source in inputs:
        if source is not None and _would_destroy(path, source):
            raise UsageError(
                f"{option} expects a file that this command does not read; writing {path} would destroy the input "
                f"{source}. Choose another name."
            )
    if not is_model and _is_model(path):
        raise UsageError(
            f"{option} expects a file that may be replaced; {path} is a model that 'gptm fit' wrote. Choose another "
            "name, or remove the model first."
        )


def check_replaceable(path: str) -> None:
    """Raise an error if a model would replace a file that is not a model."""
    if path != "-" and os.path.isfile(path) and os.path.getsize(path) and not _is_model(path):
        raise UsageError(
            f"{path} exists and is not a model. Choose another --output, or pass --overwrite."
        )


def _would_destroy(path: str, read: str) -> bool:
    """Whether a file is what a command reads, or one of the texts in the folder that it reads."""
    if not (os.path.isfile(path) and os.path.exists(read)):
        return os.path.abspath(path) == os.path.abspath(read)
    if os.path.isdir(read):  # a model may lie beside the texts that it was made of
        from gptm.files.formats import TEXTS

        inside = Path(read).resolve() in Path(path).resolve().parents
        return inside and Path(path.removesuffix(".gz")).suffix.lower() in TEXTS
    return os.path.samefile(path, read)


def _is_model(path: str) -> bool:
    """Whether a file begins as the files of models do; the library that reads them takes a second to load."""
    try:
        with open(path, "rb") as file:
            return b'{"__metadata__":{"gptm":' in file.read(64) if os.path.isfile(path) else False
    except OSError:
        return False


def check_table(
    path: str | None,
    format: str | None = None,
    *,
    option: str = "--output",
    inputs: Sequence[str | None] = (),
) -> None:
    """The same for a table, whose format must be one that can be written here."""
    check_output(path, option, inputs=inputs)
    if format is None and path in (None, "-"):
        return
    from gptm.files.formats import find_format, suffix
    from gptm.files.parquet import import_parquet
    from gptm.files.writer import WRITABLE

    table_format = format or find_format(str(path))
    if table_format not in WRITABLE:
        raise UsageError(
            f"{option} expects a name that ends in .csv, .tsv, .jsonl or .parquet, perhaps followed by .gz; got one "
            f"that ends in {suffix(str(path))!r}."
        )
    if table_format == "parquet":
        import_parquet()


def check_picture(path: str | None, *, inputs: Sequence[str | None]) -> None:
    """The same for a picture, before the work that it shows."""
    check_output(path, "--plot", inputs=inputs)
    if path is not None and Path(path).suffix.lower() not in _PICTURES:
        raise UsageError(
            f"--plot expects a name that ends in {', '.join(_PICTURES[:-1])} or {_PICTURES[-1]}; got {path!r}."
        )


def write_table(
    session: Session,
    frame: Any,
    output: str | None,
    format: str | None = None,
    *,
    contents: str = "",
) -> bool:
    """Write a table to a file, if one was named, and say so. Without `format` the file's name decides.

    If that fails, as on a full disk, the table goes to standard output: the work is not lost.
    """
    if output is None or output == "-":
        return False
    from gptm import files

    try:
        files.write_table(frame, output, format)
    except Exception:
        session.warn(f"{output} could not be written; the table is on standard output instead.")
        session.answer(frame, lambda: files.write_table(frame, sys.stdout, "csv"))
        raise
    session.say(f"wrote {contents or f'{len(frame):,} rows'} to {output}")
    return True
