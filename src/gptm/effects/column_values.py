"""Settings of a kernel's columns that users ask about."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError, InputError, Message, PythonOnly
from gptm._basics.warnings import warn
from gptm.corpus.metadata import as_frame, as_name
from gptm.kernels import BoundKernel
from gptm.kernels.categorical import CategoricalBound

_MOST_NAMED = 10  # levels in a message


def read_settings(
    bound: BoundKernel, given: Any, name: str, beside: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Values of a term's columns as a table, from what users gave as the argument `name`.

    Beside other settings there is one row or as many as these have, and columns may be left out: they are as there.
    """
    columns = bound.kernel.column_names()
    if not columns:
        raise InputError(
            f"{bound.kernel!r} reads no column, so its effect is shown per document. Leave out ",
            Argument(name),
            ".",
        )
    named = ", ".join(map(repr, columns))
    if hasattr(given, "columns"):  # a DataFrame of pandas or polars
        frame = as_frame(given, len(given))
        assert frame is not None
        if not any(column in frame for column in columns):
            raise ArgumentError(
                name,
                f"must have a column that {bound.kernel!r} reads: {named}",
                Message(", ".join(map(repr, frame.columns)) or "none"),
            )
        # Other columns may be of use to whoever reads the answer.
        found = frame.reset_index(drop=True)
    elif isinstance(given, Mapping):
        unknown = [key for key in given if key not in columns]
        if unknown:
            raise ArgumentError(
                name,
                f"must name columns that {bound.kernel!r} reads: {named}",
                Message(", ".join(map(repr, unknown))),
                "Ask about one term at a time.",
            )
        rows = {key: _listed(value) for key, value in given.items()}
        lengths = {len(value) for value in rows.values()} - {1} or {1}
        if not rows or len(lengths) > 1:
            expected = f"must hold values of the columns {named}, one or the same number of each"
            numbers = ", ".join(f"{len(values)} of {key!r}" for key, values in rows.items())
            raise ArgumentError(name, expected, Message(numbers or "none"))
        n = lengths.pop()
        found = _table(
            {key: value * n if len(value) == 1 else value for key, value in rows.items()}, n
        )
    elif len(columns) > 1:
        raise ArgumentError(
            name,
            f"must be a dict or a DataFrame with all columns that {bound.kernel!r} reads: {named}",
        )
    else:
        values = _listed(given)
        found = _table({columns[0]: values}, len(values))
    found = found if beside is None else _completed(found, beside)
    absent = ", ".join(repr(column) for column in columns if column not in found)
    if absent:
        raise InputError(
            Argument(name),
            f" must have values of all columns that {bound.kernel!r} reads: {named}; it lacks {absent}.",
            PythonOnly(" Where you do not know one, pass None."),
        )
    return found


def _table(columns: dict[str, list[Any]], n: int) -> pd.DataFrame:
    frame = as_frame(columns, n)
    assert frame is not None
    return frame


def _completed(other: pd.DataFrame, settings: pd.DataFrame) -> pd.DataFrame:
    """With the settings' values in columns that were left out, row by row."""
    if len(other) not in (1, len(settings)):
        expected = Message(
            "must be one setting, or as many as ",
            Argument("at", ...),
            f" has, which is {len(settings)}",
        )
        raise ArgumentError("versus", expected, len(other))
    missing = [name for name in settings if name not in other]
    if not missing:
        return other
    rows = np.zeros(len(settings), dtype=int) if len(other) == 1 else np.arange(len(settings))
    repeated = other.iloc[rows].reset_index(drop=True)
    return repeated.assign(**{str(name): settings[name] for name in missing})


def distinct_settings(bound: BoundKernel, asked: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows that differ in what a kernel reads, and which of them each row is.

    The same setting is the same place, also if it was never seen: it differs from itself by nothing.
    """
    columns = [name for name in bound.kernel.column_names() if name in asked]
    keys = list(zip(*(map(_key, asked[name]) for name in columns), strict=True))
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    which = np.array([numbers[key] for key in keys], dtype=np.intp)
    first = np.unique(which, return_index=True)[1]
    return asked.iloc[first].reset_index(drop=True), which


def _key(value: Any) -> str:
    return repr(list(value)) if pd.api.types.is_list_like(value) else as_name(value)


class Unseen(NamedTuple):
    """Names in a column of categories that no training document has."""

    column: str
    names: list[str]
    rows: int  # that have one of them
    levels: list[str]  # that were seen

    def described(self, most: int) -> tuple[str, str]:
        """The unseen names and the levels, in words; of many the first."""
        return _named(self.names, most), _named(self.levels, most)


def unseen_levels(bound: BoundKernel, frame: pd.DataFrame) -> list[Unseen]:
    """What a kernel has never seen of the categories that it reads, wherever these are in it."""
    found = []
    for category in _categories(bound):
        for column in category.kernel.column_names():
            if column not in frame:
                continue
            levels = set(category.levels)
            names = [one for one in category.kernel.read(frame) if one is not None]
            unseen = [one for one in names if one not in levels]
            if unseen:
                distinct = list(dict.fromkeys(unseen))
                found.append(Unseen(column, distinct, len(unseen), category.levels))
    return found


def _categories(bound: BoundKernel) -> Iterator[CategoricalBound]:
    if isinstance(bound, CategoricalBound):
        yield bound
    for part in getattr(bound, "bounds", ()):
        yield from _categories(part)


def tell_unseen(bound: BoundKernel, asked: pd.DataFrame) -> None:
    """Warn of levels of a category that no training document has: a typing error gets numbers too."""
    for one in unseen_levels(bound, asked):
        names, levels = one.described(_MOST_NAMED)
        warn(
            f"{one.column} {names} was never seen in training, so that the numbers are those of any new one; known are "
            f"{levels}."
        )


def _named(values: list[str], most: int) -> str:
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")


def _listed(value: Any) -> list[Any]:
    """One value, or those of anything that holds several."""
    return list(value) if pd.api.types.is_list_like(value) else [value]
