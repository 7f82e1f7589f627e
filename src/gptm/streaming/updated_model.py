"""What a model shows after an update: names of topics and words, its history, and the documents in memory."""

from dataclasses import replace

import numpy as np

from gptm._basics.prose import listed
from gptm.corpus import Corpus
from gptm.fitted import Fitted


def with_names(updated: Fitted, before: Fitted, vocabulary: np.ndarray | None) -> Fitted:
    """The fit with the words, and with names and history as before; new topics have no names yet."""
    names, history = before.topic_names, before.history
    born = list(range(before.K, updated.K))
    if born:
        names = None if names is None else [*names, *[None] * len(born)]
        some = "topics" if len(born) > 1 else "topic"
        history = (*history, f"Added {some} {listed(born)} in an update.")
    return replace(
        updated,
        vocabulary=vocabulary,
        words=before.words,
        kinds=before.kinds,
        topic_names=names,
        history=history,
    )


def sample_of(fitted: Fitted) -> Corpus | None:
    """The documents in memory, with the metadata that the kernel reads."""
    if fitted.counts is None:
        return None
    columns = fitted.columns
    ids = None if columns is None or not columns.index.is_unique else columns.index.to_numpy()
    metadata = None if columns is None or not len(columns.columns) else columns
    return Corpus(fitted.counts, fitted.vocabulary, metadata=metadata, ids=ids, words=fitted.words)
