"""Docstrings that share text: `help()` shows it for both classes, and the code has it once."""

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)

# Names, perhaps over several lines, and their type; then text that is indented.
_ENTRY = re.compile(r"^(\w[^\n]*(?:,\n\w[^\n]*)*\n)((?: {4}[^\n]+\n|\n(?= {4}))+)", re.MULTILINE)


def with_text_of(source: type) -> Callable[[C], C]:
    """Replace entries of a docstring that read "As in `Source`." with those of the source."""
    texts, reference = entries(source), f"As in `{source.__name__}`."

    def full(entry: re.Match[str]) -> str:
        if entry[2].strip() != reference:
            return entry[0]
        return "".join(dict.fromkeys(texts[name] for name in re.findall(r"\w+", entry[1])))

    def fill_in(cls: C) -> C:
        if texts:  # python -OO takes docstrings away
            cls.__doc__ = _ENTRY.sub(full, _text(cls)).rstrip()
        return cls

    return fill_in


def entries(cls: type) -> dict[str, str]:
    r"""The entries of a docstring by name, each with its heading.

    Examples
    --------
    >>> class Parent:
    ...     '''A parent.
    ...
    ...     Parameters
    ...     ----------
    ...     a : int
    ...         Number of it.
    ...     '''
    >>> entries(Parent)["a"]
    'a : int\n    Number of it.\n'
    >>> @with_text_of(Parent)
    ... class Child(Parent):
    ...     '''A child.
    ...
    ...     Parameters
    ...     ----------
    ...     a
    ...         As in `Parent`.
    ...     '''
    >>> print(Child.__doc__)
    A child.
    <BLANKLINE>
    Parameters
    ----------
    a : int
        Number of it.
    """
    return {
        name: entry[0]
        for entry in _ENTRY.finditer(_text(cls))
        for name in re.findall(r"\w+", entry[1].partition(" : ")[0])
    }


def _text(cls: type) -> str:
    return f"{inspect.cleandoc(cls.__doc__ or '')}\n"
