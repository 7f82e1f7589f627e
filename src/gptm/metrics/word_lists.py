"""Topics as lists of words, from arrays or as they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gptm._basics.errors import ArgumentError
from gptm._basics.validation import as_items
from gptm.metrics.topic_words import top_words


def word_lists(
    topics: Any, n_words: int, vocabulary: Sequence[str] | np.ndarray | None = None
) -> list[list[Any]]:
    """The first words of each topic: given as lists, or those of an array (K, V) by name or number."""
    if not isinstance(topics, np.ndarray):
        expected = "must be an array, or a list of words for each topic"
        given = [
            as_items("topics", topic, expected) for topic in as_items("topics", topics, expected)
        ]
        if any(isinstance(word, str) for topic in given for word in topic):
            return [list(dict.fromkeys(topic))[:n_words] for topic in given]
        topics = given
    columns = top_words(topics, n_words)
    if vocabulary is None:
        return [[int(column) for column in row] for row in columns]
    V = np.shape(topics)[1]
    expected = f"must name every column of the topics: expected {V} words"
    names = as_items("vocabulary", vocabulary, expected)
    if len(names) != V:
        raise ArgumentError("vocabulary", expected, len(names))
    return [[str(names[column]) for column in row] for row in columns]
