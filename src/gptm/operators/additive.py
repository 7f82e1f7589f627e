"""Features on top of an operator with a functional calculus: 𝒦 = base + Phi Phi'."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.operators.calculus import damping
from gptm.operators.diagonal import Diagonal
from gptm.operators.feature_view import AdditiveView, AlignedView, GraphView
from gptm.operators.features import Block, Features
from gptm.operators.operator import BySpectrum, View
from gptm.operators.placement import Placement
from gptm.operators.sparse import Sparse
from gptm.operators.spectral import Spectral
from gptm.operators.tangent import Tangent
from gptm.operators.training_operator import Cross, TrainingOperator
from gptm.operators.weight_space import WeightSpace, inner_systems, written_out
from gptm.operators.weight_systems import DiagonalInner


class Additive(WeightSpace, BySpectrum, TrainingOperator):
    """𝒦 = base + Phi Phi', by Woodbury's identity: weight space for Phi, the base's calculus for the rest."""

    _last_parts: tuple[Array, Array, Array, Array] | None = None

    def view(self, Y: Array, like: View | None = None) -> View:
        if isinstance(self.base, Sparse):
            return GraphView(self, self.base, Y, like)
        return AlignedView(self, Y) if self.aligned else AdditiveView(self, Y)

    def matmul(self, X: Array) -> Array:
        return self.base.matmul(X) + self.features.dot(self.features.t_dot(X))

    def parts_of(self, alpha: Array, F: Array) -> tuple[Array, Array]:
        """F = 𝒦 alpha in two parts: (r, K) weights of the features, and (D, K) what the base has, if it is a graph.

        Kept for the next call with the same arrays: who predicts one document at a time would wait for all documents
        of the training each time.
        """
        last = self._last_parts  # read once, since another thread may replace it
        if last is None or last[0] is not alpha or last[1] is not F:
            weights = self.features.t_dot(alpha)
            rest = F - self.features.dot(weights) if isinstance(self.base, Sparse) else F
            self._last_parts = last = (alpha, F, weights, rest)
        return last[2:]

    def solve(self, b: Array, X: Array) -> Array:
        """By Woodbury's identity; columns of one strength share their N."""
        inside = self.base.solve(b, X)
        weights = self.rotated(self.features.t_dot(inside))
        strengths, which = np.unique(b, return_inverse=True)
        inner = self.inner(strengths)
        for i in range(len(strengths)):
            weights[:, which == i] = strengths[i] * inner.solve_one(i, weights[:, which == i])
        return inside - self.base.solve(b, self.expand(weights))

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Of aligned features: along each of them, and across."""
        z, floor = self.squares, self.base.nodes[0]
        return np.append(z + floor, floor), np.append(np.ones(len(z)), self.n - len(z))

    def logdet(self, b: Array) -> Array:
        if self.aligned:
            return super().logdet(b)
        return self.base.logdet(b) + self.inner(b).logdet()

    def trace(self, b: Array) -> Array:
        if self.aligned:
            return super().trace(b)
        return self.base.trace(b) + self.inner(b).diagonals(damping(self.base, b) ** 2).sum(0)

    def log_pseudo_determinant(self) -> tuple[float, int]:
        nodes = self.base.nodes
        if nodes.min() > 0:
            log_base, rank = self.base.log_pseudo_determinant()
            inner = inner_systems(1.0 / nodes[:, None], self._Z, np.ones(1))
            return log_base + float(inner.logdet()[0]), rank
        bottom = written_out(self._Z)[int(np.argmin(nodes))]
        values = bottom if bottom.ndim == 1 else np.linalg.eigvalsh(bottom)
        kept = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
        rank = self.base.log_pseudo_determinant()[1] + int(kept.sum())
        if len(nodes) == 1:
            return float(np.log(values[kept]).sum()), rank
        # This b makes the identity negligible beside every non-zero eigenvalue.
        b = 1e13 / max(float(values.max(initial=0.0)), float(nodes.max()))
        return float(self.logdet(np.array([b]))[0] - rank * np.log(b)), rank

    def slopes(self, tangents: Sequence[Tangent], b: Array) -> Array:
        slopes = _Slopes(self, b)
        return np.array([slopes.below(tangent) + slopes.along(tangent) for tangent in tangents])

    def cross(self, new: Placement) -> Cross:
        features = new.features
        absent = self.features.width - (0 if features is None else features.width)
        if absent:  # features that single training documents have for themselves
            nothing = Block(csr_matrix((new.n, absent)), None)
            new = new._replace(features=Features([*(features.blocks if features else ()), nothing]))
        return AdditiveCross(self, new)


class _Slopes:
    """tr (b 𝒦 + I)^-1 d𝒦 for several motions, with common parts computed once."""

    def __init__(self, operator: Additive, b: Array):
        self.operator, self.base, self.b = operator, operator.base, b
        self.inner, self.g = operator.inner(b), damping(operator.base, b)

    @cached_property
    def variances(self) -> Array:
        """(D, len(b)) phi' N^-1 phi for the features phi of every document."""
        return self.operator.quadratic(self.operator.features, self.b)

    @cached_property
    def grown(self) -> Array:
        """(r, len(b)) what each feature has in tr N^-1 Phi' W Phi, with W = (b base + I)^-1."""
        R, diagonals = self.operator._rotation, self.inner.diagonals(self.g)
        return diagonals if R is None else R**2 @ diagonals

    def below(self, tangent: Tangent) -> Array:
        """What moves below the features: tr W h - b tr N^-1 Phi' W h W Phi."""
        direct = self.base.slopes([tangent], self.b)[0]
        if isinstance(self.base, Sparse):
            h = self.base.motion(tangent, self.base.points)
            return direct - self.b * self.inner.diagonals(h[:, None] * self.g**2).sum(0)
        if tangent.own is None:
            return direct
        assert isinstance(self.base, Diagonal)
        g = 1.0 / (self.base.values[:, None] * self.b + 1.0)
        return direct - self.b * (tangent.own[:, None] * g**2 * self.variances).sum(0)

    def along(self, tangent: Tangent) -> Array:
        """2 tr N^-1 Phi' W dPhi, in the columns that move."""
        if tangent.features is None:
            return np.zeros(len(self.b))
        columns, R = tangent.columns, self.operator._rotation
        if tangent.motion is None:  # they grow as a whole
            return self.grown[columns].sum(0)
        M = self.base.moments(self.operator.features, tangent.motion)
        if R is None:
            return 2.0 * self.inner.partial_trace(self.g, M, columns)
        assert isinstance(self.inner, DiagonalInner)
        turned = np.stack([((R.T @ m) * R[columns].T).sum(1) for m in M])
        return 2.0 * ((turned.T @ self.g) / self.inner.N).sum(0)


class AdditiveCross(Cross):
    """Predictions by the features of new documents, plus those of the base.

    Over a graph, the two parts of the variance are treated as independent given the data, because features that
    many documents have in common have hardly any posterior variance.
    """

    def __init__(self, operator: Additive, new: Placement):
        self.operator, self.new = operator, new
        assert new.features is not None
        self.features = new.features

    def mean(self, alpha: Array, F: Array) -> Array:
        weights, rest = self.operator.parts_of(alpha, F)
        return self.features.dot(weights) + self.operator.base.carried(self.new, alpha, rest)

    def variance(self, b: Array) -> Array:
        open_part = self.operator.quadratic(self.features, b) * b
        return open_part + self.operator.base.carried_variance(self.new, b)

    def conditional(self) -> Spectral:
        limit = self.operator.limit()
        follows, own = self.operator.base.limit(self.new)
        rows = self.operator.rotated(self.features.to_dense().T).T
        if follows is not None:
            rows = rows - self.operator.rotated(self.operator.features.t_dot(follows.T)).T
        open_part = (rows * limit if limit.ndim == 1 else rows @ limit) @ rows.T
        scale = float((rows**2).sum() + np.trace(own))
        return Spectral.from_dense(0.5 * (open_part + open_part.T) + own, scale)
