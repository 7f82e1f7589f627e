"""Plots of regressions on the topics' shares, from `model.estimate_effects`."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from gptm._basics.errors import ArgumentError, Message
from gptm.effects.estimated_effects import EstimatedEffects
from gptm.plots.canvas import topic_labels
from gptm.plots.table_pictures import POINTS, draw_table, name_differences
from gptm.tables import topic_numbers


def plot_estimates(
    effects: EstimatedEffects,
    *columns: str,
    topics: Any = None,
    at: Mapping[str, Any] | None = None,
    versus: Mapping[str, Any] | None = None,
    level: float | None = None,
    n_points: int = POINTS,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Expected shares of topics at values of some columns, with bands, after `model.estimate_effects`.

    For dates and numbers this draws curves; for categories, and numbers with two values, dots with bars. With a
    category and a number it draws one topic, a curve for each level.

    Parameters
    ----------
    effects : EstimatedEffects
        From `model.estimate_effects` or `gptm.split_sample_effects`.
    *columns : str
        Columns of the formula to vary, as in `EstimatedEffects.predict`. By default its only column.
    topics : int, str or sequence, optional
        By default the topics that change most: six as curves, three as dots, otherwise one.
    at, versus, level, n_points
        As in `EstimatedEffects.predict`.
    feature_names : sequence of str, optional
        The words of the columns of X, for a model that was fitted to an array without names.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from gptm import CTM, plots
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> model = CTM(2, random_state=0).fit(X)
    >>> effects = model.estimate_effects("~ year", {"year": [1990, 1995, 2010, 2015] * 6})
    >>> plots.plot_estimates(effects).get_xlabel()
    'year'
    """
    if not isinstance(effects, EstimatedEffects):
        got = Message(f"an object of type {type(effects).__name__}")
        raise ArgumentError("effects", "must be what model.estimate_effects returns", got)
    table = effects.predict(*columns, at=at, versus=versus, n_points=n_points, level=level)
    chosen = None if topics is None else topic_numbers(effects.fitted, topics)
    table = table.drop(columns="std_error").pipe(_with_levels)
    ax = draw_table(table, chosen, "share", topic_labels(effects.fitted, 3, feature_names), ax)
    if versus is not None:
        name_differences(ax, "share")
    return ax


def _with_levels(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers with two values as levels: a line between them would say too much."""
    results = {"topic", "topic_name", "share", "share_low", "share_high"}
    two = [name for name in table if name not in results and table[name].nunique() <= 2]
    return table.assign(**{name: table[name].map(str) for name in two})
