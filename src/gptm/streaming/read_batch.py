"""A batch from whatever users pass as `X`: words that the model has not seen join its vocabulary."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.errors import Argument, InputError
from gptm.corpus import Corpus
from gptm.corpus.counts import (
    frame_of,
    holds_texts,
    read_counts,
    read_training_counts,
    warn_of_fractions,
)
from gptm.corpus.metadata import with_columns
from gptm.fitted import Fitted
from gptm.kernels import Kernel
from gptm.streaming.batch_order import batch_order
from gptm.streaming.fitted_so_far import NewDocuments


def read_batch(model: str, fitted: Fitted, X: Any, metadata: Any, n_before: int) -> NewDocuments:
    """The documents in an order of their own.

    `model` is the name of the model's class, `n_before` the number of documents before these.
    """
    vocabulary = fitted.vocabulary
    if vocabulary is not None and holds_texts(X):
        X = texts_counted(X, fitted)
    if vocabulary is not None and isinstance(X, Corpus) and X.vocabulary is not None:
        vocabulary = joined_words(vocabulary, X.vocabulary)
        counts = columns_of_words(X, vocabulary)
    else:
        counts = read_counts(fitted.expects(model), X, own=True)
    warn_of_fractions(counts)
    columns = _columns(fitted, X, metadata, counts.shape[0], n_before)
    order = batch_order(counts, columns)
    return NewDocuments(counts[order], None if columns is None else columns.iloc[order], vocabulary)


def texts_counted(texts: Any, fitted: Fitted) -> Corpus:
    """Texts with the word rules of the model. New words join as these rules choose them from the batch."""
    assert fitted.vocabulary is not None
    vocabulary = fitted.vocabulary
    try:
        fresh = Corpus.from_texts(texts, words=fitted.words).vocabulary
    except InputError:  # the rules choose no word at all
        fresh = None
    if fresh is not None:
        vocabulary = joined_words(vocabulary, fresh)
    return Corpus.from_texts(texts, vocabulary=vocabulary, words=fitted.words)


def joined_words(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The old words in their places, then new ones in their order.

    >>> joined_words(np.array(["tea", "cup"]), np.array(["bean", "cup"])).tolist()
    ['tea', 'cup', 'bean']
    """
    there = set(map(str, old))
    more = [word for word in map(str, new) if word not in there]
    return np.array([*map(str, old), *more], dtype=object)


def columns_of_words(corpus: Corpus, vocabulary: np.ndarray) -> csr_matrix:
    """Counts of a corpus with a column for each word of a vocabulary that has all of its words."""
    places = {str(word): place for place, word in enumerate(vocabulary)}
    assert corpus.vocabulary is not None
    where = np.array([places[str(word)] for word in corpus.vocabulary], dtype=np.int32)
    own, _ = read_training_counts("Corpus", corpus)
    counts = csr_matrix(
        (own.data, where[own.indices], own.indptr), shape=(own.shape[0], len(vocabulary))
    )
    counts.sum_duplicates()
    return counts


def _columns(fitted: Fitted, X: Any, metadata: Any, n: int, n_before: int) -> pd.DataFrame | None:
    """What the kernel reads. Documents without names are numbered, those of earlier batches first."""
    if fitted.kernel is None:
        return None
    frame = frame_of(X, metadata, n, fitted.kinds, only=fitted.kinds)
    if frame is None and fitted.kernel.column_names():
        raise InputError(
            f"the kernel {fitted.kernel!r} reads metadata, but these {n} documents came without any. Pass ",
            Argument("metadata", ...),
            ", a table with its columns.",
        )
    if frame is not None:
        frame = with_columns(frame, fitted.kernel.column_names(), fill=False)
    columns = kernel_columns(fitted.kernel, frame, n)
    if columns is not None and isinstance(columns.index, pd.RangeIndex):
        columns = columns.set_axis(pd.RangeIndex(n_before, n_before + n))
    return columns


def kernel_columns(
    kernel: Kernel | None, frame: pd.DataFrame | None, n: int
) -> pd.DataFrame | None:
    """The columns that a kernel reads, None without a kernel. One that reads words has a table without columns."""
    if kernel is None:
        return None
    if frame is None:
        return pd.DataFrame(index=pd.RangeIndex(n))
    return frame[[name for name in kernel.column_names() if name in frame]]
