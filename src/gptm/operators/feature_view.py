"""Data as seen by features on top of an operator with a functional calculus."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpstrf

from gptm._basics.types import Array
from gptm.operators.calculus import damping
from gptm.operators.features import Features
from gptm.operators.operator import CoordinateView, View
from gptm.operators.sparse import Sparse
from gptm.operators.tangent import Tangent
from gptm.operators.weight_space import WeightSpace


class AlignedView(CoordinateView):
    """Data in orthonormal coordinates along the rotated features, and across them, over a multiple of the identity.

    Forms are sums of squares here, exact however small the residuals are beside the data.
    """

    def __init__(self, operator: WeightSpace, Y: Array):
        self.operator, self.Y = operator, Y
        r, u = operator.features.width, Y.shape[1]
        self.floor = float(operator.base.nodes[0])
        self.values = np.full(r + u, self.floor)
        self.values[:r] += operator.squares
        self.coordinates = np.empty((r + u, u))
        along = self.coordinates[:r]
        along[:] = operator.rotated(operator.features.t_dot(Y)) * operator.inverse_lengths
        # Its square is the part of Y across the features; negative values are rounding.
        self.coordinates[r:] = semidefinite_root(Y.T @ Y - along.T @ along)

    def residuals(self, b: Array, U: Array) -> Array:
        return (self.Y @ U) / (self.floor * b + 1.0) - self.operator.expand(self._along(b, U))

    def fitted(self, b: Array, U: Array, V: Array) -> Array:
        fitted = self.operator.expand(self._along(b, U) @ V)
        if self.floor > 0:
            fitted += self.Y @ ((U * (1.0 - 1.0 / (self.floor * b + 1.0))) @ V)
        return fitted

    def _along(self, b: Array, U: Array) -> Array:
        """(r, K) weights of the features, by which residuals are less along them than they would be across."""
        r = self.operator.features.width
        less = 1.0 / (self.floor * b + 1.0) - 1.0 / self._shifted(b)[:r]
        return less * (self.coordinates[:r] @ U) * self.operator.inverse_lengths


def semidefinite_root(A: Array) -> Array:
    """R with R' R = A, by pivoted Cholesky; pivots that are negative by rounding become zero."""
    factor, pivots, rank, _ = dpstrf(A, lower=False)
    root = dtrmm(1.0, factor, np.eye(len(A))[pivots - 1])  # which reads the upper triangle alone
    root[rank:] = 0.0
    return np.asarray(root)


class AdditiveView(View):
    """Data as seen by features over a base."""

    def __init__(self, operator: WeightSpace, Y: Array):
        self.operator, self.Y = operator, Y
        self.W = operator.base.moments(Y, Y)  # (q, u, u)
        X = operator.base.moments(operator.features, Y)  # (q, r, u)
        self.X = np.stack([operator.rotated(x) for x in X])

    def against(self, column: int, b: Array) -> Array:
        g = damping(self.operator.base, b)
        X = np.tensordot(g.T, self.X, axes=1)  # (K, r, u)
        weights = self.operator.inner(b).solve(X[:, :, column].T * b)
        return g.T @ self.W[:, column] - np.einsum("iru,ri->iu", X, weights)

    def forms(self, b: Array, U: Array) -> tuple[Array, Array]:
        g = damping(self.operator.base, b)
        XU, weights = self._weights(b, U)
        Q, R = np.zeros((2, len(b), len(b)))
        for q in range(len(g)):
            explained = XU[q].T @ weights
            direct = U.T @ self.W[q] @ U
            among = weights.T @ self.operator.moments_times(q, weights)
            Q += (direct - explained) * g[q]
            R += (direct - explained - explained.T + among) * np.outer(g[q], g[q])
        return Q, R

    def residuals(self, b: Array, U: Array) -> Array:
        _, weights = self._weights(b, U)
        return self.operator.base.solve(b, self.Y @ U - self.operator.expand(weights))

    def _weights(self, b: Array, U: Array) -> tuple[Array, Array]:
        """(q, r, K) moments of features and directions, and (r, K) the posterior mean of the weights."""
        XU = self.X @ U
        g = damping(self.operator.base, b)
        return XU, self.operator.inner(b).solve(np.einsum("qri,qi->ri", XU, g) * b)


class GraphView(AdditiveView):
    """Data as seen by features over a graph; its moments of polynomials can be reused for other parameters."""

    def __init__(self, operator: WeightSpace, graph: Sparse, Y: Array, like: View | None):
        self.operator, self.graph, self.Y = operator, graph, Y
        self.raw = self._taken_over(like) or self._looked_at()
        scales = np.concatenate([np.full(p.width, p.scale) for p in operator.features.blocks])
        self.W = graph.at_nodes(self.raw[0])
        self.X = graph.at_nodes(self.raw[1]) * scales[:, None]

    def _taken_over(self, like: View | None) -> tuple[Array, Array] | None:
        """The other view's moments of polynomials, if they are those of the same data and features."""
        if not isinstance(like, GraphView) or like.Y is not self.Y:
            return None
        ours, theirs = self.operator.features.blocks, like.operator.features.blocks
        same = len(ours) == len(theirs) and all(
            p.alike(q) for p, q in zip(ours, theirs, strict=True)
        )
        enough = len(like.raw[0]) >= self.graph.degree
        return like.raw if same and enough and like.graph.network is self.graph.network else None

    def _looked_at(self) -> tuple[Array, Array]:
        blocks = [block._replace(scale=1.0) for block in self.operator.features.blocks]
        features = Features(blocks)
        own, along = [], []
        for V in self.graph.network.chebyshev(self.Y, self.graph.degree):
            M = self.Y.T @ V
            own.append(0.5 * (M + M.T))
            along.append(features.t_dot(V))
        return np.stack(own), np.stack(along)

    def slopes(self, tangents: Sequence[Tangent], b: Array, U: Array) -> Array:
        """From the moments at hand, unless features change their shape."""
        if any(tangent.motion is not None for tangent in tangents):
            return super().slopes(tangents, b, U)
        g = damping(self.graph, b)
        XU = self.X @ U
        along = self.operator.inner(b).solve(np.einsum("qri,qi->ri", XU, g))  # Phi' a
        weights = along * b
        left = np.einsum("ui,quv,vi->qi", U, self.W, U, optimize=True)
        left -= 2.0 * np.einsum("qri,ri->qi", XU, weights)
        images = (self.operator.moments_times(q, weights) for q in range(len(g)))
        left += np.stack([(weights * image).sum(0) for image in images])
        slopes = []
        for tangent in tangents:
            slope = self.graph.motion(tangent, self.graph.points) @ (left * g**2)
            slopes.append(slope + (along[tangent.columns] ** 2).sum(0))
        return np.array(slopes)
