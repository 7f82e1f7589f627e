"""Choose the operator for a structure."""

import numpy as np
from scipy.sparse import diags

from gptm._basics.memory import check_square
from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.operators.additive import Additive
from gptm.operators.calculus import Base
from gptm.operators.dense_prediction import SEVERAL, PlacedCross
from gptm.operators.diagonal import Diagonal
from gptm.operators.features import Block, Features, pointing, stack
from gptm.operators.graph_polynomials import EXACT
from gptm.operators.matrixfree import MatrixFree
from gptm.operators.operator import Operator
from gptm.operators.placement import Placement
from gptm.operators.spectral import Spectral
from gptm.operators.structure import Structure
from gptm.operators.training_operator import Cross, TrainingOperator
from gptm.operators.weight_space import APART

# Documents up to which one eigendecomposition is used, if features are about as many.
DENSE = 20_000
PRIVATE = 300  # documents that may have a feature of their own beside a graph
VARIANCES = 32  # distinct own variances; each costs a matrix of the features


class Exact(Spectral, TrainingOperator):
    """A structure decomposed as a whole."""

    def __init__(self, structure: Structure):
        decomposition = _known_decomposition(structure) or Spectral.from_dense(structure.to_dense())
        super().__init__(decomposition.values, decomposition.vectors)
        self.structure = structure

    def cross(self, new: Placement) -> Cross:
        return PlacedCross(self, self.structure, new)


def _known_decomposition(structure: Structure) -> Spectral | None:
    """The decomposition, if it is there already: that of a lone graph, or D orthogonal features."""
    features = structure.features
    if len(structure.graphs) == 1 and features is None and np.ptp(structure.own) == 0:
        graph = structure.graphs[0]
        values, vectors = graph.network.eigen
        return Spectral(graph.function(values) + structure.own[0], vectors)
    if structure.graphs or features is None or features.width != structure.n:
        return None
    table = features.to_dense()
    squares = features.gram()
    values = np.diagonal(squares).copy()
    rounding = 1e-12 * float(values.max())
    if values.min() <= rounding or np.abs(squares - np.diag(values)).max() > rounding:
        return None
    return Spectral(values + structure.own[0], table / np.sqrt(values))


def with_even_variances(structure: Structure) -> Structure:
    """The same matrix with equal own variances; what is more than the least becomes features.

    A document with a missing value has such a variance. If very many have one, it is left out: the topic covariance
    covers what documents have for themselves anyway.
    """
    least = float(structure.own.min(initial=np.inf))
    more = np.flatnonzero(structure.own > least)
    even = structure._replace(own=np.full(structure.n, least))
    if len(more) == 0:
        return even
    if len(more) > PRIVATE:
        warn(
            f"{len(more):,} of {structure.n:,} documents lack values that the kernel reads; with a graph of this "
            "size, the extra variance of these documents is left to the topic covariance."
        )
        return even
    codes = np.full(structure.n, -1)
    codes[more] = np.arange(len(more))
    roots = diags(np.sqrt(structure.own - least))
    private = Features([Block((roots @ pointing(codes, len(more))).tocsr(), None)])
    return even._replace(
        features=stack([part for part in (structure.features, private) if part is not None])
    )


def with_few_variances(structure: Structure) -> Structure:
    """The same matrix with few distinct own variances: similar ones are replaced by their mean.

    In a product the own variances may all differ. The least one, which most documents often have, stays. The others
    are binned by their logarithms, so that the relative error is small; those below a hundredth of the median share a
    bin. The trace does not change.
    """
    own = structure.own
    if not _motley(structure):
        return structure
    more = own > own.min()
    size = np.log(np.maximum(own[more], 0.01 * np.median(own[more])))
    # The first bin holds the tiny ones.
    steps = np.linspace(size.min(), size.max(), VARIANCES - 1)[:-1]
    bins = np.searchsorted(steps, size)
    means = np.bincount(bins, own[more]) / np.maximum(np.bincount(bins), 1)
    few = own.copy()
    few[more] = means[bins]
    return structure._replace(own=few)


def build_operator(
    structure: Structure,
    like: Operator | None = None,
    *,
    exact: int = EXACT,
    several: int = SEVERAL,
    apart: int = APART,
) -> TrainingOperator:
    """The operator for a structure.

    `like` is an operator of another structure over the same documents, to reuse its work. Up to `exact` documents a
    graph, or very different own variances, are solved by one decomposition; `several` is the same limit for several
    graphs. `apart` is as in `Additive`.
    """
    constant = structure.n == 0 or np.ptp(structure.own) == 0
    if not structure.graphs and constant and structure.n <= DENSE and _wide(structure, apart):
        return Exact(structure)
    if structure.n <= exact and (structure.graphs or _motley(structure)):
        return Exact(structure)
    if not structure.graphs:
        structure = with_few_variances(structure)
        base: Base = Diagonal(structure.own)
    elif len(structure.graphs) == 1:
        structure = with_even_variances(structure)
        base = structure.graphs[0].plus(float(structure.own[0]))
    else:
        return Exact(structure) if structure.n <= several else MatrixFree(structure)
    if not _has_features(structure):
        return base
    assert structure.features is not None
    width = structure.features.width if structure.graphs else _together(structure.features, apart)
    kept = 0 if structure.graphs else len(base.nodes) - 1
    check_square(width, f"the kernel has {width:,} features that are solved together", kept=kept)
    return Additive(base, structure.features, like, apart)


def solved_variances(structure: Structure) -> Array:
    """(D,) own variances in the matrix that `build_operator` solves with.

    They differ from those of the structure if too many of these are distinct, see there.
    """
    own = structure.own
    constant = structure.n == 0 or np.ptp(own) == 0
    whole = structure.n <= EXACT and (structure.graphs or _motley(structure))
    if constant or whole or len(structure.graphs) > 1:
        return own
    if not structure.graphs:
        return with_few_variances(structure).own
    left_out = np.count_nonzero(own > own.min()) > PRIVATE
    return np.full(structure.n, own.min()) if left_out else own


def _has_features(structure: Structure) -> bool:
    return structure.features is not None and structure.features.width > 0


def _motley(structure: Structure) -> bool:
    """Whether there are features, and too many distinct own variances for a quick way."""
    return _has_features(structure) and len(np.unique(structure.own)) > VARIANCES


def _wide(structure: Structure, apart: int) -> bool:
    """Whether there are about as many features as documents, with no quick way to solve."""
    features = structure.features
    return features is not None and 2 * _together(features, apart) > structure.n


def _together(features: Features, apart: int) -> int:
    """How many features make one dense system where there is no graph."""
    if features.one_hot:
        return 0
    split = features.split(apart)
    return features.width if split is None else split.rest.width
