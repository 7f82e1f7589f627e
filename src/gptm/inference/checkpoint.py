"""Checkpoints: the state of a fit, written from time to time, so that the fit can continue after the process has died.

A checkpoint is a tree: dictionaries and lists of numbers, texts, None and arrays. Every part of a fit can become such a
tree and continue from one. Where trees are stored is decided elsewhere.
"""

from typing import Any, Protocol

import numpy as np

from gptm.kernels.weighted_terms import Terms

Tree = dict[str, Any]
LEADS = "lead"  # phase in which a sample leads the chain of all documents


class Checkpoint(Protocol):
    """A place that stores the state of a fit."""

    @property
    def failed(self) -> bool:
        """Whether the last write did not work, so that an older tree is stored."""

    def due(self) -> bool:
        """Whether it is time to write."""

    def write(self, phase: str, tree: Tree) -> None:
        """Store this tree in place of the last one."""

    def missed(self, error: OSError) -> None:
        """Note that what belongs to a tree cannot be stored, so that the last one stays."""

    def read(self, phase: str) -> Tree | None:
        """The stored tree, if it belongs to this phase."""


class NoCheckpoint:
    """Stores nothing."""

    failed = False

    def due(self) -> bool:
        return False

    def write(self, phase: str, tree: Tree) -> None:
        return None

    def missed(self, error: OSError) -> None:
        return None

    def read(self, phase: str) -> Tree | None:
        return None


class Under:
    """A checkpoint that stores trees of one part of a fit under a name of its own, whatever their phase."""

    def __init__(self, checkpoint: Checkpoint, name: str):
        self.checkpoint, self.name = checkpoint, name

    @property
    def failed(self) -> bool:
        return self.checkpoint.failed

    def due(self) -> bool:
        return self.checkpoint.due()

    def write(self, phase: str, tree: Tree) -> None:
        self.checkpoint.write(self.name, tree)

    def missed(self, error: OSError) -> None:
        self.checkpoint.missed(error)

    def read(self, phase: str) -> Tree | None:
        return self.checkpoint.read(self.name)


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
