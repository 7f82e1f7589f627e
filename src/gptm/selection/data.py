"""The documents that models are compared on, what is asked about them, and columns that decide about folds."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.corpus import BlockCorpus, Corpus
from gptm.corpus.counts import frame_of
from gptm.corpus.metadata import as_frame, column, level_names, numbers
from gptm.corpus.typed_columns import typed_frame
from gptm.files.table_columns import unknown_column

SHARES = (0.5, 0.2, 0.05)  # of the words of a held-out document that a model sees


class Data(NamedTuple):
    """Documents with their metadata and labels."""

    X: Any
    metadata: pd.DataFrame | None
    y: Any
    n: int

    def select(self, rows: np.ndarray) -> "Data":
        return Data(
            self.X[rows]
            if isinstance(self.X, Corpus | BlockCorpus)
            else _safe_indexing(self.X, rows),
            None if self.metadata is None else self.metadata.iloc[rows],
            None if self.y is None else _safe_indexing(self.y, rows),
            len(rows),
        )

    def with_kinds_of(self, columns: Collection[str]) -> "Data":
        """The same, with the kinds of columns decided by all documents, so that no fold decides anew."""
        if self.metadata is None:
            return self
        return self._replace(metadata=typed_frame(self.metadata, only=columns))

    @property
    def counts(self) -> Any:
        return self.X.counts if isinstance(self.X, Corpus) else self.X


def read_data(X: Any, metadata: Any, y: Any) -> Data:
    X = X.tocsr() if issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must be a Corpus, or an array of word counts with one row per document; got shape {X.shape}. "
            "For texts pass Corpus.from_texts(texts)."
        )
    n = X.shape[0]
    if y is not None and len(y) != n:
        raise ValueError(f"y must have one label per document: expected {n}, got {len(y)}.")
    return Data(X, as_frame(metadata, n), y, n)


def check_shares(observed: float | Sequence[float]) -> tuple[float, ...]:
    try:
        shares = tuple(
            float(share) for share in np.atleast_1d(np.asarray(observed, dtype=np.float64))
        )
    except (TypeError, ValueError):
        shares = ()
    if not shares or not all(0.0 < share < 1.0 for share in shares):
        raise ArgumentError(
            "observed", "must be a share of the words between 0 and 1, or several shares", observed
        )
    return tuple(dict.fromkeys(shares))


def read_column(name: str, given: Any, data: Data) -> pd.Series:
    """The column that an argument names, or the values that it brings along, one per document."""
    if isinstance(given, str):
        frame = frame_of(data.X, data.metadata, data.n)
        if frame is not None and given not in frame:
            raise unknown_column(given, list(frame), name)
        return column(frame, given, f"{name}={given!r}")
    try:
        length = len(given)
    except TypeError:
        length = None
    if length != data.n:
        raise ArgumentError(
            name,
            f"must name a column of the metadata, or have one value for each of the {data.n} documents",
            given if length is None else Message(f"{length} values"),
        )
    frame = as_frame({name: given}, data.n)
    assert frame is not None
    return column(typed_frame(frame), name, name)


def read_groups(name: str, given: Any, data: Data) -> np.ndarray:
    """(n,) numbers of groups; a document whose cell is missing is a group of its own."""
    names = level_names(read_column(name, given, data))
    keys = [("document", row) if key is None else ("group", key) for row, key in enumerate(names)]
    numbered = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbered[key] for key in keys], dtype=np.intp)


def read_times(given: Any, data: Data) -> Array:
    """(n,) times as numbers; documents without one are left out of all folds, with a warning."""
    name = given if isinstance(given, str) else "by_time"
    times = numbers(read_column("by_time", given, data), name)
    missing = int(np.isnan(times).sum())
    if missing == len(times):
        raise InputError(Argument("by_time"), f": no document has a value in {name!r}.")
    if missing:
        warn(
            f"{missing} of {len(times)} documents have no value in {name!r}, so they belong neither to the past nor to "
            "the future and are left out of all folds."
        )
    return times
