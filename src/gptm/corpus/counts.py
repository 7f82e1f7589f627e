"""Counts of words from whatever users pass as `X`."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from gptm._basics.errors import ArgumentError, InputError, Message, PythonOnly
from gptm._basics.validation import check_text
from gptm._basics.warnings import warn
from gptm.corpus.corpus import Corpus
from gptm.corpus.kinds import base_kind
from gptm.corpus.metadata import as_frame
from gptm.corpus.typed_columns import typed_frame
from gptm.corpus.words import Words

MOST_TOKENS = 2.0**53
LEAST_COUNT = 1e-100  # of a word that occurs: probabilities that come from less are no longer exact
_CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": np.float64,
    "ensure_non_negative": True,
}


class ExpectedWords(NamedTuple):
    """The words that new documents of a fitted model must have."""

    model: str  # name of its class, for messages
    n_words: int
    vocabulary: np.ndarray | None  # (V,) if they have names
    words: Words | None  # how texts become counts


def read_training_counts(name: str, X: Any) -> tuple[csr_matrix, np.ndarray | None]:
    """Counts as a canonical CSR matrix of floats, and the names of their columns where they have any.

    `name` is that of the estimator, for messages.
    """
    _check_is_listed(X)
    estimator = _stand_in(name)  # which scikit-learn leaves its findings on
    try:
        if isinstance(X, Corpus):
            counts = check_array(X.counts, estimator=estimator, input_name="X", **_CHECKS)
            vocabulary = X.vocabulary
        else:
            counts = validate_data(estimator, X, **_CHECKS)
            vocabulary = getattr(estimator, "feature_names_in_", None)
    except ValueError as error:
        raise _refused(X, error) from error
    except TypeError as error:
        raise _no_counts(X, error) from None
    check_text([] if vocabulary is None else vocabulary, "a word, as the name of a column of X,")
    # The training counts stay with the model, whatever becomes of the caller's.
    return _canonical(csr_matrix(counts, copy=True), own=True), vocabulary


def read_counts(expected: ExpectedWords, X: Any, *, own: bool = False) -> csr_matrix:
    """Counts of documents for a fitted model, whose words they must have; `own` makes a copy.

    Texts are counted as those of the training were.
    """
    if holds_texts(X):
        X = _new_texts(expected, X)
    _check_is_listed(X)
    try:
        if isinstance(X, Corpus):
            name = _stand_in(expected.model)
            counts = check_array(X.counts, estimator=name, input_name="X", **_CHECKS)
            _agree_on_vocabulary(expected, X)
        else:
            fine = _is_fine(expected, X)
            counts = X.astype(np.float64, copy=False) if fine else _validated(expected, X)
    except ValueError as error:
        raise _refused(X, error) from error
    except TypeError as error:
        raise _no_counts(X, error) from None
    return _canonical(csr_matrix(counts, copy=own), own=own)


def _no_counts(X: Any, error: TypeError) -> Exception:
    """The error for what is no array; about a cell of an array, scikit-learn's own, which its checks expect."""
    if hasattr(X, "__len__") and not isinstance(X, Mapping):
        return error
    return ArgumentError(
        "X",
        "must be a gptm.Corpus, a list of texts, or counts of words with one row per document",
        Message(f"an object of type {type(X).__name__}"),
    )


def _is_fine(expected: ExpectedWords, X: Any) -> bool:
    """Whether scikit-learn's checks would find nothing; for one document they take longer than its proportions."""
    return (
        type(X) is csr_matrix
        and X.dtype.kind in "iuf"
        and X.indices.dtype == np.int32
        and X.shape[0] > 0
        and X.shape[1] == expected.n_words
        and expected.vocabulary is None
        and (X.nnz == 0 or (X.data.min() >= 0 and X.data.max() < np.inf))  # false for NaN
    )


def _validated(expected: ExpectedWords, X: Any) -> Any:
    estimator = _stand_in(expected.model, n_features_in_=expected.n_words)
    if expected.vocabulary is not None:
        estimator.feature_names_in_ = expected.vocabulary
    return validate_data(estimator, X, reset=False, **_CHECKS)


def _stand_in(name: str, **attributes: Any) -> Any:
    """An estimator for scikit-learn's checks, which read and set its attributes and name it in messages."""
    return type(name, (BaseEstimator,), attributes)()


