"""Functions of a sparse symmetric matrix, by Chebyshev polynomials and Lanczos quadrature."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix

from gptm._basics.parallel import by_rows
from gptm._basics.types import Array
from gptm.operators.lanczos import gauss_rules

TOL = 3e-5  # relative error of (b 𝒦 + I)^-1 for strengths between 0.1 and 10
EXACT = 2000  # documents up to which a graph is decomposed
MAX_DEGREE = 512


class Network:
    """A sparse symmetric matrix with its spectrum in [low, high], and cached results about it.

    Up to `exact` rows all eigenvalues are computed, beyond that their distribution is estimated.
    """

    def __init__(self, matrix: csr_matrix, low: float, high: float, exact: int = EXACT):
        self.matrix = matrix
        self.low, self.high = low, high
        self.exact = exact
        self.n = matrix.shape[0]

    def chebyshev(
        self, X: Array, n_terms: int, first_terms: Sequence[Array] = ()
    ) -> Iterator[Array]:
        """T_0 X, T_1 X, ... of the matrix mapped to [-1, 1], going on from `first_terms`."""
        terms = list(first_terms) or [np.array(X, dtype=np.float64)]
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
            coefficients = chebyshev_transform(degree) @ f(chebyshev_points(self, degree))
            tail = np.abs(coefficients[-2:]).max() / max(np.abs(coefficients).max(), 1e-300)
            if tail < tol or degree >= MAX_DEGREE:
                keep = np.abs(coefficients).max(1) > 0.5 * tol * np.abs(coefficients).max()
                return coefficients[: max(1, int(np.flatnonzero(keep)[-1]) + 1)]
            degree = min(2 * degree, MAX_DEGREE)

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
        # The shift makes the largest eigenvalues lead, which dominate the smooth form.
        nodes, weights = gauss_rules(lambda X: inside @ X, n_linked, shift=-self.low)
        nodes = np.append(np.clip(nodes, self.low, self.high), 0.0)
        return nodes, np.append(weights, float(self.n - n_linked))

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """All eigenvalues and vectors, for small graphs."""
        values, vectors = eigh(self.matrix.toarray())
        return values, np.ascontiguousarray(vectors)


def chebyshev_points(network: Network, degree: int) -> Array:
    unit = np.cos(np.pi * (np.arange(degree) + 0.5) / degree)
    return 0.5 * (network.high + network.low) + 0.5 * (network.high - network.low) * unit


def chebyshev_transform(degree: int) -> Array:
    """(degree, degree): values at the Chebyshev points to coefficients."""
    n, q = np.arange(degree)[:, None], np.arange(degree) + 0.5
    result = 2.0 / degree * np.cos(np.pi * n * q / degree)
    result[0] /= 2.0
    return np.asarray(result)
