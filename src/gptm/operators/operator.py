"""The contract of operators: what inference asks of a kernel matrix."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from gptm._basics.types import Array
from gptm.operators.tangent import Tangent


class View(ABC):
    """Columns of data Y (D, u) as an operator sees them.

    EM updates its K x K parameters from quadratic forms over D documents: one view computes them for any
    strengths `b` and any directions `U` (u, K). Below, a_i is (b_i 𝒦 + I)^-1 Y U[:, i].
    """

    Y: Array  # (D, u)

    @abstractmethod
    def against(self, column: int, b: Array) -> Array:
        """(len(b), u), row i is Y[:, column]' (b_i 𝒦 + I)^-1 Y."""

    @abstractmethod
    def forms(self, b: Array, U: Array) -> tuple[Array, Array]:
        """(K, K) each: (Y U)' a, and a' a."""

    @abstractmethod
    def residuals(self, b: Array, U: Array) -> Array:
        """(D, K) a itself."""

    def fitted(self, b: Array, U: Array, V: Array) -> Array:
        """(D, K) (b_i 𝒦 a_i) V: what the residuals leave of Y U, turned."""
        return np.asarray((self.Y @ U - self.residuals(b, U)) @ V)

    def slopes(self, tangents: Sequence[Tangent], b: Array, U: Array) -> Array:
        """(len(tangents), K) a_i' d𝒦 a_i."""
        a = self.residuals(b, U)
        return np.array([tangent.quadratic(a) for tangent in tangents])


class CoordinateView(View):
    """Data in coordinates in which 𝒦 is diagonal, with `values` on its diagonal."""

    values: Array  # (q,)
    coordinates: Array  # (q, u)

    def against(self, column: int, b: Array) -> Array:
        return (self.coordinates[:, column, None] / self._shifted(b)).T @ self.coordinates

    def forms(self, b: Array, U: Array) -> tuple[Array, Array]:
        y = self.coordinates @ U
        a = y / self._shifted(b)
        return y.T @ a, a.T @ a

    def _shifted(self, b: Array) -> Array:
        return self.values[:, None] * b + 1.0


class EigenView(CoordinateView):
    """Data in coordinates that lead back to the documents."""

    @abstractmethod
    def lift(self, X: Array) -> Array:
        """(D, m) from these coordinates to the documents'."""

    def residuals(self, b: Array, U: Array) -> Array:
        return self.lift((self.coordinates @ U) / self._shifted(b))

    def fitted(self, b: Array, U: Array, V: Array) -> Array:
        shifted = self._shifted(b)
        return self.lift(((self.coordinates @ U) * ((shifted - 1.0) / shifted)) @ V)


class Operator(ABC):
    """A symmetric positive semi-definite (D, D) matrix 𝒦 that need not exist as an array.

    `b` is a vector of non-negative strengths.
    """

    n: int  # number of documents
    learnable = True  # whether `slopes` is available

    @abstractmethod
    def view(self, Y: Array, like: View | None = None) -> View:
        """Look at columns of data; `like` is a view of the same Y by an operator of other parameters."""

    @abstractmethod
    def matmul(self, X: Array) -> Array:
        """𝒦 X."""

    @abstractmethod
    def logdet(self, b: Array) -> Array:
        """log |b_i 𝒦 + I| for every i."""

    @abstractmethod
    def trace(self, b: Array) -> Array:
        """tr 𝒦 (b_i 𝒦 + I)^-1 for every i, which is the derivative of `logdet`."""

    @abstractmethod
    def log_pseudo_determinant(self) -> tuple[float, int]:
        """log of the product of the non-zero eigenvalues of 𝒦, and their number."""

    @abstractmethod
    def slopes(self, tangents: Sequence[Tangent], b: Array) -> Array:
        """(len(tangents), len(b)) tr (b_i 𝒦 + I)^-1 d𝒦."""

    def solve(self, b: Array, X: Array) -> Array:
        """Column i is (b_i 𝒦 + I)^-1 X[:, i]."""
        return self.view(X).residuals(b, np.eye(len(b)))

    def to_dense(self) -> Array:
        """𝒦 as an array, for small problems and tests."""
        return self.matmul(np.eye(self.n))


class BySpectrum(Operator):
    """An operator whose traces and log-determinants are sums over eigenvalues, weighted by how often they count."""

    @property
    @abstractmethod
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues of 𝒦, and how often each counts."""

    def logdet(self, b: Array) -> Array:
        values, weights = self.spectrum
        return weights @ np.log1p(values[:, None] * b)

    def trace(self, b: Array) -> Array:
        values, weights = self.spectrum
        return weights @ (values[:, None] / (values[:, None] * b + 1.0))

    def log_pseudo_determinant(self) -> tuple[float, int]:
        values, weights = self.spectrum
        positive = values > 0
        rank = round(float(weights[positive].sum()))
        return float(weights[positive] @ np.log(values[positive])), rank
