"""The overall mean and the weights of the kernel's features, drawn together from sums over documents.

In coordinates in which S is the identity and B is diag(b), there is one regression on [1, Phi] in each direction, with
a flat prior of the mean and variance b_i of each weight. The features are rotated once, so that Phi' Phi is diagonal:
then the weights are independent of each other given the mean.
"""

from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from gptm._basics.eigenvectors import steady_signs
from gptm._basics.types import Array
from gptm.inference.blocks.sums import BlockSums, FeatureSums
from gptm.inference.mean_solve import Basis

_LEAST = 1e-300  # of a variance of weights, instead of zero


class Regression:
    """Phi' Phi of all documents, decomposed."""

    def __init__(self, sums: FeatureSums):
        self.sums = sums

    @property
    def r(self) -> int:
        """Number of features."""
        return len(self.sums.Phi)

    @cached_property
    def _decomposed(self) -> tuple[Array, Array]:
        values, vectors = eigh(self.sums.gram) if self.r else (np.zeros(0), np.zeros((0, 0)))
        return np.maximum(values, 0.0), vectors * steady_signs(vectors)

    def draw(
        self, sums: BlockSums, basis: Basis, fit_mean: bool, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """mu (p,) and weights (r, p), given the documents' logits."""
        g, Q = self._decomposed
        p, r = len(basis.b), self.r
        precision = g[:, None] + 1.0 / np.maximum(basis.b, _LEAST)  # (r, p)
        PhiY, ones = Q.T @ (sums.PhiY @ basis.T), Q.T @ self.sums.Phi
        mu = np.zeros(p)
        if fit_mean:
            A = self.sums.n - (ones**2) @ (1.0 / precision)
            linear = sums.Y @ basis.T - ones @ (PhiY / precision)
            mu = linear / A + rng.standard_normal(p) / np.sqrt(A)
        mean = (PhiY - np.outer(ones, mu)) / precision
        weights = mean + rng.standard_normal((r, p)) / np.sqrt(precision)
        return mu @ basis.T_inv, Q @ weights @ basis.T_inv

    def squares(self, sums: BlockSums, mu: Array, weights: Array) -> Array:
        """(p, p) squares of Y - mu - Phi W over all documents."""
        cross = np.outer(sums.Y, mu) + sums.PhiY.T @ weights
        of_ones = np.outer(self.sums.Phi @ weights, mu)
        fitted = self.sums.n * np.outer(mu, mu) + of_ones + of_ones.T
        total = sums.YY - cross - cross.T + fitted + weights.T @ self.sums.gram @ weights
        return np.asarray(0.5 * (total + total.T))

    def variance(self, features: Array, b: Array) -> Array:
        """(n, len(b)) b x' (b Phi' Phi + I)^-1 x for rows x of features."""
        g, Q = self._decomposed
        return np.asarray((features @ Q) ** 2 @ (b / (g[:, None] * b + 1.0)))
