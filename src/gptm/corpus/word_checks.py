"""Checks of the settings of `Words`."""

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from gptm._basics.errors import Argument, ArgumentError, Message, Value
from gptm._basics.validation import as_items, is_whole


def check_frequency(name: str, value: Any) -> None:
    if value is None:
        return
    share = isinstance(value, Real) and not isinstance(value, Integral) and 0 <= float(value) <= 1
    if not (share or (is_whole(value) and value >= 1)):
        expected = "must be a whole number of documents from 1 on, or a share between 0.0 and 1.0"
        raise ArgumentError(name, expected, value)


def checked_vocabulary(value: Any) -> np.ndarray:
    """(V,) words of the columns, as text; there is one at least."""
    words = as_items("vocabulary", value, "must be a list of words")
    if not words:
        raise ArgumentError("vocabulary", "must hold at least one word", Message("none"))
    names = np.empty(len(words), dtype=object)
    names[:] = [str(word) for word in words]
    return names


def checked_phrases(value: Any, ngram_range: tuple[int, int]) -> bool | tuple[str, ...]:
    """Whether to look for phrases, or which there are."""
    if isinstance(value, bool):
        phrases: bool | tuple[str, ...] = value
    else:
        listed = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else None
        if listed is None or not all(isinstance(phrase, str) for phrase in listed):
            raise ArgumentError("phrases", "must be True, False or a list of phrases", value)
        phrases = tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in listed))
    if phrases and ngram_range != (1, 1):
        expected = Message("must be ", Value("ngram_range", (1, 1)), " where phrases are counted")
        remedy = Message(
            "Leave out one of the two: ", Argument("phrases"), " or ", Argument("ngram_range"), "."
        )
        raise ArgumentError("ngram_range", expected, Value("ngram_range", ngram_range), remedy)
    return phrases


def checked_range(value: Any) -> tuple[int, int]:
    pair = tuple(value) if isinstance(value, Sequence) else ()
    if len(pair) != 2 or not all(map(is_whole, pair)) or not 1 <= pair[0] <= pair[1]:
        expected = Message(
            "must be two whole numbers, the fewest and the most words, as in ",
            Value("ngram_range", (1, 2)),
        )
        raise ArgumentError("ngram_range", expected, Value("ngram_range", value))
    return int(pair[0]), int(pair[1])
