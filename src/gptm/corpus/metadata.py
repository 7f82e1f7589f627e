"""Side information as columns: what users pass in, read into numbers with NaN for what is missing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, InputError, PythonOnly
from gptm._basics.types import Array

RENUMBERED = "renumbered"  # mark of tables whose rows, when some are selected, are counted anew
_MARKS = [r"\s", ",", ";", r"\|"]  # between ids in a text
_BRACKETS = re.compile(r"\s*(?:\[(.*)\]|\((.*)\)|\{(.*)\})\s*", re.DOTALL)
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s,;|'"]+)""")  # or bare
_EPOCH = pd.Timestamp("1970-01-01")
_DAY = pd.Timedelta(days=1)
_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 365.2425 / 12, "y": 365.2425}


def as_frame(metadata: Any, n_documents: int) -> pd.DataFrame | None:
    """Metadata as a DataFrame with one row per document, or None where there is none.

    Takes a pandas or polars DataFrame, or a mapping of columns. Names become text; of several levels, as `groupby`
    makes them, ("price", "mean") becomes "price_mean".
    """
    if metadata is None:
        return None
    if isinstance(metadata, pd.DataFrame):
        frame = metadata
    elif isinstance(metadata, Mapping):
        for name, values in metadata.items():
            _check_listed(name, values)
        lengths = {str(name): len(values) for name, values in metadata.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"metadata must have one value per document in every column; got lengths {lengths}."
            )
        # A series would be aligned by its index; its place in the order is what counts here.
        columns = {k: v.array if isinstance(v, pd.Series) else v for k, v in metadata.items()}
        columns = {
            k: list(v) if isinstance(v, np.ndarray) and v.ndim > 1 else v
            for k, v in columns.items()
        }
        frame = pd.DataFrame(columns) if columns else pd.DataFrame(index=range(n_documents))
    elif hasattr(metadata, "to_dict") and hasattr(
        metadata, "columns"
    ):  # polars, without needing it
        frame = pd.DataFrame(metadata.to_dict(as_series=False))
        frame.attrs[RENUMBERED] = True
    else:
        raise ValueError(
            "metadata must be a pandas or polars DataFrame or a dict of columns; got "
            f"{type(metadata).__name__}. Name the columns, for example pd.DataFrame({{'date': dates}})."
        )
    if len(frame) != n_documents:
        raise ValueError(
            f"metadata must have one row per document: expected {n_documents} rows, got {len(frame)}. "
            "Select the same rows in both, in the same order; inside cross-validation pass a DataFrame, since "
            "scikit-learn does not select rows of a dict."
        )
    if not all(isinstance(name, str) for name in frame.columns):
        frame = frame.set_axis([_column_name(name) for name in frame.columns], axis=1)
    times = {name: _plain_times(frame[name]) for name in frame if _is_arrow_time(frame[name])}
    return frame.assign(**times) if times else frame


def _check_listed(name: Any, values: Any) -> None:
    """An error for what has no order of documents, or not one value for each."""
    try:
        len(values)  # which arrays of no axis and sparse matrices have not
        listed = not isinstance(values, str | bytes | set | frozenset | Mapping | pd.DataFrame)
    except TypeError:
        listed = False
    if not listed:
        raise ValueError(
            f"metadata column {name!r} must hold one value per document in their order, in a list, an array or a "
            f"Series; got {repr(values) if np.isscalar(values) else type(values).__name__}."
        )


def _column_name(name: Any) -> str:
    return (
        "_".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)
    )


def _is_arrow_time(values: Any) -> bool:
    """Whether a column holds dates or durations as pyarrow has them, of which pandas can do less."""
    dtype = getattr(values, "dtype", None)
    return isinstance(dtype, pd.ArrowDtype) and dtype.name.startswith(("date", "duration"))


def _plain_times(values: pd.Series) -> pd.Series:
    plain = pd.Series(values.to_numpy(dtype=object, na_value=None), index=values.index)
    duration = values.dtype.name.startswith("duration")
    return pd.to_timedelta(plain) if duration else pd.to_datetime(plain)


