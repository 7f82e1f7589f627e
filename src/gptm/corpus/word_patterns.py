"""Regular expressions that never take long: those that could match a text in too many ways are refused.

Python's `re` tries one way after the other. For `(?:[a-z]+)+Q` and a word of n letters there are 2^n of them. The rules
here are simple, and refuse some harmless patterns too; these can be written in another way.
"""

import re
from collections.abc import Iterator
from functools import cache, reduce
from itertools import combinations
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from gptm._basics.errors import ArgumentError, Message

_REST = 0x10000  # stands for all characters beyond the basic plane
_MOST_CHAINED = 3  # repeats that may follow each other and match the same characters
_REPEATS = {c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT}
_SINGLE = {c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN}
_Item = tuple[Any, Any]


def check_speed(given: str, expanded: str) -> None:
    """An error if a pattern, which is called by what was given, may take very long on some texts."""
    reason = why_slow(expanded)
    if reason is not None:
        got = Message(f"{given!r}, where {reason}")
        remedy = "Write it with fewer repeats inside of each other, as in [a-z]+(?:-[a-z]+)*."
        raise ArgumentError("token_pattern", "must be fast on every text", got, remedy)


def why_slow(pattern: str) -> str | None:
    """Why a pattern may take very long on some texts; None if it cannot.

    Examples
    --------
    >>> from gptm.corpus.word_patterns import why_slow
    >>> why_slow(r"[a-z]+(?:-[a-z]+)*")
    >>> why_slow("(?:[a-z]+)+Q")
    'a repeated part contains another repeat, and nothing marks where one round ends and the next begins'
    """
    try:
        tree = _parser.parse(pattern)
    except RecursionError:
        return "it is nested too deeply"
    fold = bool(tree.state.flags & re.IGNORECASE) or "(?i" in pattern
    return next(_problems(list(tree), fold), None)


def _problems(items: list[_Item], fold: bool, most: int = _MOST_CHAINED) -> Iterator[str]:
    """What is wrong with a sequence, and with everything inside of it; at most so many repeats may be chained."""
    if _longest_chain(items, fold) > most:
        yield "several repeats follow each other and match the same characters"
    for item in items:
        kind, value = item
        rounds = kind in _REPEATS and value[1] > 1
        if kind in (c.GROUPREF, c.GROUPREF_EXISTS):
            yield "it refers back to a group"
        if kind in _REPEATS and value[2].getwidth()[0] == 0:
            yield "a repeated part may be empty"
        if rounds:
            yield from _problems_of_rounds(list(value[2]), fold)
        for inner in _inner(item):
            yield from _problems(inner, fold, 1 if rounds else most)


def _problems_of_rounds(body: list[_Item], fold: bool) -> Iterator[str]:
    """What is wrong with a part that is repeated: there must be one way only to cut a text into rounds."""
    if any(_is_ambiguous(item, fold) for item in _walk(body)):
        yield "a repeated part has alternatives that can match the same text"
    if any(_varies(item) for item in _walk(body)) and not _has_mark(_flat(body), fold):
        yield (
            "a repeated part contains another repeat, and nothing marks where one round ends and the next begins"
        )


def _has_mark(body: list[_Item], fold: bool) -> bool:
    """Whether each round begins, or ends, with a character that it has nowhere else."""
    for mark, rest in ((body[0], body[1:]), (body[-1], body[:-1])):
        if mark[0] in _SINGLE:
            others = _all_characters(rest, fold)
            if not _meet(_characters(mark, fold), others):
                return True
    return False


def _longest_chain(items: list[_Item], fold: bool) -> int:
    """Most repeats in a sequence that match one and the same character, without another one in between."""
    chain: list[np.ndarray] = []
    longest = 0
    for item in _flat(items):
        if _varies(item):
            chain.append(_all_characters([item], fold))
            longest = max(longest, int(np.sum(chain, axis=0).max()))
        elif item[0] in _SINGLE:
            chain = [one for one in chain if _meet(one, _characters(item, fold))]
    return longest


