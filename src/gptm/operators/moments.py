"""Moments of features over a graph, cached because weights and kappa do not change them."""

from typing import NamedTuple

import numpy as np

from gptm._basics.types import Array
from gptm.operators.features import Block, Features
from gptm.operators.graph_polynomials import Network
from gptm.operators.sparse import Sparse

_COLUMNS = 32  # of features that are written out at a time


class FeatureMoments(NamedTuple):
    """Phi_p' T_n(S) Phi_q of all pairs of blocks without their scales, for p <= q and n < n_terms."""

    network: Network
    blocks: tuple[Block, ...]
    n_terms: int
    pairs: dict[tuple[int, int], Array]  # (n_terms, width of p, width of q)

    def assembled(self, features: Features) -> Array:
        """(n_terms, r, r) with the scales that the blocks have now."""
        rows = []
        for p, left in enumerate(features.blocks):
            row = []
            for q, right in enumerate(features.blocks):
                pair = self.pairs[min(p, q), max(p, q)]
                pair = pair if p <= q else pair.transpose(0, 2, 1)
                row.append(left.scale * right.scale * pair)
            rows.append(np.concatenate(row, axis=2))
        return np.concatenate(rows, axis=1)


def feature_moments(
    graph: Sparse, features: Features, earlier: FeatureMoments | None
) -> FeatureMoments:
    """The moments of features over a graph, as many as possible taken from `earlier` ones."""
    blocks, n_terms = features.blocks, graph.degree
    usable = earlier if _usable(earlier, graph) else None
    if usable is not None:
        n_terms = usable.n_terms
    pairs: dict[tuple[int, int], Array] = {}
    for q, right in enumerate(blocks):
        missing = []
        for p in range(q + 1):
            pair = None if usable is None else _known_pair(usable, blocks[p], right)
            if pair is None:
                missing.append(p)
            else:
                pairs[p, q] = pair
        if missing:
            fresh = _moments(graph.network, [blocks[p] for p in missing], right, n_terms)
            pairs.update({(p, q): M for p, M in zip(missing, fresh, strict=True)})
    return FeatureMoments(graph.network, blocks, n_terms, pairs)


def _usable(earlier: FeatureMoments | None, graph: Sparse) -> bool:
    return (
        earlier is not None and earlier.network is graph.network and earlier.n_terms >= graph.degree
    )


def _known_pair(earlier: FeatureMoments, left: Block, right: Block) -> Array | None:
    where = []
    for block in (left, right):
        alike = [i for i, other in enumerate(earlier.blocks) if other.alike(block)]
        if not alike:
            return None
        where.append(alike[0])
    p, q = where
    pair = earlier.pairs[min(p, q), max(p, q)]
    return pair if p <= q else pair.transpose(0, 2, 1)


def _moments(network: Network, lefts: list[Block], right: Block, n_terms: int) -> list[Array]:
    plain = [Features([block._replace(scale=1.0)]) for block in lefts]
    source = Features([right._replace(scale=1.0)])
    blocks_of_columns: list[list[Array]] = [[] for _ in lefts]
    for start in range(0, source.width, _COLUMNS):
        some = source.columns(start, min(start + _COLUMNS, source.width))
        parts: list[list[Array]] = [[] for _ in lefts]
        for V in network.chebyshev(some, n_terms):
            for part, left in zip(parts, plain, strict=True):
                part.append(left.t_dot(V))
        for columns, part in zip(blocks_of_columns, parts, strict=True):
            columns.append(np.stack(part))
    return [np.concatenate(columns, axis=2) for columns in blocks_of_columns]
