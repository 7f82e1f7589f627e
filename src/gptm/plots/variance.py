"""The share of the variance between documents that each term of the kernel explains."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from gptm.effects.effect_tables import UNEXPLAINED
from gptm.model import GPTM
from gptm.plots.canvas import (
    GREY,
    SMALL,
    as_percent,
    color_of,
    new_axes,
    tidy,
    topic_labels,
)
from gptm.plots.effect_plots import check_terms
from gptm.plots.ranks import around
from gptm.tables import topic_numbers

_ROW = 0.34  # inches


def plot_variance_explained(
    model: GPTM,
    topics: Any = None,
    *,
    level: float = 0.9,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Shares of the variance of the topics' logits that the terms of the kernel explain.

    Parameters
    ----------
    model : fitted GPTM with a kernel
    topics : "all", int, str or sequence, optional
        By default one bar per term, over all topics together, with its credible interval. Otherwise one bar per
        topic, made of the terms, with the credible interval of what they explain together.
    level : float, default=0.9
        Credible level of the intervals.
    feature_names : sequence of str, optional
        The words of the columns of X, for a model that was fitted to an array without names.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from gptm import GPTM, kernels as k, plots
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> model = GPTM(2, kernel=k.Categorical("shop"), random_state=0).fit(X, metadata={"shop": list("aabb") * 6})
    >>> ax = plots.plot_variance_explained(model)
    >>> ax.get_xlabel()
    'share of the variance between documents'
    """
    terms = check_terms(model)
    table = model.variance_explained(level=level)
    table = table.rename(columns={"low": "share_low", "high": "share_high"})
    if topics is None:
        return _overall(table[table["topic"] == "all"], ax)
    K = len(model.components_)
    shown = list(range(K)) if isinstance(topics, str) and topics == "all" else None
    shown = topic_numbers(model.fitted_, topics) if shown is None else shown
    table = table[table["topic"] != "all"].astype({"topic": int})
    return _by_topic(table, terms, shown, topic_labels(model.fitted_, 3, feature_names), ax)


def _overall(table: pd.DataFrame, ax: Any) -> Any:
    explained = table[table["term"] != UNEXPLAINED].sort_values("share", kind="stable")
    rows = pd.concat([table[table["term"] == UNEXPLAINED], explained])  # drawn from below
    ax = new_axes(ax, (6.4, 1.1 + _ROW * len(rows)))
    colors = [GREY if term == UNEXPLAINED else color_of(0) for term in rows["term"]]
    places = np.arange(len(rows))
    ax.barh(places, rows["share"], height=0.62, color=colors, alpha=0.85)
    ax.errorbar(
        rows["share"], places, xerr=around(rows, "share"), fmt="none", ecolor="0.2", elinewidth=1.1
    )
    for place, share, end in zip(
        places, rows["share"], rows[["share", "share_high"]].max(axis=1), strict=True
    ):
        ax.annotate(
            f"{100 * share:.1f} %",
            (end, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color="0.25",
        )
    _finish(ax, rows["term"].tolist())
    return ax


def _by_topic(
    table: pd.DataFrame, terms: list[str], topics: list[int], labels: list[str], ax: Any
) -> Any:
    shares = table.pivot(index="topic", columns="term", values="share").loc[topics]
    unexplained = table[table["term"] == UNEXPLAINED].set_index("topic").loc[topics]
    order = np.argsort(-unexplained["share"].to_numpy(), kind="stable")  # most explained on top
    shares, unexplained = shares.iloc[order], unexplained.iloc[order]
    ax = new_axes(ax, (7.2, 1.4 + _ROW * len(topics)))
    places = np.arange(len(topics))
    below, above = np.zeros((2, len(topics)))  # where the bars of negative and positive shares end
    for position, term in enumerate([*terms, UNEXPLAINED]):
        last = term == UNEXPLAINED
        color = "0.9" if last else color_of(position)
        width = shares[term].to_numpy()
        left = np.where(width < 0, below, above)
        ax.barh(places, width, left=left, height=0.66, color=color, label=term, ec="white", lw=0.6)
        below, above = below + np.minimum(width, 0.0), above + np.maximum(width, 0.0)
    border = above - unexplained["share"].to_numpy()  # of what is explained
    reach = around(unexplained, "share")[::-1]  # the low end of one is the high end of the other
    ax.errorbar(border, places, xerr=reach, fmt="none", ecolor="0.2", elinewidth=1.1)
    _finish(ax, [labels[topic] for topic in shares.index])
    ax.set_xlim(right=max(1.0, float(above.max())))
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, fontsize=SMALL)
    return ax


def _finish(ax: Any, names: list[str]) -> None:
    ax.set_yticks(np.arange(len(names)), labels=names)
    if ax.dataLim.x0 < 0:
        ax.axvline(0.0, color="0.5", lw=0.8)
    else:
        ax.set_xlim(left=0.0)
    ax.set_xlabel("share of the variance between documents")
    as_percent(ax.xaxis)
    tidy(ax, "x")
    ax.tick_params(axis="y", length=0)
