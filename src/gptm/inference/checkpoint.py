"""Checkpoints: the state of a fit, written from time to time, so that the fit can continue after the process has died.

A checkpoint is a tree: dictionaries and lists of numbers, texts, None and arrays. Every part of a fit can become such a
tree and continue from one. Where trees are stored is decided elsewhere.
"""

from typing import Any, Protocol

import numpy as np

from gptm.kernels.weighted_terms import Terms

Tree = dict[str, Any]


class Checkpoint(Protocol):
    """A place that stores the state of a fit."""

    def due(self) -> bool:
        """Whether it is time to write."""

    def write(self, phase: str, tree: Tree) -> None:
        """Store this tree in place of the last one."""

    def read(self, phase: str) -> Tree | None:
        """The stored tree, if it belongs to this phase."""


class NoCheckpoint:
    """Stores nothing."""

    def due(self) -> bool:
        return False

    def write(self, phase: str, tree: Tree) -> None:
        return None

    def read(self, phase: str) -> Tree | None:
        return None


def terms_tree(terms: Terms | None) -> Tree | None:
    """The learnt parameters of a kernel's terms."""
    if terms is None:
        return None
    values = [learnable.value for learnable in terms.learnables()[int(terms.free.sum()) :]]
    return {"weights": terms.weights, "starts": terms.starts, "values": np.array(values)}


def terms_from(tree: Tree | None, terms: Terms | None) -> Terms | None:
    """The terms with the learnt parameters of a tree; `terms` are those of the problem."""
    if tree is None or terms is None:
        return terms
    free = tree["weights"][terms.free]
    moved = terms.moved([*free.tolist(), *tree["values"].tolist()])
    return Terms(moved.bounds, tree["weights"], terms.free, tree["starts"])
