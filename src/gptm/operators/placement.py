"""The position of new documents relative to the training documents."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.operators.features import Features, stack


class Placement(NamedTuple):
    """Position of n new documents: f_* = Phi_* w + sum_g W_g f_g + e, with e ~ N(0, own)."""

    n: int
    features: Features | None
    own: Array  # (n,), or (n, n) where the new documents are predicted together
    weights: tuple[csr_matrix, ...] = ()  # (n, D) for each graph

    def scaled(self, factor: float) -> "Placement":
        """The same documents under a multiple of the kernel."""
        features = None if self.features is None else self.features.scaled(float(np.sqrt(factor)))
        return Placement(self.n, features, factor * self.own, self.weights)

    def take(self, rows: np.ndarray) -> "Placement":
        """Some of the documents, each alone."""
        return Placement(
            len(rows),
            None if self.features is None else self.features.take(rows),
            self.own_diagonal[rows],
            tuple(weights[rows] for weights in self.weights),
        )

    @property
    def own_diagonal(self) -> Array:
        """(n,) own variances; negative values from rounding become zero."""
        return np.maximum(self.own if self.own.ndim == 1 else np.diagonal(self.own), 0.0)

    @property
    def own_matrix(self) -> Array:
        return np.diag(self.own) if self.own.ndim == 1 else self.own


def sum_placements(parts: list[Placement]) -> Placement:
    """The position of new documents under a sum of kernels."""
    joint = any(part.own.ndim == 2 for part in parts)
    return Placement(
        parts[0].n,
        stack([part.features for part in parts if part.features is not None]),
        np.sum([part.own_matrix if joint else part.own for part in parts], axis=0),
        tuple(weights for part in parts for weights in part.weights),
    )
