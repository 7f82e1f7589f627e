"""Functions of a sparse matrix: graphs, by Chebyshev polynomials and Lanczos quadrature."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix

from gptm._basics.parallel import by_rows
from gptm._basics.types import Array
from gptm.operators.cross import CarriedCross
from gptm.operators.features import Features
from gptm.operators.lanczos import SEED, gauss_rules
from gptm.operators.operator import Base, BySpectrum, Cross, MomentView, View, damping
from gptm.operators.structure import Placement
from gptm.operators.tangent import Tangent

TOL = 3e-5  # relative error of (b 𝒦 + I)^-1 for strengths between 0.1 and 10
EXACT = 2000  # documents up to which a graph is decomposed
_STRENGTHS = np.array([0.1, 1.0, 10.0])
_MAX_DEGREE = 512
_COLUMNS = 32  # of features that are written out at a time
_KEPT = 2**29  # bytes of polynomials that a view keeps
_SKETCH = 128  # columns of the sketch behind variances
_SKETCH_BYTES = 2**28  # that it may take at a time
_SKETCH_TOL = 1e-3  # of its polynomials, beside a random error of ten per cent


class Network:
    """A sparse symmetric matrix with its spectrum in [low, high], and what is computed of it once.

    Up to `exact` rows all eigenvalues are computed, beyond that their distribution is estimated.
    """

    def __init__(self, matrix: csr_matrix, low: float, high: float, exact: int = EXACT):
        self.matrix = matrix
        self.low, self.high = low, high
        self.exact = exact
        self.n = matrix.shape[0]

    def chebyshev(self, X: Array, n_terms: int, known: Sequence[Array] = ()) -> Iterator[Array]:
        """T_0 X, T_1 X, ... of the matrix mapped to [-1, 1], going on from those that are known."""
        terms = list(known) or [np.array(X, dtype=np.float64)]
        yield from terms[:n_terms]
        before, now = terms[-2] if len(terms) > 1 else None, terms[-1]
        for _ in range(n_terms - len(terms)):
            before, now = now, self.step(now, before)
            yield now

    def apply(self, h: Callable[[Array], Array], X: Array) -> Array:
        """h(S) X for a function of eigenvalues."""
        if self.n <= self.exact:
            values, vectors = self.eigen
            return np.asarray(vectors @ (h(values)[:, None] * (vectors.T @ X)))
        coefficients = self.coefficients(lambda x: h(x)[:, None], 64)[:, 0]
        terms = self.chebyshev(X, len(coefficients))
        return np.asarray(sum(c * V for c, V in zip(coefficients, terms, strict=True)))

    def coefficients(
        self, f: Callable[[Array], Array], degree: int, tol: float | None = None
    ) -> Array:
        """(n, columns) of functions f in Chebyshev polynomials, as many as it takes; f maps (q,) to (q, columns)."""
        tol = TOL if tol is None else tol
        while True:
            coefficients = _transform(degree) @ f(_chebyshev_points(self, degree))
            tail = np.abs(coefficients[-2:]).max() / max(np.abs(coefficients).max(), 1e-300)
            if tail < tol or degree >= _MAX_DEGREE:
                keep = np.abs(coefficients).max(1) > 0.5 * tol * np.abs(coefficients).max()
                return coefficients[: max(1, int(np.flatnonzero(keep)[-1]) + 1)]
            degree = min(2 * degree, _MAX_DEGREE)

    def step(self, now: Array, before: Array | None) -> Array:
        """T_n+1 X from T_n X and T_n-1 X; T_1 X from T_0 X where there is nothing before."""
        middle, half = 0.5 * (self.high + self.low), 0.5 * (self.high - self.low)
        factor = (1.0 if before is None else 2.0) / half
        result = np.empty(now.shape)

        def run(rows: slice) -> None:
            part = self._rows(rows) @ now
            if middle != 0.0:
                part -= middle * now[rows]
            part *= factor
            if before is not None:
                part -= before[rows]
            result[rows] = part

        by_rows(run, self.n)
        return result

    def _rows(self, rows: slice) -> csr_matrix:
        """Some rows of the matrix, without a copy of them."""
        if rows.start == 0 and rows.stop == self.n:
            return self.matrix
        indptr = self.matrix.indptr[rows.start : rows.stop + 1]
        inside = slice(indptr[0], indptr[-1])
        parts = self.matrix.data[inside], self.matrix.indices[inside], indptr - indptr[0]
        return csr_matrix(parts, shape=(rows.stop - rows.start, self.n))

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Nodes and weights with tr f(matrix) = sum weights f(nodes): eigenvalues, or Lanczos quadrature.

        Rows without any entry are exact.
        """
        if self.n <= self.exact:
            return np.clip(self.eigen[0], self.low, self.high), np.ones(self.n)
        linked = np.diff(self.matrix.indptr) > 0
        n_linked = int(linked.sum())
        if n_linked == 0:
            return np.zeros(1), np.array([float(self.n)])
        inside = self.matrix[linked][:, linked].tocsr()
        # Leading are the largest eigenvalues, which the smooth form makes much of; not the smallest.
        nodes, weights = gauss_rules(lambda X: inside @ X, n_linked, shift=-self.low)
        nodes = np.append(np.clip(nodes, self.low, self.high), 0.0)
        return nodes, np.append(weights, float(self.n - n_linked))

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """All eigenvalues and vectors, for small graphs."""
        values, vectors = eigh(self.matrix.toarray())
        return values, np.ascontiguousarray(vectors)


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
    floor : what of 𝒦 is each document's own, and no matter to others.
    """

    def __init__(self, network: Network, function: Callable[[Array], Array], floor: float = 0.0):
        self.network = network
        self.function = function
        self.floor = floor
        self.n = network.n
        self.degree = _degree(network, function)
        self.points = _chebyshev_points(network, self.degree)
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
        found = (vectors * self.function(values)) @ vectors.T
        return np.asarray(0.5 * (found + found.T))

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
        found: list[Array] = []
        before = None
        for V in terms:
            if before is None:
                found.append(V.T @ V)
            else:
                if len(found) == 1:
                    found.append(before.T @ V)
                else:
                    found.append(2.0 * before.T @ V - found[1])
                found.append(2.0 * V.T @ V - found[0])
            before = V
        return self.at_nodes(np.stack([0.5 * (M + M.T) for M in found[: self.degree]]))

    def at_nodes(self, moments: Array) -> Array:
        """From moments of polynomials, of which there may be more than needed, to weights at the Chebyshev points."""
        return np.tensordot(_transform(self.degree), moments[: self.degree], axes=(0, 0))

    def apply(
        self,
        f: Callable[[Array], Array],
        X: Array,
        directions: Array | None = None,
        known: Sequence[Array] = (),
    ) -> Array:
        """Column i of the result is f_i(𝒦) X U[:, i]; f maps (q, 1) eigenvalues of 𝒦 to (q, columns).

        The directions U are the identity by default. `known` holds the first T_n X.
        """
        coefficients = self._coefficients(f)
        result: Array | None = None
        for weights, V in zip(
            coefficients, self.network.chebyshev(X, len(coefficients), known), strict=True
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

    def diagonal(self, b: Array) -> Array:
        """Rows of a random sketch of the root: never negative, relative error about 12 %."""
        return self._sketched(lambda v: np.sqrt(v / (v * b + 1.0)), len(b), None)

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
        """The graph's part of F is F itself, but for what the floor may have of it."""
        weights = new.weights[0].toarray()
        if self.floor == 0:
            return weights, new.own_matrix
        share = self.apply(lambda v: np.repeat(1.0 - self.floor / v, new.n, axis=1), weights.T).T
        left = self.floor * (share @ weights.T)
        return share, new.own_matrix + 0.5 * (left + left.T)

    def carried_variance(self, new: Placement, b: Array) -> Array:
        """The graph's part of F is known up to unit noise and what the floor adds to it; the document's own."""
        noise = self.floor * b + 1.0
        carried = self._sketched(
            lambda v: np.sqrt(np.maximum(v - self.floor, 0.0) * noise / (v * b + 1.0)),
            len(b),
            new.weights[0],
        )
        return b * carried + new.own_diagonal[:, None] * b

    def _sketched(
        self, root_of: Callable[[Array], Array], m: int, weights: csr_matrix | None
    ) -> Array:
        """(n, m) diagonals of W f_i(𝒦) W', from random projections of the roots of the m functions f_i."""
        n = self.n if weights is None else weights.shape[0]
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
                    root += row[:, None, None] * (V if weights is None else weights @ V)
                total += (root**2).sum(2).T
        return total / _SKETCH