def _is_ambiguous(item: _Item, fold: bool) -> bool:
    """Whether alternatives of an item begin alike, or with something that need not be there."""
    if item[0] is not c.BRANCH:
        return False
    firsts = [_flat(list(branch))[:1] for branch in item[1][1]]
    if not all(first and first[0][0] in _SINGLE for first in firsts):
        return True
    return any(
        _meet(_characters(one[0], fold), _characters(other[0], fold))
        for one, other in combinations(firsts, 2)
    )


def _varies(item: _Item) -> bool:
    """Whether an item can match texts of several lengths."""
    kind, value = item
    if kind in _REPEATS:
        return bool(value[0] != value[1])
    if kind is c.BRANCH:
        return len({_parser.SubPattern(b.state, list(b)).getwidth() for b in value[1]}) > 1
    return False


def _flat(items: list[_Item]) -> list[_Item]:
    """A sequence with the content of plain groups in their place."""
    flat: list[_Item] = []
    for item in items:
        is_group = item[0] in (c.SUBPATTERN, c.ATOMIC_GROUP)
        flat += _flat(_inner(item)[0]) if is_group else [item]
    return flat


def _inner(item: _Item) -> list[list[_Item]]:
    """The sequences inside of an item."""
    kind, value = item
    if kind in _REPEATS:
        return [list(value[2])]
    if kind is c.BRANCH:
        return [list(branch) for branch in value[1]]
    if kind is c.SUBPATTERN:
        return [list(value[3])]
    if kind is c.ATOMIC_GROUP:
        return [list(value)]
    if kind in (c.ASSERT, c.ASSERT_NOT):
        return [list(value[1])]
    return []


def _walk(items: list[_Item]) -> Iterator[_Item]:
    """All items of a sequence, and of what is inside; what only looks ahead or back takes no characters."""
    for item in items:
        yield item
        if item[0] not in (c.ASSERT, c.ASSERT_NOT):
            for inner in _inner(item):
                yield from _walk(inner)


# Sets of characters


def _meet(one: np.ndarray, other: np.ndarray) -> bool:
    return bool((one & other).any())


def _all_characters(items: list[_Item], fold: bool) -> np.ndarray:
    singles = [_characters(item, fold) for item in _walk(items) if item[0] in _SINGLE]
    return reduce(np.logical_or, singles, np.zeros(_REST + 1, dtype=bool))


def _characters(item: _Item, fold: bool) -> np.ndarray:
    """(65537,) which characters an item can match; rather too many than too few."""
    kind, value = item
    if kind is c.ANY:
        return np.ones(_REST + 1, dtype=bool)
    if kind is c.IN:
        parts = [part for part in value if part[0] is not c.NEGATE]
        inside = reduce(np.logical_or, [_part(*part) for part in parts])
        negated = len(parts) < len(value)
    else:
        inside, negated = _part(c.LITERAL, value), kind is c.NOT_LITERAL
    if fold:
        inside = inside | inside[_cases()[0]] | inside[_cases()[1]]
    inside = ~inside if negated else inside.copy()
    inside[_REST] |= negated
    return inside


def _part(kind: Any, value: Any) -> np.ndarray:
    inside = np.zeros(_REST + 1, dtype=bool)
    if kind is c.CATEGORY:
        return _category(str(value))
    first, last = (value, value) if kind is c.LITERAL else value
    inside[min(first, _REST) : min(last, _REST) + 1] = True
    return inside


@cache
def _category(name: str) -> np.ndarray:
    """Letters and digits, digits, or blanks; and what is none of them."""
    kind = name.removeprefix("CATEGORY_").removeprefix("UNI_").removeprefix("NOT_")
    fits = {
        "WORD": lambda text: text.isalnum() or text == "_",
        "DIGIT": str.isdecimal,
        "SPACE": str.isspace,
    }.get(kind, lambda text: True)
    inside = np.array([fits(chr(point)) for point in range(_REST)] + [True])
    return np.append(~inside[:-1], True) if "NOT_" in name else inside


@cache
def _cases() -> tuple[np.ndarray, np.ndarray]:
    """The other case of each character."""
    lower, upper = (
        [ord(other) if len(other) == 1 and ord(other) < _REST else point for point, other in pairs]
        for pairs in (
            [(point, chr(point).lower()) for point in range(_REST)],
            [(point, chr(point).upper()) for point in range(_REST)],
        )
    )
    return np.array([*lower, _REST]), np.array([*upper, _REST])
