"""Values with intervals, one row each, in order."""

from typing import Any

import numpy as np
import pandas as pd

from gptm.plots.canvas import SMALL, as_percent, color_of, new_axes, tidy
from gptm.plots.curves import VALUE_LABELS

LEVELS = 24  # at most, in one plot
DOCUMENTS = 10  # at either end
_ROW = 0.27  # inches
_BREADTH = 0.6  # of a row that its dots take


def draw_levels(ax: Any, groups: dict[str, pd.DataFrame], value: str) -> Any:
    """Dots with bars: a row for each level, a colour for each group, ordered by the first group."""
    first, *_ = groups.values()
    order, n_levels = _largest(first, value)
    ax = new_axes(ax, (7.2, 1.3 + _ROW * max(len(order), 4)))
    shifts = _BREADTH * (np.arange(len(groups)) - (len(groups) - 1) / 2) / max(len(groups), 2)
    for position, (name, group) in enumerate(groups.items()):
        rows = group.set_index("level").loc[order]
        places = np.arange(len(order)) - shifts[position]
        ax.errorbar(
            rows[value],
            places,
            xerr=around(rows, value),
            fmt="osD^vP"[position % 6],
            color=color_of(position),
            ms=4.5,
            elinewidth=1.3,
            label=name,
        )
    if n_levels > len(order):
        note = f"the {len(order)} of {n_levels} furthest from the middle"
        ax.set_title(note, loc="right", fontsize=SMALL, color="0.35")
    _finish(ax, np.arange(len(order)), order, value)
    if len(groups) == 1:
        ax.set_title(next(iter(groups)), loc="left", fontsize="medium")
    else:
        where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
        ax.legend(frameon=False, fontsize=SMALL, labelcolor="linecolor", **where)
    return ax


def draw_documents(ax: Any, table: pd.DataFrame, value: str, of: str) -> Any:
    """Bars for the documents with the largest and the smallest values."""
    ordered = table.sort_values(value, kind="stable")
    ends = np.r_[0 : min(DOCUMENTS, len(ordered)), max(len(ordered) - DOCUMENTS, 0) : len(ordered)]
    rows = ordered.iloc[np.unique(ends)]
    ax = new_axes(ax, (6.4, 1.2 + _ROW * len(rows)))
    places = np.arange(len(rows), dtype=np.float64)
    if len(rows) < len(ordered):  # a gap where documents are left out
        places[DOCUMENTS:] += 1.0
        _note(ax, DOCUMENTS, f"{len(ordered) - len(rows):,} documents between")
    ax.barh(places, rows[value], height=0.66, color=color_of(0), alpha=0.85)
    ax.errorbar(rows[value], places, xerr=around(rows, value), fmt="none", ecolor="0.25", lw=1.0)
    _finish(ax, places, rows["document"].astype(str).tolist(), value)
    ax.set_ylabel("document")
    ax.set_title(of, loc="left", fontsize="medium")
    return ax


def around(rows: pd.DataFrame, value: str) -> np.ndarray:
    """(2, n) lengths of the bars below and above the values, whose ends are in value_low and value_high."""
    below, above = rows[value] - rows[f"{value}_low"], rows[f"{value}_high"] - rows[value]
    return np.maximum(np.stack([below, above]).astype(np.float64), 0.0)


def _largest(group: pd.DataFrame, value: str) -> tuple[list[str], int]:
    """The levels that a plot shows, smallest value first, and the number of all levels."""
    values = group.set_index("level")[value].sort_values(kind="stable")
    distance = (values - values.median()).abs().to_numpy()
    farthest = np.sort(np.argsort(-distance, kind="stable")[:LEVELS])
    return values.index[farthest].tolist(), len(values)


def _note(ax: Any, place: float, text: str) -> None:
    """A note in its own row."""
    where: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "center", "va": "center"}
    ax.text(0.5, place, text, fontsize=SMALL, color="0.35", **where)


def _finish(ax: Any, places: np.ndarray, names: list[str], value: str) -> None:
    ax.set_yticks(places, labels=names, fontsize=SMALL)
    ax.set_ylim(-0.6, places[-1] + 0.6)
    ax.set_xlabel(VALUE_LABELS[value])
    tidy(ax, "x")
    ax.tick_params(axis="y", length=0)
    if value == "share":
        as_percent(ax.xaxis)
    if value == "share" and ax.dataLim.x0 >= 0:
        ax.set_xlim(left=0.0)
    else:  # contrasts, or with versus= differences
        ax.axvline(0.0, color="0.5", lw=0.8, zorder=1)
