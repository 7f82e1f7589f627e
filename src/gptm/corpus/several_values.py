"""Cells with several values, such as the authors or the tags of a document."""

from collections.abc import Iterable, Sequence
from typing import Any

from gptm.corpus.cells import as_list, as_name, is_listed, is_missing

MARKS = (";", "|", ",")  # between values in a text, the safest first
_SOME = 0.05  # share of the cells that a mark must be in to count before a more frequent one
_LONG_VALUE = 40  # characters of a value; sentences are longer


def values_in(cell: Any, mark: str | None = None) -> list[str]:
    """The different values in a cell as text, in their order; none where it is missing.

    A cell is a list, a set or an array, text that Python or JSON would read as a list, or text with a `mark` between
    the values. Without a mark a text is one value.

    Examples
    --------
    >>> from gptm.corpus.several_values import values_in
    >>> values_in("Ann; Bob; Ann", ";"), values_in(["Ann", None]), values_in('["a", "b"]'), values_in("a, b")
    (['Ann', 'Bob'], ['Ann'], ['a', 'b'], ['a, b'])
    """
    items: Iterable[Any] | None = (
        as_list(cell) if isinstance(cell, str) or is_listed(cell) else None
    )
    if items is None:
        items = cell.split(mark) if isinstance(cell, str) and mark else [cell]
    names = (as_name(item).strip() for item in items if not is_missing(item))
    return list(dict.fromkeys(name for name in names if not is_missing(name)))


def mark_between(cells: Iterable[Any]) -> str | None:
    """What separates values in the texts of a column; None where no text has a mark.

    Of semicolon, bar and comma the first that is in one text of twenty, or else the most frequent: in
    "Smith, Ann; Jones, Bob" the comma belongs to the names.

    Examples
    --------
    >>> from gptm.corpus.several_values import mark_between
    >>> mark_between(["Smith, Ann; Jones, Bob", "Jones, Bob"]), mark_between(["tea, milk", "tea"])
    (';', ',')
    """
    texts = [cell for cell in cells if isinstance(cell, str) and as_list(cell) is None]
    counts = {mark: sum(mark in text for text in texts) for mark in MARKS}
    if not any(counts.values()):
        return None
    frequent = [mark for mark in MARKS if counts[mark] >= max(_SOME * len(texts), 1)]
    return frequent[0] if frequent else max(MARKS, key=lambda mark: counts[mark])


def mark_of_tags(texts: Sequence[str]) -> str | None:
    """What separates names in a column in which texts are lists of names that repeat; None for other columns.

    The names repeat more than whole texts do. Commas are in names of other kinds, too: between tags, their number
    varies and names change places, which those in "Paris, France" do not.

    Examples
    --------
    >>> from gptm.corpus.several_values import mark_of_tags
    >>> mark_of_tags(["tea, milk", "milk, tea, mint", "mint", "tea", "mint, milk"])
    ','
    >>> mark_of_tags(["Paris, France", "Lyon, France", "Nice, France", "Rome, Italy"]) is None
    True
    """
    mark = mark_between(texts)
    if mark is None:
        return None
    lists = [values_in(text, mark) for text in texts]
    names = [name for values in lists for name in values]
    several = sum(len(values) > 1 for values in lists)
    different = len(set(names))
    if several < max(2.0, _SOME * len(texts)) or sum(map(len, names)) > _LONG_VALUE * len(names):
        return None
    if different > len(names) / 2 or different >= len(set(texts)):
        return None
    return mark if mark != "," or _change_places(lists) else None


def _change_places(lists: Sequence[Sequence[str]]) -> bool:
    """Whether cells have different numbers of values, and a quarter of those that repeat stand first and later."""
    if len({len(values) for values in lists if values}) < 2:
        return False
    first = {values[0] for values in lists if values}
    later = {name for values in lists for name in values[1:]}
    return 4 * len(first & later) >= len(later)
