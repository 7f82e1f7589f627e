"""New documents against training documents whose kernel has a known spectrum."""

import numpy as np

from gptm._types import Array
from gptm.operators.base import Cross
from gptm.operators.lowrank import LowRank
from gptm.operators.spectral import Spectral


class SpectralCross(Cross):
    """What 𝒦 = Q diag(values) Q' over the training documents says of new ones.

    Parameters
    ----------
    training : the operator 𝒦_ff.
    Ktu : (n, m) covariances with the training documents, or with one of each of their groups; None
        where all are zero.
    Ktt : (n, n) covariances among the new documents, or (n,) where those are independent.
    """

    def __init__(self, training: Spectral | LowRank, Ktu: Array | None, Ktt: Array):
        self.training = training
        self.Ktu = Ktu
        self.Ktt = Ktt
        self._projected = None if Ktu is None else training.project(Ktu)  # 𝒦_*f Q

    def mean(self, alpha: Array) -> Array:
        if self.Ktu is None:
            return np.zeros((len(self.Ktt), alpha.shape[1]))
        return self.Ktu @ self.training.collect(alpha)

    def variance(self, b: Array) -> Array:
        own = self.Ktt if self.Ktt.ndim == 1 else np.diagonal(self.Ktt)
        prior = own[:, None] * b
        if self._projected is None:
            return prior
        known = self._projected**2 @ (b**2 / (self.training.values[:, None] * b + 1.0))
        return np.maximum(prior - known, 0.0)  # rounding only: the difference is never negative

    def conditional(self) -> Spectral:
        if self._projected is None and self.Ktt.ndim == 1:
            return Spectral(self.Ktt)
        Ktt = np.diag(self.Ktt) if self.Ktt.ndim == 1 else self.Ktt
        scale = float(np.trace(Ktt))
        if self._projected is None:
            return Spectral.from_dense(Ktt, scale)
        values = self.training.values
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
        Kbar = Ktt - (self._projected * inverse) @ self._projected.T
        return Spectral.from_dense(0.5 * (Kbar + Kbar.T), scale)
