"""Numbers, texts and columns as JSON takes them: short, clean, with None for what is missing."""

import re
from typing import Any

import numpy as np
import pandas as pd

from gptm.corpus.cells import is_missing
from gptm.corpus.kinds import base_kind
from gptm.corpus.metadata import level_names, numbers

LONG_TEXT = 80  # characters of a value of metadata that the page shows
# No HTML or UTF-8 has a place for them.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def clean_text(text: Any, length: int | None = None) -> str:
    """One line of printable text, cut at a word where it is too long."""
    spaced = " ".join(str(text).split())
    line = _UNPRINTABLE.sub("\ufffd", spaced)
    if length is None or len(line) <= length:
        return line
    cut = line[:length]
    at_word = cut.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > length // 2 else cut).rstrip() + "…"


def rounded(values: Any, digits: int = 4) -> list[float | None]:
    """Floats with this many significant digits; None where they are not finite."""
    array = np.asarray(values, dtype=np.float64).ravel()
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in array]


def counted(count: int, name: str) -> str:
    """1 topic, 2 topics, 1,000 topics."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def fixed(values: Any, decimals: int) -> list[float | None]:
    """Floats with this many decimals, whole numbers where that is none; None where they are not finite."""
    array = np.asarray(values, dtype=np.float64).ravel()
    rounded_values = [
        round(float(value), decimals) if np.isfinite(value) else None for value in array
    ]
    if decimals:
        return rounded_values
    return [None if value is None else int(value) for value in rounded_values]


def describe_column(values: pd.Series, name: str, kind: str) -> dict[str, Any] | None:
    """A column of metadata of a kind, or None for one that has no place on a page: lists, vectors, long texts.

    Kinds on the page are "number", "date" (values are days since 1970-01-01), "category" (values are places in
    `levels`, the most frequent first) and "text".
    """
    base = base_kind(kind)
    if base in ("links", "vector", "list") or all(map(is_missing, values)):
        return None
    label = clean_text(name, LONG_TEXT)
    if base == "date":
        return {"name": label, "kind": "date", "values": fixed(numbers(values, name), 2)}
    if base == "number":
        return {"name": label, "kind": "number", "values": _number_values(values, name)}
    return _describe_names(values, label)


def _number_values(values: pd.Series, name: str) -> list[float | None]:
    if pd.api.types.is_timedelta64_dtype(values):
        return rounded(numbers(values, name))
    floats = values.to_numpy(dtype=np.float64, na_value=np.nan)
    # Whole numbers may be names, such as those of an archive: all their digits count.
    return rounded(floats, 15 if np.all(floats[np.isfinite(floats)] % 1 == 0) else 6)


def _describe_names(values: pd.Series, label: str) -> dict[str, Any] | None:
    """A column of names: categories, or texts where there are many."""
    names = level_names(values)
    frequency = pd.Series(names).value_counts()
    if len(frequency) > max(50, len(values) / 2):
        if np.mean([len(level) for level in frequency.index]) > LONG_TEXT:
            return None
        texts = [None if value is None else clean_text(value, LONG_TEXT) for value in names]
        return {"name": label, "kind": "text", "values": texts}
    codes = {level: code for code, level in enumerate(frequency.index)}
    return {
        "name": label,
        "kind": "category",
        "levels": [clean_text(level, LONG_TEXT) for level in frequency.index],
        "values": [None if value is None else codes[value] for value in names],
    }
