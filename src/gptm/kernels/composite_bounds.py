"""Sums, products and multiples of kernels over training documents."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm.kernels.bound import BoundKernel, Documents, Groups, Learnable
from gptm.kernels.description import Description
from gptm.kernels.pointwise import PointBound
from gptm.operators import (
    Placement,
    Structure,
    Tangent,
    sum_placements,
    sum_structures,
    sum_tangents,
)


class Composition(Description):
    """A description that is composed of others."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Description, ...]:
        """The kernels inside."""

    @abstractmethod
    def rebuild(self, parts: list[Any]) -> Self:
        """The same composition with other parts."""


class CompositeBound(BoundKernel):
    """A composition, bound part by part."""

    kernel: Any

    def __init__(self, kernel: Composition, bounds: list[BoundKernel]):
        self.bounds = bounds
        self.kernel = kernel.rebuild([bound.kernel for bound in bounds])
        self.n = bounds[0].n

    @property
    def reads_metadata(self) -> bool:
        return any(bound.reads_metadata for bound in self.bounds)

    def date_columns(self) -> set[str]:
        return set().union(*(bound.date_columns() for bound in self.bounds))

    @property
    def training(self) -> list[Any]:
        return [bound.training for bound in self.bounds]

    def read(self, new: Documents) -> list[Any]:
        return [bound.read(new) for bound in self.bounds]

    def learnables(self) -> list[Learnable]:
        return [learnable for bound in self.bounds for learnable in self._open_in(bound)]

    def moved(self, values: Sequence[float]) -> BoundKernel:
        parts, rest = [], list(values)
        for bound in self.bounds:
            n = len(self._open_in(bound))
            parts.append(bound.moved(rest[:n]) if n else bound)
            rest = rest[n:]
        return type(self)(self.kernel, parts)

    def _open_in(self, bound: BoundKernel) -> list[Learnable]:
        """The parameters of a part that are learnt."""
        return bound.learnables()

    def learnt_by(self, kernel: Description) -> list[float] | None:
        if not isinstance(kernel, Composition) or len(kernel.parts) != len(self.bounds):
            return None
        values: list[float] = []
        for bound, part in zip(self.bounds, kernel.parts, strict=True):
            learnt = bound.learnt_by(part)
            if learnt is None:
                return None
            values += learnt if self._open_in(bound) else []
        return values

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            f"{position}.{key}": value
            for position, bound in enumerate(self.bounds)
            for key, value in bound.arrays().items()
        }


class SumBound(CompositeBound):
    """A sum of terms; their features and graphs stand side by side."""

    def groups(self, n_groups: int, rng: np.random.RandomState) -> Groups | None:
        """Those of the first term that knows any; groups that users gave go before guessed ones."""
        candidates = [groups for bound in self.bounds if (groups := bound.groups(n_groups, rng))]
        return min(candidates, key=lambda groups: not groups.given, default=None)

    @cached_property
    def structure(self) -> Structure:
        return sum_structures([bound.structure for bound in self.bounds])

    def tangents(self) -> list[Tangent]:
        return sum_tangents(
            [bound.structure for bound in self.bounds], [bound.tangents() for bound in self.bounds]
        )

    def place(self, new: list[Any], joint: bool = False) -> Placement:
        pairs = zip(self.bounds, new, strict=True)
        return sum_placements([bound.place(item, joint) for bound, item in pairs])

    def labels(self) -> np.ndarray:
        return _joint_labels(self.bounds)

    def alone(self) -> np.ndarray:
        return np.all([bound.alone() for bound in self.bounds], axis=0)

    @property
    def own_part(self) -> float:
        return sum(bound.own_part for bound in self.bounds)

    def own_variances(self) -> Array:
        return np.sum([bound.own_variances() for bound in self.bounds], axis=0)

    def shared_variances(self) -> Array:
        return np.sum([bound.shared_variances() for bound in self.bounds], axis=0)

    def gram(self) -> Array:
        return np.sum([bound.gram() for bound in self.bounds], axis=0)

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return np.sum([bound.between(rows, others) for bound in self.bounds], axis=0)

    def cross_gram(self, new: list[Any], rows: np.ndarray | None = None) -> Array:
        pairs = zip(self.bounds, new, strict=True)
        return np.sum([bound.cross_gram(item, rows) for bound, item in pairs], axis=0)

    def own_gram(self, new: list[Any], joint: bool) -> Array:
        pairs = zip(self.bounds, new, strict=True)
        return np.sum([bound.own_gram(item, joint) for bound, item in pairs], axis=0)


