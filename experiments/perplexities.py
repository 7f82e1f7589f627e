"""Results of folds as tables: means with deviations, the paper's beside them, and differences within folds."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.jobs import Claim
from experiments.judging import Difference, claim_lower
from experiments.paper import Reported
from experiments.scoring import Variant, fold_key
from experiments.tables import write_table

SCORES = {
    "conditional": "eq. 24",
    "joint": "eq. 23",
    "completion_50": "completion, 50 % seen",
    "completion_20": "completion, 20 % seen",
    "completion_5": "completion, 5 % seen",
}
INFERENCES = {"map": "the paper's inference", "sampling": "the default inference"}


class Column(NamedTuple):
    """A model under the name that the tables give it."""

    name: str
    variant: Variant
    reported: str | None = None  # its name in the paper's table


class Comparison(NamedTuple):
    """Models on the same folds of the same sets, by one score."""

    columns: tuple[Column, ...]
    score: str
    corpora: tuple[str, ...]
    folds: Mapping[tuple[str, str], Sequence[float]]  # values by set and column

    @classmethod
    def of(
        cls,
        results: Mapping[str, dict[str, Any]],
        columns: Sequence[Column],
        score: str,
        corpora: Sequence[str],
        n_folds: int,
    ) -> "Comparison":
        folds = {
            (corpus, column.name): [
                results[fold_key(corpus, column.variant, fold)].get(score, np.nan)
                for fold in range(n_folds)
            ]
            for corpus in corpora
            for column in columns
        }
        return cls(tuple(columns), score, tuple(corpora), folds)

    def difference(self, corpus: str, first: str, second: str) -> Difference:
        return Difference.of(self.folds[corpus, first], self.folds[corpus, second])

    def claim(self, text: str, under: str, *pairs: tuple[str, str]) -> Claim:
        """That the first model of each pair is lower than the second."""
        differences = {
            corpus if len(pairs) == 1 else f"{corpus} {first}": self.difference(
                corpus, first, second
            )
            for corpus in self.corpora
            for first, second in pairs
        }
        return claim_lower(text, differences, under)

    def change(self, first: str, second: str) -> float:
        """By how many percent the first model is above the second, mean over folds and sets."""
        logs = [
            np.mean(np.log(self.folds[corpus, first])) - np.mean(np.log(self.folds[corpus, second]))
            for corpus in self.corpora
        ]
        return float(100 * np.expm1(np.mean(logs)))

    def write(
        self, out: Path, name: str, reported: Mapping[str, Mapping[str, Reported]] | None = None
    ) -> str:
        """Means and deviations as a table, with all values as CSV; returns the Markdown."""
        rows = []
        for corpus in self.corpora:
            row = {"set": corpus}
            for column in self.columns:
                row[column.name] = _written(self.folds[corpus, column.name])
            for column in self.columns:
                if reported is not None and column.reported is not None:
                    mean, deviation = reported[corpus][column.reported]
                    row[f"paper: {column.name}"] = f"{mean:.0f} ± {deviation:.0f}"
            rows.append(row)
        return write_table(out, name, pd.DataFrame(rows), self._values())

    def write_differences(self, out: Path, name: str, pairs: Sequence[tuple[str, str]]) -> str:
        """Mean differences within folds with their standard errors; returns the Markdown."""
        shown, values = [], []
        for corpus in self.corpora:
            differences = {pair: self.difference(corpus, *pair) for pair in pairs}
            shown.append(
                {"set": corpus} | {" − ".join(pair): str(d) for pair, d in differences.items()}
            )
            values += [
                {"set": corpus, "first": first, "second": second, **difference._asdict()}
                for (first, second), difference in differences.items()
            ]
        return write_table(out, name, pd.DataFrame(shown), pd.DataFrame(values))

    def _values(self) -> pd.DataFrame:
        return pd.DataFrame(
            {"set": corpus, "model": model, "fold": fold, "perplexity": value}
            for (corpus, model), values in self.folds.items()
            for fold, value in enumerate(values)
        )


def _written(values: Sequence[float]) -> str:
    mean = np.mean(values)
    return "none" if np.isnan(mean) else f"{mean:.0f} ± {np.std(values, ddof=1):.0f}"


def changes_in_words(comparisons: Mapping[str, Comparison], named: Callable[[str], str]) -> str:
    """By how much models are above or below the first one, for each way to judge them."""
    lines = []
    for under, comparison in comparisons.items():
        first, *others = (column.name for column in comparison.columns)
        parts = [f"{named(name)} {comparison.change(name, first):+.1f} %" for name in others]
        lines.append(f"  - {under}: {', '.join(parts)}")
    return f"Perplexity against that of {named(first)}, mean over the sets:\n" + "\n".join(lines)


def choices(
    results: Mapping[str, dict[str, Any]], columns: Sequence[Column], corpora: Sequence[str]
) -> str:
    """Which parameters were chosen for tuned kernels, in words."""
    parts = []
    for column in columns:
        chosen = [results[fold_key(corpus, column.variant, 0)]["parameters"] for corpus in corpora]
        values = "; ".join(
            f"{corpus} {', '.join(f'{name} {value:g}' for name, value in parameters.items())}"
            for corpus, parameters in zip(corpora, chosen, strict=True)
        )
        parts.append(f"{column.name} ({values})")
    return ", ".join(parts)
