"""Features of documents (D, r), stored compactly as tables that documents point into."""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity

from gptm._basics.parallel import inner_product, thin_product
from gptm._basics.types import Array


class Block(NamedTuple):
    """Some columns of features: `scale * pointers @ table`, where one of the two may be absent for the identity.

    Documents of one date share a row of a small table; a category is its pointer alone, an embedding its table.
    The scale is kept apart, so that results about the table stay valid when it changes.
    """

    pointers: csr_matrix | None  # (n, m)
    table: Array | None  # (m, width)
    scale: float = 1.0

    @property
    def n(self) -> int:
        return int(self.pointers.shape[0] if self.pointers is not None else len(self._table))

    @property
    def width(self) -> int:
        if self.table is not None:
            return int(self.table.shape[1])
        return int(self._pointers.shape[1])

    @property
    def _table(self) -> Array:
        assert self.table is not None
        return self.table

    @property
    def _pointers(self) -> csr_matrix:
        assert self.pointers is not None
        return self.pointers

    def dot(self, Z: Array) -> Array:
        Z = Z if self.scale == 1.0 else self.scale * Z
        inner = Z if self.table is None else thin_product(self.table, Z)
        return inner if self.pointers is None else self.pointers @ inner

    def t_dot(self, X: Array) -> Array:
        inner = X if self.pointers is None else self.pointers.T @ X
        result = inner if self.table is None else inner_product(inner, self.table).T
        return result if self.scale == 1.0 else self.scale * result

    def columns(self, start: int, stop: int) -> Array:
        """(n, at most stop - start) those of the columns from start to stop that it has, written out."""
        stop = max(start, min(stop, self.width))
        if self.table is None:
            chosen = self._pointers[:, start:stop].toarray()
        else:
            chosen = self.table[:, start:stop]
            chosen = chosen if self.pointers is None else self.pointers @ chosen
        return np.asarray(self.scale * chosen)

    def scaled(self, factor: float) -> "Block":
        return self._replace(scale=factor * self.scale)

    def take(self, rows: np.ndarray) -> "Block":
        if self.pointers is None:
            return self._replace(table=self._table[rows])
        return self._replace(pointers=self.pointers[rows])

    @property
    def one_hot(self) -> bool:
        """Whether it is pointers alone, one at most for each document."""
        if self.table is not None:
            return False
        return int(np.diff(self._pointers.indptr).max(initial=0)) <= 1

    def alike(self, other: "Block") -> bool:
        """Whether the other differs by its scale at most."""
        return self.pointers is other.pointers and self.table is other.table


class Split(NamedTuple):
    """Features as those of which a document has one at most, such as its author, and the rest."""

    hot: "Features"
    columns: slice  # of `hot` among all features
    rest: "Features"
    others: np.ndarray  # columns of `rest`