def column(frame: pd.DataFrame | None, name: str, wanted_by: str) -> pd.Series:
    """One column; an unknown name is an error that lists the known ones."""
    if frame is None:
        raise InputError(
            f"{wanted_by} needs the metadata column {name!r}, but no metadata arrived. Pass ",
            Argument("metadata", ...),
            ", a table with one row per document.",
        )
    if name not in frame.columns:
        known = ", ".join(map(repr, frame.columns)) or "none"
        raise ValueError(
            f"{wanted_by} needs the metadata column {name!r}; the columns are {known}. "
            "Rename the column, or name another one in the kernel."
        )
    found = frame[name]
    if isinstance(found, pd.DataFrame):
        raise ValueError(
            f"{wanted_by} needs the metadata column {name!r}, but {found.shape[1]} columns have that name. "
            "Rename all but one."
        )
    return without_blanks(found)


def without_blanks(values: pd.Series) -> pd.Series:
    """The same with blank text missing, which is how many files write an empty cell."""
    if pd.api.types.is_numeric_dtype(values) or values.dtype.kind in "mM":
        return values
    blank = np.array([isinstance(v, str) and not v.strip() for v in values], dtype=bool)
    return values.mask(blank) if blank.any() else values


def with_columns(frame: pd.DataFrame, names: Sequence[str], *, fill: bool) -> pd.DataFrame:
    """Metadata of new documents with all columns that a kernel reads: absent ones are filled with None, or an error."""
    absent = [name for name in names if name not in frame.columns]
    if not absent or fill:
        return frame.assign(**dict.fromkeys(absent))
    known = ", ".join(map(repr, frame.columns)) or "none"
    several = "s" if len(absent) > 1 else ""
    raise InputError(
        f"the kernel needs the metadata column{several} {', '.join(map(repr, absent))}; the columns are {known}. "
        "Rename them as in training, or go on without: ",
        Argument("missing_columns", "prior"),
        " treats them as missing, so that these terms of the kernel fall back to the prior.",
    )


def is_number(values: pd.Series) -> bool:
    """Whether a column holds numbers, possibly written as text."""
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        return not pd.api.types.is_complex_dtype(values)  # which have no order
    known = values.dropna()
    if known.empty or pd.api.types.is_datetime64_any_dtype(values):
        return False
    try:
        return not pd.api.types.is_complex_dtype(pd.to_numeric(known))
    except (ValueError, TypeError):
        return False


def is_date(values: pd.Series, then: bool | None = None) -> bool:
    """Whether a column holds dates: datetimes, periods, or ISO strings throughout.

    `then` is whether it held dates in training: text that may be either, such as "2015", is what it was.
    """
    if isinstance(values.dtype, pd.PeriodDtype) or pd.api.types.is_datetime64_any_dtype(values):
        return True
    if values.dropna().empty or (is_number(values) and not _is_date_of_digits(values, then)):
        return False
    try:
        _parse_dates(values)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _is_date_of_digits(values: pd.Series, then: bool | None) -> bool:
    """Whether what may be read as numbers is meant as dates: text as in training, or all like 20150131."""
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        return False
    known = values.dropna().astype(object)
    if pd.api.types.infer_dtype(known) != "string":
        return False
    return bool(known.str.fullmatch(r"\d{8}").all()) if then is None else then


def read_points(
    frame: pd.DataFrame | None,
    names: Sequence[str],
    wanted_by: str,
    then: np.ndarray | None = None,
) -> tuple[Array, np.ndarray]:
    """(n, columns) numbers of columns, NaN where missing, and which columns hold dates.

    `then` says it of the training documents: these columns must be of the same kind.
    """
    series = [column(frame, name, wanted_by) for name in names]
    before = [None] * len(names) if then is None else [bool(one) for one in then]
    dates = [is_date(one, was) for one, was in zip(series, before, strict=True)]
    points = np.column_stack(
        [numbers(one, name, date) for one, name, date in zip(series, names, dates, strict=True)]
    )
    for name, date, was, values in zip(names, dates, before, points.T, strict=True):
        if was not in (None, date) and not np.isnan(values).all():
            held, holds = ("dates", "numbers") if was else ("numbers", "dates")
            raise ValueError(
                f"metadata column {name!r} held {held} when the model was fitted, and holds {holds} now; "
                "convert it to the same kind."
            )
        # New documents may be as close to each other as they like, but not infinitely far.
        _check_scale(values if was is None else values[np.abs(values) > 1], name)
    return points, np.array(dates)


