"""Tables for people, on standard output."""

import re
import sys
from collections.abc import Sequence
from typing import Any

_PIPED_WIDTH = 100_000  # nothing is wrapped for a program


def print_table(
    rows: Sequence[Sequence[Any]], columns: Sequence[str], numbers: Sequence[str] = ()
) -> None:
    """Rows under their headings; the columns in `numbers` are aligned to the right."""
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console = Console(markup=False, emoji=False, highlight=False, width=_PIPED_WIDTH)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(str(value) for value in row))
    with console.capture() as capture:
        console.print(table)
    sys.stdout.write("\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")


def topic_rows(table: Any) -> list[tuple[str, str, str]]:
    """Number, share and words of each topic, largest first."""
    ordered = table.sort_values("share", ascending=False)
    return [
        (str(topic), f"{row['share']:.1%}", _named(row.get("name")) + str(row["words"]))
        for topic, row in ordered.iterrows()
    ]


def _named(name: Any) -> str:
    return f"{name}: " if isinstance(name, str) and name else ""


def readable(kernel: Any) -> str:
    """A kernel with numbers that are as long as they are of use.

    Examples
    --------
    >>> readable("0.3333333333333 * Matern('date', length_scale=10677.614849259631)")
    "0.3333 * Matern('date', length_scale=10678)"
    """
    number = re.compile(r"(?<![\w.'\"])\d+\.\d+(?:e[+-]?\d+)?(?![\w.'\"])")
    return number.sub(lambda found: _short(float(found[0])), str(kernel))


def _short(value: float) -> str:
    return f"{value:.0f}" if 1000 <= value < 1e9 else f"{value:.4g}"
