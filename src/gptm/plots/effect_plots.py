"""Plots of the effects of the terms of the kernel, from `model.effects`."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from gptm._basics.validation import check_choice, check_number
from gptm.kernels import Sum
from gptm.model import GPTM
from gptm.plots.canvas import topic_labels
from gptm.plots.curves import VALUE_LABELS, draw_curves, draw_surface
from gptm.plots.ranks import draw_documents, draw_levels
from gptm.tables import topic_numbers

CURVES = 6  # topics, where none are named: as many as there are colours
POINTS = 200  # along a column, so that curves look smooth
DOTS = 3  # topics beside each other at one category
_VALUES = ("contrast", "share")
_FIXED = {"term", "topic", "topic_name"} | {
    v + end for v in _VALUES for end in ("", "_low", "_high")
}


def plot_topics_over_time(
    model: GPTM,
    column: str | None = None,
    topics: Any = None,
    level: float = 0.9,
    *,
    n_points: int = POINTS,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Expected shares of topics along a column of dates or numbers, with credible bands.

    Parameters
    ----------
    model : fitted GPTM
        Its kernel needs a term that reads this column alone, such as `Matern("date")`. If there are several, the first
        is drawn.
    column : str, optional
        By default the first column of dates among the kernel's terms, or else the first column of numbers.
    topics : int, str or sequence, optional
        By default the six topics whose shares change most.
    level : float, default=0.9
        Credible level of the bands.
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
    terms = check_terms(model)
    check_number("n_points", n_points, least=2, integer=True)
    if topics is not None:
        topics = topic_numbers(model.fitted_, topics)
    table, column = _table_along(model, terms, column, level=level, n_points=n_points)
    shown = _choose(table, "share", topics, model, CURVES)
    labels = topic_labels(model, 3, feature_names)
    return draw_curves(ax, _by_topic(table, shown, labels), column, "share")


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
    check_choice("kind", kind, _VALUES)
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
    ax = _draw(model, table, topics, kind, topic_labels(model, 3, feature_names), ax)
    if options.get("versus") is not None:
        for axis in (ax.xaxis, ax.yaxis):
            if axis.get_label_text() == VALUE_LABELS[kind]:
                axis.set_label_text(f"difference in {VALUE_LABELS[kind]}")
    return ax


def _draw(
    model: GPTM, table: pd.DataFrame, topics: Any, kind: str, labels: list[str], ax: Any
) -> Any:
    """The kind of plot that suits the columns of a table of effects."""
    columns = _columns(table)
    fixed = [column for column in columns if table[column].nunique(dropna=False) == 1]
    if 0 < len(fixed) < len(columns):  # the title shows these, the plot the others
        where = ", ".join(f"{column} = {_as_text(table[column].iloc[0])}" for column in fixed)
        ax = _draw(model, table.drop(columns=fixed), topics, kind, labels, ax)
        ax.set_title(
            ", ".join(filter(None, [ax.get_title("left"), where])), loc="left", fontsize="medium"
        )
        return ax
    along = [column for column in columns if _is_continuous(table[column])]
    if columns == ["document"]:
        topic = _choose_one(table, kind, topics, model, "of single documents")
        return draw_documents(ax, table[table["topic"] == topic], kind, labels[topic])
    if not along:
        shown = _choose(table, kind, topics, model, DOTS)
        levels = table.assign(level=_joined(table[columns]))
        return draw_levels(ax, _by_topic(levels, shown, labels), kind)
    if len(columns) == 1:
        shown = _choose(table, kind, topics, model, CURVES)
        return draw_curves(ax, _by_topic(table, shown, labels), along[0], kind)

    topic = _choose_one(table, kind, topics, model, f"of the columns {', '.join(columns)} together")
    table = table[table["topic"] == topic]
    if len(along) == 1:
        names = _joined(table[[c for c in columns if c not in along]])
        groups = {name: table[names == name] for name in dict.fromkeys(names)}
        most = sorted(groups, key=lambda name: -_range(groups[name][kind]))[:CURVES]
        shown_groups = {name: groups[name] for name in groups if name in most}
        return draw_curves(ax, shown_groups, along[0], kind, of=labels[topic])
    if len(columns) == 2:
        return draw_surface(ax, table, along, kind, of=labels[topic])
    raise ValueError(
        f"a plot cannot show effects of {len(columns)} columns: {', '.join(columns)}. Use the table of model.effects."
    )


def check_terms(model: GPTM) -> list[str]:
    """The names of the terms of a fitted model's kernel."""
    check_is_fitted(model)
    terms = [str(term) for term in getattr(model, "terms_", ())]
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
    for term in _candidates(model, terms, column):
        table = model.effects(term, **options)
        columns = _columns(table)
        if len(columns) == 1 and _is_continuous(table[columns[0]]):
            by_column.setdefault(columns[0], table)
            if columns[0] == column or (column is None and _is_date(table[columns[0]])):
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


def _candidates(model: GPTM, terms: list[str], column: str | None) -> list[str]:
    """The terms that may have a curve along the column, from the columns that they read."""
    kernel = model.kernel_
    assert kernel is not None
    parts = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    if len(parts) != len(terms):
        return terms
    read = [part.column_names() for part in parts]
    return [
        term
        for term, columns in zip(terms, read, strict=True)
        if len(columns) == 1 and column in (None, *columns)
    ]


def _reads_one_column(model: GPTM, term: str | int) -> bool:
    """Whether a term, given by name, number or column, reads one column; only then are more points of use."""
    kernel = getattr(model, "kernel_", None)
    parts = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    named = dict(zip(model.terms_, parts, strict=False)) | dict(enumerate(parts))
    part = named.get(term)
    return term not in named or (part is not None and len(part.column_names()) == 1)


def _columns(table: pd.DataFrame) -> list[str]:
    """The columns of the metadata, or `document`, in a table of effects."""
    return [name for name in table.columns if name not in _FIXED]


def _is_date(values: pd.Series) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(values))


def _is_continuous(values: pd.Series) -> bool:
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return bool(values.name != "document" and (is_number or _is_date(values)))


def _as_text(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return str(value.date())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _joined(levels: pd.DataFrame) -> pd.Series:
    """Categories of one or more columns as one text."""
    return levels.astype(str).agg(" · ".join, axis=1)


def _range(values: pd.Series) -> float:
    return float(np.ptp(values.to_numpy(dtype=np.float64)))


def _choose(table: pd.DataFrame, value: str, topics: Any, model: GPTM, n: int) -> list[int]:
    """The given topics, or the n whose values vary most, ordered by where they are highest."""
    if topics is not None:
        return topic_numbers(model.fitted_, topics)
    groups = {int(topic): group[value] for topic, group in table.groupby("topic")}
    most = sorted(groups, key=lambda topic: -_range(groups[topic]))[:n]
    return sorted(most, key=lambda topic: int(np.argmax(groups[topic].to_numpy())))


def _choose_one(table: pd.DataFrame, value: str, topics: Any, model: GPTM, subject: str) -> int:
    shown = _choose(table, value, topics, model, 1)
    if len(shown) != 1:
        raise ValueError(
            f"effects {subject} are drawn for one topic at a time; got {len(shown)} topics. Draw each on its own axes."
        )
    return shown[0]


def _by_topic(table: pd.DataFrame, topics: list[int], labels: list[str]) -> dict[str, pd.DataFrame]:
    return {labels[topic]: table[table["topic"] == topic] for topic in topics}
