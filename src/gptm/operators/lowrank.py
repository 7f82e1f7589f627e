"""A matrix of low rank over groups of documents that it cannot tell apart."""

from copy import copy

import numpy as np
from scipy.linalg import eigh

from gptm._types import Array
from gptm.operators.base import Operator
from gptm.operators.spectral import check_spectrum


class LowRank(Operator):
    """𝒦 = Q diag(values) Q' with few columns in Q, which are constant within groups of documents.

    A kernel over dates depends on a document's date alone, and a smooth one has few eigenvalues above rounding. With m
    groups and r eigenvalues, solves cost D K + m r K operations and no (D, D) array is made.

    Parameters
    ----------
    values : (r,) positive eigenvalues.
    vectors : (m, r) eigenvectors in groups' coordinates: row g, divided by the root of the group's size,
        is the row of Q of every document in group g.
    groups : (D,) the group of each document.
    """

    def __init__(self, values: Array, vectors: Array, groups: np.ndarray):
        self.values = values
        self.groups = groups
        self.n = len(groups)
        sizes = np.bincount(groups, minlength=len(vectors))
        self._order = np.argsort(groups, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._per_document = vectors / np.sqrt(sizes)[:, None]
        self._per_group = vectors * np.sqrt(sizes)[:, None]

    @classmethod
    def from_groups(cls, Kuu: Array, groups: np.ndarray) -> "LowRank":
        """From the (m, m) kernel between groups; eigenvalues that are zero up to rounding are left out."""
        root = np.sqrt(np.bincount(groups, minlength=len(Kuu)))
        values, vectors = eigh(root[:, None] * Kuu * root)
        keep = values > check_spectrum(values)
        return cls(values[keep], np.ascontiguousarray(vectors[:, keep]), groups)

    def scaled(self, factor: float) -> "LowRank":
        """A multiple of the same matrix."""
        result = copy(self)
        result.values = factor * self.values
        return result

    def collect(self, X: Array) -> Array:
        return np.add.reduceat(X[self._order], self._starts, axis=0)

    def project(self, Ktu: Array) -> Array:
        return Ktu @ self._per_group

    def matmul(self, X: Array) -> Array:
        return self._expand(self.values[:, None] * self._coordinates(X))

    def solve(self, b: Array, X: Array) -> Array:
        scaled = self.values[:, None] * b
        return X - self._expand(scaled / (scaled + 1.0) * self._coordinates(X))

    def logdet(self, b: Array) -> Array:
        return np.log1p(self.values[:, None] * b).sum(0)

    def trace(self, b: Array) -> Array:
        return (self.values[:, None] / (self.values[:, None] * b + 1.0)).sum(0)

    def diagonal(self, b: Array) -> Array:
        spectrum = self.values[:, None] / (self.values[:, None] * b + 1.0)
        return (self._per_document**2 @ spectrum)[self.groups]

    def log_pseudo_determinant(self) -> tuple[float, int]:
        return float(np.log(self.values).sum()), len(self.values)

    def _coordinates(self, X: Array) -> Array:
        """Q' X."""
        return self._per_document.T @ self.collect(X)

    def _expand(self, Y: Array) -> Array:
        """Q Y."""
        return (self._per_document @ Y)[self.groups]
