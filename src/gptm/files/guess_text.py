"""Guesses which column of a table holds the texts."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from gptm._basics.errors import Argument, InputError
from gptm.corpus.cells import as_list, is_missing
from gptm.corpus.scripts import has_no_blanks
from gptm.corpus.token_pattern import expanded
from gptm.files.table_columns import listed

Cells = Sequence[Any]
Table = Mapping[str, Cells]

_TEXT_NAMES = re.compile(
    r"texts?|body|contents?|abstract|documents?|doc|message|description|comment|review|tweet|post|article|paragraph|"
    r"speech|story|lyrics|transcript|summary",
    re.I,
)


def guess_text(table: Table) -> tuple[str, str]:
    """The column to count: the one with the longest strings of many different words."""
    scores = {name: _text_score(name, cells) for name, cells in table.items()}
    best = max(scores, key=lambda name: scores[name], default=None)
    if best is not None and scores[best] > 0:
        return best, "the longest strings with many different words"
    if len(table) == 1:
        return next(iter(table)), "the only column"
    for name, cells in table.items():
        if _TEXT_NAMES.fullmatch(name) and all(map(is_missing, cells)):
            return name, f"is called {name!r}, and empty so far"
    columns = listed(table)
    raise InputError(
        f"no column looks like text; the columns are {columns}. Name the one to count: ",
        Argument("text", ...),
        ".",
    )


def texts_among(table: Table) -> list[str]:
    """All columns that look like text; the only column in any case."""
    return (
        list(table) if len(table) == 1 else [n for n, c in table.items() if _text_score(n, c) > 0]
    )


@cache
def _word() -> re.Pattern[str]:
    """A word wherever it stands; made at its first use, since the marks take a moment to collect."""
    return re.compile(expanded(r"[^\W\d_](?:[^\W\d_]|[\p{M}])+"))


def _words(text: str) -> list[str]:
    """The words of a text; pairs of characters where there are no blanks to tell them by."""
    runs: list[str] = _word().findall(text)
    if has_no_blanks(text):
        return [run[start : start + 2] for run in runs for start in range(0, len(run), 2)]
    return runs


def _text_score(name: str, cells: Cells) -> float:
    """Mean length of the strings, for columns of words; twice for columns that are called so."""
    strings = [cell for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    if not strings:
        return 0.0
    words = [word.lower() for cell in strings for word in _words(cell[:2000])]
    few = len(strings) >= 20 and len(set(strings)) <= len(strings) / 5
    addresses = sum(_is_address(cell) for cell in strings) > len(strings) / 2
    lists = as_list(strings[0]) is not None
    if addresses or lists or len(words) < 1.5 * len(strings):
        return 0.0
    # A list of ids has letters too, but not mainly: weigh by how much of the column is words.
    length = sum(min(len(cell), 2000) for cell in strings)
    share = sum(map(len, words)) / length
    if share < 0.4:
        return 0.0
    # Names that repeat are counted only where there is nothing better.
    return length / len(cells) * (2 if _TEXT_NAMES.fullmatch(name) else 1) * (0.01 if few else 1)


def _is_address(cell: str) -> bool:
    return "://" in cell[:12] and " " not in cell.strip()
