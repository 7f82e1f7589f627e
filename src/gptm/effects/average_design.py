"""Rows of a regression at settings of some columns, averaged over the documents' other columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm.effects.formula_design import Design

_STEP = 1e-4  # of a number's range, for its derivative
_YEAR = 365.2425
_CELLS = 20_000_000  # of one evaluation of the formula


def default_values(design: Design, name: str, n_points: int) -> pd.Series:
    """All levels of a category; even steps along a number, or both of its values if it has only two."""
    levels, values = design.levels(name), design.frame[name]
    if levels is not None:
        return pd.Series(pd.Categorical(levels, categories=levels))
    distinct = np.unique(values)
    if len(distinct) <= 2:
        return pd.Series(distinct)
    return pd.Series(np.linspace(distinct[0], distinct[-1], n_points))


def where_documents_are(
    design: Design, settings: pd.DataFrame, varied: Sequence[str]
) -> pd.DataFrame:
    """Settings without steps along numbers where no documents with the same levels are.

    A curve that differs between levels (`party * s(date)`) means nothing where a level has no documents.
    """
    groups = [name for name in settings if design.levels(name) is not None]
    smooth = [name for name in varied if design.levels(name) is None]
    if not groups or not smooth:
        return settings
    there = np.ones(len(settings), dtype=bool)
    for name in smooth:
        own = design.frame.groupby(groups, observed=True)[name].agg(["min", "max"])
        ends = settings[groups].astype(object).join(own, on=groups)
        inside = settings[name].between(ends["min"], ends["max"])
        there &= (inside | ends["min"].isna()).to_numpy()
    return settings[there].reset_index(drop=True)


def repeated(fixed: Mapping[str, pd.Series], n: int) -> dict[str, pd.Series]:
    """Single values of some columns, n times each."""
    return {
        name: value.iloc[np.zeros(n, int)].reset_index(drop=True) for name, value in fixed.items()
    }


def average_rows(design: Design, settings: pd.DataFrame) -> Array:
    """(m, p) the regression's columns at each setting: every document gets its values, and all are averaged."""
    others = [name for name in design.variables if name not in settings]
    rest, weights = _distinct(design.frame[others])
    A = np.empty((len(settings), len(design.terms)))
    size = max(1, _CELLS // (len(weights) * len(design.terms)))
    for start in range(0, len(settings), size):
        part = settings.iloc[start : start + size]
        crossed = part.iloc[np.repeat(np.arange(len(part)), len(weights))].reset_index(drop=True)
        if others:
            again = rest.iloc[np.tile(np.arange(len(weights)), len(part))]
            crossed = pd.concat([crossed, again.reset_index(drop=True)], axis=1)
        X = design.matrix(crossed).reshape(len(part), len(weights), -1)
        A[start : start + len(part)] = np.einsum("d,mdp->mp", weights, X)
    return A


def average_changes(
    design: Design, name: str, fixed: Mapping[str, pd.Series]
) -> tuple[list[str], Array]:
    """Changes of a column, and what each does to the regression's columns, averaged over documents."""
    levels = design.levels(name)
    if levels is not None:
        settings = pd.DataFrame({name: pd.Categorical(levels, categories=levels)})
        rows = average_rows(design, settings.assign(**repeated(fixed, len(levels))))
        return [f"{level} - {levels[0]}" for level in levels[1:]], rows[1:] - rows[0]
    frame = design.frame.assign(**repeated(fixed, len(design.frame)))
    frame, weights = _distinct(frame)

    def average(values: Any) -> Array:
        return np.asarray(weights @ design.matrix(frame.assign(**{name: values})))

    values = frame[name].to_numpy(dtype=np.float64)
    if set(np.unique(values)) <= {0.0, 1.0}:
        return ["1 - 0"], (average(1) - average(0))[None]
    step = _STEP * float(np.ptp(values))
    slope = (average(values + step) - average(values - step)) / (2.0 * step)
    date = name in design.dates
    return ["per year" if date else "+1"], (_YEAR * slope if date else slope)[None]


def _distinct(frame: pd.DataFrame) -> tuple[pd.DataFrame, Array]:
    """The distinct rows, and the share of documents of each."""
    if not len(frame.columns):
        return frame.iloc[:1], np.ones(1)
    number = frame.groupby(list(frame), observed=True, sort=False).ngroup().to_numpy()
    first = np.unique(number, return_index=True)[1]
    return frame.iloc[first].reset_index(drop=True), np.bincount(number) / len(frame)
