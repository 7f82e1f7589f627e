"""Which topics go together, as a graph."""

import importlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from gptm._basics.types import Array
from gptm._basics.validation import check_number
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.plots.canvas import COLORS, SMALL, new_axes, topic_labels

TOGETHER: dict[str, Any] = {"color": COLORS[0], "ls": "-"}
APART: dict[str, Any] = {
    "color": COLORS[1],
    "ls": (0, (2.5, 2)),
}  # differs from the other without colours, too
LARGEST = 2300.0  # area of the largest disc, in square points


def plot_topic_correlations(
    model: GPTM,
    threshold: float = 0.2,
    *,
    of: Literal["residual", "prior"] = "residual",
    n_words: int = 2,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Which topics go together in documents, and which avoid each other, as a graph; needs networkx.

    Discs are topics; their areas are the topics' shares, and correlated topics are near each other. Solid lines join
    topics that go together, dashed lines topics that avoid each other. Thicker lines mean stronger correlations.

    Parameters
    ----------
    model : fitted GPTM or CTM
    threshold : float, default=0.2
        Smaller correlations, of either sign, get no line.
    of : {"residual", "prior"}, default="residual"
        As in `model.topic_correlations`.
    n_words : int, default=2
        Number of words in the label of a topic.
    feature_names : sequence of str, optional
        The words of the columns of X, for a model that was fitted to an array without names.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from gptm import CTM, Corpus, plots
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
    >>> ax = plots.plot_topic_correlations(CTM(n_components=2, random_state=0).fit(corpus), n_words=1)
    >>> sorted(text.get_text() for text in ax.texts)
    ['coffee', 'tea']
    """
    check_fitted(model)
    check_number("threshold", threshold, least=0.0)
    graph = model.topic_graph(-1.0, of=of, n_words=n_words, feature_names=feature_names)
    ax = new_axes(ax, (7.0, 5.4))
    from matplotlib.patheffects import withStroke

    places = _layout(graph)
    for i, j, correlation in graph.edges(data="weight"):
        if abs(correlation) < threshold:
            continue
        look = TOGETHER if correlation > 0 else APART
        ax.plot(*places[[i, j]].T, lw=0.6 + 5.0 * abs(correlation), alpha=0.55, zorder=1, **look)
    shares = np.array([share for _, share in graph.nodes(data="share")])
    room = min(1.0, 12 / len(shares))  # many discs are smaller
    ax.scatter(
        *places.T,
        s=LARGEST * room * shares / shares.max(),
        color="0.88",
        ec="0.45",
        lw=0.8,
        zorder=2,
    )
    look = {"ha": "center", "va": "center", "fontsize": SMALL, "linespacing": 0.95, "zorder": 3}
    halo = [withStroke(linewidth=2.0, foreground="0.94")]  # words may be wider than their disc
    for place, label in zip(
        places, topic_labels(model.fitted_, n_words, feature_names), strict=True
    ):
        ax.text(*place, label.replace(", ", "\n"), path_effects=halo, **look)
    _explain_lines(ax)
    ax.margins(0.12)
    ax.set_axis_off()
    return ax


def _layout(graph: Any) -> Array:
    """(K, 2) places whose distances are as close as possible to those of the logits."""
    networkx = importlib.import_module("networkx")  # topic_graph has already imported it

    K = len(graph)
    if K == 1:
        return np.zeros((1, 2))
    distances: dict[int, dict[int, float]] = {i: {} for i in graph}
    for i, j, correlation in graph.edges(data="weight"):
        distances[i][j] = distances[j][i] = float(np.sqrt(2.0 - 2.0 * correlation)) + 0.3
    places = networkx.kamada_kawai_layout(
        graph, dist=distances, pos=networkx.circular_layout(graph)
    )
    return np.array([places[i] for i in graph])


def _explain_lines(ax: Any) -> None:
    from matplotlib.lines import Line2D

    lines = {"go together": TOGETHER, "avoid each other": APART}
    handles = [
        Line2D([], [], lw=2.5, alpha=0.6, label=name, **look) for name, look in lines.items()
    ]
    ax.legend(
        handles=handles,
        frameon=False,
        fontsize=SMALL,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=2,
    )
