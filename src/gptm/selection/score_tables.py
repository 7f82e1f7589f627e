"""Tables of scores: their columns, means over folds, and how they print."""

import numpy as np
import pandas as pd

PERPLEXITY = "perplexity_"  # then the percentage of the words that were seen


def perplexity_column(share: float) -> str:
    return f"{PERPLEXITY}{100 * share:g}"


def common_folds(folds: pd.DataFrame) -> pd.DataFrame:
    """The folds on which all models were scored: after Ctrl-C, means over other folds could not be compared."""
    scored = folds.groupby(level=1).size()
    full = scored.index[scored == folds.index.get_level_values(0).nunique()]
    return folds[folds.index.get_level_values(1).isin(full)]


def per_group(folds: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Means and standard deviations over the folds; one fold stays as it is."""
    used = common_folds(folds)
    groups = used.astype(np.float64).groupby(level=0, sort=False)
    n_folds, deviation = groups.size(), groups.std()
    if n_folds.max() == 1:
        return used.droplevel(1), deviation
    return groups.mean().assign(folds=n_folds), deviation


def as_text(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that fit on a page, as text; the training bound is left to those who look for it."""
    columns = {name: _written(table[name]) for name in table if name != "bound"}
    return pd.DataFrame(columns, index=table.index)


def _written(values: pd.Series) -> list[str]:
    """Numbers as text, with a useful number of digits that is the same for a whole column."""
    if values.dtype == bool:
        return [str(value) for value in values]
    numbers = values.dropna()
    if values.name == "converged":
        form = ".0%"
    elif (numbers == numbers.round()).all():
        form = ".0f"
    else:
        form = f".{max(1, 4 - len(str(int(numbers.abs().max()))))}f"
    return ["" if pd.isna(value) else format(value, form) for value in values]
