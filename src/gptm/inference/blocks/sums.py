"""What a sweep adds up over blocks of documents: all that topics, means and covariances need to know of them.

Sums run over a fixed tree, so that the result has the same bits however blocks are spread over machines.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from gptm._basics.types import Array

FAN = 8  # parts that a node of the tree adds up
Summand = TypeVar("Summand")


class BlockSums(NamedTuple):
    """Sums over documents. U are contrasts of their logits, Y is U without what documents have for themselves."""

    n: float  # documents
    tally: Array  # (V, K padded) tokens of words in topics
    shares: Array  # (K,) proportions before the sweep
    fit: float  # log-probability of the words under these
    Y: Array  # (p,)
    YY: Array  # (p, p) Y' Y
    PhiY: Array  # (r, p) Phi' Y
    own: Array  # (p, p) squares of what documents have for themselves, whitened
    n_own: float  # documents that have any

    def plus(self, other: "BlockSums") -> "BlockSums":
        """Both together."""
        return BlockSums(*(a + b for a, b in _pairs(self, other)))


class FeatureSums(NamedTuple):
    """Sums over documents that stay the same while the kernel does."""

    n: float
    tokens: float
    Phi: Array  # (r,) sums of the features
    gram: Array  # (r, r) Phi' Phi

    def plus(self, other: "FeatureSums") -> "FeatureSums":
        """Both together."""
        return FeatureSums(*(a + b for a, b in _pairs(self, other)))


def tree_sum(parts: Iterable[Summand], add: Callable[[Summand, Summand], Summand]) -> Summand:
    """The sum of all parts: of `FAN` neighbours, then of `FAN` such sums, and so on.

    Parts arrive one after the other, and of each level one partial sum is in memory.

    >>> tree_sum(map(str, range(11)), lambda a, b: f"({a}{b})")
    '((((((((01)2)3)4)5)6)7)((89)10))'
    """
    levels: list[tuple[Summand, int]] = []  # of each level the sum so far, and of how many

    def put(level: int, part: Summand) -> None:
        if level == len(levels):
            levels.append((part, 1))
            return
        total, count = levels[level]
        levels[level] = (part, 1) if count == 0 else (add(total, part), count + 1)

    for part in parts:
        level = 0
        put(0, part)
        while levels[level][1] == FAN:
            done = levels[level][0]
            levels[level] = (done, 0)
            level += 1
            put(level, done)
    carried: Summand | None = None
    for total, count in levels:
        if count:
            carried = total if carried is None else add(total, carried)
    assert carried is not None
    return carried


def _pairs(one: tuple[Any, ...], other: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    return list(zip(one, other, strict=True))
