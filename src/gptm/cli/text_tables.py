"""What the commands show: topics, tables of numbers, and kernels with short numbers."""

import re
from typing import Any

from gptm._basics.printed_table import print_table
from gptm.cli.output_files import write_table
from gptm.cli.session import Session

# Columns of texts, which are aligned to the left.
_TEXTS = ("words", "topic_a", "topic_b", "status", "clearest effect")


def topic_rows(table: Any) -> list[tuple[str, str, str]]:
    """Number, share and words of each topic, largest first."""
    ordered = table.sort_values("share", ascending=False)
    return [
        (str(topic), f"{row['share']:.1%}", _named(row.get("name")) + str(row["words"]))
        for topic, row in ordered.iterrows()
    ]


def _named(name: Any) -> str:
    return f"{name}: " if isinstance(name, str) and name else ""


def show_table(
    session: Session, table: Any, output: str | None, *, text: Any = None, data: Any = None
) -> None:
    """A table to a file, or to standard output, as `text` there; with --json `data`, or the table itself."""
    if write_table(session, table, output):
        return
    if text is None:
        text = table.astype(object).where(table.notna(), "").map(short)
    names = [str(name) for name in text]
    numbers = [name for name in names if name not in _TEXTS]
    rows = text.astype(str).to_numpy().tolist()
    session.answer(table if data is None else data, lambda: print_table(rows, names, numbers))


def short(cell: Any) -> str:
    """A cell of a table, with three digits of a number."""
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def print_frame(frame: Any) -> None:
    """Print a table with short numbers, and dates without the time where that is enough."""
    numbers = [name for name in frame if frame[name].dtype.kind in "if"]
    shown = {name: _days(frame[name]) for name in frame}
    rows = list(zip(*(map(_cell, shown[name]) for name in frame), strict=True))
    print_table(rows, [str(name) for name in frame], [str(name) for name in numbers])


def _days(values: Any) -> Any:
    """Dates without the time, if all days differ; even steps fall on any time of a day."""
    if values.dtype.kind != "M":
        return values
    days = values.dt.normalize()
    return days if days.nunique() == values.nunique() else values


def _cell(value: Any) -> str:
    if value is None or value != value:  # not a number, not a time
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return (
        value.isoformat().removesuffix("T00:00:00") if hasattr(value, "isoformat") else str(value)
    )


def readable(kernel: Any) -> str:
    """A kernel as text, with its numbers rounded to four digits.

    Examples
    --------
    >>> readable("0.3333333333333 * Matern('date', length_scale=10677.614849259631)")
    "0.3333 * Matern('date', length_scale=10678)"
    """
    number = re.compile(r"(?<![\w.'\"])\d+\.\d+(?:e[+-]?\d+)?(?![\w.'\"])")
    return number.sub(lambda match: _four_digits(float(match[0])), str(kernel))


def _four_digits(value: float) -> str:
    return f"{value:.0f}" if 1000 <= value < 1e9 else f"{value:.4g}"
