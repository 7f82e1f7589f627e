"""Settings of a kernel's columns, from the arguments `at` and `versus`."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError, InputError, Message, PythonOnly
from gptm._basics.warnings import warn
from gptm.corpus.metadata import as_frame, as_name
from gptm.kernels import BoundKernel, Kernel
from gptm.kernels.kernel import unscaled
from gptm.kernels.levels import LevelBound

_MOST_NAMED = 10  # levels in a message


def read_settings(
    bound: BoundKernel, values: Any, name: str, beside: pd.DataFrame | None = None
) -> pd.DataFrame:
    """A table of values of a term's columns, from the `values` of the argument `name`.

    With other settings `beside` it, the table has one row or as many rows as these. Columns that it leaves out are
    filled from these.
    """
    kernel = unscaled(bound.kernel)
    columns = kernel.column_names()
    if not columns:
        raise InputError(
            f"{kernel!r} reads no column, so its effect is shown per document. Leave out ",
            Argument(name),
            ".",
        )
    settings = _as_table(kernel, values, name)
    settings = settings if beside is None else _completed(settings, beside)
    absent = ", ".join(repr(column) for column in columns if column not in settings)
    if absent:
        raise InputError(
            Argument(name),
            f" must have values of all columns that {kernel!r} reads: {_column_list(kernel)}; "
            f"it lacks {absent}.",
            PythonOnly(" Pass None for a value that you do not know."),
        )
    return settings


def _as_table(kernel: Kernel, values: Any, name: str) -> pd.DataFrame:
    """Values of some of a kernel's columns, in any of the forms that users may pass."""
    columns = kernel.column_names()
    if hasattr(values, "columns"):  # a DataFrame of pandas or polars
        return _from_frame(kernel, values, name)
    if isinstance(values, Mapping):
        return _from_mapping(kernel, values, name)
    if len(columns) > 1:
        raise ArgumentError(
            name,
            f"must be a dict or a DataFrame with all columns that {kernel!r} reads: {_column_list(kernel)}",
        )
    listed = as_listed(values)
    return _table({columns[0]: listed}, len(listed))


def _from_frame(kernel: Kernel, values: Any, name: str) -> pd.DataFrame:
    frame = as_frame(values, len(values))
    assert frame is not None
    if not any(column in frame for column in kernel.column_names()):
        raise ArgumentError(
            name,
            f"must have a column that {kernel!r} reads: {_column_list(kernel)}",
            Message(", ".join(map(repr, frame.columns)) or "none"),
        )
    # Other columns stay: they may be of use in the result.
    return frame.reset_index(drop=True)


def _from_mapping(kernel: Kernel, values: Mapping[str, Any], name: str) -> pd.DataFrame:
    unknown = [key for key in values if key not in kernel.column_names()]
    if unknown:
        raise ArgumentError(
            name,
            f"must name columns that {kernel!r} reads: {_column_list(kernel)}",
            Message(", ".join(map(repr, unknown))),
            "Ask about one term at a time.",
        )
    rows = {key: as_listed(value) for key, value in values.items()}
    lengths = {len(value) for value in rows.values()} - {1} or {1}
    if not rows or len(lengths) > 1:
        expected = f"must have values of the columns {_column_list(kernel)}, one or the same number of each"
        numbers = ", ".join(f"{len(value)} of {key!r}" for key, value in rows.items())
        raise ArgumentError(name, expected, Message(numbers or "none"))
    n = lengths.pop()
    return _table({key: value * n if len(value) == 1 else value for key, value in rows.items()}, n)


def _column_list(kernel: Kernel) -> str:
    return ", ".join(map(repr, kernel.column_names()))


def _table(columns: dict[str, list[Any]], n: int) -> pd.DataFrame:
    frame = as_frame(columns, n)
    assert frame is not None
    return frame


def _completed(versus: pd.DataFrame, settings: pd.DataFrame) -> pd.DataFrame:
    """`versus` with the settings' values in columns that it leaves out, row by row."""
    if len(versus) not in (1, len(settings)):
        expected = Message(
            "must be one setting, or as many as ",
            Argument("at", ...),
            f" has, which is {len(settings)}",
        )
        raise ArgumentError("versus", expected, len(versus))
    missing = [name for name in settings if name not in versus]
    if not missing:
        return versus
    rows = np.zeros(len(settings), dtype=int) if len(versus) == 1 else np.arange(len(settings))
    repeated = versus.iloc[rows].reset_index(drop=True)
    return repeated.assign(**{str(name): settings[name] for name in missing})


def distinct_settings(
    bound: BoundKernel, settings: pd.DataFrame
) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows that differ in what a kernel reads, and which of them each row is.

    Equal settings are one place, even if they were never seen: the difference between them is exactly zero.
    """
    columns = [name for name in bound.kernel.column_names() if name in settings]
    keys = list(zip(*(map(_key, settings[name]) for name in columns), strict=True))
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    which = np.array([numbers[key] for key in keys], dtype=np.intp)
    first = np.unique(which, return_index=True)[1]
    return settings.iloc[first].reset_index(drop=True), which


def _key(value: Any) -> str:
    return repr(list(value)) if pd.api.types.is_list_like(value) else as_name(value)


class Unseen(NamedTuple):
    """Levels of a category that no training document has."""

    column: str
    names: list[str]
    rows: int  # that have one of them
    levels: list[str]  # seen in training

    def described(self, most: int) -> tuple[str, str]:
        """The unseen names, and the levels seen in training, as text; at most `most` of each."""
        return _named(self.names, most), _named(self.levels, most)


def unseen_levels(bound: BoundKernel, frame: pd.DataFrame) -> list[Unseen]:
    """Levels in the frame that a kernel has not seen in training, for all categories that it reads."""
    unseen_by_column = []
    for category in _categories(bound):
        for column in category.kernel.column_names():
            if column not in frame:
                continue
            levels = set(category.levels)
            unseen = [[n for n in names if n not in levels] for names in category.levels_in(frame)]
            rows = sum(map(bool, unseen))
            if rows:
                distinct = list(dict.fromkeys(name for names in unseen for name in names))
                unseen_by_column.append(Unseen(column, distinct, rows, category.levels))
    return unseen_by_column


def _categories(bound: BoundKernel) -> Iterator[LevelBound]:
    if isinstance(bound, LevelBound):
        yield bound
    for part in getattr(bound, "bounds", ()):
        yield from _categories(part)


def warn_unseen(bound: BoundKernel, settings: pd.DataFrame) -> None:
    """Warn about levels that no training document has: a typing error gets estimates too."""
    for unseen in unseen_levels(bound, settings):
        names, levels = unseen.described(_MOST_NAMED)
        warn(
            f"{unseen.column} {names} was not seen in training, so the estimates are those of a new level. Levels seen "
            f"in training: {levels}."
        )


def _named(values: list[str], most: int) -> str:
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")


def as_listed(value: Any) -> list[Any]:
    """The values of a list-like, or a single value as a list."""
    return list(value) if pd.api.types.is_list_like(value) else [value]
