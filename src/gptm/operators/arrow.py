"""Features with a wide one-hot block, such as authors, which is eliminated before the rest."""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_matrix, diags, issparse

from gptm._basics.memory import check_bytes
from gptm._basics.types import Array
from gptm.operators.diagonal import Diagonal
from gptm.operators.features import Features, Split
from gptm.operators.weight_systems import Inner

# What the block and the rest have in common; sparse where that is little.
Common: TypeAlias = csr_matrix | Array

_SPARSE = 0.1  # share of entries up to which products of sparse matrices are the quicker ones
_BYTES = 24  # per entry that is not sparse: itself, weighted, and solved for
_ENTRIES = 10**7  # that are written out at a time


class Arrow(NamedTuple):
    """Z_q = [[diag z_q, E_q], [E_q', S_q]], the moments of the features at the nodes of a diagonal."""

    columns: slice  # of the wide block
    others: np.ndarray
    z: Array  # (q, c)
    E: tuple[Common, ...]  # (c, s) for each q
    S: Array  # (q, s, s)

    @classmethod
    def of(cls, base: Diagonal, split: Split) -> "Arrow":
        hot, columns, rest, others = split
        diagonal = rest.one_hot
        S = [np.diag(z) for z in base.squares(rest)] if diagonal else base.moments(rest, rest)
        return cls(columns, others, base.squares(hot), _in_common(base, hot, rest), np.asarray(S))

    def summed(self, weights: Array) -> tuple[Array, Common, Array]:
        """z, E and S of sum_q weights[q] Z_q."""
        E = reduce(add, (w * part for w, part in zip(weights, self.E, strict=True)))
        return weights @ self.z, E, np.tensordot(weights, self.S, axes=1)

    def to_block(self, X: Array, weights: Array) -> Array:
        """(c, m) sum_q (E_q X) weights[q], with a weight for all columns or one for each."""
        return reduce(add, ((E @ X) * w for E, w in zip(self.E, weights, strict=True)))

    def to_rest(self, X: Array, weights: Array) -> Array:
        """(s, m) sum_q (E_q' X) weights[q]."""
        return reduce(add, ((E.T @ X) * w for E, w in zip(self.E, weights, strict=True)))

    def joined(self, block: Array, rest: Array) -> Array:
        """(c + s, m) in the order that the features have."""
        result = np.empty((len(block) + len(rest), block.shape[1]))
        result[self.columns], result[self.others] = block, rest
        return result

    def times(self, q: int, X: Array) -> Array:
        """Z_q X."""
        block, rest = X[self.columns], X[self.others]
        E = self.E[q]
        return self.joined(self.z[q][:, None] * block + E @ rest, E.T @ block + self.S[q] @ rest)

    def to_dense(self) -> Array:
        """(q, r, r), for small problems."""
        eye = np.eye(self.z.shape[1] + self.S.shape[1])
        return np.stack([self.times(q, eye) for q in range(len(self.z))])


def _in_common(base: Diagonal, hot: Features, rest: Features) -> tuple[Common, ...]:
    if rest.sparse:
        block, others = hot.to_sparse(), rest.to_sparse()
        products = [(block[rows].T @ others[rows]).tocsr() for rows in base.members()]
        if max(E.nnz for E in products) <= _SPARSE * hot.width * rest.width:
            return tuple(products)
    check_bytes(
        _BYTES * len(base.nodes) * hot.width * rest.width,
        f"the kernel has a category of {hot.width:,} levels beside {rest.width:,} other features",
    )
    return tuple(base.moments(hot, rest))


class ArrowInner(Inner):
    """What is left for the rest is a system of its size, M = S - E' diag(1/d) E."""

    def __init__(self, g: Array, Z: Arrow, b: Array):
        self.Z = Z
        self.weights = g * b  # (q, K)
        self.d = 1.0 + Z.z.T @ self.weights  # (c, K)
        self.factors = [self._factor(i) for i in range(len(b))]

    def _factor(self, i: int) -> tuple[Array, bool]:
        _, E, S = self.Z.summed(self.weights[:, i])
        explained = _written_out(E.T @ (diags(1.0 / self.d[:, i]) @ E))
        return cho_factor(np.eye(len(S)) + S - explained, lower=True)

    def solve(self, X: Array) -> Array:
        def solve_rest(right: Array) -> Array:
            pairs = zip(self.factors, right.T, strict=True)
            return np.column_stack([cho_solve(factor, column) for factor, column in pairs])

        return self._eliminated(X, self.weights, self.d, solve_rest)

    def solve_one(self, i: int, X: Array) -> Array:
        return self._eliminated(
            X, self.weights[:, i], self.d[:, [i]], lambda right: cho_solve(self.factors[i], right)
        )

    def _eliminated(
        self, X: Array, weights: Array, d: Array, solve_rest: Callable[[Array], Array]
    ) -> Array:
        block = X[self.Z.columns] / d
        rest = solve_rest(X[self.Z.others] - self.Z.to_rest(block, weights))
        return self.Z.joined(block - self.Z.to_block(rest, weights) / d, rest)

    def logdet(self) -> Array:
        rest = [2.0 * np.log(np.diagonal(L)).sum() for L, _ in self.factors]
        return np.log(self.d).sum(0) + np.array(rest)

    def diagonals(self, weights: Array) -> Array:
        return np.column_stack([self._diagonal(i, column) for i, column in enumerate(weights.T)])

    def _diagonal(self, i: int, weights: Array) -> Array:
        d = self.d[:, i]
        _, E, _ = self.Z.summed(self.weights[:, i])
        z, F, S = self.Z.summed(weights)
        inverse = cho_solve(self.factors[i], np.eye(len(S)))
        own, across = _row_products(E, inverse, [E, F])
        block = z / d + z * own / d**2 - across / d
        left = S - _written_out(F.T @ (diags(1.0 / d) @ E))
        return self.Z.joined(block[:, None], (inverse * left).sum(1)[:, None])[:, 0]

    def quadratic(self, rows: Array) -> Array:
        return self.quadratic_of(csr_matrix(rows[:, self.Z.columns]), rows[:, self.Z.others])

    def quadratic_of(self, hot: csr_matrix, rest: Array) -> Array:
        """(n, len(b)) for rows whose part in the wide block is sparse."""
        forms = np.asarray(hot.power(2) @ (1.0 / self.d))
        for i, (L, _) in enumerate(self.factors):
            block = (hot @ diags(1.0 / self.d[:, i])).T
            left = rest.T - _written_out(self.Z.to_rest(block, self.weights[:, i]))
            forms[:, i] += (solve_triangular(L, left, lower=True) ** 2).sum(0)
        return forms


def _row_products(E: Common, inverse: Array, others: list[Common]) -> Array:
    """(len(others), c) the diagonals of E inverse F' for each F of the others, some rows at a time."""
    c, s = E.shape
    pieces = []
    for rows in np.array_split(np.arange(c), 1 + c * s // _ENTRIES):
        turned = E[rows] @ inverse
        products = [F[rows].multiply(turned) if issparse(F) else F[rows] * turned for F in others]
        pieces.append([np.asarray(product.sum(1)).ravel() for product in products])
    return np.concatenate(pieces, axis=1)


def _written_out(X: Any) -> Array:
    return np.asarray(X.toarray() if issparse(X) else X)
