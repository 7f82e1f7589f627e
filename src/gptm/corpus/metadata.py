"""Side information as columns: what users pass in, read into numbers with NaN for what is missing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, InputError, PythonOnly
from gptm._basics.types import Array
from gptm._basics.validation import POSITIVE, check_text, is_positive
from gptm.corpus.cells import as_name, is_missing, number_reader
from gptm.corpus.dates import ISO, as_dates, find_forms
from gptm.corpus.kinds import has_untyped_cells
from gptm.corpus.links import LinkReader, check_one_axis

RENUMBERED = "renumbered"  # mark of tables whose rows, when some are selected, are counted anew
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
        frame = _framed(columns) if columns else pd.DataFrame(index=range(n_documents))
    elif hasattr(metadata, "to_dict") and hasattr(metadata, "columns"):  # polars, not imported
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


def _framed(columns: dict[Any, Any]) -> pd.DataFrame:
    try:
        return pd.DataFrame(columns)
    except UnicodeEncodeError:
        for name, values in columns.items():
            check_text((x for x in values if isinstance(x, str)), f"metadata column {name!r}")
        raise


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


def column(frame: pd.DataFrame | None, name: str, wanted_by: object) -> pd.Series:
    """One column; an unknown name is an error that lists the columns that are there."""
    if frame is None:
        raise InputError(
            f"{wanted_by} needs the metadata column {name!r}, but no metadata arrived. Pass ",
            Argument("metadata", ...),
            ", a table with one row per document.",
        )
    if name not in frame.columns:
        names = ", ".join(map(repr, frame.columns)) or "none"
        raise ValueError(
            f"{wanted_by} needs the metadata column {name!r}; the columns are {names}. "
            "Rename the column, or name another one."
        )
    values = frame[name]
    if isinstance(values, pd.DataFrame):
        raise ValueError(
            f"{wanted_by} needs the metadata column {name!r}, but {values.shape[1]} columns have that name. "
            "Rename all but one."
        )
    return with_missing(values)


def with_missing(values: pd.Series) -> pd.Series:
    """The same with blank text, NA and their like missing: `gptm.corpus.cells.MISSING`."""
    if not (has_untyped_cells(values) or isinstance(values.dtype, pd.CategoricalDtype)):
        return values
    spelled = np.array([isinstance(v, str) and is_missing(v) for v in values], dtype=bool)
    return values.mask(spelled) if spelled.any() else values


def with_columns(frame: pd.DataFrame, names: Sequence[str], *, fill: bool) -> pd.DataFrame:
    """Metadata of new documents with all columns that a kernel reads: absent ones are filled with None, or an error."""
    absent = [name for name in names if name not in frame.columns]
    if not absent:
        return frame
    if fill:
        return frame.assign(**dict.fromkeys(absent))
    names_there = ", ".join(map(repr, frame.columns)) or "none"
    several = "s" if len(absent) > 1 else ""
    raise InputError(
        f"the kernel needs the metadata column{several} {', '.join(map(repr, absent))}; the columns are {names_there}. "
        "Rename them as in training, or go on without: ",
        Argument("missing_columns", "prior"),
        " treats them as missing, so that these terms of the kernel fall back to the prior.",
    )


def is_number(values: pd.Series) -> bool:
    """Whether a column holds numbers throughout, possibly written as text."""
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        return not pd.api.types.is_complex_dtype(values)  # which have no order
    if pd.api.types.is_datetime64_any_dtype(values) or isinstance(values.dtype, pd.PeriodDtype):
        return False
    cells = _present(values)
    return bool(cells) and not np.isnan(_numbers_of(cells)).any()


def is_date(values: pd.Series, then: bool | None = None) -> bool:
    """Whether a column holds dates throughout: datetimes, periods, or text in the forms of `gptm.corpus.dates`.

    `then` is whether it held dates in training: text that may be either, such as "2015", is what it was.
    """
    if isinstance(values.dtype, pd.PeriodDtype) or pd.api.types.is_datetime64_any_dtype(values):
        return True
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        return False
    cells = _present(values)
    if not cells or (is_number(values) and not _are_dates_of_digits(cells, then)):
        return False
    return bool(_dates_of(cells).notna().all())


def _present(values: pd.Series) -> list[Any]:
    return [cell for cell in values if not is_missing(cell)]


def _are_dates_of_digits(cells: list[Any], then: bool | None) -> bool:
    """Whether what may be read as numbers is meant as dates: text as in training, or all like 20150131."""
    if not all(isinstance(cell, str) for cell in cells):
        return False
    return all(re.fullmatch(r"\d{8}", cell) for cell in cells) if then is None else then


def _numbers_of(cells: Sequence[Any]) -> Array:
    """(n,) numbers, NaN for cells that are none; infinite ones as they are."""
    read = number_reader(cells, "")
    values = [cell if _is_plain_number(cell) else read(cell) for cell in cells]
    return np.array([np.nan if value is None else float(value) for value in values])


def _is_plain_number(cell: Any) -> bool:
    return isinstance(cell, bool | float | np.bool_ | np.floating)


def _dates_of(cells: Sequence[Any]) -> pd.Series:
    """Datetimes in UTC, NaT for cells that are none."""
    strings = [as_name(cell) for cell in cells if not is_missing(cell)]
    forms = find_forms(strings) if strings else None
    return as_dates(cells, ISO if forms is None else "|".join(forms.forms))


def read_points(
    frame: pd.DataFrame | None,
    names: Sequence[str],
    wanted_by: object,
    then: np.ndarray | None = None,
) -> tuple[Array, np.ndarray]:
    """(n, columns) numbers of columns, NaN where missing, and which columns hold dates.

    `then` says it of the training documents: these columns must be of the same kind.
    """
    series = [column(frame, name, wanted_by) for name in names]
    before = [None] * len(names) if then is None else [bool(was_date) for was_date in then]
    dates = [is_date(values, was) for values, was in zip(series, before, strict=True)]
    points = np.column_stack(
        [
            numbers(values, name, date)
            for values, name, date in zip(series, names, dates, strict=True)
        ]
    )
    for name, date, was, values in zip(names, dates, before, points.T, strict=True):
        if was not in (None, date) and not np.isnan(values).all():
            held, holds = ("dates", "numbers") if was else ("numbers", "dates")
            year = ", for example the year 2012 as '2012-01-01'" if was else ""
            raise ValueError(
                f"metadata column {name!r} held {held} when the model was fitted, and holds {holds} now; "
                f"convert it to the same kind{year}."
            )
        # New documents may be as close to each other as they like, but not infinitely far.
        _check_scale(values if was is None else values[np.abs(values) > 1], name)
    return points, np.array(dates)


def _check_scale(values: Array, name: str) -> None:
    if out_of_scale(values):
        raise ValueError(
            f"metadata column {name!r} must hold numbers whose squares and differences can be computed; they go "
            f"from {np.nanmin(values):.3g} to {np.nanmax(values):.3g}. Multiply them by a power of ten that brings "
            "them near one, or take their logarithm."
        )


def out_of_scale(values: Array) -> bool:
    """Whether numbers, or what they differ by, have squares that a computer takes for infinite, or for nothing."""
    present = values[~np.isnan(values)]
    largest = float(np.abs(present).max(initial=0.0))
    return largest > 1e100 or 0 < float(np.ptp(present) if len(present) else 0.0) < 1e-100


def numbers(values: pd.Series, name: str, date: bool | None = None) -> Array:
    """(n,) floats, NaN where missing; dates become days since 1970-01-01, durations days.

    `date` is whether it holds dates, where that has been settled.
    """
    if pd.api.types.is_timedelta64_dtype(values):
        return np.asarray((values / _DAY).to_numpy(dtype=np.float64, na_value=np.nan))
    if is_date(values) if date is None else date:
        days = (_parse_dates(values) - _EPOCH) / _DAY
        return np.asarray(days.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_complex_dtype(values):
        result = np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    else:
        cells = values.tolist()
        result = _numbers_of(cells)
        if any(np.isnan(n) and not is_missing(c) for n, c in zip(result, cells, strict=True)):
            raise InputError(
                f"metadata column {name!r} must hold numbers or dates; it holds values such as {_first_odd(cells)!r}. ",
                PythonOnly("Convert it with pd.to_datetime or pd.to_numeric. "),
                "For dates in text, say how they are written, for example ",
                Argument("kinds", {name: "date:%d/%m/%Y"}),
                ". Or use another kernel for it.",
            )
    if np.isinf(result).any():
        raise ValueError(
            f"metadata column {name!r} holds infinite values; replace them by numbers, or by NaN for missing."
        )
    return result


def _first_odd(cells: Sequence[Any]) -> Any:
    """The first value that is no number, or no date where most are dates."""
    present = [cell for cell in cells if not is_missing(cell)]
    no_numbers = np.isnan(_numbers_of(present))
    no_dates = _dates_of(present).isna().to_numpy()
    odd = no_dates if no_dates.sum() < no_numbers.sum() else no_numbers
    return present[int(odd.argmax())]


def _parse_dates(values: pd.Series) -> pd.Series:
    """Datetimes in UTC, without saying so."""
    if isinstance(values.dtype, pd.PeriodDtype):
        return values.dt.to_timestamp()
    if not pd.api.types.is_datetime64_any_dtype(values):
        return _dates_of(values.tolist())
    if getattr(values.dt, "tz", None) is not None:
        return values.dt.tz_convert("UTC").dt.tz_localize(None)
    return values


def level_names(values: pd.Series) -> np.ndarray:
    """(n,) names of categories as text, None where missing; 3 and 3.0 are the same level."""
    names = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        if not is_missing(value):
            names[position] = value.strip() if isinstance(value, str) else as_name(value)
    return names


def vectors(values: pd.Series, name: str) -> Array:
    """(n, p) numbers of a column of vectors, NaN where one is missing."""
    rows = list(values)
    present = [row for row in rows if not is_missing(row)]
    try:
        lengths = {len(row) for row in present}
        arrays = [np.asarray(row, dtype=np.float64) for row in present if not isinstance(row, str)]
    except (TypeError, ValueError):
        lengths, arrays = set(), []
    flat = len(arrays) == len(present) and all(array.ndim == 1 for array in arrays)
    if present and (len(lengths) != 1 or lengths == {0} or not flat):
        seen = (
            f"lengths {sorted(lengths)[:5]}"
            if len(lengths) > 1
            else f"values such as {present[0]!r}"
        )
        raise ValueError(
            f"metadata column {name!r} must hold vectors, a list or array of numbers per document, all of one length; "
            f"it holds {seen}."
        )
    result = np.full((len(rows), lengths.pop() if present else 1), np.nan)
    result[[not is_missing(row) for row in rows]] = arrays if present else np.nan
    if np.isinf(result).any():
        raise ValueError(
            f"metadata column {name!r} holds infinite values; replace them by numbers."
        )
    _check_scale(result, name)
    return result


def link_lists(values: pd.Series, ids: Iterable[str | None] = ()) -> list[list[str]]:
    """Ids that each document links to, as text; none where the value is missing.

    Cells are read by `LinkReader`, which splits texts; `ids` are those of the documents.
    """
    read_links = LinkReader(ids)
    for cell in values:
        check_one_axis(cell, values.name)
    return [read_links(cell) for cell in values]


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
    if not is_positive(days):
        raise ValueError(
            f"{name} must be {POSITIVE} in the column's units, or for dates a length of time such as '1y', "
            f"'1m', '1w', '1d', '12h' or pd.Timedelta(days=1); got {period!r}{f' in {owner!r}' if owner else ''}."
        )
    return days
