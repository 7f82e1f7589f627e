"""Memory that loops over documents work in: they allocate none of their own."""

from typing import NamedTuple

import numpy as np

from gptm._hot.newton import LEVELS
from gptm._hot.simd import padded, padded_zeros


class Scratch(NamedTuple):
    """Arrays for one thread; what is in them before and after a loop is of no use.

    But for `precision` and `resolvent`: there, zeros pad the rows and are never written to.
    """

    own: np.ndarray  # (4, K padded) m, lam, nu2 and diag P of the document at hand
    rows: np.ndarray  # (10, K padded)
    newton: np.ndarray  # (4, K padded)
    small: np.ndarray  # (K, K)
    chosen: np.ndarray  # (K,) topics
    levels: np.ndarray  # (number of levels,)
    indices: np.ndarray  # (words of the longest document, padded)
    words: np.ndarray  # (3, the same)
    precision: (
        np.ndarray
    )  # (K padded, K padded) of the document at hand; none where all share theirs
    resolvent: np.ndarray  # (1, K padded + 2, K padded), likewise

    @classmethod
    def of(cls, K: int, longest: int, *, shared: bool) -> "Scratch":
        """For K topics and documents of at most `longest` distinct words, whose precision is `shared` or not."""
        of_its_own = 0 if shared else 1
        return cls(
            padded_zeros(4, K),
            padded_zeros(10, K),
            padded_zeros(4, K),
            np.empty((K, K)),
            np.empty(K, dtype=np.int64),
            np.empty(len(LEVELS)),
            np.empty(padded(longest), dtype=np.int64),
            padded_zeros(3, longest),
            padded_zeros(of_its_own * padded(K), K),
            padded_zeros(of_its_own, padded(K) + 2, K),
        )
