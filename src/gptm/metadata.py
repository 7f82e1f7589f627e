"""Side information as columns: what users pass in, read into numbers with NaN for what is missing."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from gptm._types import Array

_EPOCH = pd.Timestamp("1970-01-01")
_DAY = pd.Timedelta(days=1)


def as_frame(metadata: Any, n_documents: int) -> pd.DataFrame | None:
    """Metadata as a DataFrame with one row per document, or None where there is none.

    Takes a pandas or polars DataFrame, or a mapping of columns.
    """
    if metadata is None:
        return None
    if isinstance(metadata, pd.DataFrame):
        frame = metadata
    elif isinstance(metadata, Mapping):
        lengths = {str(name): len(column) for name, column in metadata.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"metadata must have one value per document in every column; got lengths {lengths}."
            )
        frame = pd.DataFrame(dict(metadata))
    elif hasattr(metadata, "to_dict") and hasattr(
        metadata, "columns"
    ):  # polars, without needing it
        frame = pd.DataFrame(metadata.to_dict(as_series=False))
    else:
        raise ValueError(
            "metadata must be a pandas or polars DataFrame or a dict of columns; got "
            f"{type(metadata).__name__}. Name the columns, for example pd.DataFrame({{'date': dates}})."
        )
    if len(frame) != n_documents:
        raise ValueError(
            f"metadata must have one row per document: expected {n_documents} rows, got {len(frame)}. "
            "Select the same rows in both, in the same order."
        )
    return frame


def column(frame: pd.DataFrame | None, name: str, wanted_by: str) -> pd.Series:
    """One column; an unknown name is an error that lists the known ones."""
    if frame is None:
        raise ValueError(
            f"{wanted_by} needs the metadata column {name!r}, but no metadata arrived. "
            "Pass metadata=, a DataFrame with one row per document."
        )
    if name not in frame.columns:
        known = ", ".join(map(repr, frame.columns)) or "none"
        raise ValueError(
            f"{wanted_by} needs the metadata column {name!r}; the columns are {known}. "
            "Rename the column, or name another one in the kernel."
        )
    return frame[name]


def is_date(values: pd.Series) -> bool:
    """Whether a column holds dates: datetimes, periods, or ISO strings throughout."""
    if isinstance(values.dtype, pd.PeriodDtype) or pd.api.types.is_datetime64_any_dtype(values):
        return True
    if pd.api.types.is_numeric_dtype(values) or values.dropna().empty:
        return False
    try:
        _parse_dates(values)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def numbers(values: pd.Series, name: str) -> Array:
    """(n,) floats, NaN where missing; dates become days since 1970-01-01."""
    if isinstance(values.dtype, pd.PeriodDtype):
        values = values.dt.to_timestamp()
    if is_date(values):
        dates = _parse_dates(values)
        return ((dates - _EPOCH) / _DAY).to_numpy(dtype=np.float64, na_value=np.nan)
    try:
        result = np.asarray(pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan))
    except (ValueError, TypeError) as error:
        example = next(iter(values.dropna()), None)
        raise ValueError(
            f"metadata column {name!r} must hold numbers or dates; it holds values such as {example!r}. "
            "Convert it, for example with pd.to_datetime or pd.to_numeric, or use another kernel for it."
        ) from error
    if np.isinf(result).any():
        raise ValueError(
            f"metadata column {name!r} holds infinite values; replace them by numbers, or by NaN for missing."
        )
    return result


def _parse_dates(values: pd.Series) -> pd.Series:
    dates = (
        values
        if pd.api.types.is_datetime64_any_dtype(values)
        else pd.to_datetime(values, format="ISO8601")
    )
    if getattr(dates.dt, "tz", None) is not None:
        dates = dates.dt.tz_convert("UTC").dt.tz_localize(None)
    return dates
