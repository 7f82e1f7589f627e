"""The documents and how they are split."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing

from gptm._basics.errors import Argument, ArgumentError, Message
from gptm._basics.validation import check_number
from gptm.corpus import BlockCorpus, Corpus
from gptm.corpus.metadata import as_frame
from gptm.corpus.typed_columns import typed_frame

SHARES = (0.5, 0.2, 0.05)  # of the words of a held-out document that a model sees
Fold = tuple[np.ndarray, np.ndarray]  # positions of the documents to fit to, and of those to score


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


def check_folds(cv: Any, data: Data) -> None:
    """An error for a number of folds that documents cannot be split into; anything else passes."""
    if isinstance(cv, int | np.integer):
        check_number("cv", cv, least=2, integer=True)
        if cv > data.n:
            raise ArgumentError("cv", f"must be at most the number of documents, {data.n}", cv)


def random_folds(cv: Any, data: Data, random_state: Any) -> list[Fold]:
    """Folds of a number, at random, of a splitter, or as given."""
    if isinstance(cv, int | np.integer):
        cv = KFold(cv, shuffle=True, random_state=random_state)
    splitter = check_cv(cv)
    try:
        return list(splitter.split(np.zeros((data.n, 1)), data.y))
    except ValueError as error:
        if "groups" not in str(error):
            raise
        raise ArgumentError(
            "cv",
            "needs groups of documents here",
            cv,
            Message("Name their column, as in ", Argument("groups", "author"), "."),
        ) from error


def checked_folds(split: Iterable[Fold], n: int) -> list[Fold]:
    """The same as positions; an error if there is nothing to fit to or nothing to score."""
    positions = np.arange(n)
    folds = [(positions[train], positions[test]) for train, test in split]
    if not folds or any(len(part) == 0 for fold in folds for part in fold):
        sizes = [(len(train), len(test)) for train, test in folds]
        raise ArgumentError(
            "cv",
            "must give at least one fold, with documents to fit to and documents to score",
            Message(f"folds of sizes {sizes}"),
        )
    return folds


def check_shares(observed: float | Sequence[float]) -> tuple[float, ...]:
    try:
        shares = tuple(float(share) for share in np.atleast_1d(np.asarray(observed)))
    except (TypeError, ValueError):
        shares = ()
    if not shares or not all(0.0 < share < 1.0 for share in shares):
        raise ArgumentError(
            "observed", "must be a share of the words between 0 and 1, or several shares", observed
        )
    return tuple(dict.fromkeys(shares))
