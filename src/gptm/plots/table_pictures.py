"""Tables of values with bands, by topic and setting, as the kind of plot that suits their columns."""

from typing import Any

import numpy as np
import pandas as pd

from gptm.plots.curves import VALUE_LABELS, draw_curves, draw_surface
from gptm.plots.ranks import draw_documents, draw_levels

CURVES = 6  # topics, where none are named: as many as there are colours
POINTS = 200  # along a column, so that curves look smooth
DOTS = 3  # topics beside each other at one category
VALUES = ("contrast", "share")
_FIXED = {"term", "topic", "topic_name"} | {
    v + end for v in VALUES for end in ("", "_low", "_high")
}


def draw_table(
    table: pd.DataFrame, topics: list[int] | None, kind: str, labels: list[str], ax: Any
) -> Any:
    """The kind of plot that suits the columns of a table of effects."""
    columns = columns_of_table(table)
    fixed = [column for column in columns if table[column].nunique(dropna=False) == 1]
    if 0 < len(fixed) < len(columns):  # the title shows these, the plot the others
        where = ", ".join(f"{column} = {_as_text(table[column].iloc[0])}" for column in fixed)
        ax = draw_table(table.drop(columns=fixed), topics, kind, labels, ax)
        ax.set_title(
            ", ".join(filter(None, [ax.get_title("left"), where])), loc="left", fontsize="medium"
        )
        return ax
    along = [column for column in columns if is_continuous(table[column])]
    if columns == ["document"]:
        topic = _choose_one(table, kind, topics, "of single documents")
        return draw_documents(ax, table[table["topic"] == topic], kind, labels[topic])
    if not along:
        shown = choose(table, kind, topics, DOTS)
        levels = table.assign(level=_joined(table[columns]))
        return draw_levels(ax, by_topic(levels, shown, labels), kind)
    if len(columns) == 1:
        shown = choose(table, kind, topics, CURVES)
        return draw_curves(ax, by_topic(table, shown, labels), along[0], kind)

    topic = _choose_one(table, kind, topics, f"of the columns {', '.join(columns)} together")
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
        f"a plot cannot show effects of {len(columns)} columns: {', '.join(columns)}. Use the table of model.effects "
        "or predict."
    )


def name_differences(ax: Any, kind: str) -> None:
    """Say that values are differences, on the axis that shows them."""
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_label_text() == VALUE_LABELS[kind]:
            axis.set_label_text(f"difference in {VALUE_LABELS[kind]}")


def columns_of_table(table: pd.DataFrame) -> list[str]:
    """The columns of the metadata, or `document`, in a table of effects."""
    return [name for name in table.columns if name not in _FIXED]


def is_date_column(values: pd.Series) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(values))


def is_continuous(values: pd.Series) -> bool:
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return bool(values.name != "document" and (is_number or is_date_column(values)))


def _as_text(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return str(value.date())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _joined(levels: pd.DataFrame) -> pd.Series:
    """Categories of one or more columns as one text."""
    return levels.astype(str).agg(" · ".join, axis=1)


def _range(values: pd.Series) -> float:
    return float(np.ptp(values.to_numpy(dtype=np.float64)))


def choose(table: pd.DataFrame, value: str, topics: list[int] | None, n: int) -> list[int]:
    """The given topics, or the n whose values vary most, ordered by where they are highest."""
    if topics is not None:
        return topics
    groups = {int(topic): group[value] for topic, group in table.groupby("topic")}
    most = sorted(groups, key=lambda topic: -_range(groups[topic]))[:n]
    return sorted(most, key=lambda topic: int(np.argmax(groups[topic].to_numpy())))


def _choose_one(table: pd.DataFrame, value: str, topics: list[int] | None, subject: str) -> int:
    shown = choose(table, value, topics, 1)
    if len(shown) != 1:
        raise ValueError(
            f"effects {subject} are drawn for one topic at a time; got {len(shown)} topics. Draw each on its own axes."
        )
    return shown[0]


def by_topic(table: pd.DataFrame, topics: list[int], labels: list[str]) -> dict[str, pd.DataFrame]:
    return {labels[topic]: table[table["topic"] == topic] for topic in topics}
