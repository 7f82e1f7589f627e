"""Plots of the effects of the terms of the kernel, from `model.effects`."""

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from gptm._basics.errors import ArgumentError
from gptm._basics.validation import check_choice, check_number
from gptm.kernels.kernel import summands
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.plots.canvas import topic_labels
from gptm.plots.curves import draw_curves
from gptm.plots.table_pictures import (
    CURVES,
    POINTS,
    VALUES,
    by_topic,
    choose,
    columns_of_table,
    draw_table,
    is_continuous,
    is_date_column,
    name_differences,
)
from gptm.questions import topics_over_time
from gptm.tables import topic_numbers


def plot_topics_over_time(
    model: GPTM,
    column: str | None = None,
    topics: Any = None,
    level: float = 0.9,
    *,
    dates: Any = None,
    bins: str | int | None = None,
    n_points: int = POINTS,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Expected shares of topics along a column of dates or numbers, with credible bands.

    Parameters
    ----------
    model : fitted GPTM
        Without `dates`, its kernel needs a term that reads this column alone, such as `Matern("date")`. If there are
        several, the first is drawn.
    column : str, optional
        By default the first column of dates among the kernel's terms, or else the first column of numbers.
    topics : int, str or sequence, optional
        By default the six topics whose shares change most.
    level : float, default=0.9
        Credible level of the bands.
    dates, bins : optional
        As in `gptm.topics_over_time`: the date of each training document, for any model, and periods to average over.
    n_points : int, default=200
        Points along the column.
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
    >>> years = {"year": [1990, 1995, 2010, 2015] * 6}
    >>> model = GPTM(2, kernel=k.Matern("year"), random_state=0).fit(X, metadata=years)
    >>> ax = plots.plot_topics_over_time(model)
    >>> ax.get_xlabel()
    'year'
    """
    check_number("n_points", n_points, least=2, integer=True)
    if bins is not None and dates is None:
        raise ArgumentError("bins", "must come with dates, the date of each training document")
    if dates is not None:
        table = topics_over_time(model, dates, bins=bins, level=level, n_points=n_points)
        column = "date"
    else:
        terms = check_terms(model)
        table, column = _table_along(model, terms, column, level=level, n_points=n_points)
    if topics is not None:
        topics = topic_numbers(model.fitted_, topics)
    shown = choose(table, "share", topics, CURVES)
    labels = topic_labels(model.fitted_, 3, feature_names)
    return draw_curves(ax, by_topic(table, shown, labels), column, "share")


def plot_effects(
    model: GPTM,
    term: str | int,
    topics: Any = None,
    kind: Literal["contrast", "share"] = "contrast",
    *,
    level: float = 0.9,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
    **options: Any,
) -> Any:
    """The effects of one term of the kernel on topics, with bands.

    For dates and numbers this draws curves; for categories dots with bars, the largest on top; for terms without
    columns, such as links, bars for the documents with the largest and smallest effects. If a term reads several
    columns of numbers, the first varies, and the title shows the values of the others. If `at` varies several columns,
    one topic is drawn: a curve for each category, or a map of two columns of numbers.

    Parameters
    ----------
    model : fitted GPTM with a kernel
    term : str or int
        One of `model.terms_`, its number, or a column that it reads.
    topics : int, str or sequence, optional
        By default the topics with the largest effects: six as curves, three as dots, otherwise one.
    kind : {"contrast", "share"}, default="contrast"
        As in `model.effects`: the term's part of the topics' logits, or the expected shares.
    level : float, default=0.9
        Credible level of the bands.
    feature_names : sequence of str, optional
        The words of the columns of X, for a model that was fitted to an array without names.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    **options
        `at`, `versus` and `n_points` of `model.effects`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from gptm import GPTM, kernels as k, plots
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> shops = {"shop": ["a", "a", "b", "b"] * 6}
    >>> model = GPTM(2, kernel=k.Categorical("shop"), random_state=0).fit(X, metadata=shops)
    >>> ax = plots.plot_effects(model, model.terms_[0], kind="share")
    >>> sorted(label.get_text() for label in ax.get_yticklabels())
    ['a', 'b']
    """
    check_choice("kind", kind, VALUES)
    check_terms(model)
    if topics is not None:
        topics = topic_numbers(model.fitted_, topics)
    if _reads_one_column(model, term):
        options = {"n_points": POINTS} | options
    table = model.effects(term, level=level, **options)
    if len(table) == 0:
        raise ValueError(
            f"the term {term!r} has no effects to draw: model.effects has no rows for it."
        )
    ax = draw_table(table, topics, kind, topic_labels(model.fitted_, 3, feature_names), ax)
    if options.get("versus") is not None:
        name_differences(ax, kind)
    return ax


def check_terms(model: GPTM) -> list[str]:
    """The names of the terms of a fitted model's kernel."""
    check_fitted(model)
    terms = model.terms_
    if not terms:
        raise ValueError(
            f"this {type(model).__name__} has no kernel, so there are no effects of side information to draw. "
            "Fit a GPTM with a kernel, for example kernel=kernels.Matern('date')."
        )
    return terms


def _table_along(
    model: GPTM, terms: list[str], column: str | None, **options: Any
) -> tuple[pd.DataFrame, str]:
    """Effects of the first term along the column, or along the first column of dates, else of numbers; that column.

    Stops at the first term that fits, as effects take time.
    """
    by_column: dict[str, pd.DataFrame] = {}
    for term in _candidates(model, column):
        table = model.effects(term, **options)
        columns = columns_of_table(table)
        if len(columns) == 1 and is_continuous(table[columns[0]]):
            by_column.setdefault(columns[0], table)
            if columns[0] == column or (column is None and is_date_column(table[columns[0]])):
                return table, columns[0]
    if column is None and by_column:
        first, table = next(iter(by_column.items()))
        return table, first
    wanted = "a column of dates or numbers" if column is None else repr(column)
    available = ", ".join(map(repr, terms))
    raise ValueError(
        f"topics over time need a term of the kernel that reads {wanted} alone; its terms are {available}. Fit with "
        f"such a term, for example kernels.Matern({column or 'date'!r}), or use plot_effects for other terms."
    )


def _candidates(model: GPTM, column: str | None) -> list[str]:
    """The terms that may have a curve along the column, from the columns that they read."""
    return [
        term
        for term, columns in _columns_by_term(model).items()
        if len(columns) == 1 and column in (None, *columns)
    ]


def _reads_one_column(model: GPTM, term: str | int) -> bool:
    """Whether a term, given by name, number or column, reads one column; only then are more points of use."""
    read = _columns_by_term(model)
    read |= dict(enumerate(read.values()))
    return not isinstance(term, str | int) or term not in read or len(read[term]) == 1


def _columns_by_term(model: GPTM) -> dict[Any, tuple[str, ...]]:
    """The columns that each term of a fitted model's kernel reads."""
    assert model.kernel_ is not None
    parts = summands(model.kernel_)
    return {term: part.column_names() for term, part in zip(model.terms_, parts, strict=True)}
