"""Ways to shuffle a column: all documents, inside of blocks, or whole groups; at random, or all of them."""

import math
from collections.abc import Iterator
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from gptm._basics.errors import Argument, InputError


class Shuffles(NamedTuple):
    """Units that exchange their values: documents, or groups of them whose documents share a value."""

    unit: np.ndarray  # (D,) which unit each document belongs to
    first: np.ndarray  # (units,) a document of each unit
    block: np.ndarray  # (units,) units exchange values inside of a block only

    @classmethod
    def of(cls, n: int, groups: np.ndarray | None, within: np.ndarray | None) -> "Shuffles":
        unit = np.arange(n) if groups is None else groups
        first = np.unique(unit, return_index=True)[1]
        block = np.zeros(n, dtype=np.intp) if within is None else within
        if (block != block[first][unit]).any():
            raise InputError(
                "documents of the same group are in different blocks, so the group as a whole cannot move inside of "
                "one. Leave out ",
                Argument("groups"),
                " or ",
                Argument("within"),
                ".",
            )
        return cls(unit, first, block[first])

    @property
    def total(self) -> int:
        """How many orders there are."""
        return math.prod(math.factorial(int(size)) for size in np.bincount(self.block))

    def drawn(self, n: int, seed: int) -> Iterator[np.ndarray]:
        """(D,) for each of n random orders: the document whose value each document gets."""
        usual = np.argsort(self.block, kind="stable")
        for number in range(n):
            keys = np.random.default_rng([seed, number]).random(len(self.block))
            order = np.empty(len(self.block), dtype=np.intp)
            order[usual] = np.lexsort((keys, self.block))
            yield self._documents(order)

    def all(self) -> Iterator[np.ndarray]:
        """The same for all orders, that of the data itself among them."""
        members = [np.flatnonzero(self.block == block) for block in range(self.block.max() + 1)]
        for chosen in product(*(permutations(own) for own in members)):
            order = np.empty(len(self.block), dtype=np.intp)
            for own, new in zip(members, chosen, strict=True):
                order[own] = new
            yield self._documents(order)

    def as_it_is(self) -> np.ndarray:
        """(D,) the order of the data itself."""
        return self._documents(np.arange(len(self.block)))

    def _documents(self, order: np.ndarray) -> np.ndarray:
        return np.asarray(self.first[order][self.unit])
