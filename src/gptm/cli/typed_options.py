"""Texts of options as the values that they stand for; what makes no sense is refused at once."""

import re
from pathlib import Path
from typing import Any

from gptm.cli.session import UsageError
from gptm.corpus.stop_words import composed


def check_named_file(option: str, path: str | None) -> None:
    """Say which option names a file that is not there."""
    if path not in (None, "-") and not Path(str(path)).exists():
        raise UsageError(f"{option} expects a file; there is no file {path}.")


def check_level(level: float) -> None:
    """Say at once that a level of bands has no bands."""
    if not 0 < level < 1:
        raise UsageError(f"--level expects a probability between 0 and 1; got {level:g}.")


def parse_frequency(option: str, text: str | None) -> int | float | None:
    """A number of documents, or a share of them."""
    if text is None:
        return None
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise UsageError(
            f"{option} expects a number of documents (5) or a share of them (0.01); got {text!r}."
        ) from None


def parse_ngrams(text: str) -> tuple[int, int]:
    """Smallest and largest number of words in a phrase."""
    least, mark, most = text.replace(",", "-").partition("-")
    if not (least.isdecimal() and (most.isdecimal() or not mark)):
        raise UsageError(
            f"--ngrams expects a number, for example 2, or a range, for example 1-3; got {text!r}."
        )
    return (int(least), int(most)) if mark else (1, int(least))


def parse_columns(given: list[str] | None) -> dict[str, str] | None:
    """Kinds of columns by name, from year=category,date=date and the like."""
    kinds: dict[str, str] = {}
    # A comma before no other NAME= belongs to the format of a date.
    for part in (part for text in given or [] for part in re.split(r",(?=[^,]*=)", text)):
        name, mark, kind = part.rpartition("=")
        if not (mark and name and kind):
            raise UsageError(
                f"--column expects NAME=KIND, for example year=category; got {part!r}."
            )
        kinds[name.strip()] = kind.strip()
    return kinds or None


def parse_numbers(option: str, text: str, kind: type = int) -> list[Any]:
    """Numbers between commas."""
    try:
        numbers = [kind(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} expects numbers, for example 5,10,20; got {text!r}.") from None
    return numbers


def parse_seed_words(given: list[str] | None) -> dict[int | str, list[str]] | None:
    """Words by topic, a number or a name."""
    seeds: dict[int | str, list[str]] = {}
    for text in given or []:
        topic, _, words = (part.strip() for part in text.partition("="))
        listed = [composed(word.strip()) for word in words.split(",") if word.strip()]
        if not (topic and listed):
            raise UsageError(
                f"--seed-words expects TOPIC=WORDS, for example war=army,navy; got {text!r}."
            )
        seeds.setdefault(int(topic) if topic.isdecimal() else topic, []).extend(listed)
    return seeds or None


def parse_formula(text: str) -> Any:
    """What a model takes as its kernel."""
    word = text.strip().lower()
    if word in ("auto", "auto+", "none"):
        return None if word == "none" else word
    from gptm.kernels.formula import parse_kernel

    try:
        return parse_kernel(text)
    except ValueError as error:
        raise UsageError(f"--kernel: {error}") from None
