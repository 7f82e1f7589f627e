"""Covariances of new documents, written out: the dense way to predict them."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from gptm._basics.sparse_arrays import row_sums
from gptm._basics.types import Array
from gptm.operators.cross import SpectralCross
from gptm.operators.graph_polynomials import EXACT
from gptm.operators.placement import Placement
from gptm.operators.sparse import Sparse
from gptm.operators.spectral import Spectral
from gptm.operators.structure import Structure
from gptm.operators.training_operator import Cross

# Documents up to which several graphs are decomposed; products alone would be slower.
SEVERAL = 5000
_ENTRIES = 2 * 10**7  # of such covariances at a time


def covariance_with_training(structure: Structure, new: Placement) -> Array:
    """(n, D) covariances of new documents with training documents."""
    result = np.zeros((new.n, structure.n))
    if new.features is not None:
        assert structure.features is not None
        result += structure.features.dot(new.features.to_dense().T).T
    for number in range(len(structure.graphs)):
        result += _carried(structure, new, number)
    return result


def variance_of_new(structure: Structure, new: Placement) -> Array:
    """(n,) variances of new documents."""
    result = new.own_diagonal.copy()
    if new.features is not None:
        result += new.features.row_squares()
    for number, weights in enumerate(new.weights):
        product = weights.multiply(_carried(structure, new, number))
        result += row_sums(product)
    return result


def covariance_of_new(structure: Structure, new: Placement) -> Array:
    """(n, n) covariances among new documents."""
    result = new.own_matrix.copy()
    if new.features is not None:
        Phi = new.features.to_dense()
        result += Phi @ Phi.T
    for number, weights in enumerate(new.weights):
        result += weights @ _carried(structure, new, number).T
    return result


class PlacedCross(Cross):
    """Predictions from a decomposed structure, computed for blocks of new documents."""

    def __init__(self, training: Spectral, structure: Structure, new: Placement):
        self.training, self.structure, self.new = training, structure, new

    def mean(self, alpha: Array, F: Array) -> Array:
        return np.concatenate([piece.mean(alpha, F) for piece in self._pieces()])

    def variance(self, b: Array) -> Array:
        return np.concatenate([piece.variance(b) for piece in self._pieces()])

    def conditional(self) -> Spectral:
        Ktx = covariance_with_training(self.structure, self.new)
        Ktt = covariance_of_new(self.structure, self.new)
        return SpectralCross(self.training, Ktx, Ktt).conditional()

    def _pieces(self) -> Iterator[SpectralCross]:
        size = max(_ENTRIES // max(self.structure.n, 1), 1)
        if self.new.n <= size:
            yield self._all
            return
        for start in range(0, self.new.n, size):
            yield self._cross(self.new.take(np.arange(start, min(start + size, self.new.n))))

    @cached_property
    def _all(self) -> SpectralCross:
        """All new documents, where they are few: mean and variance then need their covariances once."""
        return self._cross(self.new)

    def _cross(self, piece: Placement) -> SpectralCross:
        Ktx = covariance_with_training(self.structure, piece)
        return SpectralCross(self.training, Ktx, variance_of_new(self.structure, piece))


def _carried(structure: Structure, new: Placement, number: int) -> Array:
    """(n, D) covariances with training documents that come from one of the graphs."""
    graph: Sparse = structure.graphs[number]
    weights = new.weights[number]
    small = structure.n <= (EXACT if len(structure.graphs) == 1 else SEVERAL)
    carried = weights @ graph.dense if small else graph.matmul(weights.T.toarray()).T
    return np.asarray(carried)
