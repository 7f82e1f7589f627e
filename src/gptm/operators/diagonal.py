"""A diagonal matrix: what each document has for itself."""

from collections.abc import Sequence

import numpy as np

from gptm._basics.types import Array
from gptm.operators.calculus import Base
from gptm.operators.cross import CarriedCross
from gptm.operators.features import Features
from gptm.operators.operator import BySpectrum, View
from gptm.operators.placement import Placement
from gptm.operators.spectral import Spectral, SpectralView
from gptm.operators.tangent import Tangent
from gptm.operators.training_operator import Cross


class Diagonal(BySpectrum, Base):
    """𝒦 = diag(values); as a base for features, values have few distinct numbers, usually one."""

    def __init__(self, values: Array):
        self.values = values
        self.n = len(values)
        self.nodes, self._classes = np.unique(values, return_inverse=True)
        self._sizes: Array = np.bincount(self._classes, minlength=len(self.nodes)).astype(float)

    def view(self, Y: Array, like: View | None = None) -> View:
        # If most values differ, moments would be larger than the data.
        many = len(self.nodes) * Y.shape[1] > self.n
        return SpectralView(Spectral(self.values), Y) if many else super().view(Y)

    def moments(self, X: Array | Features, Y: Array | Features) -> Array:
        if isinstance(Y, Features):
            assert isinstance(X, Features)
            if X is Y and Y.one_hot:
                raise TypeError("features of one entry a row have `squares`")
            if len(self.nodes) == 1:
                return X.gram_with(Y)[None]
            return np.stack([X.take(rows).gram_with(Y.take(rows)) for rows in self.members()])
        parts = []
        for rows in self.members():
            every = len(rows) == self.n
            some = Y if every else Y[rows]
            if isinstance(X, Features):
                parts.append((X if every else X.take(rows)).t_dot(some))
            else:
                parts.append((X if every else X[rows]).T @ some)
        return np.stack(parts)

    def squares(self, features: Features) -> Array:
        """(q, r) the diagonals of the moments of features."""
        return np.stack([features.take(rows).squares() for rows in self.members()])

    def members(self) -> list[np.ndarray]:
        """Which documents have each of the values."""
        return [np.flatnonzero(self._classes == q) for q in range(len(self.nodes))]

    def solve(self, b: Array, X: Array) -> Array:
        return X / (self.values[:, None] * b + 1.0)

    def matmul(self, X: Array) -> Array:
        return self.values[:, None] * X

    @property
    def spectrum(self) -> tuple[Array, Array]:
        return self.nodes, self._sizes

    def slopes(self, tangents: Sequence[Tangent], b: Array) -> Array:
        g = 1.0 / (self.values[:, None] * b + 1.0)
        return np.array([np.zeros(len(b)) if t.own is None else t.own @ g for t in tangents])

    def cross(self, new: Placement) -> Cross:
        return CarriedCross(self, new)

    def carried(self, new: Placement, alpha: Array, F: Array) -> Array:
        return np.zeros((new.n, alpha.shape[1]))

    def limit(self, new: Placement) -> tuple[None, Array]:
        return None, new.own_matrix

    def carried_variance(self, new: Placement, b: Array) -> Array:
        return new.own_diagonal[:, None] * b