class ScaledBound(CompositeBound):
    """One kernel times a number."""

    def groups(self, n_groups: int, rng: np.random.RandomState) -> Groups | None:
        return self.bounds[0].groups(n_groups, rng)

    @cached_property
    def structure(self) -> Structure:
        return self.bounds[0].structure.scaled(self.kernel.scale)

    def tangents(self) -> list[Tangent]:
        return [tangent.scaled(self.kernel.scale) for tangent in self.bounds[0].tangents()]

    def place(self, new: list[Any], joint: bool = False) -> Placement:
        return self.bounds[0].place(new[0], joint).scaled(self.kernel.scale)

    def settings(self, n_points: int) -> pd.DataFrame | None:
        return self.bounds[0].settings(n_points)

    def labels(self) -> np.ndarray:
        return self.bounds[0].labels()

    def alone(self) -> np.ndarray:
        return self.bounds[0].alone()

    @property
    def own_part(self) -> float:
        return self.kernel.scale * self.bounds[0].own_part

    def own_variances(self) -> Array:
        return self.kernel.scale * self.bounds[0].own_variances()

    def shared_variances(self) -> Array:
        return self.kernel.scale * self.bounds[0].shared_variances()

    def gram(self) -> Array:
        return self.kernel.scale * self.bounds[0].gram()

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return self.kernel.scale * self.bounds[0].between(rows, others)

    def cross_gram(self, new: list[Any], rows: np.ndarray | None = None) -> Array:
        return self.kernel.scale * self.bounds[0].cross_gram(new[0], rows)

    def own_gram(self, new: list[Any], joint: bool) -> Array:
        return self.kernel.scale * self.bounds[0].own_gram(new[0], joint)


class ProductBound(CompositeBound, PointBound):
    """A product of factors, over the distinct combinations of their values.

    Only parameters of factors that are functions of two documents' values are learnt.
    """

    def _open_in(self, bound: BoundKernel) -> list[Learnable]:
        return bound.learnables() if isinstance(bound, PointBound) else []

    def slopes(self, rows: np.ndarray, others: np.ndarray) -> list[Array]:
        products = []
        for bound in self.bounds:
            if self._open_in(bound):
                assert isinstance(bound, PointBound)
                rest = [b.between(rows, others) for b in self.bounds if b is not bound]
                products += [
                    np.prod([slope, *rest], axis=0) for slope in bound.slopes(rows, others)
                ]
        return products

    def labels(self) -> np.ndarray:
        return _joint_labels(self.bounds)

    def alone(self) -> np.ndarray:
        return np.any([bound.alone() for bound in self.bounds], axis=0)

    def own_variances(self) -> Array:
        """All of a document's variance, except the product of what it shares in each factor."""
        shared = [bound.shared_variances() for bound in self.bounds]
        own = [bound.own_variances() for bound in self.bounds]
        return np.prod(np.add(shared, own), axis=0) - np.prod(shared, axis=0)

    def shared_variances(self) -> Array:
        return np.prod([bound.shared_variances() for bound in self.bounds], axis=0)

    def gram(self) -> Array:
        return np.prod([bound.gram() for bound in self.bounds], axis=0)

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return np.prod([bound.between(rows, others) for bound in self.bounds], axis=0)

    def cross_gram(self, new: list[Any], rows: np.ndarray | None = None) -> Array:
        pairs = zip(self.bounds, new, strict=True)
        return np.prod([bound.cross_gram(item, rows) for bound, item in pairs], axis=0)

    def own_gram(self, new: list[Any], joint: bool) -> Array:
        pairs = zip(self.bounds, new, strict=True)
        return np.prod([bound.own_gram(item, joint) for bound, item in pairs], axis=0)


def _joint_labels(bounds: list[BoundKernel]) -> np.ndarray:
    """Labels of documents that no part can tell apart."""
    stacked = np.column_stack([bound.labels() for bound in bounds])
    return np.unique(stacked, axis=0, return_inverse=True)[1]
