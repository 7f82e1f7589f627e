"""Kernels that are functions of two documents' values."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from gptm._basics.memory import TooLarge
from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.kernels.bound import BoundKernel, check_memory, naming
from gptm.operators import Block, Features, Placement, Structure, Tangent, pointing
from gptm.operators import factor as factors
from gptm.operators.spectral import check_symmetric

_LARGE = 5000  # points above which a decomposition takes minutes


class PointBound(BoundKernel):
    """A kernel that is given by its covariances. Its cost depends on distinct values, not on documents."""

    # False for matrices and functions of users, which have to be checked as a whole.
    surely_definite = True
    if_indefinite = ""  # remedy to suggest if the matrix is not a covariance
    on_trial = False  # whether this is a trial during learning, which must not take long

    @abstractmethod
    def labels(self) -> np.ndarray: ...

    @abstractmethod
    def between(self, rows: np.ndarray, others: np.ndarray) -> Array: ...

    @abstractmethod
    def cross_gram(self, new: Any, rows: np.ndarray | None = None) -> Array: ...

    @abstractmethod
    def own_gram(self, new: Any, joint: bool) -> Array: ...

    def gram(self) -> Array:
        return self.own_gram(self.training, joint=True)

    @cached_property
    def structure(self) -> Structure:
        own = self.own_variances()
        if self.alone().all():
            return Structure(self.n, None, own)
        _, groups = self._groups
        table = self._factor.table
        pointers = None if len(groups) == len(table) else pointing(groups, len(table))
        if pointers is None:
            table = table[groups]
        return Structure(self.n, Features([Block(pointers, table)]), own)

    def own_variances(self) -> Array:
        return np.where(self.alone(), self.own_gram(self.training, joint=False), self.own_part)

    def shared_variances(self) -> Array:
        total = self.own_gram(self.training, joint=False)
        return np.where(self.alone(), 0.0, total - self.own_variances())

    def place(self, new: Any, joint: bool = False) -> Placement:
        total = self.own_gram(new, joint)
        n = len(total)
        if self.alone().all():
            return Placement(n, None, total)
        first, _ = self._groups
        phi = self.cross_gram(new, first[self._factor.anchors]) @ self._factor.whiten
        # Variance beyond the features is the document's own; it is not negative, except by rounding.
        own = total - phi @ phi.T if joint else np.maximum(total - (phi**2).sum(1), 0.0)
        return Placement(n, Features([Block(None, phi)]), own)

    def slopes(self, rows: np.ndarray, others: np.ndarray) -> list[Array]:
        """Derivatives of `between` in the logarithm of each learnable."""
        return []

    def tangents(self) -> list[Tangent]:
        features = self.structure.features
        if features is None:
            return [Tangent() for _ in self.learnables()]
        first, _ = self._groups
        table, anchors, whiten = self._factor
        pointers, drawn = features.blocks[0][:2]
        tangents = []
        for slope in self.slopes(first, first[anchors]):
            # Of table = C W with W W' the inverse of the anchors' covariance; half of its motion goes to each side.
            motion = slope @ whiten - 0.5 * table @ (whiten.T @ slope[anchors] @ whiten)
            rows = motion if pointers is not None or drawn is table else motion[self._groups[1]]
            tangents.append(Tangent(features, Features([Block(pointers, rows)])))
        return tangents

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """One document of each group with equal values, and the group of every document, -1 if alone."""
        there = np.flatnonzero(~self.alone())
        _, first, inverse = np.unique(self.labels()[there], return_index=True, return_inverse=True)
        groups = np.full(self.n, -1)
        groups[there] = inverse
        if len(first) == self.n:  # in the documents' own order
            return np.arange(self.n), np.arange(self.n)
        return there[first], groups

    @cached_property
    def _factor(self) -> factors.Factor:
        first, _ = self._groups
        m = len(first)

        def covariance(rows: np.ndarray, others: np.ndarray) -> Array:
            return self.between(first[rows], first[others])

        if self.surely_definite and m > factors.DENSE:
            variances, max_rank = self.shared_variances()[first], min(m // 3, factors.MAX_RANK)
            if not variances.any():  # noise alone
                return factors.Factor(np.zeros((m, 0)), np.arange(0), np.zeros((0, 0)))
            factor, left = factors.incomplete(covariance, variances, max_rank)
            if left <= factors.TOL:
                return factor
            if left <= 0.01 and m > _LARGE:
                warn(
                    f"{self.kernel!r} is approximated by {max_rank} features, which leave out up to {left:.1%} of "
                    "a document's variance."
                )
                return factor
        check_memory(m, self.kernel)
        if self.on_trial and m > _LARGE:
            raise TooLarge(
                f"{self.kernel!r} tells {m:,} documents apart, more than a trial can afford."
            )
        everything = np.arange(m)
        written_out = covariance(everything, everything)
        with naming(self.kernel):
            check_symmetric(written_out, "A function must return the same of (a, b) and (b, a).")
        with naming(self.kernel, self.if_indefinite):
            return factors.decompose(lambda *_: written_out, m)
