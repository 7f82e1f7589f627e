"""Which topics and effects come back when a model is fitted again."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from gptm.plots.canvas import COLORS, GREY, SMALL, as_percent, new_axes, side_by_side, tidy

_KINDS = {"seed": "other seed", "topics": "other number of topics", "resample": "resample"}
_SPREAD = 0.25  # of the dots of a row
_LONGEST = 32  # characters of a label


@runtime_checkable
class RefitTopics(Protocol):
    """Topics of refits, as `gptm.stability` returns them."""

    @property
    def threshold(self) -> float: ...
    @property
    def level(self) -> float: ...
    @property
    def table(self) -> pd.DataFrame: ...
    @property
    def effects(self) -> pd.DataFrame: ...
    @property
    def runs(self) -> pd.DataFrame: ...
    @property
    def overlap(self) -> pd.DataFrame: ...


def plot_stability(stability: RefitTopics, *, ax: Any = None) -> Any:
    """Which topics and effects come back, from `gptm.stability`; the same as `stability.plot(ax)`.

    The left panel has a row for each topic, the one that comes back most often at the top, and a dot for each refit:
    the best overlap with a topic there. Beside it stands the share of refits in which the topic came back. The right
    panel has the clearest effect of each topic: in the model itself (a ring), and pooled over fits, with a band that
    includes the variation between fits.

    Parameters
    ----------
    stability : Stability
        The result of `gptm.stability`.
    ax : matplotlib Axes, optional
        Where to draw the overlaps alone; by default a new figure with both panels.

    Returns
    -------
    Axes
        That of the overlaps.

    Examples
    --------
    >>> import gptm
    >>> from gptm import plots
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> model = gptm.CTM(2, random_state=0).fit(X)
    >>> ax = plots.plot_stability(gptm.stability(model, X, seeds=2, n_components=(), resamples=0))
    >>> ax.get_xlabel()
    'overlap with the most similar topic of each refit'
    """
    if not isinstance(stability, RefitTopics):
        raise ValueError(
            "plot_stability expects the result of gptm.stability; got an object of type "
            f"{type(stability).__name__}."
        )
    table = stability.table.sort_values(["back", "overlap"], kind="stable")
    height = 1.8 + 0.34 * len(table)
    if ax is None and "at" in table:
        ax, effects = side_by_side((10.5, height), (3, 2))
        _draw_effects(effects, stability, table)
    else:
        ax = new_axes(ax, (7.2, height))
    _draw_overlaps(ax, stability, table)
    return ax


def _draw_overlaps(ax: Any, stability: RefitTopics, table: pd.DataFrame) -> None:
    kinds = stability.runs["kind"].to_numpy()
    overlap = stability.overlap.loc[table.index].to_numpy()
    rows = np.arange(len(table))
    shifts = np.linspace(-_SPREAD, _SPREAD, len(kinds)) if len(kinds) > 1 else np.zeros(1)
    for position, (kind, name) in enumerate(_KINDS.items()):
        own = np.flatnonzero(kinds == kind)
        if len(own):
            places = (rows[:, None] + shifts[own]).ravel()
            color = COLORS[position]
            ax.plot(overlap[:, own].ravel(), places, "o", ms=4, color=color, alpha=0.7, label=name)
    limit = ax.axvline(stability.threshold, color="0.6", ls="--", lw=1, zorder=0)
    limit.set_label("came back")
    ax.set_yticks(rows, labels=[f"{_short(row.words)}  ({k})" for k, row in _named(table)])
    ax.set_ylim(-0.6, len(table) - 0.4)
    ax.set_xlim(0.0, 1.0)
    for row, (_, values) in zip(rows, _named(table), strict=True):
        ax.annotate(
            f"{100 * values.back:.0f} %",
            (1.0, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color="0.35",
            annotation_clip=False,
        )
    ax.set_xlabel("overlap with the most similar topic of each refit")
    tidy(ax, "x")
    ax.legend(frameon=False, fontsize=SMALL, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)


def _draw_effects(ax: Any, stability: RefitTopics, table: pd.DataFrame) -> None:
    rows = np.arange(len(table))
    own = _own_effects(stability, table)
    clear = ((table["low"] > 0) | (table["high"] < 0)).to_numpy()
    for row, values, sure in zip(rows, table.itertuples(), clear, strict=True):
        color = COLORS[0] if sure else GREY
        ax.plot([values.low, values.high], [row, row], color=color, lw=2, solid_capstyle="butt")
        ax.plot(values.effect, row, "o", color=color, ms=5)
    ax.plot(own, rows, "o", ms=9, fillstyle="none", color="0.35", label="in the model itself")
    ax.axvline(0.0, color="0.6", lw=1, zorder=0)
    as_percent(ax.xaxis)
    ax.set_xlabel(f"clearest effect on the share, {100 * stability.level:g} % band")
    tidy(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.yaxis.tick_right()
    ax.set_yticks(rows, labels=[_short(text) for text in table["at"]], fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.6, len(table) - 0.4)
    ax.legend(frameon=False, fontsize=SMALL, loc="lower left", bbox_to_anchor=(0.0, 1.0))


def _own_effects(stability: RefitTopics, table: pd.DataFrame) -> list[float]:
    """Of the model itself, the effects that the table has pooled."""
    effects = stability.effects
    keys = effects["term"] + " = " + effects["setting"]
    lookup = dict(zip(zip(effects["topic"], keys, strict=True), effects["effect"], strict=True))
    return [lookup[topic, place] for topic, place in table["at"].items()]


def _named(table: pd.DataFrame) -> list[tuple[Any, Any]]:
    return list(zip(table.index, table.itertuples(), strict=True))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
