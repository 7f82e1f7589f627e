"""Operators with a functional calculus, on top of which features can be added."""

from abc import abstractmethod

import numpy as np

from gptm._basics.types import Array
from gptm.operators.features import Features
from gptm.operators.operator import View
from gptm.operators.placement import Placement
from gptm.operators.training_operator import TrainingOperator


class Base(TrainingOperator):
    """An operator with a functional calculus: X' g(𝒦) Y is a sum over few nodes, for every function g.

    X' g(𝒦) Y = sum_q g(nodes[q]) moments(X, Y)[q], so that one pass over the data serves all strengths. Features are
    added on top of it by `Additive`.
    """

    nodes: Array  # (q,)

    @abstractmethod
    def moments(self, X: Array | Features, Y: Array | Features) -> Array:
        """(q, x, y) for arrays or features X and Y of D rows."""

    @abstractmethod
    def carried(self, new: Placement, alpha: Array, F: Array) -> Array:
        """(n, K) what new documents inherit from training documents that they are linked to; F is 𝒦 alpha."""

    @abstractmethod
    def carried_variance(self, new: Placement, b: Array) -> Array:
        """(n, len(b)) the variance of what new documents inherit, plus their own."""

    @abstractmethod
    def limit(self, new: Placement) -> tuple[Array | None, Array]:
        """Given F exactly: (n, D) weights of F in new documents, None for none; (n, n) their remaining covariance."""

    def view(self, Y: Array, like: View | None = None) -> View:
        return MomentView(self, Y)


class MomentView(View):
    """Data as seen by an operator with a functional calculus."""

    def __init__(self, base: Base, Y: Array):
        self.base, self.Y = base, Y
        self.W = base.moments(Y, Y)

    def against(self, column: int, b: Array) -> Array:
        return damping(self.base, b).T @ self.W[:, column]

    def forms(self, b: Array, U: Array) -> tuple[Array, Array]:
        g = damping(self.base, b)
        W = U.T @ self.W @ U  # (q, K, K)
        return np.einsum("qij,qj->ij", W, g), np.einsum("qij,qi,qj->ij", W, g, g)

    def residuals(self, b: Array, U: Array) -> Array:
        return self.base.solve(b, self.Y @ U)


def damping(base: Base, b: Array) -> Array:
    """(q, len(b)) values of (b 𝒦 + I)^-1 at the nodes."""
    return 1.0 / (base.nodes[:, None] * b + 1.0)
