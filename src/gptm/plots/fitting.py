"""How a fit went, and how many topics to fit."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gptm.plots.canvas import COLORS, SMALL, new_axes, tidy
from gptm.selection import ComponentSearch


def plot_bound(model: Any, *, ax: Any = None) -> Any:
    """The lower bound of the log-likelihood, per word, after each iteration.

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
    check_is_fitted(model)
    ax = new_axes(ax, (6.4, 3.8))
    n_words = float(model.doc_lengths_.sum())
    bound = np.asarray(model.bound_) / (n_words if n_words > 0 else 1.0)
    iterations = np.arange(1, len(bound) + 1)
    ax.plot(iterations, bound, color=COLORS[0], marker="o", ms=3.5, lw=1.6)
    times = f"{len(bound)} iteration{'s' if len(bound) != 1 else ''}"
    end = f"converged after {times}" if model.converged_ else f"not converged in {times}"
    ax.text(0.98, 0.06, end, transform=ax.transAxes, ha="right", fontsize=SMALL, color="0.35")
    ax.set_xlabel("iteration")
    ax.set_ylabel("lower bound, nats per word" if n_words > 0 else "lower bound, nats")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlim(left=0.5)
    tidy(ax)
    return ax


def plot_components(search: ComponentSearch, *, ax: Any = None) -> Any:
    """Perplexity against the number of topics, from `gptm.search_components`; the same as `search.plot(ax)`.

    Parameters
    ----------
    search : ComponentSearch
        What `gptm.search_components` returns.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gptm
    >>> from gptm import plots
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> ax = plots.plot_components(gptm.search_components(gptm.CTM(), X, [1, 2], cv=3))
    >>> ax.get_xlabel()
    'number of topics'
    """
    if not isinstance(search, ComponentSearch):
        raise ValueError(
            "plot_components draws what gptm.search_components returns; got an object of type "
            f"{type(search).__name__}."
        )
    ax = search.plot(new_axes(ax, (6.4, 4.2)))
    tidy(ax)
    return ax
