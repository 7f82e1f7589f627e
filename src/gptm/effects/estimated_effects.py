"""What a regression of the topics' shares on covariates found: coefficients, predictions, average marginal effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError, InputError
from gptm._basics.prose import listed
from gptm._basics.types import Array
from gptm._basics.validation import as_dict, check_level, check_number
from gptm._basics.warnings import warn
from gptm.effects import effect_tables
from gptm.effects.average_design import (
    average_changes,
    average_rows,
    default_values,
    repeated,
    where_documents_are,
)
from gptm.effects.column_values import as_listed
from gptm.effects.formula_design import Design
from gptm.effects.share_regression import Estimate, Pooled
from gptm.fitted import Fitted
from gptm.tables import named_topics
from gptm.views.shown_table import ShownTable, table_lines

_SHOWN = 40  # rows of the table that are printed
_MOST_SETTINGS = 10_000
_SETTINGS = "must be a dict from columns of the formula to values"
_IMPOSSIBLE = 0.25  # how far an expected share may be outside of 0 to 1 before a warning says so
_RESULTS = {"std_error"} | set(effect_tables.RESULTS)  # names of a table's own columns


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedEffects:
    """Regression of the topics' shares on covariates; see `GPTM.estimate_effects`.

    Attributes
    ----------
    table : DataFrame
        One row per topic and coefficient: topic, topic_name if topics have names, term, estimate, std_error, low,
        high, p_value.
    formula : str
    level : float
        Of the bands from `low` to `high`.
    n_documents : int
        Documents in the regression.
    n_draws : int
        Draws of the proportions.
    n_clusters : int or None
    """

    fitted: Fitted
    topics: list[int]
    design: Design
    pooled: Pooled
    level: float
    n_clusters: int | None
    note: str

    @property
    def formula(self) -> str:
        return self.design.formula

    @property
    def n_documents(self) -> int:
        return len(self.design.rows)

    @property
    def n_draws(self) -> int:
        return self.pooled.n_draws

    @property
    def table(self) -> pd.DataFrame:
        combined = self.pooled.combine(np.eye(len(self.design.terms)))
        return self._coefficients(pd.DataFrame({"term": self.design.terms}), combined, self.level)

    def predict(
        self,
        *columns: str,
        at: Mapping[str, Any] | None = None,
        versus: Mapping[str, Any] | None = None,
        n_points: int = 50,
        level: float | None = None,
    ) -> pd.DataFrame:
        """Expected shares of the topics at values of some columns, the other columns as the documents have them.

        For each setting, every document gets its values, and the predictions of all documents are averaged.

        Parameters
        ----------
        *columns : str
            Columns of the formula to vary: along `n_points` even steps for a number or date, over all levels of a
            category. Several columns are crossed. Not needed if the formula reads one column only.
        at : dict, optional
            Values of columns to set, one or several each, such as `{"party": "Whig", "year": [1840, 1850]}`. They are
            crossed with each other and with `columns`. Steps along a number or date stay where documents with the
            same levels are.
        versus : dict, optional
            One value of some columns to compare with, such as `{"party": "Whig"}`. All shares are then differences
            from the same setting with these values.
        n_points : int, default=50
        level : float, optional
            Level of the bands; by default that of the table.

        Returns
        -------
        DataFrame
            One row per topic and setting: topic, topic_name if topics have names, the columns of the setting (a name
            that is in use gets "_at" appended), share, std_error, share_low, share_high.
        """
        level = self._level(level)
        check_number("n_points", n_points, least=1, integer=True)
        given = as_dict("at", at, _SETTINGS)
        settings = self._settings(columns, given, n_points)
        A = average_rows(self.design, settings)
        if versus is not None:
            A = A - average_rows(self.design, self._replaced(settings, versus))
        combined = self.pooled.combine(A)
        if versus is None:
            self._warn_impossible(combined.mean, 0.0, "expected shares")
        else:
            self._warn_impossible(combined.mean, -1.0, "differences of shares")
        low, high = combined.band(level)
        shown = {
            f"{name}_at" if name in _RESULTS else name: self.design.shown(name, settings[name])
            for name in settings
        }
        values = {"share": combined.mean, "std_error": combined.std_error}
        return self._long(
            pd.DataFrame(shown, index=settings.index),
            values | {"share_low": low, "share_high": high},
        )

    def marginal_effects(
        self, *columns: str, at: Mapping[str, Any] | None = None, level: float | None = None
    ) -> pd.DataFrame:
        """Average marginal effects: what a change of one column does to the topics' shares, averaged over documents.

        Parameters
        ----------
        *columns : str
            Columns of the formula; by default all of them.
        at : dict, optional
            One value of other columns, such as `{"party": "Whig"}`, at which all documents are put first.
        level : float, optional
            Level of the bands; by default that of the table.

        Returns
        -------
        DataFrame
            One row per topic, column and change: topic, topic_name if topics have names, column, change, estimate,
            std_error, low, high, p_value. For a number the change is "+1" and the estimate the mean slope; for a date
            it is "per year"; for a number that is 0 or 1 it is "1 - 0"; for a category it is a level less the first
            level, such as "Whig - Democrat".
        """
        level = self._level(level)
        fixed = self._fixed(as_dict("at", at, _SETTINGS), "at")
        tables = []
        for name in self._checked(columns) or self.design.variables:
            if name in fixed:
                continue
            changes, A = average_changes(self.design, name, fixed)
            label = pd.DataFrame({"column": name, "change": changes})
            combined = self.pooled.combine(A)
            if self.design.levels(name) is not None and len(A):
                self._warn_impossible(combined.mean, -1.0, "differences of shares")
            tables.append(self._coefficients(label, combined, level))
        if not tables:
            raise InputError(
                f"the formula {self.formula!r} reads no column whose effect could be averaged."
            )
        table = pd.concat(tables, ignore_index=True)
        table = table.sort_values("topic", kind="stable", key=self._places).reset_index(drop=True)
        return ShownTable.of(table, f"Average marginal effects, {100 * level:g} % bands")

    def _warn_impossible(self, values: Array, lowest: float, what: str) -> None:
        """A warning if shares, or differences of shares, are far outside of `lowest` to 1."""
        low, high = float(np.min(values)), float(np.max(values))
        if low < lowest - _IMPOSSIBLE or high > 1.0 + _IMPOSSIBLE:
            warn(
                f"{what} from {100 * low:.0f} % to {100 * high:.0f} % are impossible: the formula "
                f"{self.formula!r} is asked about values that no documents have together. Use + in place of *, a "
                "smaller df in s(), or values that documents have.",
            )

    # Settings

    def _settings(
        self, columns: Sequence[str], at: Mapping[str, Any], n_points: int
    ) -> pd.DataFrame:
        names = list(dict.fromkeys([*self._checked(columns), *self._checked(at, "at")]))
        if not names:
            names = self.design.variables
            if len(names) > 1:
                raise InputError(
                    f"the formula {self.formula!r} reads the columns {listed(map(repr, names))}; name those to vary, "
                    f"for example predict({names[0]!r})."
                )
        values = {
            name: self.design.read_values(name, as_listed(at[name]), "at")
            if name in at
            else default_values(self.design, name, n_points)
            for name in names
        }
        sizes = [len(some) for some in values.values()]
        if np.prod(sizes, dtype=float) > _MOST_SETTINGS:
            raise InputError(
                f"{' x '.join(map(str, sizes))} settings are more than {_MOST_SETTINGS:,}. Name fewer values in ",
                Argument("at"),
                ", or fewer points in ",
                Argument("n_points"),
                ".",
            )
        grids = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")
        positions = [grid.ravel() for grid in grids]
        picked = zip(values.items(), positions, strict=True)
        settings = pd.DataFrame(
            {name: some.iloc[rows].reset_index(drop=True) for (name, some), rows in picked},
            index=range(int(np.prod(sizes))),
        )
        return where_documents_are(
            self.design, settings, [name for name in names if name not in at]
        )

    def _fixed(self, values: Mapping[str, Any], argument: str) -> dict[str, pd.Series]:
        """One value each of some columns."""
        fixed = {}
        for name in self._checked(values, argument):
            some = as_listed(values[name])
            if len(some) != 1:
                raise ArgumentError(argument, f"must have one value of {name!r}", some)
            fixed[name] = self.design.read_values(name, some, argument)
        return fixed

    def _replaced(self, settings: pd.DataFrame, versus: Mapping[str, Any]) -> pd.DataFrame:
        versus = as_dict("versus", versus, _SETTINGS)
        if not versus:
            raise ArgumentError("versus", "must have a value of a column", versus)
        fixed = self._fixed(versus, "versus")
        return settings.assign(**repeated(fixed, len(settings)))

    def _checked(self, names: Any, argument: str = "columns") -> list[str]:
        variables = self.design.variables
        unknown = [name for name in names if not (isinstance(name, str) and name in variables)]
        if unknown:
            raise ArgumentError(
                argument,
                f"must name columns of the formula: {listed(map(repr, variables)) or 'it reads none'}",
                unknown[0],
            )
        return list(dict.fromkeys(names))

    # Tables

    def _level(self, level: float | None) -> float:
        if level is None:
            return self.level
        check_level(level)
        return level

    def _coefficients(self, rows: pd.DataFrame, found: Estimate, level: float) -> pd.DataFrame:
        low, high = found.band(level)
        values = {"estimate": found.mean, "std_error": found.std_error, "low": low, "high": high}
        return self._long(rows, values | {"p_value": found.p_values()})

    def _long(self, rows: pd.DataFrame, values: dict[str, Array]) -> pd.DataFrame:
        """The rows for each topic, with values (rows, topics)."""
        tables = []
        for place, topic in enumerate(self.topics):
            table = pd.DataFrame({"topic": topic}, index=rows.index)
            numbers = {name: of_topics[:, place] for name, of_topics in values.items()}
            tables.append(pd.concat([table, rows], axis=1).assign(**numbers))
        table = named_topics(pd.concat(tables, ignore_index=True), self.fitted)
        return ShownTable.of(table, self.title)

    def _places(self, topics: pd.Series) -> pd.Series:
        return topics.map({topic: place for place, topic in enumerate(self.topics)})

    @property
    def title(self) -> str:
        """Formula, documents, draws and bands in a line."""
        by = "" if self.n_clusters is None else f", {self.n_clusters:,} clusters"
        return (
            f"shares of topics {self.formula}: {self.n_documents:,} documents{by}, {self.n_draws} draws, "
            f"{100 * self.level:g} % bands"
        )

    def __repr__(self) -> str:
        table = self.table
        more = [f"... {len(table) - _SHOWN} more rows in table"] if len(table) > _SHOWN else []
        lines = [self.title, *([self.note] if self.note else [])]
        return "\n".join([*lines, *table_lines(table.head(_SHOWN)), *more])

    def _repr_html_(self) -> str:
        return ShownTable.of(self.table, self.title, self.note)._repr_html_()