def _check_scale(values: Array, name: str) -> None:
    if out_of_scale(values):
        raise ValueError(
            f"metadata column {name!r} must hold numbers that can be squared, as must what they differ by; they go "
            f"from {np.nanmin(values):.3g} to {np.nanmax(values):.3g}. Multiply them by a power of ten that brings "
            "them near one, or take their logarithm."
        )


def out_of_scale(values: Array) -> bool:
    """Whether numbers, or what they differ by, have squares that a computer takes for infinite, or for nothing."""
    known = values[~np.isnan(values)]
    largest = float(np.abs(known).max(initial=0.0))
    return largest > 1e100 or 0 < float(np.ptp(known) if len(known) else 0.0) < 1e-100


def numbers(values: pd.Series, name: str, date: bool | None = None) -> Array:
    """(n,) floats, NaN where missing; dates become days since 1970-01-01, durations days.

    `date` is whether it holds dates, where that is known.
    """
    if pd.api.types.is_timedelta64_dtype(values):
        return np.asarray((values / _DAY).to_numpy(dtype=np.float64, na_value=np.nan))
    if is_date(values) if date is None else date:
        days = (_parse_dates(values) - _EPOCH) / _DAY
        return np.asarray(days.to_numpy(dtype=np.float64, na_value=np.nan))
    there = values.notna().to_numpy()
    known = values[there]
    if not (is_number(values) or known.empty):
        example = _first_odd(known)
        raise InputError(
            f"metadata column {name!r} must hold numbers or dates; it holds values such as {example!r}. ",
            PythonOnly("Convert it with pd.to_datetime or pd.to_numeric. "),
            "When it comes from a file, say how its dates are written, for example ",
            Argument("kinds", {name: "date:%d/%m/%Y"}),
            ". Or use another kernel for it.",
        )
    result = np.full(len(values), np.nan)
    result[there] = pd.to_numeric(known).to_numpy(dtype=np.float64)
    if np.isinf(result).any():
        raise ValueError(
            f"metadata column {name!r} holds infinite values; replace them by numbers, or by NaN for missing."
        )
    return result


def _first_odd(known: pd.Series) -> Any:
    """The first value that is no number, or no date where most are dates."""
    as_numbers = pd.to_numeric(known, errors="coerce").isna()
    try:
        as_dates = _iso_dates(known, "coerce").isna()
    except (ValueError, TypeError, OverflowError):
        as_dates = as_numbers
    odd = as_dates if as_dates.sum() < as_numbers.sum() else as_numbers
    return known[odd.to_numpy()].iloc[0] if odd.any() else known.iloc[0]


def _parse_dates(values: pd.Series) -> pd.Series:
    """Datetimes in UTC, without saying so."""
    if isinstance(values.dtype, pd.PeriodDtype):
        return values.dt.to_timestamp()
    if not pd.api.types.is_datetime64_any_dtype(values):
        values = _iso_dates(values, "raise")
    if getattr(values.dt, "tz", None) is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    return values


def _iso_dates(values: pd.Series, errors: Literal["raise", "coerce"]) -> pd.Series:
    """Datetimes; numbers among the texts are read like them, 2020 as the year, and not as time since 1970."""
    if values.dtype == object:
        read = [str(one) if isinstance(one, Real) and one == one else one for one in values]
        values = pd.Series(read, index=values.index, dtype=object)
    return pd.to_datetime(values, errors=errors, format="ISO8601", utc=True)


def level_names(values: pd.Series) -> np.ndarray:
    """(n,) names of categories as text, None where missing; 3 and 3.0 are the same level."""
    values = without_blanks(values)
    missing = values.isna().to_numpy()
    names = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        if not missing[position]:
            names[position] = as_name(value)
    return names


def vectors(values: pd.Series, name: str) -> Array:
    """(n, p) numbers of a column of vectors, NaN where one is missing."""
    rows = list(values)
    known = [row for row in rows if not is_missing(row)]
    try:
        lengths = {len(row) for row in known}
        arrays = [np.asarray(row, dtype=np.float64) for row in known if not isinstance(row, str)]
    except (TypeError, ValueError):
        lengths, arrays = set(), []
    flat = len(arrays) == len(known) and all(array.ndim == 1 for array in arrays)
    if known and (len(lengths) != 1 or not flat):
        seen = (
            f"lengths {sorted(lengths)[:5]}" if len(lengths) > 1 else f"values such as {known[0]!r}"
        )
        raise ValueError(
            f"metadata column {name!r} must hold vectors, a list or array of numbers per document, all of one length; "
            f"it holds {seen}."
        )
    result = np.full((len(rows), lengths.pop() if known else 1), np.nan)
    result[[not is_missing(row) for row in rows]] = arrays if known else np.nan
    if np.isinf(result).any():
        raise ValueError(
            f"metadata column {name!r} holds infinite values; replace them by numbers."
        )
    _check_scale(result, name)
    return result


