"""Work under way, written down now and then, so that it can be taken up again after the process has died.

What is written is a tree: dictionaries and lists of numbers, texts, None and arrays. Every kind of work knows how to
become such a tree and how to go on from one; where trees are kept is for others to say.
"""

from typing import Any, Protocol

import numpy as np

from gptm.kernels.weighted_terms import Terms

Tree = dict[str, Any]


class Checkpoint(Protocol):
    """Where work under way is kept."""

    def due(self) -> bool:
        """Whether it is time to write."""

    def write(self, phase: str, tree: Tree) -> None:
        """Keep this in place of what was kept before."""

    def read(self, phase: str) -> Tree | None:
        """What was kept, if it is of this phase."""


class NoCheckpoint:
    """Keeps nothing."""

    def due(self) -> bool:
        return False

    def write(self, phase: str, tree: Tree) -> None:
        return None

    def read(self, phase: str) -> Tree | None:
        return None


def terms_tree(terms: Terms | None) -> Tree | None:
    """What a fit has learnt of a kernel's terms."""
    if terms is None:
        return None
    values = [learnable.value for learnable in terms.learnables()[int(terms.free.sum()) :]]
    return {"weights": terms.weights, "starts": terms.starts, "values": np.array(values)}


def terms_from(tree: Tree | None, terms: Terms | None) -> Terms | None:
    """The terms with what was learnt; `terms` are those that the problem began with."""
    if tree is None or terms is None:
        return terms
    free = tree["weights"][terms.free]
    moved = terms.moved([*free.tolist(), *tree["values"].tolist()])
    return Terms(moved.bounds, tree["weights"], terms.free, tree["starts"])
