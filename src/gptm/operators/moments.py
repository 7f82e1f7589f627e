"""Moments of features over a graph, kept for the next parameters: weights and kappa change none of them."""

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
                found = self.pairs[min(p, q), max(p, q)]
                found = found if p <= q else found.transpose(0, 2, 1)
                row.append(left.scale * right.scale * found)
            rows.append(np.concatenate(row, axis=2))
        return np.concatenate(rows, axis=1)


def feature_moments(
    graph: Sparse, features: Features, known: FeatureMoments | None
) -> FeatureMoments:
    """The moments of features over a graph, as many as possible from those that are known."""
    blocks, n_terms = features.blocks, graph.degree
    usable = known if _usable(known, graph) else None
    if usable is not None:
        n_terms = usable.n_terms
    pairs: dict[tuple[int, int], Array] = {}
    for q, right in enumerate(blocks):
        missing = []
        for p in range(q + 1):
            found = None if usable is None else _known_pair(usable, blocks[p], right)
            if found is None:
                missing.append(p)
            else:
                pairs[p, q] = found
        if missing:
            fresh = _moments(graph.network, [blocks[p] for p in missing], right, n_terms)
            pairs.update({(p, q): M for p, M in zip(missing, fresh, strict=True)})
    return FeatureMoments(graph.network, blocks, n_terms, pairs)


def _usable(known: FeatureMoments | None, graph: Sparse) -> bool:
    return known is not None and known.network is graph.network and known.n_terms >= graph.degree


def _known_pair(known: FeatureMoments, left: Block, right: Block) -> Array | None:
    where = []
    for block in (left, right):
        found = [i for i, other in enumerate(known.blocks) if other.alike(block)]
        if not found:
            return None
        where.append(found[0])
    p, q = where
    pair = known.pairs[min(p, q), max(p, q)]
    return pair if p <= q else pair.transpose(0, 2, 1)


def _moments(network: Network, lefts: list[Block], right: Block, n_terms: int) -> list[Array]:
    plain = [Features([block._replace(scale=1.0)]) for block in lefts]
    source = Features([right._replace(scale=1.0)])
    found: list[list[Array]] = [[] for _ in lefts]
    for start in range(0, source.width, _COLUMNS):
        some = source.columns(start, min(start + _COLUMNS, source.width))
        parts: list[list[Array]] = [[] for _ in lefts]
        for V in network.chebyshev(some, n_terms):
            for part, left in zip(parts, plain, strict=True):
                part.append(left.t_dot(V))
        for columns, part in zip(found, parts, strict=True):
            columns.append(np.stack(part))
    return [np.concatenate(columns, axis=2) for columns in found]
