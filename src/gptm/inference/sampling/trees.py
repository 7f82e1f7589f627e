"""Chains as trees of arrays, for checkpoints, and back."""

from typing import Any

import numpy as np

from gptm import _hot
from gptm.fitted import Part
from gptm.inference.checkpoint import Tree, terms_from, terms_tree
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.kept import Kept, Snapshot
from gptm.inference.sampling.state import ChainState
from gptm.inference.sampling.topic_prior import Urn

_SUMS = ("n", "thin", "thin_topics", "topics", "beta_T", "eta", "squares", "S", "B")


def part_tree(part: Part) -> Tree:
    return {"weights": part.weights, "own": part.own, "graphs": list(part.graphs)}


def part_from(tree: Tree) -> Part:
    return Part(tree["weights"], tree["own"], tuple(tree["graphs"]))


def state_tree(state: ChainState) -> Tree:
    """A state as a tree, without what is rebuilt, and the topics, which a sweep draws first."""
    tree: dict[str, Any] = state._asdict()
    del tree["operator"], tree["precision"], tree["beta_T"]
    tree["urn"] = state.urn._asdict()
    tree["parts"] = [part_tree(part) for part in state.parts]
    tree["terms"] = terms_tree(state.terms)
    return tree


def state_from(problem: FitProblem, tree: Tree) -> ChainState:
    terms = terms_from(tree["terms"], problem.terms)
    K = tree["eta"].shape[1]
    counts = _hot.padded_zeros(len(tree["counts"]), K)  # in memory as loops read them
    counts[:] = tree["counts"]
    rebuilt = {
        "counts": counts,
        "beta_T": np.empty((0, 0), dtype=np.float32),
        "urn": Urn(**tree["urn"]),
        "parts": tuple(map(part_from, tree["parts"])),
        "terms": terms,
        "operator": problem.operator if terms is None else terms.operator(),
    }
    return ChainState(**tree | rebuilt)


def kept_tree(kept: Kept | None) -> Tree | None:
    if kept is None:
        return None
    return {name: getattr(kept, name) for name in _SUMS} | {
        "log_density": np.array(kept.log_density),
        "shares": np.array(kept.shares),
        "effects": np.array(kept.effects),
        "snapshots": [
            shot._asdict() | {"parts": [part_tree(part) for part in shot.parts]}
            for shot in kept.snapshots
        ],
    }


def kept_from(problem: FitProblem, state: ChainState, tree: Tree | None) -> Kept | None:
    if tree is None:
        return None
    kept = Kept(problem, state, 1, 1)
    for name in _SUMS:
        setattr(kept, name, tree[name])
    kept.log_density = tree["log_density"].tolist()
    kept.shares, kept.effects = list(tree["shares"]), list(tree["effects"])
    kept.snapshots = [
        Snapshot(**shot | {"parts": tuple(map(part_from, shot["parts"]))})
        for shot in tree["snapshots"]
    ]
    return kept
