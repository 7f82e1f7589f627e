"""Everything that `fit` gets, read and checked before the work begins."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import clone

from gptm._basics.types import Array
from gptm._basics.validation import check_init
from gptm._basics.warnings import warn
from gptm.corpus import Corpus, Words
from gptm.corpus.counts import (
    columns_of,
    frame_of,
    read_counts,
    read_training_counts,
    training_texts_counted,
    warn_of_fractions,
)
from gptm.corpus.kinds import kinds_of
from gptm.fitted import Fitted
from gptm.inference.topic_memory import check_topics_fit
from gptm.kernels import BoundKernel, Documents, Kernel, resolve_kernel
from gptm.kernels.identity import NothingBound
from gptm.model.settings import Settings
from gptm.starts.seed_words import Seeds, read_seeds
from gptm.streaming.read_batch import kernel_columns


class TrainingData(NamedTuple):
    """The training documents, and what users say about the topics."""

    counts: csr_matrix  # (D, V)
    vocabulary: np.ndarray | None  # (V,) if the words have names
    words: Words | None  # how texts became counts
    corpus: Corpus | None  # with the texts, where there are any
    frame: pd.DataFrame | None  # (D rows) of metadata
    y: Any
    init: str | Array
    seeds: Seeds

    def bind(self, settings: Settings, *, in_blocks: bool) -> BoundKernel:
        """The kernel over these documents, which may be a sample of a corpus that is fitted in blocks."""
        documents = Documents(
            self.counts.shape[0], self.frame, self.counts, self.y, settings.n_jobs
        )
        kernel = resolve_kernel(settings.kernel, self.frame, in_blocks=in_blocks)
        if kernel is None:
            return NothingBound(documents.n)
        return clone(kernel).bind(documents)  # kernel_ must not change with kernel

    def named(self, fitted: Fitted) -> Fitted:
        """The fit with names of words and topics, and with what the kernel has read."""
        read = columns_of(fitted.kernel) or ()
        return replace(
            fitted,
            vocabulary=self.vocabulary,
            topic_names=self.seeds.names,
            words=self.words,
            kinds={name: kind for name, kind in kinds_of(self.frame).items() if name in read},
            columns=kernel_columns(fitted.kernel, self.frame, self.counts.shape[0]),
        )


def read_training(
    settings: Settings, X: Any, y: Any, metadata: Any, previous: Fitted | None
) -> TrainingData:
    """The training data; after a `previous` fit, which a warm start continues, these have its words."""
    if previous is None:
        X = training_texts_counted(X)
        counts, vocabulary = read_training_counts(settings.model, X)
        words = getattr(X, "words", None)
    else:
        counts = read_counts(previous.expects(settings.model), X, own=True)
        vocabulary, words = previous.vocabulary, previous.words
    warn_of_fractions(counts)
    K, (D, V) = settings.n_components, counts.shape
    check_topics_fit(K, V)
    init = check_init(settings.init, K, V)
    seeds = read_seeds(settings.seed_words, settings.seed_weight, K, counts, vocabulary)
    frame = frame_of(X, metadata, D, only=columns_of(settings.kernel))
    corpus = X if isinstance(X, Corpus) else None
    return TrainingData(counts, vocabulary, words, corpus, frame, y, init, seeds)


def check_labels(kernel: Any, y: Any, metadata: Any) -> None:
    """Warn of a table or of vectors in the place of labels."""
    reads_labels = isinstance(kernel, Kernel) and kernel.reads_labels
    if metadata is None and isinstance(y, pd.DataFrame | Mapping) and not reads_labels:
        warn(
            "a table was passed as y, which is ignored; side information goes into metadata=, as in "
            "fit(X, metadata=table)."
        )
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] > 1 and not reads_labels:
        warn(
            "an array with a row per document was passed as y, which is ignored. If these are embeddings, pass "
            "metadata={'vector': array} and kernel=kernels.Embedding('vector')."
        )
