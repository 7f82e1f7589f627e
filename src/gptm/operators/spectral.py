"""A matrix whose eigenvalues are known: one decomposition, then every strength costs D operations."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh

from gptm._basics.eigenvectors import steady_signs
from gptm._basics.parallel import row_product
from gptm._basics.types import Array
from gptm.operators.operator import BySpectrum, EigenView, View
from gptm.operators.tangent import Tangent


class Spectral(BySpectrum):
    """𝒦 = Q diag(values) Q'; without Q the matrix is diagonal in the documents' own coordinates."""

    def __init__(self, values: Array, vectors: Array | None = None):
        self.values = values
        self.vectors = vectors
        self.n = len(values)

    @classmethod
    def from_dense(cls, Kxx: Array, scale: float = 0.0) -> "Spectral":
        """Decompose a symmetric matrix; eigenvalues that are zero up to rounding become zero.

        `scale` is the size of the numbers that the matrix was computed from, if larger than itself.
        """
        # SciPy 1.13 does not decompose a matrix of no documents.
        values, vectors = eigh(Kxx) if len(Kxx) else (np.empty(0), np.empty((0, 0)))
        cutoff = check_spectrum(values, scale)
        return cls(
            np.where(values > cutoff, values, 0.0),
            np.multiply(vectors, steady_signs(vectors), order="C"),
        )

    def rotate(self, X: Array) -> Array:
        """(D, m) documents' coordinates to those in which 𝒦 is diagonal."""
        return X if self.vectors is None else row_product(self.vectors.T, X)

    def unrotate(self, X: Array) -> Array:
        """(D, m) and back."""
        return X if self.vectors is None else row_product(self.vectors, X)

    def view(self, Y: Array, like: View | None = None) -> "SpectralView":
        return SpectralView(self, Y)

    def matmul(self, X: Array) -> Array:
        return self.unrotate(self.values[:, None] * self.rotate(X))

    def slopes(self, tangents: Sequence[Tangent], b: Array) -> Array:
        g = 1.0 / (self.values[:, None] * b + 1.0)
        return np.array([self._diagonal_of(tangent) @ g for tangent in tangents])

    def _diagonal_of(self, tangent: Tangent) -> Array:
        """(D,) the diagonal of Q' d𝒦 Q."""
        total = np.zeros(self.n)
        if tangent.features is not None:
            along = self.rotate(tangent.features.to_dense())
            moved = 0.5 * along
            if tangent.motion is not None:
                moved = self.rotate(tangent.motion.to_dense())
            total += 2.0 * (along * moved).sum(1)
        if tangent.own is not None:
            total += tangent.own if self.vectors is None else tangent.own @ self.vectors**2
        for network, h in tangent.graphs:
            values, vectors = network.eigen
            if vectors is self.vectors:
                total += h(values)
            else:
                total += self.rotate(vectors) ** 2 @ h(values)
        return total

    def solve(self, b: Array, X: Array) -> Array:
        return self.unrotate(self.rotate(X) / (self.values[:, None] * b + 1.0))

    @property
    def spectrum(self) -> tuple[Array, Array]:
        return self.values, np.ones(self.n)


class SpectralView(EigenView):
    """Data in the eigenbasis of 𝒦."""

    def __init__(self, operator: Spectral, Y: Array):
        self.operator, self.Y = operator, Y
        self.values = operator.values
        self.coordinates = operator.rotate(Y)

    def lift(self, X: Array) -> Array:
        return self.operator.unrotate(X)


class Indefinite(ValueError):
    """A matrix is not a covariance."""


def check_symmetric(values: Array, remedy: str) -> None:
    """Raise an error if a matrix is not symmetric; NaN, for missing values, is ignored."""
    asymmetry = float(np.nanmax(np.abs(values - values.T), initial=0.0))
    if asymmetry > 1e-8 * max(float(np.nanmax(np.abs(values), initial=0.0)), 1e-300):
        raise ValueError(
            f"kernel must be symmetric; entries differ from their mirror by up to {asymmetry:.3g}. {remedy}"
        )


def check_spectrum(values: Array, scale: float = 0.0) -> float:
    """The size below which an eigenvalue is rounding. Raises an error if one is clearly negative."""
    scale = max(scale, float(np.abs(values).max(initial=0.0)))
    smallest = float(values.min(initial=0.0))
    if smallest < -1e-8 * scale:
        raise Indefinite(
            f"kernel must be positive semi-definite; its smallest eigenvalue is {smallest:.3g}, its "
            f"largest {values.max():.3g}. Add {-1.1 * smallest:.2g} or more to its diagonal."
        )
    return len(values) * float(np.finfo(float).eps) * scale
