"""Fitted arrays as tables for people."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from gptm._types import Array


def topic_table(
    components: Array,
    doc_topics: Array,
    doc_lengths: Array,
    feature_names: Sequence[str] | np.ndarray | None,
    n_words: int,
) -> pd.DataFrame:
    """One row per topic: its share of the corpus and its most probable words, most probable first.

    Without names the words are the columns' numbers.
    """
    V = components.shape[1]
    names = np.arange(V) if feature_names is None else np.asarray(feature_names, dtype=object)
    if len(names) != V:
        raise ValueError(
            f"feature_names must name every column of the counts: expected {V}, got {len(names)}."
        )
    total = doc_lengths.sum()
    share = doc_lengths @ doc_topics / total if total > 0 else doc_topics.mean(0)
    order = np.argsort(-components, axis=1, kind="stable")[:, :n_words]
    words = [", ".join(str(names[w]) for w in row) for row in order]
    index = pd.RangeIndex(len(components), name="topic")
    return pd.DataFrame({"share": share, "words": words}, index=index)
