"""Models that commands read: from a file, or from standard input."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gptm.cli.read_documents import check_file
from gptm.cli.session import Session, UsageError

if TYPE_CHECKING:
    from gptm.corpus import Corpus
    from gptm.model import GPTM
    from gptm.storage import Attached


def check_one_standard_input(model: str, file: str | None) -> None:
    """Say at once that standard input cannot be two files."""
    if model == file == "-":
        raise UsageError("only one of MODEL and FILE can come from standard input.")


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


def load_model(model: str) -> "GPTM":
    """The model of a file."""
    with model_file(model) as path:
        from gptm.model import load

        return load(path)


def load_with_header(model: str) -> tuple["GPTM", dict[str, Any]]:
    """The model of a file, and how its training documents were read."""
    with model_file(model) as path:
        from gptm.model import load
        from gptm.storage import read_header

        return load(path), read_header(path)


def load_with_documents(model: str) -> tuple["GPTM", "Attached"]:
    """The model of a file, and the documents that are stored with it, if there are any."""
    with model_file(model) as path:
        from gptm.model import load
        from gptm.storage import load_attached

        return load(path), load_attached(path)


def load_with_corpus(session: Session, model: str) -> tuple["GPTM", "Corpus"]:
    """A model and its documents; an error if its file has none."""
    fitted, attached = load_with_documents(model)
    if attached.corpus is None:
        raise ValueError(
            f"{model} was saved without its documents, which this needs. Fit it again without --no-corpus."
        )
    return fitted.set_params(n_jobs=session.jobs), attached.corpus
