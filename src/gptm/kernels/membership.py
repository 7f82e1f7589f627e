"""Documents that belong to several groups at once: all authors of a paper, all tags of a post."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.corpus.several_values import MARKS, values_in
from gptm.kernels.bound import Documents, packed, unpacked
from gptm.kernels.kernel import Kernel
from gptm.kernels.levels import LevelBound
from gptm.operators import Block, Features, Placement, Structure


class Members(NamedTuple):
    """Levels of documents: f_d = weights_d u + e_d, where u has a variance of one for each level."""

    weights: csr_matrix  # (n, levels) one over the number of a document's levels
    own: Array  # (n,) variance of e: of levels that were not seen in training, or of all of it

    @property
    def alone(self) -> np.ndarray:
        """(n,) whether a document has no level that was seen in training."""
        return np.diff(self.weights.indptr) == 0


class MembershipBound(LevelBound):
    """The mean of the effects of a document's levels.

    A document with m levels has a variance of 1 / m: means vary less than single effects. `Terms` scales the term by
    one number, so that its mean variance over the training documents is one, as that of all terms. A document whose
    cell is missing has the mean variance of the others, and so does not change that number.
    """

    def __init__(self, kernel: Any, levels: list[str], weights: csr_matrix, mark: str | None):
        self.kernel: Any = kernel
        self.levels = levels
        self.mark = mark
        self.n = weights.shape[0]
        there = np.diff(weights.indptr)[np.diff(weights.indptr) > 0]
        self.mean_variance = float((1.0 / there).mean()) if len(there) else 1.0
        self.members = Members(weights, np.where(np.diff(weights.indptr), 0.0, self.mean_variance))

    @classmethod
    def of(
        cls, kernel: Kernel, levels: list[str], lists: list[list[str]], mark: str | None
    ) -> "MembershipBound":
        """Bind to training documents by the levels that each of them has."""
        weights, _ = _weights(lists, levels)
        bound = cls(kernel, levels, weights, mark)
        bound._warn_useless()
        return bound

    def _warn_useless(self) -> None:
        there = ~self.members.alone
        n_in = np.diff(self.members.weights.tocsc().indptr)
        where = f"levels in {self.kernel.column!r}"
        if there.all() and self.n > 1 and (n_in == self.n).all():
            says = f"every document has the same {where}"
        elif there.sum() > 1 and n_in.max(initial=0) == 1:
            says = f"no two documents share any of the {where}"
        else:
            return
        warn(
            f"{self.kernel!r}: {says}, so it says nothing about them. Leave it out, or check what it reads."
        )

    @cached_property
    def structure(self) -> Structure:
        return Structure(self.n, *_parts(self.members))

    @property
    def training(self) -> Members:
        return self.members

    def levels_in(self, frame: pd.DataFrame) -> list[list[str]]:
        seen = set(self.levels)
        return [self._values(cell, seen) for cell in self.kernel.cells(frame)]

    def _values(self, cell: Any, seen: set[str]) -> list[str]:
        """The values of a cell of new documents; a text that is a level is that level, whatever marks it holds."""
        if isinstance(cell, str) and cell.strip() in seen:
            return [cell.strip()]
        mark = self.mark
        if mark is None and isinstance(cell, str):
            mark = next((one for one in MARKS if one in cell), None)
        return values_in(cell, mark)

    def read(self, new: Documents) -> Members:
        if new.frame is None:
            nowhere = csr_matrix((new.n, len(self.levels)))
            return Members(nowhere, np.full(new.n, self.mean_variance))
        lists = self.levels_in(new.frame)
        weights, unseen = _weights(lists, self.levels)
        return Members(
            weights, np.where([not values for values in lists], self.mean_variance, unseen)
        )

    def place(self, new: Members, joint: bool = False) -> Placement:
        return Placement(len(new.own), *_parts(new))

    def labels(self) -> np.ndarray:
        weights = self.members.weights
        keys = [
            tuple(weights.indices[a:b]) or (-1, row)
            for row, (a, b) in enumerate(zip(weights.indptr, weights.indptr[1:], strict=False))
        ]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[key] for key in keys])

    def alone(self) -> np.ndarray:
        return self.members.alone

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        weights = self.members.weights
        return np.asarray((weights[rows] @ weights[others].T).toarray())

    def cross_gram(self, new: Members, rows: np.ndarray | None = None) -> Array:
        weights = self.members.weights if rows is None else self.members.weights[rows]
        return np.asarray((new.weights @ weights.T).toarray())

    def arrays(self) -> dict[str, np.ndarray]:
        weights = self.members.weights
        return {
            "members": weights.indices.astype(np.int64),
            "ends": weights.indptr[1:].astype(np.int64),
            "levels": packed(self.levels),
            "mark": packed([self.mark]),
        }

    @classmethod
    def restored(cls, kernel: Kernel, arrays: dict[str, np.ndarray]) -> "MembershipBound":
        """The bound kernel from its `arrays`."""
        levels, (mark,) = unpacked(arrays["levels"]), unpacked(arrays["mark"])
        indptr = np.concatenate([[0], arrays["ends"]])
        if arrays["members"].max(initial=-1) >= len(levels) or indptr[-1] != len(arrays["members"]):
            raise ValueError(f"the levels of {kernel!r} are not complete")
        lists = np.split(arrays["members"], arrays["ends"][:-1])
        named = [[levels[code] for code in codes] for codes in lists]
        return cls(kernel, levels, _weights(named, levels)[0], mark)


def _weights(lists: list[list[str]], levels: list[str]) -> tuple[csr_matrix, Array]:
    """(n, levels) memberships, each one over the number of a document's values, and (n,) variances of unseen values."""
    positions = {level: code for code, level in enumerate(levels)}
    codes = [sorted(positions[value] for value in values if value in positions) for values in lists]
    n_seen = np.array([len(own) for own in codes], dtype=np.int64)
    n_values = np.array([len(values) for values in lists], dtype=np.int64)
    share = 1.0 / np.maximum(n_values, 1)
    indices = np.array([code for own in codes for code in own], dtype=np.int64)
    indptr = np.concatenate([[0], np.cumsum(n_seen)])
    weights = csr_matrix(
        (np.repeat(share, n_seen), indices, indptr), shape=(len(lists), len(levels))
    )
    return weights, (n_values - n_seen) * share**2


def _parts(members: Members) -> tuple[Features, Array]:
    return Features([Block(members.weights, None)]), members.own