class Features:
    """Phi (D, r), blocks of columns side by side."""

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = tuple(blocks)
        self.n = self.blocks[0].n
        self.width = sum(block.width for block in self.blocks)
        ends = np.cumsum([0, *(block.width for block in self.blocks)])
        self._slices = [slice(a, b) for a, b in pairwise(ends)]

    def dot(self, Z: Array) -> Array:
        """Phi Z."""
        parts = zip(self.blocks, self._slices, strict=True)
        return reduce(np.add, (block.dot(Z[columns]) for block, columns in parts))

    def t_dot(self, X: Array) -> Array:
        """Phi' X."""
        return np.concatenate([block.t_dot(X) for block in self.blocks])

    def scaled(self, factor: float) -> "Features":
        return Features([block.scaled(factor) for block in self.blocks])

    def take(self, rows: np.ndarray) -> "Features":
        """The features of some documents."""
        return Features([block.take(rows) for block in self.blocks])

    def columns(self, start: int, stop: int) -> Array:
        """(D, stop - start) some columns, written out."""
        parts = zip(self.blocks, self._slices, strict=True)
        return np.concatenate(
            [block.columns(max(start - own.start, 0), stop - own.start) for block, own in parts],
            axis=1,
        )

    def to_dense(self) -> Array:
        return self.columns(0, self.width)

    def sparse_columns(self, columns: slice) -> csr_matrix:
        """(D, columns) some columns as a sparse matrix, without writing them out where they are a block's pointers."""
        for block, own in zip(self.blocks, self._slices, strict=True):
            if own == columns and block.table is None:
                return block.scale * block._pointers
        return csr_matrix(self.columns(columns.start, columns.stop))

    @property
    def one_hot(self) -> bool:
        """Whether each document has at most one feature, so that Phi' Phi is diagonal."""
        return len(self.blocks) == 1 and self.blocks[0].one_hot

    def split(self, least: int) -> Split | None:
        """The widest block of features that exclude each other, and the rest.

        None where there is no such block of `least` features, or nothing else.
        """
        one_hot = [i for i, block in enumerate(self.blocks) if block.one_hot]
        at = max(one_hot, key=lambda i: self.blocks[i].width, default=None)
        if at is None or len(self.blocks) == 1 or self.blocks[at].width < least:
            return None
        columns = self._slices[at]
        rest = Features([*self.blocks[:at], *self.blocks[at + 1 :]])
        others = np.r_[: columns.start, columns.stop : self.width]
        return Split(Features([self.blocks[at]]), columns, rest, others)

    @property
    def sparse(self) -> bool:
        """Whether all features are pointers alone."""
        return all(block.table is None for block in self.blocks)

    def to_sparse(self) -> csr_matrix:
        """(D, r) Phi, where all features are pointers alone."""
        return hstack([block.scale * block._pointers for block in self.blocks], format="csr")

    def squares(self) -> Array:
        """(r,) the diagonal of Phi' Phi."""
        return np.concatenate([_block_squares(block) for block in self.blocks])

    def gram(self) -> Array:
        """(r, r) Phi' Phi, without writing Phi out."""
        return self.gram_with(self)

    def gram_with(self, other: "Features") -> Array:
        """(r, other's r) Phi' Phi of the other."""
        return np.block([[_block_gram(p, q) for q in other.blocks] for p in self.blocks])

    def row_squares(self) -> Array:
        """(D,) the diagonal of Phi Phi'."""
        total = np.zeros(self.n)
        for block in self.blocks:
            if block.table is None:
                squares = np.asarray(block._pointers.power(2).sum(1)).ravel()
            elif block.pointers is None:
                squares = (block.table**2).sum(1)
            elif np.diff(block.pointers.indptr).max(initial=0) <= 1:
                squares = block.pointers.power(2) @ (block.table**2).sum(1)
            else:
                squares = ((block.pointers @ block.table) ** 2).sum(1)
            total += block.scale**2 * squares
        return total


def stack(parts: Sequence[Features]) -> Features | None:
    """Features side by side; None where there are none."""
    blocks = [block for part in parts for block in part.blocks]
    return Features(blocks) if blocks else None


def pointing(codes: np.ndarray, width: int, value: float = 1.0) -> csr_matrix:
    """(n, width) with `value` in column codes[d] of row d; a negative code leaves the row empty."""
    there = codes >= 0
    indptr = np.concatenate([[0], np.cumsum(there)])
    data = np.full(int(there.sum()), float(value))
    return csr_matrix((data, codes[there], indptr), shape=(len(codes), width))


def _block_gram(p: Block, q: Block) -> Array:
    return p.scale * q.scale * _unscaled_gram(p, q)


def _unscaled_gram(p: Block, q: Block) -> Array:
    if p.pointers is None and q.pointers is None:
        return np.asarray(p._table.T @ q._table)
    left = identity(p.n, format="csr") if p.pointers is None else p.pointers
    right = identity(q.n, format="csr") if q.pointers is None else q.pointers
    together = left.T @ right
    if p.table is None and q.table is None:
        return np.asarray(together.toarray())
    if q.table is None:
        return np.asarray((together.T @ p._table).T)
    inner = together @ q.table
    return np.asarray(inner if p.table is None else p.table.T @ inner)


def _block_squares(block: Block) -> Array:
    if block.table is None:
        return block.scale**2 * np.asarray(block._pointers.power(2).sum(0)).ravel()
    if block.pointers is None:
        return block.scale**2 * np.asarray((block.table**2).sum(0))
    return np.asarray(np.diagonal(_block_gram(block, block)))