def is_missing(value: Any) -> bool:
    """Whether one cell of a table is empty; a list or an array never is."""
    return np.ndim(value) == 0 and not isinstance(value, set | frozenset) and bool(pd.isna(value))


def is_listed(value: Any) -> bool:
    """Whether one cell of a table holds several values: a list, a set, an array and the like."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def link_lists(values: pd.Series, ids: Iterable[str | None] = ()) -> list[list[str]]:
    """Ids that each document links to, as text; none where the value is missing.

    A cell is a list, a set, an array, one id, or text with ids between commas, semicolons, bars or spaces, perhaps in
    brackets, as lists come back from a file. Where `ids` of documents hold such marks themselves, text is cut at the
    others, unless that finds fewer of them; where one is in brackets, these are left alone.
    """
    known = {name for name in ids if name is not None}
    held = set().union(*map(str.strip, known))
    marks = [mark for mark in _MARKS if not any(re.match(mark, one) for one in held)]
    readings = [marks, _MARKS] if len(marks) < len(_MARKS) else [_MARKS]
    cuts = [re.compile("|".join(one) or "$") for one in readings]
    brackets = not any(map(_BRACKETS.fullmatch, known))
    found = []
    for value in values:
        if isinstance(value, np.ndarray) and value.ndim != 1:
            raise ValueError(
                f"metadata column {values.name!r} must hold lists of ids; it holds an array of {value.ndim} axes, "
                f"{value!r}. Pass array.ravel().tolist()."
            )
        found.append(_links(_listed(value) if brackets else value, cuts, known))
    return found


def _listed(value: Any) -> Any:
    """What stands in the brackets of a text, as a list where it has quotation marks; anything else as it is."""
    match = _BRACKETS.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    inside = match[1] or match[2] or match[3] or ""
    if "'" not in inside and '"' not in inside:
        return inside
    return [one or other or bare for one, other, bare in _QUOTED.findall(inside)]


def _links(value: Any, cuts: list[re.Pattern[str]], known: set[str]) -> list[str]:
    if isinstance(value, str):
        readings = [[part for part in map(str.strip, cut.split(value)) if part] for cut in cuts]
        return max(readings, key=lambda parts: sum(part in known for part in parts))
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)  # the same order in every process
    if is_listed(value):
        return [item if type(item) is str else as_name(item) for item in value if _is_there(item)]
    return [] if is_missing(value) else [as_name(value)]


def _is_there(item: Any) -> bool:
    """`not is_missing`, for the many items of many lists; a blank name is none."""
    if isinstance(item, str):
        return bool(item) and not item.isspace()
    return item is not None and item is not pd.NA and bool(item == item)


def as_name(value: Any) -> str:
    """One id or category as text; 3 and 3.0 are the same."""
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def is_duration(value: Any) -> bool:
    """Whether a parameter is meant as a length of time: text such as "1y", or a timedelta of any library."""
    return isinstance(value, str | timedelta | np.timedelta64)


def parse_days(period: Any, name: str = "period", owner: Any = None) -> float:
    """A length of time in days: a number, a timedelta, or text such as "7d", "12h", "1m" or "1y".

    `name` is what the parameter is called, and `owner` whose it is, for the error.
    """
    days = np.nan
    if isinstance(period, timedelta | np.timedelta64):  # first, as numpy's is a number too
        with suppress(ValueError):  # numpy's months and years have no length
            days = pd.Timedelta(period) / _DAY
    elif isinstance(period, Real) and not isinstance(period, bool):
        days = float(period)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([hdwmy])\s*", str(period).lower())
        days = float(match[1]) * _DAYS[match[2]] if match else np.nan
    if not (np.isfinite(days) and days > 0):
        raise ValueError(
            f"{name} must be a positive number in the column's units, or for dates a length of time such as '1y', "
            f"'1m', '1w', '1d', '12h' or pd.Timedelta(days=1); got {period!r}{f' in {owner!r}' if owner else ''}."
        )
    return days