def holds_texts(X: Any) -> bool:
    """Whether X is a list, a Series or an array of texts, and no matrix.

    Examples
    --------
    >>> from gptm.corpus.counts import holds_texts
    >>> holds_texts(["green tea", "black tea"]), holds_texts([[1, 2], [3, 0]])
    (True, False)
    """
    if not isinstance(X, list | tuple | pd.Series | pd.Index | np.ndarray) or np.ndim(X[:1]) != 1:
        return False
    return len(X) > 0 and isinstance(next(iter(X)), str)


def training_texts_counted(X: Any) -> Any:
    """X, or for texts a corpus with the defaults of `Corpus.from_texts`, and a warning that says so."""
    if not holds_texts(X):
        return X
    corpus = Corpus.from_texts(X)
    n, V = corpus.shape
    assert corpus.words is not None
    language = corpus.words.stop_words
    stop_words = f"stop words ({language})" if language else "no stop words"
    warn(
        f"X holds texts: {V:,} different words of {n:,} text{'s' * (n != 1)} are counted, and {stop_words} are left "
        "out. To choose the words, pass Corpus.from_texts(texts, ...)."
    )
    return corpus


def _new_texts(expected: ExpectedWords, texts: Any) -> Corpus:
    if expected.vocabulary is None:
        raise ValueError(
            f"{expected.model} was fitted to counts whose words have no names, so texts cannot be counted. "
            "Pass counts, made by the vectoriser of the training counts, or fit the model to texts or to a Corpus."
        )
    return Corpus.from_texts(texts, vocabulary=expected.vocabulary, words=expected.words)


def warn_of_fractions(counts: csr_matrix) -> None:
    """Warn if counts to learn from are weights; sums that are whole but for rounding are counts."""
    whole = np.rint(counts.data)
    if np.all(np.abs(counts.data - whole) <= 1e-6 * whole):
        return
    warn(
        Message(
            "counts of words must be whole numbers; some are fractions, as tf-idf weights are, or rows that sum to "
            "one. The model reads each number as how often a word occurs in a document, so it finds poorer topics, "
            "and bands are wrong. Pass raw counts",
            PythonOnly(", as CountVectorizer makes them, or the texts themselves"),
            ".",
        )
    )


def frame_of(
    X: Any,
    metadata: Any,
    n_documents: int,
    kinds: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
) -> pd.DataFrame | None:
    """Side information by rows: that which is given, or that of a corpus, whose ids name the rows.

    `kinds` are those of the training, by which `only` these columns are read; all of them by default.
    """
    if isinstance(X, Corpus) and metadata is None:
        frame = X.metadata_as(kinds or {}, only)
    else:
        frame = as_frame(metadata, n_documents)
        # Numbers in the place of dates may be years, days or seconds: the kernel refuses them, and says so.
        trained_kinds = {} if frame is None or kinds is None else kinds
        expected = [name for name, kind in trained_kinds.items() if base_kind(kind) == "date"]
        dates = {name for name in expected if _is_number(frame, name)}
        if dates and only is not None:
            only = [name for name in only if name not in dates]
        frame = None if frame is None else typed_frame(frame, kinds, only=only)
    ids = X.ids if isinstance(X, Corpus) else None
    return frame if frame is None or ids is None else frame.set_axis(pd.Index(ids))


def _is_number(frame: pd.DataFrame, name: str) -> bool:
    return name in frame and isinstance(frame[name], pd.Series) and frame[name].dtype.kind in "iuf"


def columns_of(kernel: Any) -> Collection[str] | None:
    """The columns that a kernel reads; None for all that may be of use, as for "auto"."""
    if isinstance(kernel, str):
        return None
    is_kernel = hasattr(kernel, "column_names") and not isinstance(kernel, type)
    return kernel.column_names() if is_kernel else ()


def _canonical(counts: csr_matrix, own: bool) -> csr_matrix:
    """Sorted, without zeros and duplicates; in place if nobody else has it."""
    _check_size(counts)
    if counts.has_canonical_format and counts.data.all():
        return counts
    counts = counts if own else counts.copy()
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def _check_size(counts: csr_matrix) -> None:
    """Not so many tokens that one more makes no difference, and no word that occurs next to never."""
    if (
        counts.nnz
        and counts.data.min() < LEAST_COUNT
        and (counts.data < LEAST_COUNT)[counts.data > 0].any()
    ):
        least = counts.data[counts.data > 0].min()
        raise InputError(
            f"the counts of X must be zero or at least {LEAST_COUNT:.0e}, to be computed with; the smallest is "
            f"{least:.2g}. Check for cells that are not counts, or put zero there."
        )
    with np.errstate(over="ignore"):
        total = counts.data.sum()
    if total > MOST_TOKENS:
        raise InputError(
            f"the counts of X must sum to at most {MOST_TOKENS:.2g}, which numbers can count one by one; they sum to "
            f"{total:.2g}, the largest is {counts.data.max():.2g}. Check for cells that are not counts, or divide all "
            "counts by the same number."
        )


