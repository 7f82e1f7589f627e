"""Predictions of new documents from the weights of features, where the training documents are not at hand."""

import numpy as np
from scipy.linalg import eigh

from gptm._basics.types import Array
from gptm.operators.placement import Placement
from gptm.operators.spectral import Spectral
from gptm.operators.training_operator import Cross

_ENTRIES = 10**7  # of features that are written out at a time


class FeatureCross(Cross):
    """Predictions by Phi_* W, for a kernel Phi Phi' + own variances.

    Parameters
    ----------
    new : the new documents
    weights : (r, K) posterior mean of the weights of features
    gram : (r, r) Phi' Phi of the training documents
    """

    def __init__(self, new: Placement, weights: Array, gram: Array):
        self.new, self.weights, self.gram = new, weights, gram

    def mean(self, alpha: Array, F: Array) -> Array:
        if self.new.features is None:
            return np.zeros((self.new.n, self.weights.shape[1]))
        return np.asarray(self.new.features.dot(self.weights))

    def variance(self, b: Array) -> Array:
        variance = np.outer(self.new.own_diagonal, b)
        features = self.new.features
        if features is None:
            return variance
        values, vectors = eigh(self.gram)
        shrunk = b / (np.maximum(values, 0.0)[:, None] * b + 1.0)
        for rows in np.array_split(
            np.arange(self.new.n), 1 + self.new.n * features.width // _ENTRIES
        ):
            variance[rows] += (features.take(rows).to_dense() @ vectors) ** 2 @ shrunk
        return variance

    def conditional(self) -> Spectral:
        raise NotImplementedError("documents are predicted one by one here")
