"""The small systems of weight space, one for each strength."""

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotri

from gptm._basics.types import Array


class Inner(ABC):
    """N = I + b sum_q g_q Z_q for every strength."""

    @abstractmethod
    def solve(self, X: Array) -> Array:
        """Column i is N_i^-1 X[:, i]."""

    @abstractmethod
    def solve_one(self, i: int, X: Array) -> Array:
        """N_i^-1 X."""

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
