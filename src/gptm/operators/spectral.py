"""A matrix whose eigenvalues are known: one decomposition, then every strength costs D operations."""

import numpy as np
from scipy.linalg import eigh

from gptm._types import Array
from gptm.operators.base import Cross, Operator


class Spectral(Operator):
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
        values, vectors = eigh(Kxx)
        scale = max(scale, float(np.abs(values).max(initial=0.0)))
        if values.min(initial=0.0) < -1e-8 * scale:
            raise ValueError(
                f"kernel must be positive semi-definite; its smallest eigenvalue is {values[0]:.3g}, its largest "
                f"{values[-1]:.3g}. Add {-1.1 * values[0]:.2g} or more to its diagonal."
            )
        cutoff = len(values) * np.finfo(float).eps * scale
        return cls(np.where(values > cutoff, values, 0.0), np.ascontiguousarray(vectors))

    @classmethod
    def constant_diagonal(cls, n: int, value: float) -> "Spectral":
        """`value` times the identity; with 0 the operator of a model without a GP term."""
        return cls(np.full(n, float(value)))

    def rotate(self, X: Array) -> Array:
        return X if self.vectors is None else self.vectors.T @ X

    def unrotate(self, X: Array) -> Array:
        return X if self.vectors is None else self.vectors @ X

    def matmul(self, X: Array) -> Array:
        return self.values[:, None] * X

    def solve(self, b: Array, X: Array) -> Array:
        return X / self._shifted(b)

    def logdet(self, b: Array) -> Array:
        return np.log(self._shifted(b)).sum(0)

    def trace(self, b: Array) -> Array:
        return (self.values[:, None] / self._shifted(b)).sum(0)

    def diagonal(self, b: Array) -> Array:
        spectrum = self.values[:, None] / self._shifted(b)
        return spectrum if self.vectors is None else self.vectors**2 @ spectrum

    def log_pseudo_determinant(self) -> tuple[float, int]:
        positive = self.values[self.values > 0]
        return float(np.log(positive).sum()), len(positive)

    def _shifted(self, b: Array) -> Array:
        return self.values[:, None] * b + 1.0


class SpectralCross(Cross):
    """New documents against a `Spectral` training operator.

    Parameters
    ----------
    training : the operator 𝒦_ff.
    Ktx : (n, D) covariances with the training documents, or None where there are none.
    Ktt : (n, n) covariances among the new documents, or (n,) where those are independent.
    """

    def __init__(self, training: Spectral, Ktx: Array | None, Ktt: Array):
        self.training = training
        self.Ktx = Ktx
        self.Ktt = Ktt
        self._rotated = None if Ktx is None else training.rotate(Ktx.T).T

    def mean(self, alpha: Array) -> Array:
        if self.Ktx is None:
            return np.zeros((len(self.Ktt), alpha.shape[1]))
        return self.Ktx @ alpha

    def variance(self, b: Array) -> Array:
        own = self.Ktt if self.Ktt.ndim == 1 else np.diagonal(self.Ktt)
        prior = own[:, None] * b
        if self._rotated is None:
            return prior
        known = self._rotated**2 @ (b**2 / (self.training.values[:, None] * b + 1.0))
        return np.maximum(prior - known, 0.0)  # rounding only: the difference is never negative

    def conditional(self) -> Spectral:
        Ktt = np.diag(self.Ktt) if self.Ktt.ndim == 1 else self.Ktt
        scale = float(np.trace(Ktt))
        if self._rotated is None:
            return Spectral.from_dense(Ktt, scale)
        values = self.training.values
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
        Kbar = Ktt - (self._rotated * inverse) @ self._rotated.T
        return Spectral.from_dense(0.5 * (Kbar + Kbar.T), scale)
