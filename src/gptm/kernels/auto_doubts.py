"""Columns that could be terms of a kernel, but rarely should: row numbers, keys, counts of likes, survey questions."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm.corpus.kinds import base_kind
from gptm.corpus.metadata import level_names, numbers

MANY = 8  # columns of one kind, above which no one can be told to matter
_BATTERY = 5  # columns that are named alike, or have the same values
_MOST_MISSING = 0.8  # share of the documents
_MOST_ALIKE = 0.99  # share of the documents with the same value
_UNEVEN = 100.0  # the largest number over the median, above which a few documents decide
_FEW_VALUES = 5
_SAME_ORDER = 0.99  # share of neighbouring documents

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_KEYS = {"id", "ids", "key", "keys", "uid", "uuid", "guid", "isbn", "doi"}
_POSITIONS = {"no", "nr", "num", "number", "index", "idx", "row", "rownum", "rowid", "unnamed"}
_TIMES = {"date", "day", "time", "year", "month", "week", "quarter", "hour", "minute", "second"}
_STEPS = {"t", "age", "step", "wave", "round", "period", "era", "decade", "season", "volume"}
_SPLITS = {"train", "training", "test", "dev", "val", "valid", "validation"}
_COUNTING = {"count", "counts", "n", "num", "number", "of", "total"}
_RESPONSES = {
    *("like", "favorite", "favourite", "retweet", "repost", "share", "reply", "comment", "quote"),
    *("view", "play", "impression", "upvote", "downvote", "reaction", "bookmark", "clap", "hit"),
    *("click", "download", "follower", "friend", "listed", "status"),
}
_ENGAGEMENT = {f"{word}s" for word in _RESPONSES} | {
    *("replies", "statuses", "following", "followees", "karma", "ups", "downs", "engagement"),
}

_FLAGS = {"retweet", "retweeted", "quote", "quoted", "reply", "repost", "favorited", "truncated"}


def doubt_about(values: pd.Series, kind: str) -> str:
    """Why a usable column is not taken without being asked for; empty where it is."""
    name, base = str(values.name), base_kind(kind)
    missing = float(values.isna().mean())
    if base in ("number", "date", "category", "vector") and missing > _MOST_MISSING:
        return f"missing for {missing:.0%} of the documents"
    if base == "category":
        return _doubt_about_groups(name, values)
    if base == "number":
        return _doubt_about_numbers(name, numbers(values, name))
    return ""


def _doubt_about_groups(name: str, values: pd.Series) -> str:
    counts = Counter(level for level in level_names(values) if level is not None)
    if "split" in _words(name) and {level.lower() for level in counts} <= _SPLITS:
        return "how the documents were split"
    if len(counts) <= 2 and {*_words(name)} & _FLAGS:
        return "a flag of the platform, which follows from the text"
    level, n = counts.most_common(1)[0]
    share = n / sum(counts.values())
    return f"{level!r} for {share:.1%} of the documents" if share >= _MOST_ALIKE else ""


def _doubt_about_numbers(name: str, points: Array) -> str:
    present = points[~np.isnan(points)]
    words = _words(name)
    whole = bool((present == np.floor(present)).all())
    different = len(np.unique(present)) / len(present)
    if whole and words and words[-1] in _KEYS:
        return "keys, which have no order"
    if whole and different == 1 and _counts_rows(present) and not {*words} & (_TIMES | _STEPS):
        return "row numbers"
    if whole and different > 0.95 and {*words} & _POSITIONS:
        return "numbers of documents"
    if whole and present.min() >= 0 and _counts_responses(words):
        return "engagement counts, which follow from the text"
    median = float(np.median(present))
    if present.min() >= 0 and present.max() > _UNEVEN * max(median, 1.0):
        return (
            f"very uneven: half of its numbers are at most {median:,.4g}, the largest is {present.max():,.4g}; "
            "take logarithms"
        )
    return ""


def _words(name: str) -> list[str]:
    """The words of a column's name: ["like", "count"] of likeCount and like_count."""
    return [word.lower() for word in _WORD.findall(name)]


