"""Topics as lists of words, from arrays or as they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gptm._basics.errors import ArgumentError, Message
from gptm.metrics.topic_words import top_words


def word_lists(
    topics: Any, n_words: int, vocabulary: Sequence[str] | np.ndarray | None = None
) -> list[list[Any]]:
    """The first words of each topic: given as lists, or those of an array (K, V) by name or number."""
    if not isinstance(topics, np.ndarray):
        given = [topic if isinstance(topic, str) else list(topic) for topic in topics]
        if any(isinstance(topic, str) for topic in given):
            expected = "must be an array, or a list of words for each topic"
            raise ArgumentError("topics", expected, Message("strings"))
        if any(isinstance(word, str) for topic in given for word in topic):
            return [list(dict.fromkeys(topic))[:n_words] for topic in given]
        topics = given
    columns = top_words(topics, n_words)
    if vocabulary is None:
        return [[int(column) for column in row] for row in columns]
    V = np.shape(topics)[1]
    if len(vocabulary) != V:
        expected = f"must name every column of the topics: expected {V} words"
        raise ArgumentError("vocabulary", expected, len(vocabulary))
    return [[str(vocabulary[column]) for column in row] for row in columns]
