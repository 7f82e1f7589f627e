"""Ids of other documents in the cells of a column of links."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from gptm.corpus.cells import as_list, as_name, is_listed, is_missing

_MARKS = {";": ";", "|": r"\|", ",": ",", " ": r"\s"}  # between ids in a text
_IN_ORDER = (r"[;|]", ",", r"\s")  # the first of them that occurs separates the ids
_ANY = "|".join(_MARKS.values())
_BRACKETS = re.compile(r"\s*(?:\[(.*)\]|\((.*)\)|\{(.*)\})\s*", re.DOTALL)
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s,;|'"]+)""")  # or bare


class LinkReader:
    """Splits cells into ids; `ids` are those of the documents, by which a doubtful cell is settled.

    A cell is a list, a set, an array, one id, or text with ids between semicolons, bars, commas or blanks: the first
    of these that occurs in the text, in this order, separates the ids. The text may be in brackets, as lists come back
    from a file. Marks that some of the `ids` hold do not separate them; where another way to split finds more of the
    `ids`, that way is taken.

    Examples
    --------
    >>> from gptm.corpus.links import LinkReader
    >>> LinkReader()("a b, c"), LinkReader(["a", "b", "c"])("a b, c")
    (['a b', 'c'], ['a', 'b', 'c'])
    """

    def __init__(self, ids: Iterable[str | None] = ()):
        self.ids: Collection[str] = {name for name in ids if name is not None}
        characters = set().union(*map(str.strip, self.ids))
        free = [mark for own, mark in _MARKS.items() if not any(map(_is(own), characters))]
        # Marks that ids hold themselves do not separate them.
        self._free = ("|".join(free) or "$") if len(free) < len(_MARKS) else None
        self._brackets = not any(map(_BRACKETS.fullmatch, self.ids))

    def __call__(self, cell: Any) -> list[str]:
        """The ids in a cell; none where it is missing."""
        if not isinstance(cell, str):
            if is_listed(cell):
                return _names(as_list(cell) or [])
            return [] if is_missing(cell) else [as_name(cell)]
        if cell in self.ids or cell.strip() in self.ids:
            return [cell if cell in self.ids else cell.strip()]
        if is_missing(cell):
            return []
        inside = _unwrapped(cell) if self._brackets else cell
        return _names(inside) if isinstance(inside, list) else self._split(inside)

    def _split(self, text: str) -> list[str]:
        readings = [
            [self._without_decimals(part) for part in parts] for parts in self._ways(text.strip())
        ]
        return max(readings, key=lambda parts: sum(part in self.ids for part in parts))

    def _ways(self, text: str) -> Iterable[list[str]]:
        """The parts of a text, by each way to split it; the most likely one first."""
        usual = next((mark for mark in _IN_ORDER if re.search(mark, text)), "$")
        ways = [usual, _ANY] if self.ids else [usual]
        for way in ways if self._free is None else [self._free, *ways]:
            yield [part for part in map(str.strip, re.split(way, text)) if part]

    def _without_decimals(self, link: str) -> str:
        """The id 7 where a program with missing values wrote 7.0."""
        short = link.removesuffix(".0")
        return short if link not in self.ids and short in self.ids else link


def _is(mark: str) -> Any:
    return str.isspace if mark == " " else mark.__eq__


def _names(items: Sequence[Any]) -> list[str]:
    return [item if type(item) is str else as_name(item) for item in items if not is_missing(item)]


def _unwrapped(text: str) -> str | list[Any]:
    """What stands in the brackets of a text, as a list where it is written as one."""
    items = as_list(text)
    if items is not None:
        return items
    match = _BRACKETS.fullmatch(text)
    if match is None:
        return text
    inside = match[1] or match[2] or match[3] or ""
    if "'" not in inside and '"' not in inside:
        return inside
    return [single or double or bare for single, double, bare in _QUOTED.findall(inside)]


def check_one_axis(cell: Any, name: Any) -> None:
    """An error for an array that is no list of ids."""
    if isinstance(cell, np.ndarray) and cell.ndim != 1:
        raise ValueError(
            f"metadata column {name!r} must hold lists of ids; it holds an array of {cell.ndim} axes, "
            f"{cell!r}. Pass array.ravel().tolist()."
        )
