"""How much better one model predicts than another: paired within folds, with a standard error.

The same held-out words are hard or easy for all models, so perplexities vary far more from fold to fold than their
ratios do. So the ratio is taken within each fold, as a difference of logarithms: the difference of the mean
log-probabilities per word. Its standard error is the deviation over the k folds, divided by sqrt(k).

Folds share training documents, so this standard error is not exact. Measured as the root mean square over sampled
corpora, in units of the true deviation of the difference over these corpora, five folds, GPTM against CTM:

| corpora | words seen | this one | times sqrt(1 + k / (k - 1)), after Nadeau & Bengio (2003) |
|---|---|---|---|
| 60 of 80 documents, one kernel over time | 50 %, 5 % | 1.12, 1.11 | 1.68, 1.67 |
| 50 of 150 documents, 12 categories | 50 %, 5 % | 1.14, 0.94 | 1.71, 1.41 |
"""

from collections.abc import Hashable

import numpy as np
import pandas as pd

from gptm.selection.score_tables import PERPLEXITY, common_folds

CHANGE, ERROR = "change_", "_error"


def paired_differences(folds: pd.DataFrame, reference: Hashable) -> pd.DataFrame:
    """Log-ratios of perplexities to those of one model: one row per other model and share of the words seen.

    `folds` has a row per model and fold. With one fold, standard errors are NaN. If no fold has scores of the reference
    and of the others, there are no rows.
    """
    used = common_folds(folds)
    names = [name for name in used.columns if name.startswith(PERPLEXITY)]
    logs = np.log(used[names].astype(np.float64))
    rows = []
    for model in logs.index.unique(0):
        if model == reference or reference not in logs.index.unique(0):
            continue
        ratios = logs.loc[model] - logs.loc[reference]
        k = len(ratios)
        errors = ratios.std() / np.sqrt(k)
        for name in names:
            change = np.exp(ratios[name].mean())
            rows.append(
                {
                    "model": model,
                    "observed": float(name.removeprefix(PERPLEXITY)) / 100,
                    "log_ratio": ratios[name].mean(),
                    "standard_error": errors[name],
                    "change": change - 1,
                    "change_error": change * errors[name],  # to first order
                    "folds": k,
                }
            )
    columns = ["log_ratio", "standard_error", "change", "change_error", "folds"]
    table = pd.DataFrame(rows, columns=["model", "observed", *columns])
    return table.set_index(["model", "observed"])


def with_changes(table: pd.DataFrame, differences: pd.DataFrame) -> pd.DataFrame:
    """A table of models with the changes and their standard errors after the perplexities."""
    names = [name for name in table.columns if name.startswith(PERPLEXITY)]
    wide = table.copy()
    position = len(names)
    for name in names if len(differences) else ():
        share = name.removeprefix(PERPLEXITY)
        at_share = differences.xs(float(share) / 100, level="observed")
        for ending, column in (("", "change"), (ERROR, "change_error")):
            wide.insert(position, f"{CHANGE}{share}{ending}", at_share[column].reindex(wide.index))
            position += 1
    return wide


def written_changes(table: pd.DataFrame) -> dict[str, list[str]]:
    """Each change with its standard error as text, by column; empty for the reference.

    Examples
    --------
    >>> import pandas as pd
    >>> written_changes(pd.DataFrame({"change_50": [-0.0243, None], "change_50_error": [0.006, None]}))
    {'change_50': ['-2.4 % ± 0.6', '']}
    """
    names = [n for n in table.columns if f"{n}{ERROR}" in table.columns]
    return {
        name: [
            _written(change, error)
            for change, error in zip(table[name], table[f"{name}{ERROR}"], strict=True)
        ]
        for name in names
    }


def _written(change: float, error: float) -> str:
    if np.isnan(change):
        return ""
    digits = 2 if error < 0.001 else 1
    text = f"{round(100 * change, digits) + 0.0:+.{digits}f} %"  # which is never -0.0
    return text if np.isnan(error) else f"{text} ± {100 * error:.{digits}f}"
