"""Scores of finished fits in a file, so that an interrupted search can continue."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.atomic_files import replace_file
from gptm._basics.errors import Argument, InputError
from gptm._basics.version import VERSION
from gptm.corpus import BlockCorpus
from gptm.model import GPTM
from gptm.selection.data import Data
from gptm.storage.digests import digest, setting_digest, text_digest

_KIND = "gptm scores"


class ScoreStore:
    """Rows of scores, by model, training documents and held-out documents.

    Parameters
    ----------
    path : path or None
        None keeps nothing.
    """

    def __init__(self, path: str | os.PathLike[str] | None):
        self.path = None if path is None else Path(path)
        self.rows: dict[str, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            self.rows = _read(self.path)

    def get(self, key: str) -> dict[str, Any] | None:
        """The row under a key, or None."""
        return self.rows.get(key)

    def put(self, key: str, row: dict[str, Any]) -> None:
        """Keep a row; the file is replaced as a whole."""
        if self.path is not None:
            self.rows[key] = row
            text = json.dumps({"kind": _KIND, "rows": self.rows})
            replace_file(self.path, text.encode(), one_writer=True)

    def remove(self) -> None:
        """Remove the file: all fits are done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def key_of(model: GPTM, train: Data, test: Data, asked: tuple[Any, ...]) -> str:
    """A key that is the same for the same fit and what is asked of it, and different for any other."""
    settings = {name: setting_digest(value) for name, value in model.get_params().items()}
    for name in ("n_jobs", "verbose", "callback"):
        settings.pop(name, None)
    parts = [VERSION, type(model).__name__, settings, _of(train), _of(test), asked]
    if hasattr(model, "fitted_"):
        parts.append(digest([model.components_]))
    return text_digest(repr(parts))


def _of(data: Data) -> list[str]:
    if isinstance(data.X, BlockCorpus):
        return [data.X.digest]
    counts = csr_matrix(data.counts)
    digests = [digest([np.array(counts.shape), counts.indptr, counts.indices, counts.data])]
    frame = data.metadata if data.metadata is not None else getattr(data.X, "metadata", None)
    if isinstance(frame, pd.DataFrame):
        digests += [text_digest(f"{name!r} {frame[name].tolist()!r}") for name in frame]
    if data.y is not None:
        digests.append(text_digest(repr(list(data.y))))
    return digests


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(path.read_bytes())
        if content["kind"] != _KIND or not isinstance(content["rows"], dict):
            raise ValueError("it holds something else")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path} does not hold scores of an earlier search ({error}). Remove it, or pass another ",
            Argument("checkpoint"),
            ".",
        ) from error
    rows: dict[str, dict[str, Any]] = content["rows"]
    return rows
