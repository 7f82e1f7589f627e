"""The progress of a fit, and scores by number of topics."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.plots.canvas import COLORS, SMALL, as_percent, new_axes, new_panels, tidy


def plot_bound(model: GPTM, *, ax: Any = None) -> Any:
    """The progress of a fit: the log-density per word after each sweep, or the lower bound after each iteration of EM.

    Parameters
    ----------
    model : fitted GPTM or CTM
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from gptm import CTM, plots
    >>> model = CTM(n_components=2, random_state=0).fit([[3, 2, 0, 0], [0, 0, 3, 3]] * 5)
    >>> ax = plots.plot_bound(model)
    >>> len(ax.lines[0].get_xdata()) == model.n_iter_
    True
    """
    check_fitted(model)
    ax = new_axes(ax, (6.4, 3.8))
    n_words = float(model.doc_lengths_.sum())
    bound = np.asarray(model.bound_) / (n_words if n_words > 0 else 1.0)
    iterations = np.arange(1, len(bound) + 1)
    sampled = model.inference == "sampling"
    ax.plot(iterations, bound, color=COLORS[0], marker="" if sampled else "o", ms=3.5, lw=1.6)
    step = "sweep" if sampled else "iteration"
    times = f"{len(bound)} {step}{'s' if len(bound) != 1 else ''}"
    end = f"converged after {times}" if model.converged_ else f"not converged in {times}"
    ax.text(0.98, 0.06, end, transform=ax.transAxes, ha="right", fontsize=SMALL, color="0.35")
    ax.set_xlabel(step)
    value = "log-density" if sampled else "lower bound"
    ax.set_ylabel(f"{value}, nats per word" if n_words > 0 else f"{value}, nats")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlim(left=0.5)
    tidy(ax)
    return ax


@runtime_checkable
class ScoredSizes(Protocol):
    """Scores of numbers of topics, as `gptm.search_components` returns them."""

    @property
    def observed(self) -> float: ...
    @property
    def table(self) -> pd.DataFrame: ...
    @property
    def best(self) -> int: ...
    @property
    def lowest(self) -> int: ...
    @property
    def n_folds(self) -> int: ...


def plot_components(search: ScoredSizes, *, ax: Any = None) -> Any:
    """Held-out words, coherence and exclusivity against the number of topics, from `gptm.search_components`.

    The first panel shows by how much the perplexity is higher than the lowest one, paired within folds. The bars are
    standard errors of these differences. The same as `search.plot(ax)`.

    Parameters
    ----------
    search : ComponentSearch
        The result of `gptm.search_components`.
    ax : matplotlib Axes, optional
        Where to draw the held-out words alone; by default a new figure with all three panels.

    Returns
    -------
    Axes
        That of the held-out words.

    Examples
    --------
    >>> import gptm
    >>> from gptm import plots
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> ax = plots.plot_components(gptm.search_components(gptm.CTM(), X, [1, 2], cv=3))
    >>> [panel.get_ylabel() for panel in ax.figure.axes[1:]]
    ['coherence', 'exclusivity']
    """
    if not isinstance(search, ScoredSizes):
        raise ValueError(
            "plot_components expects the result of gptm.search_components; got an object of type "
            f"{type(search).__name__}."
        )
    table = search.table
    if ax is not None:
        held_out = new_axes(ax)
        panels = [held_out]
    else:
        panels = new_panels((6.4, 7.2), (2, 1, 1))
        held_out = panels[0]
        for panel, name in zip(panels[1:], ("coherence", "exclusivity"), strict=True):
            panel.plot(table.index, table[name], color=COLORS[0], marker="o")
            panel.axvline(search.best, color=COLORS[2], lw=1, zorder=0)
            panel.set_ylabel(name)
            tidy(panel)
    _draw_changes(held_out, search, table)
    sizes = table.index.to_numpy()
    if sizes[-1] >= 4 * sizes[0]:
        held_out.set_xscale("log")
    held_out.set_xticks(sizes, labels=[str(size) for size in sizes])
    held_out.set_xticks([], minor=True)
    for panel in panels[:-1]:
        panel.tick_params(labelbottom=False)
    panels[-1].set_xlabel("number of topics")
    return held_out


def _draw_changes(ax: Any, search: ScoredSizes, table: pd.DataFrame) -> None:
    """By how much perplexities are higher than the lowest one, with standard errors."""
    best, lowest = search.best, search.lowest
    change, error = table["change"].fillna(0.0), table["change_error"].fillna(0.0)
    many = search.n_folds > 1
    name = f"mean and standard error, {search.n_folds} folds" if many else "one split"
    curve = ax.errorbar(
        table.index, change, yerr=error, color=COLORS[0], marker="o", capsize=4, label=name
    )
    ring: dict[str, Any] = {"linestyle": "", "fillstyle": "none", "markeredgewidth": 1.8}
    name = f"lowest: {lowest} topics, perplexity {table.loc[lowest, 'perplexity']:.4g}"
    squares = ax.plot(lowest, change[lowest], "s", color=COLORS[1], ms=16, label=name, **ring)
    name = f"best: {best} topics"
    circles = ax.plot(best, change[best], "o", color=COLORS[2], ms=13, label=name, **ring)
    ax.axhline(0.0, color="0.6", ls="--", lw=1, zorder=0)
    ax.set_ylabel(f"perplexity above the lowest,\n{100 * search.observed:g} % of the words seen")
    as_percent(ax.yaxis)
    ax.legend(handles=[curve, *squares, *circles], frameon=False)
    tidy(ax)
