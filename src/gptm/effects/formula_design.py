"""A formula over documents, as the columns of a regression, for these documents and for settings asked about later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from formulaic import ModelSpec

from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.prose import listed
from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.corpus.kinds import base_kind, kinds_of
from gptm.corpus.metadata import is_date, level_names, numbers
from gptm.corpus.typed_columns import typed_frame
from gptm.effects.formula_language import column_names, evaluate, parse_formula, some_of
from gptm.effects.share_regression import dependent_columns

MOST_TERMS = 2000  # of a formula
_EPOCH = pd.Timestamp("1970-01-01")
_MOST_NAMED = 10  # terms in a message
_WHOLE = 2.0**53


@dataclass(frozen=True, eq=False)
class Design:
    """A formula over documents: which of them, their columns as read, and the columns of the regression."""

    formula: str
    frame: pd.DataFrame  # (n, variables) of the documents that are used
    rows: np.ndarray  # (n,) which documents these are
    X: Array  # (n, p)
    spec: ModelSpec  # remembers levels and knots
    dates: frozenset[str]  # variables that are days since 1970

    @property
    def terms(self) -> list[str]:
        """(p,) names of the columns of the regression."""
        return [str(name) for name in self.spec.column_names]

    @property
    def variables(self) -> list[str]:
        """Columns of the metadata that the formula reads, in the order of the metadata."""
        return list(self.frame.columns)

    def levels(self, name: str) -> list[str] | None:
        """The levels of a category, or None for numbers and dates."""
        values = self.frame[name]
        return list(values.cat.categories) if values.dtype == "category" else None

    def matrix(self, frame: pd.DataFrame) -> Array:
        """(m, p) the regression's columns at other values of the variables, read as by `read_values`."""
        return evaluate(self.spec, frame, self.formula)[1]

    def read_values(self, name: str, values: Sequence[Any], argument: str) -> pd.Series:
        """Values of a variable that a user asks about."""
        levels = self.levels(name)
        if levels is not None:
            names = [str(level) for level in level_names(pd.Series(list(values), dtype=object))]
            unknown = [level for level in names if level not in levels]
            if unknown:
                expected = (
                    f"must have levels of {name!r} that the documents have: {some_of(levels)}"
                )
                raise ArgumentError(argument, expected, Message(some_of(unknown)))
            return pd.Series(pd.Categorical(names, categories=levels))
        given, date = pd.Series(list(values)), name in self.dates
        read = None if date and not is_date(given, True) else numbers(given, name, date)
        if read is None or np.isnan(read).any():
            kind = "dates" if date else "numbers"
            like = ", such as '2015-12-31'" if date else ""
            expected = f"must have {kind} of {name!r}{like}"
            raise ArgumentError(argument, expected, Message(some_of(list(values))))
        self._warn_outside(name, read)
        return pd.Series(read)

    def shown(self, name: str, values: pd.Series) -> pd.Series:
        """Values of a variable as users write them."""
        if name in self.dates:
            return _EPOCH + pd.to_timedelta(values, unit="D").dt.round("s")
        if values.dtype == "category":
            return values.astype(object)
        whole = self.frame[name].dtype.kind == "i" and (values == values.round()).all()
        return values.astype(np.int64) if whole else values

    def _warn_outside(self, name: str, values: Array) -> None:
        low, high = float(self.frame[name].min()), float(self.frame[name].max())
        outside = int(((values < low) | (values > high)).sum())
        if outside:
            first, last = (str(value) for value in self.shown(name, pd.Series([low, high])))
            warn(
                f"{outside} of {len(values)} values of {name!r} are outside of what the documents have, which is "
                f"{first} to {last}; predictions there extrapolate the formula."
            )


