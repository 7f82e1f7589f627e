"""Which topics are most alike, and which groups of them: the tree that `reduce_to` and the dendrogram follow.

The distance of two topics is Hellinger's between their distributions over words: 0 for the same words, 1 for none in
common. Groups are as far apart as their topics are on average (average linkage).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from gptm import metrics
from gptm._basics.errors import ArgumentError
from gptm._basics.types import Array
from gptm._basics.validation import check_number
from gptm.fitted import Fitted
from gptm.tables import list_words, topic_shares, word_names
from gptm.views.shown_table import ShownTable


def word_distances(components: Array) -> Array:
    """(K, K) Hellinger distances between topics.

    >>> word_distances(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    roots = np.sqrt(components)
    distances = np.sqrt(np.clip(1.0 - roots @ roots.T, 0.0, 1.0))
    np.fill_diagonal(distances, 0.0)
    return 0.5 * (distances + distances.T)


def topic_linkage(fitted: Fitted) -> Array:
    """(K - 1, 4) the tree as scipy has it: two nodes, their distance, and how many topics they have together."""
    if fitted.K < 2:
        return np.empty((0, 4))
    return np.asarray(
        linkage(squareform(word_distances(fitted.components), checks=False), "average")
    )


def joins(tree: Array) -> list[tuple[list[int], list[int]]]:
    """The topics on either side of each step of the tree, nearest first."""
    K = len(tree) + 1
    groups = [[number] for number in range(K)]
    steps = []
    for left, right in tree[:, :2].astype(int):
        steps.append((groups[left], groups[right]))
        groups.append(sorted(groups[left] + groups[right]))
    return steps


def clusters(fitted: Fitted, n: int) -> list[list[int]]:
    """n groups of topics along the tree, in the order of their first topics."""
    check_number("n", n, least=1, integer=True)
    if n > fitted.K:
        raise ArgumentError("n", f"must be at most {fitted.K}, the number of topics", n)
    groups = {number: [number] for number in range(fitted.K)}
    for left, right in joins(topic_linkage(fitted))[: fitted.K - n]:
        first, second = sorted((left[0], right[0]))
        groups[first] = sorted(groups[first] + groups.pop(second))
    return [groups[first] for first in sorted(groups)]


def hierarchy_table(
    fitted: Fitted, n_words: int, feature_names: Sequence[str] | None
) -> pd.DataFrame:
    """One row per step of the tree, those most alike first; see `GPTM.topic_hierarchy`."""
    tree = topic_linkage(fitted)
    K, shares = fitted.K, topic_shares(fitted.proportions)
    steps = joins(tree)
    together = [sorted(left + right) for left, right in steps]
    words = np.array([shares[group] @ fitted.components[group] for group in together])
    names = word_names(fitted, feature_names)
    shown = metrics.prominence(words, fitted.word_rates) if together else words
    top = list_words(shown, names, n_words) if together else []
    sides: dict[str, list[Any]] = {
        side: [list(step[place]) for step in steps] for place, side in enumerate(("left", "right"))
    }
    if fitted.topic_names is not None:
        sides |= {f"{side}_name": _names(fitted, groups) for side, groups in sides.items()}
    table = pd.DataFrame(
        {
            **{name: sides[name] for name in sorted(sides)},
            "distance": tree[:, 2],
            "share": [float(shares[group].sum()) for group in together],
            "words": [", ".join(own) for own in top],
        },
        index=pd.RangeIndex(K - 1, 0, -1, name="topics_left"),
    )
    return ShownTable.of(table, "Which topics are alike")


def _names(fitted: Fitted, groups: list[list[int]]) -> list[str]:
    """Names of the topics in each group, and numbers of those without one; empty where none has a name."""
    names = fitted.names
    return [
        " + ".join(names[topic] or str(topic) for topic in group)
        if any(names[topic] for topic in group)
        else ""
        for group in groups
    ]
