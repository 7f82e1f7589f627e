"""Tables of what is measured: medians over seeds; means of shares, which are coarse in each seed."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

SCORES = {
    "words": ("log_likelihood", "perplexity", "npmi", "seconds", "cpu", "memory_mb"),
    "new_words": (
        *(f"{theta}_{seen}" for theta in ("own", "common") for seen in (50, 20, 5)),
        "npmi",
        "seconds",
        "cpu",
    ),
    "effects": ("slope", "error", "bands_hold", "least_overlap", "seconds", "cpu"),
    "topics": ("npmi", "c_v", "diversity", "purity", "nmi", "assigned", "seconds", "cpu"),
}

MEANS = ("bands_hold",)


def table_of(track: str, results: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """One row per case and library, in the order in which they were measured."""
    rows = pd.DataFrame(list(results))
    if rows.empty:
        return rows
    columns = [name for name in SCORES[track] if name in rows]
    groups = rows.groupby(["corpus", "K", "library"], sort=False)
    table = groups[columns].agg({name: "mean" if name in MEANS else "median" for name in columns})
    table.insert(0, "seeds", groups.size())
    if "failed" in rows:
        table["failed"] = groups["failed"].first().fillna("")
    return table.reset_index()


def markdown(table: pd.DataFrame) -> str:
    """The table as Markdown.

    >>> print(markdown(pd.DataFrame({"library": ["gptm"], "npmi": [0.25]})))
    | library | npmi |
    |---|---|
    | gptm | 0.25 |
    """
    lines = [list(table.columns), ["---"] * len(table.columns)]
    lines += [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    text = [f"| {' | '.join(line)} |" for line in lines]
    text[1] = "|" + "---|" * len(table.columns)
    return "\n".join(text)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if pd.isna(value) else f"{value:.4g}"
    return str(value)
