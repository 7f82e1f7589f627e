"""Memory that loops over documents work in: they allocate none of their own."""

from typing import NamedTuple

import numpy as np

from gptm._hot.direction import LEVELS


class Scratch(NamedTuple):
    """Arrays for one thread; what is in them before and after a loop is of no use."""

    topics: np.ndarray  # (16 + K, K)
    bits: np.ndarray  # (K,) the second row of `topics`, as integers
    chosen: np.ndarray  # (K,) topics
    levels: np.ndarray  # (number of levels,)
    words: np.ndarray  # (3, words of the longest document)
    precision: np.ndarray  # (K, K)
    resolvent: np.ndarray  # (1, K + 2, K)

    @classmethod
    def of(cls, K: int, longest: int) -> "Scratch":
        """For K topics and documents of at most `longest` distinct words."""
        topics = np.zeros((16 + K, K))
        return cls(
            topics,
            topics[1].view(np.int64),
            np.empty(K, dtype=np.int64),
            np.empty(len(LEVELS)),
            np.empty((3, longest)),
            np.empty((K, K)),
            np.empty((1, K + 2, K)),
        )
