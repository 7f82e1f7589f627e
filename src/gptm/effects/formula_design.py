"""Formulas such as "~ party * s(year)" as columns of a regression, for documents and for settings asked about later."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula, ModelSpec, SimpleFormula
from formulaic.errors import FormulaicError
from formulaic.transforms import TRANSFORMS
from formulaic.transforms.basis_spline import basis_spline
from formulaic.utils.stateful_transforms import stateful_transform

from gptm._basics.errors import ArgumentError, InputError, Message
from gptm._basics.prose import listed
from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.corpus.kinds import base_kind, kinds_of
from gptm.corpus.metadata import is_date, level_names, numbers
from gptm.corpus.typed_columns import typed_frame
from gptm.effects.share_regression import dependent_columns

MOST_DF = 10  # columns of s(x), as in R's stm
_DEGREE = 3
_EPOCH = pd.Timestamp("1970-01-01")
_MOST_NAMED = 10  # levels in a message
_WHOLE = 2.0**53


@stateful_transform
def s(x: Any, df: int | None = None, _state: dict[str, Any] = {}) -> Any:  # noqa: B006
    """A smooth curve: cubic B-splines with knots at quantiles, which predictions remember.

    `df` is the number of columns: by default 10, or one less than there are distinct values.
    """
    values = np.asarray(x, dtype=np.float64)
    if "inner" not in _state:
        distinct = len(np.unique(values))
        columns = min(MOST_DF, distinct - 1) if df is None else int(df)
        if not 1 <= columns < max(distinct, 2):
            raise ValueError(
                f"s() makes a curve of {columns} columns, which needs at least {columns + 1} distinct values; there "
                f"are {distinct}"
            )
        _state["degree"] = min(_DEGREE, columns)
        places = np.linspace(0.0, 1.0, columns - _state["degree"] + 2)[1:-1]
        inner = np.unique(np.quantile(values, places))
        _state["inner"] = inner[(inner > values.min()) & (inner < values.max())].tolist()
        _state["splines"] = {}
    return basis_spline.__wrapped__(
        values,
        knots=_state["inner"],
        degree=_state["degree"],
        extrapolation="extend",
        _state=_state["splines"],
    )


_CONTEXT = {"s": s}


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
        return _evaluated(self.spec, frame, self.formula)[1]

    def read_values(self, name: str, values: Sequence[Any], argument: str) -> pd.Series:
        """Values of a variable that a user asks about."""
        levels = self.levels(name)
        if levels is not None:
            names = [str(level) for level in level_names(pd.Series(list(values), dtype=object))]
            unknown = [level for level in names if level not in levels]
            if unknown:
                expected = f"must have levels of {name!r} that the documents have: {_some(levels)}"
                raise ArgumentError(argument, expected, Message(_some(unknown)))
            return pd.Series(pd.Categorical(names, categories=levels))
        given = pd.Series(list(values))
        read = numbers(given, name, is_date(given, True) if name in self.dates else False)
        if np.isnan(read).any():
            kind = "dates" if name in self.dates else "numbers"
            raise ArgumentError(argument, f"must have {kind} of {name!r}", Message(_some(values)))
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
                f"{first} to {last}; predictions there go on as the formula does at the ends."
            )


def make_design(
    formula: Any, frame: pd.DataFrame | None, *, n: int, also: str | None = None
) -> tuple[Design, pd.Series | None]:
    """The design of a formula over those of n documents that have all values, and the column `also` of them."""
    parsed, text = _parsed(formula)
    frame = pd.DataFrame(index=range(n)) if frame is None else frame
    names = _variables(parsed, frame)
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
    used = pd.DataFrame(kept, index=range(int(complete.sum())))
    spec, X = _evaluated(parsed, used, text)
    dates = frozenset(name for name in names if _is_date_column(typed, name))
    design = Design(text, used, np.flatnonzero(complete), X, spec, dates)
    _check_columns(design)
    return design, None if cluster is None else cluster[complete].reset_index(drop=True)


def formula_columns(formula: Any, frame: pd.DataFrame | None) -> list[str]:
    """Columns of the metadata that a formula reads."""
    return _variables(_parsed(formula)[0], pd.DataFrame() if frame is None else frame)


def _parsed(formula: Any) -> tuple[SimpleFormula, str]:
    remedy = 'For example "~ party + s(year)": a column as it is, and one as a smooth curve.'
    if not isinstance(formula, str):
        raise ArgumentError("formula", "must be a text", formula, remedy)
    try:
        parsed = Formula(formula)
    except FormulaicError as error:
        raise ArgumentError(
            "formula", f"cannot be read: {_plain(error)}", formula, remedy
        ) from None
    if not isinstance(parsed, SimpleFormula):
        raise ArgumentError(
            "formula",
            "must have nothing to the left of ~, where the topics' shares are, and no |",
            formula,
            remedy,
        )
    return parsed, formula.strip()


def _variables(parsed: SimpleFormula, frame: pd.DataFrame) -> list[str]:
    functions = {*TRANSFORMS, *_CONTEXT}
    needed = {str(name) for name in parsed.required_variables}
    columns = [str(name) for name in frame.columns]
    unknown = sorted(needed - set(columns) - functions)
    if unknown:
        raise ArgumentError(
            "formula",
            f"must name columns of the metadata: {_some(columns) or 'there are none'}",
            Message(_some(unknown)),
            "Put a name with spaces between backticks.",
        )
    twice = [name for name in columns if name in needed and columns.count(name) > 1]
    if twice:
        raise InputError(f"the metadata have two columns {twice[0]!r}. Rename one of them.")
    return [name for name in columns if name in needed]


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


def _evaluated(
    source: SimpleFormula | ModelSpec, frame: pd.DataFrame, formula: str
) -> tuple[ModelSpec, Array]:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # what is not finite is an error below
            matrix = source.get_model_matrix(
                frame, context=_CONTEXT, output="pandas", na_action="ignore"
            )
    except Exception as error:  # whatever a function of the formula raises
        raise ArgumentError("formula", f"cannot be evaluated: {_plain(error)}", formula) from error
    X = matrix.to_numpy(dtype=np.float64)
    odd = ~np.isfinite(X)
    if odd.any():
        names = [repr(str(name)) for name in matrix.columns[odd.any(0)]]
        raise ArgumentError(
            "formula",
            f"must give finite numbers; {listed(names)} is not finite for {odd.any(1).sum():,} of {len(X):,} documents",
            formula,
            "For example, the logarithm of zero is not finite.",
        )
    return matrix.model_spec, X


def _check_columns(design: Design) -> None:
    n, p = design.X.shape
    if p == 0:
        raise ArgumentError("formula", "must have at least one term, such as 1", design.formula)
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


def _plain(error: Exception) -> str:
    """A message of formulaic's in one line, without its colours."""
    text = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error))
    return " ".join(text.split()).rstrip(".") or type(error).__name__


def _some(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:_MOST_NAMED])) + (
        ", ..." if len(values) > _MOST_NAMED else ""
    )