def make_design(
    formula: Any, frame: pd.DataFrame | None, *, n: int, also: str | None = None
) -> tuple[Design, pd.Series | None]:
    """The design of a formula over those of n documents that have all values, and the column `also` of them."""
    parsed, text = parse_formula(formula)
    frame = pd.DataFrame(index=range(n)) if frame is None else frame
    names = column_names(parsed, frame)
    wanted = list(dict.fromkeys([*names, *([] if also is None else [also])]))
    typed = typed_frame(frame, only=wanted)
    columns = {name: _read_column(typed, name) for name in names}
    missing = {name: values.isna().to_numpy() for name, values in columns.items()}
    cluster = None
    if also is not None:
        cluster = pd.Series(level_names(typed[also]), dtype=object)
        missing[also] = cluster.isna().to_numpy()
    complete = _complete(missing, n)
    kept = {name: _tidy(values[complete]) for name, values in columns.items()}
    if any(str(term) == "1" for term in parsed):  # which one value says nothing beyond
        _check_varies(kept)
    used = pd.DataFrame(kept, index=range(int(complete.sum())))
    spec, X = evaluate(parsed, used, text)
    dates = frozenset(name for name in names if _is_date_column(typed, name))
    design = Design(text, used, np.flatnonzero(complete), X, spec, dates)
    _check_columns(design)
    return design, None if cluster is None else cluster[complete].reset_index(drop=True)


def _check_varies(columns: Mapping[str, pd.Series]) -> None:
    for name, values in columns.items():
        if len(values) > 1 and values.nunique() == 1:
            raise InputError(
                f"column {name!r} has the same value in all {len(values):,} documents that the formula can use, so "
                "it explains nothing. Leave it out."
            )


def _is_date_column(typed: pd.DataFrame, name: str) -> bool:
    if isinstance(typed[name].dtype, pd.CategoricalDtype):
        return False
    return base_kind(kinds_of(typed).get(name, "")) == "date" or is_date(typed[name])


def _read_column(typed: pd.DataFrame, name: str) -> pd.Series:
    """Numbers, days, or names of levels; missing ones are missing."""
    values = typed[name].reset_index(drop=True)
    kind = base_kind(kinds_of(typed).get(name, ""))
    if kind in ("links", "vector", "list"):
        raise InputError(
            f"column {name!r} holds a list in each cell ({kind}), and a formula needs single values. Leave it out."
        )
    if _is_date_column(typed, name):
        return pd.Series(numbers(values, name, True))
    if isinstance(values.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(values):
        return pd.Series(level_names(values), dtype=object)
    return pd.Series(numbers(values, name, False))


def _tidy(values: pd.Series) -> pd.Series:
    """Names as a category, with levels in order; whole numbers as integers, which names of terms show."""
    values = values.reset_index(drop=True)
    if values.dtype == object:
        return pd.Series(pd.Categorical(values, categories=sorted(set(values))))
    whole = (values == values.round()).all() and values.abs().max() < _WHOLE
    return values.astype(np.int64) if whole else values


def _complete(missing: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """(n,) whether a document has a value in all columns; a warning counts those that have not."""
    left_out = np.zeros(n, dtype=bool)
    for cells in missing.values():
        left_out |= cells
    counts = [f"{cells.sum():,} in {name!r}" for name, cells in missing.items() if cells.any()]
    if left_out.all():
        raise InputError(
            f"no document has a value in all columns of the formula; missing are {listed(counts)} of {n:,}."
        )
    if counts:
        warn(
            f"{left_out.sum():,} of {n:,} documents are left out because values are missing: {listed(counts)}."
        )
    return ~left_out


def _check_columns(design: Design) -> None:
    n, p = design.X.shape
    if p == 0:
        raise ArgumentError("formula", "must have at least one term, such as 1", design.formula)
    if p > MOST_TERMS:
        raise InputError(
            f"the formula {design.formula!r} has {p:,} coefficients, and {MOST_TERMS:,} is the limit. Use fewer "
            "levels. If documents of a group only depend on each other, pass ",
            Argument("cluster", ...),
            ".",
        )
    if n <= p:
        raise InputError(
            f"the formula {design.formula!r} has {p:,} coefficients, which need more documents than that; there are "
            f"{n:,}. Leave out terms, or use fewer levels."
        )
    names, dependent = design.terms, dependent_columns(design.X)
    if dependent:
        said = [
            f"{names[j]!r} is a combination of {listed(repr(names[i]) for i in others)}"
            if others
            else f"{names[j]!r} is zero for all documents"
            for j, others in dependent[:_MOST_NAMED]
        ]
        raise InputError(
            f"the terms of {design.formula!r} must not depend on each other: {'; '.join(said)}. Leave out one of them. "
            "If levels of two categories never occur together, join levels, or use + in place of *."
        )
