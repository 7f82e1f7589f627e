"""Tables as files: CSV with all digits, Markdown to read."""

from pathlib import Path

import pandas as pd


def markdown(table: pd.DataFrame) -> str:
    """A table of texts and numbers in Markdown; numbers to the right.

    Examples
    --------
    >>> print(markdown(pd.DataFrame({"model": ["CTM"], "error": [0.125]})))
    | model | error |
    |:---|---:|
    | CTM | 0.125 |
    """
    right = [pd.api.types.is_numeric_dtype(table[name]) for name in table]
    marks = ["---:" if is_number else ":---" for is_number in right]
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    lines = [" | ".join(map(_cell, table.columns)), None, *map(" | ".join, rows)]
    return "\n".join(f"|{'|'.join(marks)}|" if line is None else f"| {line} |" for line in lines)


def write_table(
    out: Path, name: str, shown: pd.DataFrame, values: pd.DataFrame | None = None
) -> str:
    """Write `shown` as tables/NAME.md and `values`, or else `shown`, as tables/NAME.csv; returns the Markdown."""
    folder = out / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    text = markdown(shown)
    (folder / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    (shown if values is None else values).to_csv(
        folder / f"{name}.csv", index=False, lineterminator="\n"
    )
    return text


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    return str(value).replace("|", "\\|").replace("\n", " ")
