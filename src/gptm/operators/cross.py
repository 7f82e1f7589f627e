"""Predictions of new documents, for decomposed operators and for bases."""

from functools import cached_property

import numpy as np

from gptm._basics.types import Array
from gptm.operators.calculus import Base
from gptm.operators.placement import Placement
from gptm.operators.spectral import Spectral
from gptm.operators.training_operator import Cross


class SpectralCross(Cross):
    """Predictions from 𝒦 = Q diag(values) Q' over the training documents.

    Parameters
    ----------
    training : the operator 𝒦_ff.
    Ktx : (n, D) covariances with the training documents.
    Ktt : (n, n) covariances among the new documents, or (n,) their variances if each is predicted alone.
    """

    def __init__(self, training: Spectral, Ktx: Array, Ktt: Array):
        self.training = training
        self.Ktx = Ktx
        self.Ktt = Ktt

    @cached_property
    def _rotated(self) -> Array:
        """(n, D) 𝒦_*f Q."""
        return self.training.rotate(self.Ktx.T).T

    def mean(self, alpha: Array, F: Array) -> Array:
        return self.Ktx @ alpha

    def variance(self, b: Array) -> Array:
        explained = self._rotated**2 @ (b**2 / (self.training.values[:, None] * b + 1.0))
        variance = self.Ktt if self.Ktt.ndim == 1 else np.diagonal(self.Ktt)
        # Rounding only: the difference is never negative.
        return np.maximum(variance[:, None] * b - explained, 0.0)

    def conditional(self) -> Spectral:
        values = self.training.values
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
        Kbar = self.Ktt - (self._rotated * inverse) @ self._rotated.T
        return Spectral.from_dense(0.5 * (Kbar + Kbar.T), float(np.trace(self.Ktt)))


class CarriedCross(Cross):
    """Predictions of new documents that inherit from linked training documents, plus their own part."""

    def __init__(self, base: Base, new: Placement):
        self.base, self.new = base, new

    def mean(self, alpha: Array, F: Array) -> Array:
        return self.base.carried(self.new, alpha, F)

    def variance(self, b: Array) -> Array:
        return self.base.carried_variance(self.new, b)

    def conditional(self) -> Spectral:
        if self.new.own.ndim == 1 and not self.new.weights:
            return Spectral(self.new.own)
        return Spectral.from_dense(self.base.limit(self.new)[1])