def _agree_on_vocabulary(expected: ExpectedWords, corpus: Corpus) -> None:
    """For a corpus what `validate_data` does for arrays and DataFrames."""
    name, words = expected.model, expected.vocabulary
    if corpus.shape[1] != expected.n_words:
        raise InputError(
            f"X has {corpus.shape[1]} features, but {name} expects {expected.n_words} features."
        )
    if words is None or corpus.vocabulary is None:
        return
    differ = np.flatnonzero(np.asarray(words) != corpus.vocabulary)
    if len(differ):
        first = differ[0]
        raise InputError(
            f"the features of X are other words than {name} was fitted with: number {first} is "
            f"{corpus.vocabulary[first]!r}, expected {words[first]!r}."
        )


def _check_is_listed(X: Any) -> None:
    """Refuse a single text, None, and what has no order, such as a set."""
    if isinstance(X, str):
        raise InputError("X must be a list of texts, one per document; got one text. Pass [text].")
    in_order = any(hasattr(X, name) for name in ("__getitem__", "__array__", "shape"))
    if X is None or (isinstance(X, Iterable) and not in_order):
        what = "None" if X is None else f"a {type(X).__name__}"
        raise InputError(
            f"X must be counts of words, or a list of texts; got {what}. Pass a list, in the order of the metadata."
        )


def _refused(X: Any, error: ValueError) -> InputError:
    """What to do about an X that is no matrix, or about scikit-learn's complaint."""
    said = _no_matrix(X)
    return InputError(f"{error}\n", _hint(str(error))) if said is None else InputError(said)


def _no_matrix(X: Any) -> str | None:
    """What X is instead of a matrix, and what to pass; None if it may be a matrix."""
    if isinstance(X, pd.DataFrame):
        names = [name for name, values in X.items() if _first_is(values, str)]
        if names:
            longest = max(names, key=lambda name: X[name].astype(str).str.len().mean())
            return (
                f"X must be counts of words, or texts; got a table with text in {', '.join(map(repr, names))}. Pass "
                f"the column that holds the texts, as in fit(df[{longest!r}]), and the others as metadata=df."
            )
        return None
    if not isinstance(X, list | tuple | pd.Series | np.ndarray) or not _first_is(X, list | tuple):
        return None
    inside = [item for document in X if isinstance(document, list | tuple) for item in document]
    if inside and all(isinstance(item, str) for item in inside):
        return (
            "X must be counts of words, or texts; got lists of words. For documents that are already cut into words "
            "use Corpus.from_tokens(X), which fit takes."
        )
    if inside and all(isinstance(item, tuple) and len(item) == 2 for item in inside):
        return (
            "X must be counts of words, or texts; got bags of (word, count) pairs. Make a matrix of them: "
            "gensim.matutils.corpus2csc(bags, num_terms=len(dictionary)).T"
        )
    return None


def _first_is(values: Any, kind: Any) -> bool:
    return isinstance(next(iter(values), None), kind)


def _hint(message: str) -> str | Message:
    """What to do about scikit-learn's complaint."""
    if "egative" in message:
        return "Expected counts of words, documents x words, none below zero; pass raw counts."
    if "NaN" in message or "infinity" in message:
        return "Expected finite counts; put 0 where a word does not occur."
    if re.search(r"\b0 (feature|sample)", message):
        return "Expected a matrix of counts, documents x words, with at least one of each."
    if "feature" in message:
        return Message(
            "Expected documents x words with the vocabulary of the training counts",
            PythonOnly(
                "; use the same vectoriser, or Corpus.from_texts(texts, vocabulary=corpus.vocabulary)"
            ),
            ".",
        )
    return (
        "Expected a matrix of counts, documents x words, a gptm.Corpus, or a list of texts, such as a column of a "
        "table: fit(df['text']). For documents that are already cut into words use Corpus.from_tokens."
    )
