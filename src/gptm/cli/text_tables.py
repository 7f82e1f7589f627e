"""What the commands show in tables: topics, and kernels with short numbers."""

import re
from typing import Any


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
    """A kernel as text, with its numbers rounded to four digits.

    Examples
    --------
    >>> readable("0.3333333333333 * Matern('date', length_scale=10677.614849259631)")
    "0.3333 * Matern('date', length_scale=10678)"
    """
    number = re.compile(r"(?<![\w.'\"])\d+\.\d+(?:e[+-]?\d+)?(?![\w.'\"])")
    return number.sub(lambda match: _short(float(match[0])), str(kernel))


def _short(value: float) -> str:
    return f"{value:.0f}" if 1000 <= value < 1e9 else f"{value:.4g}"
