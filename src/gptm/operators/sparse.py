"""Kernels that are functions of a sparse matrix: graphs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.operators.calculus import Base, MomentView, damping
from gptm.operators.cross import CarriedCross
from gptm.operators.features import Features
from gptm.operators.graph_polynomials import (
    MAX_DEGREE,
    TOL,
    Network,
    chebyshev_points,
    chebyshev_transform,
)
from gptm.operators.lanczos import SEED
from gptm.operators.operator import BySpectrum, View
from gptm.operators.placement import Placement
from gptm.operators.tangent import Tangent
from gptm.operators.training_operator import Cross

_STRENGTHS = np.array([0.1, 1.0, 10.0])
_COLUMNS = 32  # of features that are written out at a time
_KEPT = 2**29  # bytes of polynomials that a view keeps
_SKETCH = 128  # columns of the sketch behind variances
_SKETCH_BYTES = 2**28  # that it may take at a time
_SKETCH_TOL = 1e-3  # of its polynomials, beside a random error of ten per cent


@dataclass(frozen=True)
class Affine:
    """A function of eigenvalues, scaled and shifted; unlike a lambda it can be pickled."""

    function: Callable[[Array], Array]
    scale: float
    shift: float

    def __call__(self, x: Array) -> Array:
        return self.scale * self.function(x) + self.shift


class Sparse(BySpectrum, Base):
    """𝒦 = f(S) for a sparse S: S itself (eq. 21), or the inverse of a power of it (a sparse precision).

    (b 𝒦 + I)^-1 X is a Chebyshev polynomial in S, of a degree that the strength and f decide; a product with S serves
    all topics at once, whatever their strengths. Quadratic forms need half the products, since T_2n follows from
    T_n. Traces and log-determinants come from one Lanczos quadrature of S, for all strengths and all f.

    Parameters
    ----------
    network : S.
    function : eigenvalues of S to those of 𝒦, positive on the network's interval.
    floor : the part of the diagonal of 𝒦 that documents share with no other.
    """

    def __init__(self, network: Network, function: Callable[[Array], Array], floor: float = 0.0):
        self.network = network
        self.function = function
        self.floor = floor
        self.n = network.n
        self.degree = _degree(network, function)
        self.points = chebyshev_points(network, self.degree)
        self.nodes = function(self.points)

    def scaled(self, factor: float) -> "Sparse":
        """A multiple of the same matrix."""
        return Sparse(self.network, Affine(self.function, factor, 0.0), factor * self.floor)

    def plus(self, floor: float) -> "Sparse":
        """The same matrix with more on its diagonal."""
        return Sparse(self.network, Affine(self.function, 1.0, floor), self.floor + floor)

    @cached_property
    def dense(self) -> Array:
        """𝒦 as an array, by one decomposition."""
        values, vectors = self.network.eigen
        dense = (vectors * self.function(values)) @ vectors.T
        return np.asarray(0.5 * (dense + dense.T))

    def view(self, Y: Array, like: View | None = None) -> "SparseView":
        return SparseView(self, Y, like)

    def moments(self, X: Array | Features, Y: Array | Features) -> Array:
        if isinstance(Y, Features):
            starts = range(0, Y.width, _COLUMNS)
            parts = [self.moments(X, Y.columns(a, min(a + _COLUMNS, Y.width))) for a in starts]
            return np.concatenate(parts, axis=2)
        if X is Y:
            return self.own_moments(self.network.chebyshev(Y, self.degree // 2 + 1))
        left = X.t_dot if isinstance(X, Features) else lambda V: X.T @ V
        return self.at_nodes(np.stack([left(V) for V in self.network.chebyshev(Y, self.degree)]))

    def own_moments(self, terms: Iterable[Array]) -> Array:
        """Moments of Y with itself from T_n Y for n up to half the degree: T_m T_n is (T_m+n + T_|m-n|) / 2."""
        moments: list[Array] = []
        before = None
        for V in terms:
            if before is None:
                moments.append(V.T @ V)
            else:
                if len(moments) == 1:
                    moments.append(before.T @ V)
                else:
                    moments.append(2.0 * before.T @ V - moments[1])
                moments.append(2.0 * V.T @ V - moments[0])
            before = V
        return self.at_nodes(np.stack([0.5 * (M + M.T) for M in moments[: self.degree]]))

    def at_nodes(self, moments: Array) -> Array:
        """From moments of polynomials, of which there may be more than needed, to weights at the Chebyshev points."""
        return np.tensordot(chebyshev_transform(self.degree), moments[: self.degree], axes=(0, 0))

    def apply(
        self,
        f: Callable[[Array], Array],
        X: Array,
        directions: Array | None = None,
        first_terms: Sequence[Array] = (),
    ) -> Array:
        """Column i of the result is f_i(𝒦) X U[:, i]; f maps (q, 1) eigenvalues of 𝒦 to (q, columns).

        The directions U are the identity by default. `first_terms` holds the first T_n X.
        """
        coefficients = self._coefficients(f)
        result: Array | None = None
        for weights, V in zip(
            coefficients, self.network.chebyshev(X, len(coefficients), first_terms), strict=True
        ):
            term = weights * V if directions is None else V @ (directions * weights)
            result = term if result is None else np.add(result, term, out=result)
        assert result is not None
        return result

    def _coefficients(self, f: Callable[[Array], Array], tol: float = TOL) -> Array:
        """(n, columns) of f(𝒦) in Chebyshev polynomials of S, as many as it takes."""
        return self.network.coefficients(lambda x: f(self.function(x)[:, None]), self.degree, tol)

    def solve(self, b: Array, X: Array) -> Array:
        return self.apply(lambda v: 1.0 / (v * b + 1.0), X)

    def matmul(self, X: Array) -> Array:
        return self.apply(lambda v: np.repeat(v, X.shape[1], axis=1), X)

    @property
    def spectrum(self) -> tuple[Array, Array]:
        points, weights = self.network.spectrum
        return self.function(points), weights

    def slopes(self, tangents: Sequence[Tangent], b: Array) -> Array:
        points, weights = self.network.spectrum
        g = weights[:, None] / (self.function(points)[:, None] * b + 1.0)
        return np.array([self.motion(tangent, points) @ g for tangent in tangents])

    def motion(self, tangent: Tangent, points: Array) -> Array:
        """The function of S that is the tangent's part of the graph, at some points."""
        total = np.full(len(points), 0.0 if tangent.own is None else float(tangent.own.mean()))
        for _, h in tangent.graphs:
            total += h(points)
        return total

    def cross(self, new: Placement) -> Cross:
        return CarriedCross(self, new)

    def carried(self, new: Placement, alpha: Array, F: Array) -> Array:
        return np.asarray(new.weights[0] @ (F - self.floor * alpha))

    def limit(self, new: Placement) -> tuple[Array, Array]:
        """The graph's part of F is F itself, minus the part that comes from the floor."""
        weights = new.weights[0].toarray()
        if self.floor == 0:
            return weights, new.own_matrix
        share = self.apply(lambda v: np.repeat(1.0 - self.floor / v, new.n, axis=1), weights.T).T
        left = self.floor * (share @ weights.T)
        return share, new.own_matrix + 0.5 * (left + left.T)

    def carried_variance(self, new: Placement, b: Array) -> Array:
        """Variance of the graph's part, observed with unit noise and the floor, plus the document's own."""
        noise = self.floor * b + 1.0
        carried = self._sketched(
            lambda v: np.sqrt(np.maximum(v - self.floor, 0.0) * noise / (v * b + 1.0)),
            len(b),
            new.weights[0],
        )
        return b * carried + new.own_diagonal[:, None] * b

    def _sketched(self, root_of: Callable[[Array], Array], m: int, weights: csr_matrix) -> Array:
        """(n, m) diagonals of W f_i(𝒦) W', from random projections of the roots of the m functions f_i."""
        n = weights.shape[0]
        total = np.zeros((n, m))
        rng = np.random.default_rng(SEED)
        coefficients = self._coefficients(root_of, _SKETCH_TOL)
        width = int(np.clip(_SKETCH_BYTES // (8 * n * m + 1), 1, _COLUMNS))
        for _ in range(_SKETCH // _COLUMNS):
            probes = rng.choice([-1.0, 1.0], size=(self.n, _COLUMNS))
            for start in range(0, _COLUMNS, width):
                some = probes[:, start : start + width]
                root = np.zeros((m, n, some.shape[1]))
                terms = self.network.chebyshev(some, len(coefficients))
                for row, V in zip(coefficients, terms, strict=True):
                    root += row[:, None, None] * (weights @ V)
                total += (root**2).sum(2).T
        return total / _SKETCH


class SparseView(MomentView):
    """Data as seen by a graph; the polynomials of the first half serve the residuals too, if memory allows."""

    def __init__(self, graph: Sparse, Y: Array, like: View | None = None):
        self.base = self.graph = graph
        self.Y = Y
        n_terms = graph.degree // 2 + 1
        first_terms = polynomials_of(like, Y, graph.network)
        terms: Iterable[Array] = graph.network.chebyshev(Y, n_terms, first_terms[:n_terms])
        self.first_terms: list[Array] = []
        if n_terms * Y.nbytes <= _KEPT:
            terms = self.first_terms = list(terms)
        self.W = graph.own_moments(terms)

    def residuals(self, b: Array, U: Array) -> Array:
        return self.graph.apply(lambda v: 1.0 / (v * b + 1.0), self.Y, U, self.first_terms)

    def slopes(self, tangents: Sequence[Tangent], b: Array, U: Array) -> Array:
        """From the moments at hand, without another product."""
        g = damping(self.graph, b)
        squares = np.einsum("ui,quv,vi->qi", U, self.W, U, optimize=True) * g**2
        return np.array([self.graph.motion(t, self.graph.points) @ squares for t in tangents])


def polynomials_of(like: View | None, Y: Array, network: Network) -> list[Array]:
    """T_n Y as far as a view of the same data, over the same network, has them."""
    if isinstance(like, SparseView) and like.Y is Y and like.graph.network is network:
        return like.first_terms
    return []


def _degree(network: Network, function: Callable[[Array], Array]) -> int:
    """Number of terms of (b 𝒦 + I)^-1 to tolerance TOL, with 𝒦 scaled to a mean eigenvalue of one."""
    points, weights = network.spectrum
    b = _STRENGTHS * weights.sum() / (weights @ function(points))
    tried = 64
    while True:
        values = function(chebyshev_points(network, tried))
        coefficients = np.abs(chebyshev_transform(tried) @ (1.0 / (values[:, None] * b + 1.0)))
        needed = int(np.flatnonzero((coefficients > TOL * coefficients.max(0)).any(1))[-1]) + 2
        if needed < tried or tried >= MAX_DEGREE:
            return int(np.clip(needed, 4, MAX_DEGREE))
        tried = min(2 * tried, MAX_DEGREE)
