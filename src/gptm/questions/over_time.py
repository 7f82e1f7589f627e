"""Shares of topics over time, for models without a date in their kernel."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError, InputError, Message, PythonOnly
from gptm._basics.types import Array
from gptm._basics.validation import as_items, check_number
from gptm._basics.warnings import warn
from gptm.corpus.metadata import as_frame, read_points
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted

PERIODS = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
_EPOCH = pd.Timestamp("1970-01-01")
_NAME = "date"


def topics_over_time(
    model: GPTM,
    dates: Any,
    *,
    bins: str | int | None = None,
    df: int | None = None,
    topic: int | str | Sequence[int | str] | None = None,
    n_points: int = 50,
    level: float = 0.9,
) -> pd.DataFrame:
    """Shares of the topics over time, with bands; the kernel needs no term for it.

    This is a regression of the topics' shares on the dates, as in `GPTM.estimate_effects`: on a smooth curve, or on
    periods.

    Parameters
    ----------
    model : fitted GPTM or CTM
    dates : sequence
        The date of each training document, in their order: dates, text that holds dates, or numbers such as years.
        Documents without a date are left out, with a warning that counts them.
    bins : {"day", "week", "month", "quarter", "year"} or int, optional
        Mean shares in periods, or in this many parts of the same length. By default a smooth curve.
    df : int, optional
        Columns of the smooth curve, more for more detail: by default 10, or one less than there are distinct dates.
    topic : int, str or sequence, optional
        Topics by number or name; all by default.
    n_points : int, default=50
        Points along the smooth curve.
    level : float, default=0.9
        Level of the bands, for each value on its own.

    Returns
    -------
    DataFrame
        One row per topic and date: topic, topic_name if topics have names, date, share, std_error, share_low,
        share_high. With `bins`, date is the first day of the period, or the middle of the part, and `documents` is
        the number of documents in it; periods without documents have no row. `gptm.plots.plot_topics_over_time` draws
        it: `plot_topics_over_time(model, dates=dates)`.

    Examples
    --------
    >>> import gptm
    >>> texts = ["green tea, tea"] * 20 + ["coffee beans, coffee"] * 20
    >>> model = gptm.CTM(2, random_state=0).fit(gptm.Corpus.from_texts(texts))
    >>> years = [2000 + i // 4 for i in range(40)]
    >>> table = gptm.topics_over_time(model, years, bins=2)
    >>> table[["topic", "date", "documents"]].to_numpy().tolist()
    [[0.0, 2002.25, 20.0], [0.0, 2006.75, 20.0], [1.0, 2002.25, 20.0], [1.0, 2006.75, 20.0]]
    """
    check_fitted(model)
    if isinstance(dates, str):
        expected = "must be the dates themselves, one for each training document"
        raise ArgumentError("dates", expected, dates, f"For example corpus.metadata[{dates!r}].")
    n = len(model.doc_lengths_)
    if not hasattr(dates, "__len__"):
        dates = as_items("dates", dates, f"must have one date for each of the {n:,} documents")
    if len(dates) != n:
        raise ArgumentError(
            "dates",
            f"must have one date for each of the {n:,} training documents",
            Message(f"{len(dates):,}"),
            "Pass the column of the table that the model was fitted to.",
        )
    frame = as_frame({_NAME: dates}, n)
    try:
        points, is_date = read_points(frame, [_NAME], "topics_over_time")
    except InputError:  # speaks of a column of that name, and of kernels
        first = next((value for value in dates if not pd.isna(value)), None)
        raise ArgumentError(
            "dates",
            "must be dates, text that holds dates, or numbers such as years",
            Message(f"values such as {first!r}"),
            PythonOnly("Make dates with pd.to_datetime(dates, format=...)."),
        ) from None
    values, dated = points[:, 0], bool(is_date[0])
    _check_dates(values, curve=bins is None)
    options: dict[str, Any] = {"topic": topic, "level": level}
    if bins is None:
        if df is not None:
            check_number("df", df, least=1, integer=True)
        curve = f"~ s({_NAME})" if df is None else f"~ s({_NAME}, df={df})"
        column = pd.Series(_as_dates(values) if dated else values)
        effects = model.estimate_effects(curve, {_NAME: column}, **options)
        return effects.predict(_NAME, n_points=n_points)
    if df is not None:
        raise ArgumentError("df", "is for a curve, which bins do not have", df, "Leave it out.")
    labels, places = _binned(values, bins, dated)
    _warn_of_single_documents(labels)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*single document")  # which speaks of levels
        effects = model.estimate_effects(f"~ 0 + {_NAME}", {_NAME: labels}, **options)
    table = effects.predict(_NAME)
    table["documents"] = table[_NAME].map(labels.value_counts()).astype(int)
    table[_NAME] = table[_NAME].map(places)
    return table


def _check_dates(values: Array, *, curve: bool) -> None:
    n = len(np.unique(values[~np.isnan(values)]))
    if n == 0:
        raise ArgumentError("dates", "must be known for some documents", Message("none"))
    if curve and n == 1:
        raise ArgumentError("dates", "must have two different values for a curve", Message("one"))


def _warn_of_single_documents(labels: pd.Series) -> None:
    sizes = labels.value_counts()
    n = int((sizes == 1).sum())
    if n:
        which = "1 period has" if n == 1 else f"{n:,} of {len(sizes):,} periods have"
        warn(
            Message(
                f"{which} a single document, and so no standard error. Pass longer ones in ",
                Argument("bins"),
                ".",
            )
        )


def _as_dates(days: Array) -> pd.Series:
    with np.errstate(
        invalid="ignore"
    ):  # days that are missing, in early versions of pandas and numpy
        return _EPOCH + pd.to_timedelta(pd.Series(days), unit="D").dt.round("s")


def _binned(values: Array, bins: Any, dated: bool) -> tuple[pd.Series, dict[str, Any]]:
    """The name of each document's bin, missing where the date is, and where the bins are in time."""
    names = ", ".join(map(repr, PERIODS))
    if isinstance(bins, str):
        if bins not in PERIODS or not dated:
            got = bins if dated else f"{bins!r} for numbers"
            raise ArgumentError("bins", f"must be one of {names} for dates, or a number", got)
        periods = _as_dates(values).dt.to_period(PERIODS[bins])
        labels = periods.astype(str).where(periods.notna())
        starts = periods.dt.start_time
    else:
        check_number("bins", bins, least=1, integer=True)
        low, high = np.nanmin(values), np.nanmax(values)
        width = (high - low) / bins or 1.0
        number = np.clip((values - low) // width, 0, bins - 1)
        digits = len(str(bins))
        labels = pd.Series([None if np.isnan(i) else f"{int(i) + 1:0{digits}d}" for i in number])
        middle = low + (number + 0.5) * width
        starts = _as_dates(middle) if dated else pd.Series(middle)
    present = labels.notna()
    places = dict(zip(labels[present], starts[present], strict=True))
    if len(places) >= present.sum():
        raise ArgumentError(
            "bins",
            f"must leave more documents than bins; {len(places)} bins hold {present.sum()}",
            bins,
        )
    return pd.Series(pd.Categorical(labels, categories=sorted(places))), places
