"""The small systems of weight space, one for each strength."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.sparse import csr_matrix

from gptm._types import Array


class Inner(ABC):
    """N = I + b sum_q g_q Z_q for every strength."""

    @abstractmethod
    def solve(self, X: Array) -> Array:
        """Column i is N_i^-1 X[:, i]."""

    @abstractmethod
    def solve_one(self, i: int, X: Array) -> Array:
        """N_i^-1 X."""

    @abstractmethod
    def root(self, i: int, X: Array) -> Array:
        """X turned by a root of N_i^-1: standard normal columns become draws with that covariance."""

    @abstractmethod
    def logdet(self) -> Array:
        """log |N_i|."""

    @abstractmethod
    def diagonals(self, weights: Array) -> Array:
        """(r, len(b)) the diagonals of N_i^-1 sum_q weights[q, i] Z_q."""

    @abstractmethod
    def quadratic(self, rows: Array) -> Array:
        """(n, len(b)) x' N_i^-1 x for every row x."""

    def partial_trace(self, weights: Array, M: Array, columns: slice) -> Array:
        """The trace of N_i^-1 sum_q weights[q, i] M_q over some columns, which are all that M has."""
        sums = (np.tensordot(row, M, axes=1) for row in weights.T)
        return np.array([np.trace(self.solve_one(i, S)[columns]) for i, S in enumerate(sums)])


class DiagonalInner(Inner):
    def __init__(self, g: Array, Z: Array, b: Array):
        self.Z = Z  # (q, r)
        self.N = 1.0 + (Z.T @ g) * b  # (r, K)

    def solve(self, X: Array) -> Array:
        return X / self.N

    def solve_one(self, i: int, X: Array) -> Array:
        return X / self.N[:, [i]]

    def root(self, i: int, X: Array) -> Array:
        return X / np.sqrt(self.N[:, [i]])

    def logdet(self) -> Array:
        return np.log(self.N).sum(0)

    def diagonals(self, weights: Array) -> Array:
        return (self.Z.T @ weights) / self.N

    def quadratic(self, rows: Array) -> Array:
        return rows**2 @ (1.0 / self.N)


class DenseInner(Inner):
    def __init__(self, g: Array, Z: Array, b: Array):
        self.Z = Z  # (q, r, r)
        eye = np.eye(Z.shape[1])
        sums = (np.tensordot(g[:, i], Z, axes=1) for i in range(len(b)))
        self.factors = [cho_factor(eye + b[i] * N, lower=True) for i, N in enumerate(sums)]

    def solve(self, X: Array) -> Array:
        columns = [cho_solve(factor, X[:, i]) for i, factor in enumerate(self.factors)]
        return np.column_stack(columns)

    def solve_one(self, i: int, X: Array) -> Array:
        return np.asarray(cho_solve(self.factors[i], X))

    def root(self, i: int, X: Array) -> Array:
        return np.asarray(solve_triangular(self.factors[i][0], X, lower=True, trans="T"))

    def logdet(self) -> Array:
        return np.array([2.0 * np.log(np.diagonal(L)).sum() for L, _ in self.factors])

    def diagonals(self, weights: Array) -> Array:
        columns = []
        for i, (L, _) in enumerate(self.factors):
            half = np.tril(dpotri(L, lower=True)[0])  # of the inverse, in a third of a solve's time
            S = np.tensordot(weights[:, i], self.Z, axes=1)
            below = half * S
            columns.append(below.sum(1) + below.sum(0) - np.diagonal(below))
        return np.column_stack(columns)

    def quadratic(self, rows: Array) -> Array:
        halves = (solve_triangular(L, rows.T, lower=True) for L, _ in self.factors)
        return np.column_stack([(half**2).sum(0) for half in halves])


