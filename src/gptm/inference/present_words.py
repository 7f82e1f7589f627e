"""A fit without the words that no document has: where most words are such, they would take most of its memory.

All of them together are one more word, which no document has either. A Dirichlet prior of words gives it the sum of
their pseudo-counts, so that topics are drawn from the same posterior; in the end each of them has an equal part.
"""

from copy import copy
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.fitted import Fitted
from gptm.inference.problem import FitProblem

MOST = 0.5  # of the words may be present: with more, it would not be worth the trouble


class PresentWords:
    """Which words a fit needs: those of documents and those with seeds."""

    def __init__(self, problem: FitProblem, *, all_of_them: bool):
        self.counts, self.n_words = problem.counts, problem.counts.shape[1]
        present = problem.occurs.copy()
        if problem.seeds is not None:
            present |= problem.seeds.any(1)
        few = not all_of_them and present.mean() <= MOST
        self.kept = np.flatnonzero(present) if few else np.arange(self.n_words)
        self.absent = self.n_words - len(self.kept)

    def narrowed(self, problem: FitProblem) -> FitProblem:
        """The problem with one word in place of all that are absent."""
        if not self.absent:
            return problem
        column = np.full(self.n_words, len(self.kept), dtype=self.counts.indices.dtype)
        column[self.kept] = np.arange(len(self.kept))
        narrow = copy(problem)
        narrow.__dict__.pop("occurs", None)
        narrow.counts = csr_matrix(
            (self.counts.data, column[self.counts.indices], self.counts.indptr),
            shape=(self.counts.shape[0], len(self.kept) + 1),
        )
        if problem.seeds is not None:
            narrow.seeds = np.vstack([problem.seeds[self.kept], problem.seeds[:1] * 0.0])
        narrow.absent = self.absent
        return narrow

    def topics(self, given: str | Array) -> str | Array:
        """(K, n) topics over the words of the narrow problem from those (K, V) over all words; a name stays one."""
        if not self.absent or isinstance(given, str):
            return given
        kept = given[:, self.kept]
        rest = np.maximum(given.sum(1) - kept.sum(1), 0.0)
        return np.column_stack([kept, rest])

    def widened(self, fitted: Fitted) -> Fitted:
        """The fit with all words."""
        if not self.absent:
            return fitted
        narrow = fitted.components
        components = np.empty((len(narrow), self.n_words))
        components[:] = narrow[:, -1:] / self.absent
        components[:, self.kept] = narrow[:, :-1]
        drawn = fitted.topic_draws
        if drawn is not None:
            drawn = drawn._replace(words=self.kept, beta_T=drawn.beta_T[:, :-1])
        return replace(fitted, components=components, counts=self.counts, topic_draws=drawn)
