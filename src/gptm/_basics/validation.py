"""Checks of what users pass in. Each message says what was expected, what arrived, what to do."""

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from gptm._basics.errors import ArgumentError, InputError, Message
from gptm._basics.types import Array

# Of positive parameters: their squares, and products of some of them, are still numbers.
SMALLEST, LARGEST = 1e-30, 1e30
_LARGEST_INTEGER, _LARGEST_FLOAT = 2**63 - 1, float(np.finfo(float).max)
_MOST_JOBS = 10_000  # more than any machine has
POSITIVE = f"a positive number from {SMALLEST:g} to {LARGEST:g}"


def is_real(value: Any) -> bool:
    """Whether a value is a number, Python's or numpy's; truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, Python's or numpy's; truth values are none."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def is_positive(value: Any) -> bool:
    """Whether a value is a positive number that can be reckoned with."""
    return is_real(value) and SMALLEST <= value <= LARGEST


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """A parameter that must be one of a few words."""
    if not (isinstance(value, str) and value in choices):
        options = ", ".join(map(repr, choices))
        several = "one of " if len(choices) > 1 else ""
        raise ArgumentError(name, f"must be {several}{options}", value)


def check_string(name: str, value: Any, expected: str) -> None:
    """A parameter that must be a text; `expected` begins with "must"."""
    if not isinstance(value, str):
        raise ArgumentError(name, expected, value)


def check_mixture(name: str, value: Any, none: str, all_: str) -> None:
    """A number from 0, where all is of one kind, to 1, where all is of another."""
    if not (is_real(value) and 0 <= value <= 1):
        expected = f"must lie between 0, {none} alone, and 1, {all_} alone"
        raise ArgumentError(name, expected, value)


def as_dict(name: str, value: Any, expected: str) -> dict[Any, Any]:
    """A mapping as a dict, empty for None; `expected` begins with "must".

    Examples
    --------
    >>> as_dict("kinds", {"year": "category"}, "must be a dict"), as_dict("kinds", None, "must be a dict")
    ({'year': 'category'}, {})
    """
    if not (value is None or isinstance(value, Mapping)):
        raise ArgumentError(name, expected, value)
    return dict(value or {})


def as_items(name: str, value: Any, expected: str) -> list[Any]:
    """The items of a list, an array or any other iterable but a text; `expected` begins with "must".

    Examples
    --------
    >>> as_items("texts", ("green tea", "black tea"), "must be texts")
    ['green tea', 'black tea']
    """
    try:
        if not isinstance(value, str | bytes | Mapping):
            return list(value)
    except TypeError:
        pass
    raise ArgumentError(name, expected, value)


def check_text(texts: Iterable[Any], what: str) -> None:
    """Texts that a file can hold: no half of a surrogate pair, which damaged files leave behind.

    Examples
    --------
    >>> check_text(["tea", "caf\u00e9"], "a word")
    """
    for text in texts:
        try:
            str(text).encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{what} must be valid Unicode; got {text!a}, whose character {error.start} is half of a "
                "surrogate pair. Read the text again with its own encoding, or take such characters out: "
                "text.encode('utf-8', 'ignore').decode()."
            ) from error


def check_number(
    name: str, value: Any, *, least: float, most: float = np.inf, integer: bool = False
) -> None:
    """A parameter that must be a number, at least `least` and at most `most`."""
    kind: Any = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    wrong_kind = not isinstance(value, kind) or isinstance(value, bool)
    largest = min(most, _LARGEST_INTEGER if integer else _LARGEST_FLOAT)
    if isinstance(value, np.generic):
        value = value.item()  # single precision cannot be compared with the largest number
    if wrong_kind or not least <= value <= largest:  # which NaN is not either
        expected = "an integer" if integer else "a number"
        told = most if wrong_kind or value != value or value <= largest else largest
        is_limited = told < np.inf and (wrong_kind or value != np.inf)
        limit = f" and at most {told:g}" if is_limited else ""
        raise ArgumentError(name, f"must be {expected} of at least {least}{limit}", value)


def check_seed(name: str, value: Any) -> None:
    """A seed as scikit-learn takes it: a number, a `RandomState`, or None."""
    if isinstance(value, int | np.integer):
        check_number(name, value, least=0, most=2**32 - 1, integer=True)
    elif not (value is None or value is np.random or isinstance(value, np.random.RandomState)):
        raise ArgumentError(
            name,
            "must be an integer of at least 0, a numpy.random.RandomState or None",
            value,
            "Pass, for example, 0.",
        )


def check_truth(name: str, value: Any) -> None:
    """A parameter that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(name, "must be True or False", value)


def check_verbose(verbose: Any) -> None:
    """Whether long work shows its progress, or how much of it: True or False, or a number."""
    if not isinstance(verbose, bool | np.bool_):
        check_number("verbose", verbose, least=0, integer=True)


def check_n_jobs(n_jobs: Any) -> None:
    """A number of threads as in scikit-learn: None, or an integer that is not 0."""
    if n_jobs is not None and not (is_whole(n_jobs) and 0 < abs(n_jobs) <= _MOST_JOBS):
        raise ArgumentError(
            "n_jobs",
            "must be None, a number of threads, or -1 for all processors",
            n_jobs,
        )


def check_callback(callback: Any) -> None:
    """A function, or none."""
    if callback is not None and not callable(callback):
        raise ArgumentError("callback", "must be a function of (iteration, state)", callback)


def check_init(init: Any, n_components: int, n_words: int) -> str | Array:
    """The name of a start, or topics (K, V) that can serve as one."""
    if isinstance(init, str):
        check_choice("init", init, ("gibbs", "spectral", "random"))
        return init
    try:
        topics = np.asarray(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "init", "must be 'gibbs', 'spectral', 'random' or an array of topics", init
        ) from error
    if topics.shape != (n_components, n_words):
        expected = (
            f"as an array must have one row per topic and one column per word, shape "
            f"{(n_components, n_words)}"
        )
        raise ArgumentError("init", expected, Message(f"{topics.shape}"))
    if not np.isfinite(topics).all() or (topics < 0).any() or (topics.sum(1) <= 0).any():
        expected = "as an array must hold finite non-negative weights, at least one of them positive in each topic"
        raise ArgumentError("init", expected)
    return topics


def check_level(level: Any) -> None:
    """The credible level of bands."""
    if not (is_real(level) and 0 < level < 1):
        raise ArgumentError("level", "must be a credible level between 0 and 1, such as 0.9", level)


def checked_quantiles(given: Any) -> list[float]:
    """Probabilities of quantiles, such as (0.05, 0.95)."""
    quantiles = [given] if is_real(given) else list(given)
    if not quantiles or not all(is_real(q) and 0 < q < 1 for q in quantiles):
        raise ArgumentError(
            "quantiles", "must be probabilities between 0 and 1, such as (0.05, 0.95)", given
        )
    return [float(q) for q in quantiles]
