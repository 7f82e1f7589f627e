"""The kernel matrix as features, graphs and a diagonal, before an operator is chosen for it."""

from typing import NamedTuple

import numpy as np

from gptm._basics.types import Array
from gptm.operators.features import Features, stack
from gptm.operators.sparse import Sparse
from gptm.operators.tangent import Tangent


class Structure(NamedTuple):
    """𝒦 = Phi Phi' + graphs + diag(own) over D documents."""

    n: int
    features: Features | None
    own: Array  # (D,) variance that a document shares with no other
    graphs: tuple[Sparse, ...] = ()

    def scaled(self, factor: float) -> "Structure":
        """A multiple of the same matrix."""
        return Structure(
            self.n,
            None if self.features is None else self.features.scaled(float(np.sqrt(factor))),
            factor * self.own,
            tuple(graph.scaled(factor) for graph in self.graphs),
        )

    def mean_diagonal(self) -> float:
        """Mean prior variance over the documents; estimated for large graphs."""
        total = (
            self.own.sum()
            if self.features is None
            else (self.own + self.features.row_squares()).sum()
        )
        return float(total + sum(graph.trace(np.zeros(1))[0] for graph in self.graphs)) / self.n

    def to_dense(self) -> Array:
        """The (D, D) array."""
        result = np.diag(self.own)
        if self.features is not None:
            Phi = self.features.to_dense()
            result += Phi @ Phi.T
        return result + sum(graph.dense for graph in self.graphs)


def sum_structures(parts: list[Structure]) -> Structure:
    """The structure of a sum of kernels."""
    return Structure(
        parts[0].n,
        stack([part.features for part in parts if part.features is not None]),
        np.sum([part.own for part in parts], axis=0),
        tuple(graph for part in parts for graph in part.graphs),
    )


def sum_tangents(parts: list[Structure], tangents: list[list[Tangent]]) -> list[Tangent]:
    """The tangents of all parts of a sum, each at the columns of its part."""
    moved, start = [], 0
    for part, own in zip(parts, tangents, strict=True):
        moved += [tangent._replace(start=tangent.start + start) for tangent in own]
        start += 0 if part.features is None else part.features.width
    return moved


def growth(part: Structure) -> Tangent:
    """The tangent in the logarithm of a factor of the whole kernel."""
    graphs = tuple((graph.network, graph.function) for graph in part.graphs)
    return Tangent(part.features, own=part.own if part.own.any() else None, graphs=graphs)
