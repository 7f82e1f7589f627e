"""Dates as people write them: which forms a column has, and whether day and month can be told apart.

A column may mix forms. Its kind then names them all, as in "date:ISO8601|%B %d, %Y", and each cell is read by the first
form that fits. Day/month and month/day are never mixed, since a cell would then be read by luck.

A year of two digits is one from 1969 to 2068.

What no form can express is put into plainer words first: 7th, UTC, and quarters such as 2012-Q3, which become their
first day.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gptm.corpus.cells import as_name, is_missing

ISO = "ISO8601"
_MONTH_FIRST = (
    "%m/%d/%Y",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%y",
    "%m/%d/%y %H:%M",
    "%m/%d/%y %H:%M:%S",
    "%m/%d/%y %I:%M %p",
    "%m/%d/%y %I:%M:%S %p",
)
_DAY_FIRST = tuple(form.replace("%m/%d", "%d/%m") for form in _MONTH_FIRST)
_OTHER_ORDER = dict(zip(_MONTH_FIRST, _DAY_FIRST, strict=True)) | {"%d-%m-%Y": "%m-%d-%Y"}
_OTHER_ORDER |= {other: form for form, other in _OTHER_ORDER.items()}
_FORMS = (
    ISO,
    *_MONTH_FIRST,
    *_DAY_FIRST,
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%y",
    "%d.%m.%y %H:%M",
    "%d.%m.%y %H:%M:%S",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %B %Y",
    "%d %b %Y",
    "%d. %B %Y",
    "%d. %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%B %d, %Y",
    "%b %d, %Y",
    "%b %d, %Y %H:%M",
    "%b %d, %Y %I:%M %p",
    "%B %d %Y",
    "%b %d %Y",
    "%A, %B %d, %Y",
    "%A, %d %B %Y",
    "%B %Y",
    "%b %Y",
    "%b-%y",
    "%b-%Y",
    "%m/%Y",
    "%a, %d %b %Y %H:%M:%S",
    "%a, %d %b %Y %H:%M:%S %z",  # letters
    "%a %b %d %H:%M:%S %z %Y",  # short messages
)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.I)
_UNIVERSAL = re.compile(r"\s+(?:UTC|GMT)(?![+\w-])|(?<=\d)Z$")
_QUARTERS = (re.compile(r"(\d{4})[ -]?Q([1-4])", re.I), re.compile(r"Q([1-4])[ /-]?(\d{4})", re.I))
_LOOKED_AT = 200  # cells by which forms are tried
_MOST = 0.95  # share of the cells that must be dates; the others are noted
_SOME = 0.5  # the same for a column that is worth a word, and worth the work
_RARE = 0.02  # share of the cells left that a form must fit


# Characters without which a form fits nothing, and forms that need names of months, of days or of halves of days.
_MARKS = {form: frozenset(re.sub(r"%.|\s", "", form)) for form in _FORMS if form != ISO} | {
    ISO: frozenset()
}
_NAMED = frozenset(form for form in _FORMS if re.search("%[aAbBp]", form))


class Forms(NamedTuple):
    """How the dates of a column are written."""

    forms: tuple[str, ...]
    share: float  # of the cells that are dates then
    examples: tuple[str, ...]  # one per form

    @property
    def kind(self) -> str:
        return "date" if self.forms == (ISO,) else f"date:{'|'.join(self.forms)}"


def is_moment(cell: Any) -> bool:
    """Whether a cell already is a date."""
    return isinstance(cell, date | datetime | np.datetime64)


def as_dates(cells: Sequence[Any], forms: str) -> pd.Series:
    """Datetimes in UTC without saying so, NaT where missing or of another form.

    Examples
    --------
    >>> as_dates(["2020-01-31", "March 3, 1999", "soon"], "ISO8601|%B %d, %Y").dt.year.tolist()
    [2020.0, 1999.0, nan]
    >>> as_dates(["September 7th, 2012"], "%B %d, %Y").dt.day.tolist()
    [7]
    """
    written = [
        None if is_missing(c) else str(c) if is_moment(c) else as_name(c).strip() for c in cells
    ]
    # Broken Unicode is no date, and pandas cannot hold it; kernels refuse it where they read it.
    written = [w and w.encode(errors="replace").decode() for w in written]
    values = pd.Series(written, dtype=object)
    if any(map(is_moment, cells)):
        forms = ISO
    dates = _parsed(values, forms)
    left = values[dates.isna() & values.notna()]
    plainer = left.map(_plain)
    if (plainer != left).any():
        dates = dates.fillna(_parsed(plainer, forms))
    return dates


def _parsed(values: pd.Series, forms: str) -> pd.Series:
    """Each cell by the first form that fits it."""
    dates: pd.Series | None = None
    for form in forms.split("|"):
        left = values if dates is None else values[dates.isna()]
        parsed = pd.to_datetime(left, format=form, errors="coerce", utc=True).dt.tz_localize(None)
        dates = parsed if dates is None else dates.fillna(parsed)
        if not dates.isna().any():
            break
    assert dates is not None
    return dates


def _plain(text: str) -> str:
    """A date in words that forms can express; all are in UTC here."""
    for quarter, order in zip(_QUARTERS, ((1, 2), (2, 1)), strict=True):
        match = quarter.fullmatch(text)
        if match:
            year, number = (match[group] for group in order)
            return f"{year}-{3 * int(number) - 2:02d}-01"
    return _UNIVERSAL.sub("", _ORDINAL.sub("", text))


def find_forms(strings: Sequence[str]) -> Forms | None:
    """The forms that nearly all cells have; None where too many are no dates."""
    forms = some_forms(strings)
    return forms if forms is not None and forms.share >= _MOST else None


def some_forms(strings: Sequence[str]) -> Forms | None:
    """The forms of the cells that are dates, the most frequent first; None where most cells are none."""
    cells = np.array(strings, dtype=object)
    if not _likely(_spread(cells)):
        return None
    left = np.ones(len(cells), dtype=bool)
    forms: list[str] = []
    examples: list[str] = []
    while left.any():
        form = _best(cells[left], forms)
        if form is None:
            break
        here = np.flatnonzero(left)[_fits(cells[left], form)]
        forms.append(form)
        examples.append(str(cells[here[0]]).strip())
        left[here] = False
    share = 1 - float(left.mean())
    return Forms(tuple(forms), share, tuple(examples)) if share >= _SOME else None


def _likely(cells: np.ndarray) -> bool:
    """Whether a glance shows mostly dates."""
    likely = np.array([any(map(str.isdigit, cell)) for cell in cells])
    if likely.mean() < _SOME:
        return False
    likely[:] = False
    for form in _possible(cells):
        likely |= _fits(cells, form)
    return bool(likely.mean() >= _SOME)


def _possible(cells: np.ndarray) -> list[str]:
    """Forms whose marks are in the cells. The others fit none, and trying each one takes time."""
    present = set().union(*map(str, cells))
    named = any(map(str.isalpha, present))
    return [form for form in _FORMS if _MARKS[form] <= present and (named or form not in _NAMED)]


def _best(cells: np.ndarray, taken: Sequence[str]) -> str | None:
    """The form that fits most cells, of those that agree with the order of day and month so far."""
    refused = {_OTHER_ORDER[form][:5] for form in taken if form in _OTHER_ORDER}
    looked_at = _spread(cells)
    shares = {
        form: _fits(looked_at, form).mean()
        for form in _possible(looked_at)
        if form[:5] not in refused
    }
    best = max(shares, key=lambda form: shares[form])  # the first of the best
    if shares[best] < _RARE:
        return None
    other = _OTHER_ORDER.get(best)
    if other in shares and _fit_order(cells, other) > _fit_order(cells, best):
        return other  # by cells that were not looked at, or have a time too
    return best


def _fit_order(cells: np.ndarray, form: str) -> int:
    """How many cells are dates with day and month in this order."""
    return int(_fits(cells, "|".join(other for other in _FORMS if other[:5] == form[:5])).sum())


def _spread(cells: np.ndarray) -> np.ndarray:
    """Cells from the whole column, not more than a glance takes in."""
    return cells[:: -(-len(cells) // _LOOKED_AT)]


def _fits(cells: np.ndarray, form: str) -> np.ndarray:
    return as_dates(cells.tolist(), form).notna().to_numpy()


class Doubt(NamedTuple):
    """Dates whose day and month may be the other way round."""

    example: str
    read_as: pd.Timestamp
    n_both: int  # cells that both orders fit, with different dates
    n_against: int  # cells that only the other order fits
    other_kind: str


def find_doubt(kind: str, cells: Sequence[Any]) -> Doubt | None:
    """What is doubtful about the order of day and month, or None if some cell settles it and none is against it.

    Examples
    --------
    >>> find_doubt("date:%m/%d/%Y", ["03/04/1999", "05/06/2001"]).read_as
    Timestamp('1999-03-04 00:00:00')
    >>> find_doubt("date:%m/%d/%Y", ["03/04/1999", "12/31/2001"]) is None
    True
    """
    forms = kind.partition(":")[2].split("|")
    present = [cell for cell in cells if not is_missing(cell)]
    other_forms = [_OTHER_ORDER.get(form, form) for form in forms]
    if other_forms == forms or any(map(is_moment, present)):
        return None
    as_given = as_dates(present, "|".join(form for form in forms if form in _OTHER_ORDER))
    swapped = as_dates(
        present, "|".join(_OTHER_ORDER[form] for form in forms if form in _OTHER_ORDER)
    )
    elsewhere = [form for form in forms if form not in _OTHER_ORDER]
    settled = (
        as_dates(present, "|".join(elsewhere)).notna()
        if elsewhere
        else as_given.isna() & swapped.isna()
    )
    both = as_given.notna() & swapped.notna() & (as_given != swapped) & ~settled
    against = int((as_given.isna() & swapped.notna() & ~settled).sum())
    decided = bool((as_given.notna() & swapped.isna()).any())
    if not both.any() or (decided and not against):
        return None
    first = int(both.to_numpy().argmax())
    return Doubt(
        str(present[first]).strip(),
        as_given[first],
        int(both.sum()),
        against,
        f"date:{'|'.join(other_forms)}",
    )
