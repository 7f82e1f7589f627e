"""JSON from files that nobody vouches for."""

import json
from typing import Any

_DEEPEST = 400  # levels; a hundred kernels inside of each other


def parse_json(text: str | bytes) -> Any:
    """The value that a text in JSON stands for; a `ValueError` for anything else, and for very deep nesting.

    Examples
    --------
    >>> from gptm._basics.plain_json import parse_json
    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: the JSON is nested too deeply; more than 400 levels are not read.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """An error if lists and dictionaries are nested more deeply than functions that call themselves can follow."""
    level = [value]
    for _ in range(_DEEPEST + 1):
        inner = [part for part in level if isinstance(part, dict | list | tuple)]
        if not inner:
            return
        level = [
            item for part in inner for item in (part.values() if isinstance(part, dict) else part)
        ]
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"the JSON is nested too deeply; more than {_DEEPEST} levels are not read.")