def _counts_rows(present: Array) -> bool:
    """Whether numbers are 0, 1, 2, ... or 1, 2, 3, ... in any order."""
    start = present.min()
    return bool(len(present) > 2 and start in (0, 1) and np.ptp(present) == len(present) - 1)


def _counts_responses(words: Sequence[str]) -> bool:
    counted = {*words} & _COUNTING
    return any(word in _ENGAGEMENT or (counted and word in _RESPONSES) for word in words)


def batteries(columns: Mapping[str, pd.Series], kinds: Mapping[str, str]) -> dict[str, str]:
    """Columns that come in sets, as survey questions do, with the reason why none of them is taken.

    A set has the same name but for a number, or the same values, or simply is too large for one of its columns to
    stand out.
    """
    reasons: dict[str, str] = {}
    stems: dict[str, list[str]] = {}
    answers: dict[tuple[str, frozenset[str]], list[str]] = {}
    for name, values in columns.items():
        base = base_kind(kinds[name])
        if base not in ("number", "category"):
            continue
        if re.search(r"\d", name):
            stems.setdefault(re.sub(r"\d+", "#", name), []).append(name)
        levels = {level for level in level_names(values) if level is not None}
        if len(levels) <= 20:
            answers.setdefault((base, frozenset(levels)), []).append(name)
    for names in stems.values():
        if len(names) >= _BATTERY:
            reasons |= dict.fromkeys(names, f"one of {len(names)} columns that are named alike")
    for names in answers.values():
        if len(names) >= _BATTERY:
            same = f"one of {len(names)} columns with the same values"
            reasons |= {name: same for name in names if name not in reasons}
    for base, what in (("number", "numbers"), ("category", "categories")):
        rest = [n for n in columns if base_kind(kinds[n]) == base and n not in reasons]
        if len(rest) > MANY:
            reasons |= dict.fromkeys(
                rest, f"one of {len(rest)} columns of {what}; name what matters"
            )
    return reasons


def repeats(values: pd.Series, other: pd.Series, kind: str, other_kind: str) -> str:
    """Why a column says nothing that another one does not say; empty where it does.

    Numbers and dates repeat each other where they rise together, as a year and a date do; categories where their
    groups are the same.
    """
    base, other_base = base_kind(kind), base_kind(other_kind)
    if base == other_base == "category":
        pairs = {*zip(level_names(values), level_names(other), strict=True)}
        n = len({a for a, _ in pairs}), len({b for _, b in pairs})
        return f"the same groups as {other.name!r}" if n == (len(pairs), len(pairs)) else ""
    if {base, other_base} <= {"number", "date"}:
        x, y = numbers(values, str(values.name)), numbers(other, str(other.name))
        both = ~np.isnan(x) & ~np.isnan(y)
        named = {*_words(str(values.name)), *_words(str(other.name))} & _TIMES
        # Two values may be before and after an event, which may be the question.
        least = 2 if named else _FEW_VALUES
        if both.sum() >= 10 and _rise_together(x[both], y[both], least):
            return f"in the same order as {other.name!r}"
    return ""


def _rise_together(x: Array, y: Array, least: int) -> bool:
    """Whether the coarser of two columns, of `least` values or more, is a monotone function of the finer one.

    A few documents may be out of order.
    """
    fine, coarse = (x, y) if len(np.unique(x)) >= len(np.unique(y)) else (y, x)
    if len(np.unique(coarse)) < least:
        return False
    # Equal values in the least likely order.
    rises = np.diff(coarse[np.lexsort((-coarse, fine))]) >= 0
    falls = np.diff(coarse[np.lexsort((coarse, fine))]) <= 0
    return bool(max(rises.mean(), falls.mean()) >= _SAME_ORDER)
