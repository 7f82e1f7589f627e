"""A table for people, on standard output."""

import sys
from collections.abc import Sequence
from typing import Any

from gptm._basics.terminal import printable

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
        table.add_column(
            printable(name), justify="right" if name in numbers else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(printable(str(value)) for value in row))
    with console.capture() as capture:
        console.print(table)
    sys.stdout.write("\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")
