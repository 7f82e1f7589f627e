"""Counts of words from whatever users pass as `X`."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from gptm._basics.errors import InputError, Message, PythonOnly
from gptm.corpus.corpus import Corpus
from gptm.corpus.metadata import as_frame

_CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": np.float64,
    "ensure_non_negative": True,
}


def read_training_counts(name: str, X: Any) -> tuple[csr_matrix, np.ndarray | None]:
    """Counts as a canonical CSR matrix of floats, and the names of their columns where they have any.

    `name` is that of the estimator, for messages.
    """
    estimator = type(name, (BaseEstimator,), {})()  # which scikit-learn leaves its findings on
    try:
        if isinstance(X, Corpus):
            counts = check_array(X.counts, estimator=estimator, input_name="X", **_CHECKS)
            vocabulary = X.vocabulary
        else:
            counts = validate_data(estimator, X, **_CHECKS)
            vocabulary = getattr(estimator, "feature_names_in_", None)
    except ValueError as error:
        raise InputError(f"{error}\n", _hint(str(error))) from error
    # The training counts stay with the model, whatever becomes of the caller's.
    return _canonical(csr_matrix(counts, copy=True), own=True), vocabulary


def read_counts(estimator: BaseEstimator, X: Any, *, own: bool = False) -> csr_matrix:
    """Counts of documents for a fitted estimator, whose words they must have; `own` makes a copy."""
    try:
        if isinstance(X, Corpus):
            counts = check_array(X.counts, estimator=estimator, input_name="X", **_CHECKS)
            _agree_on_vocabulary(estimator, X)
        else:
            counts = validate_data(estimator, X, reset=False, **_CHECKS)
    except ValueError as error:
        raise InputError(f"{error}\n", _hint(str(error))) from error
    return _canonical(csr_matrix(counts, copy=own), own=own)


def frame_of(X: Any, metadata: Any, n_documents: int) -> pd.DataFrame | None:
    """Side information by rows: that which is given, or that of a corpus, whose ids name the rows."""
    if not isinstance(X, Corpus):
        return as_frame(metadata, n_documents)
    frame = X.metadata if metadata is None else as_frame(metadata, n_documents)
    return frame if frame is None or X.ids is None else frame.set_axis(pd.Index(X.ids))


def _canonical(counts: csr_matrix, own: bool) -> csr_matrix:
    """Sorted, without zeros and duplicates; in place if nobody else has it."""
    if counts.has_canonical_format and counts.data.all():
        return counts
    counts = counts if own else counts.copy()
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def _agree_on_vocabulary(estimator: Any, corpus: Corpus) -> None:
    """For a corpus what `validate_data` does for arrays and DataFrames."""
    name, expected = type(estimator).__name__, estimator.n_features_in_
    if corpus.shape[1] != expected:
        raise InputError(
            f"X has {corpus.shape[1]} features, but {name} expects {expected} features."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None or corpus.vocabulary is None:
        return
    differ = np.flatnonzero(np.asarray(fitted) != corpus.vocabulary)
    if len(differ):
        first = differ[0]
        raise InputError(
            f"the features of X are other words than {name} was fitted with: number {first} is "
            f"{corpus.vocabulary[first]!r}, expected {fitted[first]!r}."
        )


def _hint(message: str) -> str | Message:
    """What to do about scikit-learn's complaint."""
    if "egative" in message:
        return "Expected counts of words, documents x words, none below zero; pass raw counts."
    if "NaN" in message or "infinity" in message:
        return "Expected finite counts; put 0 where a word does not occur."
    if "0 feature" in message or "0 sample" in message:
        return "Expected a matrix of counts, documents x words, with at least one of each."
    if "feature" in message:
        return Message(
            "Expected documents x words with the vocabulary of the training counts",
            PythonOnly(
                "; use the same vectoriser, or Corpus.from_texts(texts, vocabulary=corpus.vocabulary)"
            ),
            ".",
        )
    return "Expected a matrix of counts, documents x words, or a gptm.Corpus."
