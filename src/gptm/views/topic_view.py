"""A table of topics that prints one line per topic."""

from typing import Any

import numpy as np
import pandas as pd

from gptm.views.html_card import Bar, HtmlCell, card, html_table
from gptm.views.text_lines import aligned, percent

MOST_SHOWN = 60  # topics
_MORE = "Columns words, probable, frex, lift and score have the words in five orders."


class TopicTable(pd.DataFrame):
    """What `model.topics()` returns: a DataFrame that prints within 100 columns.

    Whatever is selected from it or computed with it is a plain DataFrame.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        rest = [f"... and {len(self) - MOST_SHOWN:,} more"] if len(self) > MOST_SHOWN else []
        return "\n".join([*topic_lines(self[:MOST_SHOWN]), *rest])

    def _repr_html_(self) -> str:
        rest = [f"{len(self) - MOST_SHOWN:,} more topics"] if len(self) > MOST_SHOWN else []
        return card(
            f"{len(self)} topics", table=topic_html(self[:MOST_SHOWN]), notes=[*rest, _MORE]
        )


def topic_lines(table: pd.DataFrame) -> list[str]:
    """A heading, and one line per topic: number, share, coherence, name and words."""
    header, rows, n_texts = _cells(table)
    return aligned(header, rows, left=n_texts)


def topic_html(table: pd.DataFrame) -> str:
    """The same as HTML, with a bar for the share."""
    header, rows, n_texts = _cells(table)
    if "share" not in table:
        return html_table(header, rows, range(len(header) - n_texts))
    place, largest = header.index("share"), float(table["share"].to_numpy().max(initial=1e-12))
    drawn: list[list[HtmlCell]] = []
    for row, share in zip(rows, table["share"], strict=True):
        drawn.append([*row[:place], Bar(row[place], share / largest), *row[place + 1 :]])
    return html_table(header, drawn, [i for i in range(len(header) - n_texts) if i != place])


def _cells(table: pd.DataFrame) -> tuple[list[str], list[list[str]], int]:
    """Heading and rows, and how many columns of texts are at their end."""
    columns: dict[str, list[str]] = {"topic": [str(topic) for topic in table.index]}
    if "share" in table:
        columns["share"] = [percent(share) for share in table["share"]]
    if "coherence" in table:
        columns["coherence"] = [_number(value) for value in table["coherence"]]
    if "name" in table:
        columns["name"] = [str(name) for name in table["name"]]
    columns["words"] = [str(words) for words in table["words"]]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return list(columns), rows, 2 if "name" in table else 1


def _number(value: Any) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.2f}"
