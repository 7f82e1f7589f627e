"""A matrix of low rank over groups of documents that it cannot tell apart."""

from copy import copy

import numpy as np
from scipy.linalg import eigh

from gptm._types import Array
from gptm.operators.base import Operator
from gptm.operators.spectral import check_spectrum


class LowRank(Operator):
    """𝒦 = Q diag(values - floor) Q' + floor I with few columns in Q, constant within groups of documents.

    A kernel over dates depends on a document's date alone, and a smooth one has few eigenvalues above
    rounding; `floor` is what each document has for itself. With m groups and r eigenvalues, solves cost
    D K + m r K operations and no (D, D) array is made.

    Parameters
    ----------
    values : (r,) eigenvalues of 𝒦 along Q, all above the floor.
    vectors : (m, r) eigenvectors in groups' coordinates: row g, divided by the root of the group's size,
        is the row of Q of every document in group g.
    groups : (D,) the group of each document.
    floor : eigenvalue of 𝒦 in all other directions.
    """

    def __init__(self, values: Array, vectors: Array, groups: np.ndarray, floor: float = 0.0):
        self.values = values
        self.groups = groups
        self.floor = floor
        self.n = len(groups)
        sizes = np.bincount(groups, minlength=len(vectors))
        self._order = np.argsort(groups, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._per_document = vectors / np.sqrt(sizes)[:, None]
        self._per_group = vectors * np.sqrt(sizes)[:, None]

    @classmethod
    def from_groups(cls, Kuu: Array, groups: np.ndarray, floor: float = 0.0) -> "LowRank":
        """From the (m, m) kernel between groups; eigenvalues that are zero up to rounding are left out."""
        root = np.sqrt(np.bincount(groups, minlength=len(Kuu)))
        values, vectors = eigh(root[:, None] * Kuu * root)
        keep = values > check_spectrum(values)
        return cls(values[keep] + floor, np.ascontiguousarray(vectors[:, keep]), groups, floor)

    def scaled(self, factor: float) -> "LowRank":
        """A multiple of the same matrix."""
        result = copy(self)
        result.values, result.floor = factor * self.values, factor * self.floor
        return result

    def collect(self, X: Array) -> Array:
        return np.add.reduceat(X[self._order], self._starts, axis=0)

    def project(self, Ktu: Array) -> Array:
        return Ktu @ self._per_group

    def matmul(self, X: Array) -> Array:
        above = (self.values - self.floor)[:, None]
        return self.floor * X + self._expand(above * self._coordinates(X))

    def solve(self, b: Array, X: Array) -> Array:
        elsewhere = 1.0 / (self.floor * b + 1.0)
        along = 1.0 / (self.values[:, None] * b + 1.0)
        return X * elsewhere - self._expand((elsewhere - along) * self._coordinates(X))

    def logdet(self, b: Array) -> Array:
        along = np.log1p(self.values[:, None] * b).sum(0)
        return along + (self.n - len(self.values)) * np.log1p(self.floor * b)

    def trace(self, b: Array) -> Array:
        return self._damped(b).sum(0) + (self.n - len(self.values)) * self._damped_floor(b)

    def diagonal(self, b: Array) -> Array:
        elsewhere = self._damped_floor(b)
        return elsewhere + (self._per_document**2 @ (self._damped(b) - elsewhere))[self.groups]

    def log_pseudo_determinant(self) -> tuple[float, int]:
        along = float(np.log(self.values).sum())
        if self.floor == 0:
            return along, len(self.values)
        return along + (self.n - len(self.values)) * float(np.log(self.floor)), self.n

    def _damped(self, b: Array) -> Array:
        """(r, len(b)) eigenvalues of 𝒦 (b 𝒦 + I)^-1 along Q."""
        return self.values[:, None] / (self.values[:, None] * b + 1.0)

    def _damped_floor(self, b: Array) -> Array:
        return self.floor / (self.floor * b + 1.0)

    def _coordinates(self, X: Array) -> Array:
        """Q' X."""
        return self._per_document.T @ self.collect(X)

    def _expand(self, Y: Array) -> Array:
        """Q Y."""
        return (self._per_document @ Y)[self.groups]
