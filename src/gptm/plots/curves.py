"""Values with bands along a column, and over two columns."""

from typing import Any

import numpy as np
import pandas as pd

from gptm.plots.canvas import (
    COLOR_MAP,
    DIVERGING,
    SMALL,
    as_dates,
    as_percent,
    color_of,
    dashes_of,
    label_ends,
    new_axes,
    tidy,
)

VALUE_LABELS = {"contrast": "contrast (logits)", "share": "mean share of documents"}


def draw_curves(
    ax: Any, groups: dict[str, pd.DataFrame], along: str, value: str, of: str | None = None
) -> Any:
    """One labelled curve with its band for each group; `of` is the title."""
    ax = new_axes(ax)
    ends = []
    for position, group in enumerate(groups.values()):
        ordered = group.sort_values(along, kind="stable")
        x, middle = ordered[along].to_numpy(), ordered[value].to_numpy()
        low, high = ordered[f"{value}_low"].to_numpy(), ordered[f"{value}_high"].to_numpy()
        color = color_of(position)
        ax.fill_between(x, low, high, color=color, alpha=0.15, lw=0)
        mark = "o" if len(x) == 1 else ""  # a line of one point would be invisible
        ax.plot(x, middle, color=color, ls=dashes_of(position), marker=mark, lw=1.8)
        ends.append((x[-1], middle[-1]))
    every = pd.concat(groups.values())
    if every[along].nunique() > 1:
        ax.set_xlim(every[along].min(), every[along].max())
    if value == "share" and (every["share_low"] >= 0).all():
        ax.set_ylim(bottom=0.0)
    else:  # contrasts, or with versus= differences
        ax.axhline(0.0, color="0.5", lw=0.8, zorder=1)
    _name(ax, along, value, of)
    if pd.api.types.is_datetime64_any_dtype(every[along]):
        as_dates(ax.xaxis)
    tidy(ax)
    ax.margins(y=0.02)
    label_ends(ax, ends, list(groups))
    return ax


def draw_surface(ax: Any, table: pd.DataFrame, columns: list[str], value: str, of: str) -> Any:
    """Values at points of two columns, in colours."""
    ax = new_axes(ax, (6.0, 4.6))
    x, y = (table[column] for column in columns)
    values = table[value].to_numpy(dtype=np.float64)
    limit = np.abs(values).max(initial=1e-12)
    scale: dict[str, Any] = (
        {"cmap": COLOR_MAP, "vmin": 0.0}
        if value == "share"
        else {"cmap": DIVERGING, "vmin": -limit, "vmax": limit}
    )
    if len(table) == x.nunique() * y.nunique() > 1:  # a full grid
        grid = table.pivot(index=columns[1], columns=columns[0], values=value)
        drawn = ax.pcolormesh(grid.columns, grid.index, grid, shading="nearest", **scale)
    else:
        drawn = ax.scatter(x, y, c=values, s=22, lw=0, **scale)
    bar = ax.get_figure().colorbar(drawn, ax=ax, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(f"{VALUE_LABELS[value]}: {of}", fontsize=SMALL)
    if value == "share":
        as_percent(bar.ax.yaxis)
    ax.set(xlabel=columns[0], ylabel=columns[1])
    tidy(ax, "both")
    return ax


def _name(ax: Any, along: str, value: str, of: str | None) -> None:
    ax.set_xlabel(along)
    ax.set_ylabel(VALUE_LABELS[value])
    if value == "share":
        as_percent(ax.yaxis)
    if of is not None:
        ax.set_title(of, loc="left", fontsize="medium")
