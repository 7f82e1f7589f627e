"""What counts as a word in a text: the regular expressions, and the marks that belong to letters."""

import re
import unicodedata
from functools import cache

# Two letters or more of any alphabet, with the marks that belong to them, such as the vowel signs of Hindi.
TOKEN_PATTERN = (
    r"(?u)\b(?<![\p{M}])[^\W\d_](?:[^\W\d_]|[\p{M}])[^\W\d_]*(?:[\p{M}][^\W\d_]*)*(?![\w\p{M}])"
)
# The same with digits, and numbers such as 1,000.5.
NUMBERS_TOO = (
    r"(?u)\b(?<![\p{M}])(?:\d+(?:[.,]\d+)+|\d|[^\W_](?:[^\W_]|[\p{M}])[^\W_]*(?:[\p{M}][^\W_]*)*)"
    r"(?![\w\p{M}])"
)
_MARKS_BETWEEN = re.escape('.,;:!?()[]{}"|…“”„«»—。，、；：！？（）「」『』')


@cache
def marks() -> str:
    """The marks that belong to letters, as ranges inside the brackets of a regular expression, which knows no \\p{M}.

    Left out are those of symbols, which stand behind an emoji and before a word, and those beyond the basic plane: rare
    scripts, that would make the search ten times as slow.
    """
    ranges: list[list[int]] = []
    for point in (*range(0x300, 0x20D0), *range(0x2100, 0xFE00), *range(0xFE10, 0x10000)):
        if unicodedata.category(chr(point)) in ("Mn", "Mc"):
            if not ranges or ranges[-1][1] < point - 1:
                ranges.append([point, point])
            ranges[-1][1] = point
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def expanded(pattern: str) -> str:
    """A pattern of words as Python's `re` takes it: with the marks themselves for \\p{M}."""
    return pattern.replace(r"\p{M}", marks()) if r"\p{M}" in pattern else pattern


def with_breaks(pattern: str) -> str:
    """A pattern whose one group is a word, and empty for what stands between words."""
    flags = re.match(r"(?:\(\?[aiLmsux]+\))*", pattern)
    start = flags.end() if flags else 0
    word = pattern[start:] if re.compile(pattern).groups else f"({pattern[start:]})"
    return rf"{pattern[:start]}(?:{word})|[{_MARKS_BETWEEN}]|\n[ \t\r]*\n|\w"