class Arrow(NamedTuple):
    """Z_q = [[diag z_q, E_q], [E_q', S_q]] of features with a wide block of which a document has one at most."""

    columns: slice  # of that block
    others: np.ndarray
    z: Array  # (q, c)
    E: Array  # (q, c, s)
    S: Array  # (q, s, s)

    def to_dense(self) -> Array:
        """(q, r, r), for small problems."""
        q, c, s = self.E.shape
        Z = np.zeros((q, c + s, c + s))
        hot = np.r_[self.columns]
        Z[:, hot, hot] = self.z
        Z[:, hot[:, None], self.others] = self.E
        Z[:, self.others[:, None], hot] = self.E.transpose(0, 2, 1)
        Z[:, self.others[:, None], self.others] = self.S
        return Z


class ArrowInner(Inner):
    """The wide block eliminated: what is left is a system of the size of the rest, M = S - E' diag(1/d) E."""

    def __init__(self, g: Array, Z: Arrow, b: Array):
        self.Z = Z
        self.weights = g * b  # (q, K)
        self.d = 1.0 + self.weights.T @ Z.z  # (K, c)
        eye = np.eye(Z.S.shape[1])
        self.factors = []
        for i, weights in enumerate(self.weights.T):
            E = self._E(i)
            S = eye + np.tensordot(weights, Z.S, axes=1)
            self.factors.append(cho_factor(S - (E / self.d[i][:, None]).T @ E, lower=True))

    def _E(self, i: int) -> Array:
        return np.tensordot(self.weights[:, i], self.Z.E, axes=1)

    def solve(self, X: Array) -> Array:
        return np.column_stack([self.solve_one(i, X[:, i]) for i in range(X.shape[1])])

    def solve_one(self, i: int, X: Array) -> Array:
        E, d = self._E(i), self.d[i]
        inside = (X[self.Z.columns].T / d).T
        result = np.empty_like(X)
        result[self.Z.others] = cho_solve(self.factors[i], X[self.Z.others] - E.T @ inside)
        result[self.Z.columns] = inside - ((E @ result[self.Z.others]).T / d).T
        return result

    def root(self, i: int, X: Array) -> Array:
        result, d = np.empty_like(X), self.d[i][:, None]
        rest = solve_triangular(self.factors[i][0], X[self.Z.others], lower=True, trans="T")
        result[self.Z.others] = rest
        result[self.Z.columns] = X[self.Z.columns] / np.sqrt(d) - (self._E(i) @ rest) / d
        return result

    def logdet(self) -> Array:
        rest = [2.0 * np.log(np.diagonal(L)).sum() for L, _ in self.factors]
        return np.log(self.d).sum(1) + np.array(rest)

    def diagonals(self, weights: Array) -> Array:
        result = np.empty((self.d.shape[1] + self.Z.S.shape[1], len(self.factors)))
        for i, factor in enumerate(self.factors):
            E, d = self._E(i), self.d[i]
            z, F, S = (np.tensordot(weights[:, i], part, axes=1) for part in self.Z[2:])
            T = cho_solve(factor, E.T).T
            across = (T * F).sum(1) / d
            result[self.Z.columns, i] = z / d + z * (T * E).sum(1) / d**2 - across
            own = np.diagonal(cho_solve(factor, S))
            result[self.Z.others, i] = own - ((T / d[:, None]) * F).sum(0)
        return result

    def quadratic(self, rows: Array) -> Array:
        return self.quadratic_of(csr_matrix(rows[:, self.Z.columns]), rows[:, self.Z.others])

    def quadratic_of(self, hot: csr_matrix, rest: Array) -> Array:
        """(n, len(b)) for rows whose part in the wide block is sparse."""
        found = np.asarray(hot.power(2) @ (1.0 / self.d.T))
        for i, (L, _) in enumerate(self.factors):
            left = rest - hot @ (self._E(i) / self.d[i][:, None])
            found[:, i] += (solve_triangular(L, left.T, lower=True) ** 2).sum(0)
        return found


def inner_systems(g: Array, Z: Array | Arrow, b: Array) -> Inner:
    """N for the moments of the features: (q, r) their diagonals, (q, r, r), or an arrow."""
    if isinstance(Z, Arrow):
        return ArrowInner(g, Z, b)
    return DiagonalInner(g, Z, b) if Z.ndim == 2 else DenseInner(g, Z, b)
