"""Results of model selection: scores that print, and a plot."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from gptm.selection.paired import ERROR, paired_differences, with_changes, written_changes
from gptm.selection.score_tables import as_text, common_folds, per_group, perplexity_column
from gptm.views.shown_table import frame_card
from gptm.views.text_lines import WIDTH


class _Result(ABC):
    """Base of the results: whether they are complete, and how they print."""

    note: str  # what went wrong; empty if complete
    title: str

    @property
    def complete(self) -> bool:
        return not self.note

    @abstractmethod
    def printed(self) -> pd.DataFrame:
        """The table as texts."""

    @property
    def conclusion(self) -> str:
        """The line below the table; empty if there is none."""
        return ""

    def __repr__(self) -> str:
        shown = self.printed().to_string(line_width=WIDTH)
        above, below = [*wrap(self.title, WIDTH), *wrap(self.note, WIDTH)], self.conclusion
        return "\n".join([*above, shown, *wrap(below, WIDTH)])

    def _repr_html_(self) -> str:
        return frame_card(self.title, self.printed(), [self.note, self.conclusion])


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidation(_Result):
    """Scores of one model, fold by fold.

    Attributes
    ----------
    table : DataFrame
        One row per fold.
    summary : DataFrame
        Mean and standard deviation over the folds.
    complete : bool
        False if the work was interrupted.
    split : list of (train, test)
        Positions of the documents of each fold.
    """

    table: pd.DataFrame
    note: str
    title: str
    split: list[tuple[np.ndarray, np.ndarray]]

    def against(self, reference: "CrossValidation") -> pd.DataFrame:
        """How much better or worse this model predicts than another model, paired within folds.

        Parameters
        ----------
        reference : CrossValidation
            The cross-validation of the other model, on the same documents and folds.

        Returns
        -------
        DataFrame
            One row per fraction of the words seen, as in `Comparison.differences`.

        Examples
        --------
        >>> import gptm
        >>> from gptm import kernels as k
        >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
        >>> years = {"year": [1990, 1991, 2010, 2011] * 6}
        >>> time = gptm.cross_validate(gptm.GPTM(2, kernel=k.RBF("year")), X, metadata=years, observed=0.1)
        >>> words = gptm.cross_validate(gptm.CTM(2), X, observed=0.1)
        >>> bool(time.against(words).loc[0.1, "log_ratio"] < 0)
        True
        """
        same = len(self.split) == len(reference.split) and all(
            np.array_equal(rows, reference_rows)
            for fold, reference_fold in zip(self.split, reference.split, strict=True)
            for rows, reference_rows in zip(fold, reference_fold, strict=True)
        )
        if not same:
            raise ValueError(
                "paired differences need the same folds: cross-validate both models on the same documents with the "
                "same cv= and random_state=, or use gptm.compare."
            )
        both = pd.concat({"this": self.table, "reference": reference.table}, names=["model"])
        return paired_differences(both, "reference").droplevel("model")

    @property
    def summary(self) -> pd.DataFrame:
        values = self.table.astype(np.float64)
        return pd.DataFrame({"mean": values.mean(), "std": values.std()}).T

    def printed(self) -> pd.DataFrame:
        text = pd.concat([as_text(self.table), as_text(self.summary)])
        text.loc["std", "converged"] = ""
        return text.rename_axis("fold")


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(_Result):
    """Scores of several models on the same documents.

    Attributes
    ----------
    table, std : DataFrame
        One row per model: means and standard deviations over the folds on which all models were scored. In `table`,
        the columns `change_50`, `change_50_error` and so on, from `differences`, follow the perplexities.
    differences : DataFrame
        One row per model (except `reference`) and fraction of the words seen, compared with `reference` within folds:
        `log_ratio`, the mean difference of log-perplexities; `standard_error`, from the deviation of `log_ratio` over
        the folds, NaN for one fold; `change` and `change_error`, the same as a fraction of the perplexity; `folds`, the
        number of folds.
    reference : name
        The model that the others are compared with.
    folds : DataFrame
        One row per model and fold.
    best : name
        The model with the lowest perplexity at the first fraction.
    complete : bool
        False if the work was interrupted.
    """

    folds: pd.DataFrame
    note: str
    title: str
    reference: Any

    @property
    def table(self) -> pd.DataFrame:
        return with_changes(per_group(self.folds)[0], self.differences)

    @property
    def differences(self) -> pd.DataFrame:
        return paired_differences(self.folds, self.reference)

    @property
    def std(self) -> pd.DataFrame:
        return per_group(self.folds)[1]

    @property
    def best(self) -> Any:
        return self.table.iloc[:, 0].idxmin()

    def printed(self) -> pd.DataFrame:
        table = self.table
        changes = written_changes(table)
        text = as_text(table.drop(columns=[f"{name}{ERROR}" for name in changes]))
        return text.assign(**changes)

    @property
    def conclusion(self) -> str:
        table = self.table
        conclusion = f"lowest {self.folds.columns[0]}: {self.best}"
        if written_changes(table):
            conclusion += f"; changes are relative to {self.reference}"
        if table.filter(like=ERROR).notna().any(axis=None):
            conclusion += ", ± one standard error"
        return conclusion


@dataclass(frozen=True, repr=False, eq=False)
class ComponentSearch(_Result):
    """Scores against the number of topics.

    Attributes
    ----------
    table : DataFrame
        One row per number of topics: mean perplexity; `change` and `change_error`, how much higher it is than the
        lowest one, paired within folds, with its standard error, as fractions of the perplexity; `std`, the standard
        deviation of the perplexity over the folds; means of coherence, exclusivity and the other columns; and which
        rows are `best` and `lowest`.
    folds : DataFrame
        One row per number of topics and fold.
    lowest : int
        The number of topics with the lowest mean log-perplexity.
    best : int
        The smallest number that predicts as well as `lowest`, up to one standard error of the paired difference.
    complete : bool
        False if the work was interrupted.
    """

    folds: pd.DataFrame
    note: str
    title: str
    observed: float

    @property
    def table(self) -> pd.DataFrame:
        table, deviation = per_group(self.folds)
        lowest = self.lowest
        differences = self._differences(lowest)
        errors = differences["standard_error"].fillna(0.0)  # which one fold does not have
        near = [lowest, *differences.index[differences["log_ratio"] <= errors]]
        for position, name in enumerate(("change", "change_error"), 1):
            table.insert(position, name, differences[name].reindex(table.index))
        table.insert(3, "std", deviation["perplexity"])
        return table.assign(best=table.index == min(near), lowest=table.index == lowest)

    def _differences(self, reference: int) -> pd.DataFrame:
        """Log-ratios of perplexities to those of one number of topics, paired within folds."""
        folds = self.folds.rename(columns={"perplexity": perplexity_column(self.observed)})
        return paired_differences(folds, reference).droplevel("observed").astype(np.float64)

    @property
    def n_folds(self) -> int:
        """Number of folds on which all numbers of topics were scored."""
        return len(common_folds(self.folds)) // self.folds.index.get_level_values(0).nunique()

    @property
    def best(self) -> int:
        return int(self.table["best"].idxmax())

    @property
    def lowest(self) -> int:
        logs = np.log(common_folds(self.folds)["perplexity"].astype(np.float64))
        return int(logs.groupby(level=0).mean().idxmin())

    def plot(self, ax: Any = None) -> Any:
        """Held-out words, coherence and exclusivity against the number of topics.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw the held-out words alone; by default a new figure with all three.

        Returns
        -------
        Axes
            That of the held-out words.
        """
        from gptm.plots import plot_components  # loads matplotlib

        return plot_components(self, ax=ax)

    def printed(self) -> pd.DataFrame:
        table = self.table
        aside = [f"change{ERROR}", "std", "iterations", "converged"]  # which are in the table
        text = as_text(table.drop(columns=aside, errors="ignore"))
        text = text.assign(**written_changes(table))
        for column in ("best", "lowest"):
            text[column] = np.where(table[column], "*", "")
        return text

    @property
    def conclusion(self) -> str:
        sizes, best, lowest = self.table.index, self.best, self.lowest
        conclusion = f"lowest perplexity: {lowest} topics"
        if len(sizes) > 1 and lowest == sizes[-1]:
            conclusion += ", the largest number tried"
        conclusion += f"; best: {best} topics, the smallest number within one standard error of it"
        if self.n_folds > 1:
            conclusion += " (paired within folds)"
        return conclusion