class SparseView(MomentView):
    """Data as seen by a graph; the polynomials of the first half serve the residuals too, if memory allows."""

    def __init__(self, graph: Sparse, Y: Array, like: View | None = None):
        self.base = self.graph = graph
        self.Y = Y
        n_terms = graph.degree // 2 + 1
        known = polynomials_of(like, Y, graph.network)
        terms: Iterable[Array] = graph.network.chebyshev(Y, n_terms, known[:n_terms])
        self.known: list[Array] = []
        if n_terms * Y.nbytes <= _KEPT:
            terms = self.known = list(terms)
        self.W = graph.own_moments(terms)

    def residuals(self, b: Array, U: Array) -> Array:
        return self.graph.apply(lambda v: 1.0 / (v * b + 1.0), self.Y, U, self.known)

    def slopes(self, tangents: Sequence[Tangent], b: Array, U: Array) -> Array:
        """By the moments that are there, without another product."""
        g = damping(self.graph, b)
        squares = np.einsum("ui,quv,vi->qi", U, self.W, U, optimize=True) * g**2
        return np.array([self.graph.motion(t, self.graph.points) @ squares for t in tangents])


def polynomials_of(like: View | None, Y: Array, network: Network) -> list[Array]:
    """T_n Y as far as a view of the same data, over the same network, has them."""
    if isinstance(like, SparseView) and like.Y is Y and like.graph.network is network:
        return like.known
    return []


def _chebyshev_points(network: Network, degree: int) -> Array:
    unit = np.cos(np.pi * (np.arange(degree) + 0.5) / degree)
    return 0.5 * (network.high + network.low) + 0.5 * (network.high - network.low) * unit


def _transform(degree: int) -> Array:
    """(degree, degree): values at the Chebyshev points to coefficients."""
    n, q = np.arange(degree)[:, None], np.arange(degree) + 0.5
    result = 2.0 / degree * np.cos(np.pi * n * q / degree)
    result[0] /= 2.0
    return np.asarray(result)


def _degree(network: Network, function: Callable[[Array], Array]) -> int:
    """Terms that (b 𝒦 + I)^-1 takes to TOL, with 𝒦 scaled to a mean eigenvalue of one."""
    points, weights = network.spectrum
    b = _STRENGTHS * weights.sum() / (weights @ function(points))
    tried = 64
    while True:
        values = function(_chebyshev_points(network, tried))
        coefficients = np.abs(_transform(tried) @ (1.0 / (values[:, None] * b + 1.0)))
        needed = int(np.flatnonzero((coefficients > TOL * coefficients.max(0)).any(1))[-1]) + 2
        if needed < tried or tried >= _MAX_DEGREE:
            return int(np.clip(needed, 4, _MAX_DEGREE))
        tried = min(2 * tried, _MAX_DEGREE)
