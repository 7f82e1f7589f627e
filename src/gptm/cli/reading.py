"""From the reading options of the command line to documents, and what to say about them."""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gptm.cli.progress import bar
from gptm.cli.session import Session, UsageError
from gptm.cli.wording import in_options


def read_training(
    session: Session,
    file: str,
    settings: dict[str, Any],
    words: dict[str, Any],
    kernel: Any,
    keep_texts: int,
) -> Any:
    """The documents of a file, with progress and problems told; they must have what the kernel reads."""
    check_file(file)
    from gptm import files
    from gptm.words import Words

    try:
        chosen = Words(**words)
    except ValueError as error:
        raise UsageError(in_options(str(error))) from None
    with bar(session, "reading") as update:
        reading = files.read(file, words=chosen, keep_texts=keep_texts, progress=update, **settings)
    tell_problems(session, reading)
    _check_kernel(kernel, reading.corpus.metadata)
    return reading


def _check_kernel(kernel: Any, metadata: Any) -> None:
    """Say that a column is not there with the name that was meant."""
    from gptm.files.columns import unknown_column

    known = [] if metadata is None else list(metadata)
    for name in kernel.column_names() if hasattr(kernel, "column_names") else ():
        if name not in known:
            raise unknown_column(name, known, "--kernel")


def check_file(file: str) -> None:
    """Say early that a file is not there: before libraries load."""
    if file != "-" and not Path(file).exists():
        raise FileNotFoundError(2, "there is no such file", file)


def tell_problems(session: Session, reading: Any, but: Sequence[str] = ()) -> None:
    """Warn of what was wrong with a file, but for the kinds that others tell of."""
    for problem in reading.problems:
        if problem.kind not in but:
            session.warn(str(problem))


def check_output(path: str | None, option: str = "--output") -> None:
    """Say that a file cannot be written before the work, not after it."""
    if path is None or path == "-":
        return
    folder = Path(path).parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; make it first, or choose another {option}.")
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder; {option} expects a file.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"the folder {folder} cannot be written to; choose another {option}.")


@contextmanager
def model_file(model: str) -> Iterator[str]:
    """A path to a model; standard input is put into a file first."""
    if model != "-":
        check_file(model)
        yield model
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        path.write_bytes(sys.stdin.buffer.read())
        yield str(path)


def write_table(session: Session, frame: Any, output: str | None) -> bool:
    """Write a table to a file, if one was named, and say so; its name says the format."""
    if output is None or output == "-":
        return False
    from gptm import files

    files.write_table(frame, output, None)
    session.say(f"{len(frame):,} rows in {output}")
    return True
