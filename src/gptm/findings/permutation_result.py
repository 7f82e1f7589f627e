"""What a permutation test has found."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm.views.shown_table import table_card, table_lines

_ROUNDING = 1e-9  # statistics that differ by less are equal


@dataclass(frozen=True, repr=False, eq=False)
class PermutationTest:
    """The effect of a term against shuffled columns; `print` says it in words.

    Attributes
    ----------
    p_value : float
        Of all topics together: (1 + shuffles with a statistic as large) / (1 + shuffles); exact if all orders were
        tried.
    statistic : float
        Of the data. Without `refit`: how similar the topics of documents are that the term makes similar, relative to
        the mean over shuffles, which is 1. With `refit`: the share of the variance of logits that the term explains.
    table : DataFrame
        One row per topic: `topic`, the number in the model; its words; its `overlap` with the tested topic;
        `statistic`; `p_value`; `p_adjusted`, which accounts for testing all topics: the fraction of shuffles in which
        the largest statistic of any topic is as large. With `refit` there is only the latter.
    shuffled : ndarray
        The statistic of every shuffle.
    exact : bool
        Whether all orders were tried, rather than some at random.
    complete : bool
        False if the work was interrupted.
    """

    term: str
    statistic: float
    shuffled: Array
    table: pd.DataFrame
    exact: bool
    how: str
    note: str = ""

    @property
    def complete(self) -> bool:
        return not self.note

    @property
    def p_value(self) -> float:
        return float(p_values(np.array([self.statistic]), self.shuffled[:, None], self.exact)[0])

    @property
    def title(self) -> str:
        """The term, its p-value and what was shuffled, in a line."""
        n = len(self.shuffled)
        orders = f"all {n:,} orders" if self.exact else f"{n:,} shuffles"
        return f"{self.term}: p = {self.p_value:.3g}, {orders} of {self.how}"

    @property
    def conclusion(self) -> str:
        """The statistic of the data beside those of shuffled columns."""
        low, high = np.quantile(self.shuffled, [0.05, 0.95])
        return (
            f"statistic {self.statistic:.3g}; "
            f"90 % of the shuffled ones are from {low:.3g} to {high:.3g}"
        )

    def __repr__(self) -> str:
        above = [self.title, *([self.note] if self.note else []), self.conclusion]
        return "\n".join([*above, *table_lines(self.table)])

    def _repr_html_(self) -> str:
        return table_card(self.title, self.table, [self.note, self.conclusion])


def p_values(observed: Array, shuffled: Array, exact: bool) -> Array:
    """(k,) shares of shuffles (n, k) with a statistic as large as the one observed (k,).

    The data count as one more shuffle, unless all orders were tried and they are among them.

    Examples
    --------
    >>> p_values(np.array([2.0]), np.array([[1.0], [3.0], [2.0]]), exact=False)
    array([0.75])
    """
    slack = _ROUNDING * np.maximum(np.abs(observed), 1e-300)
    larger = (shuffled >= observed - slack).sum(0)
    n = len(shuffled)
    return np.asarray(larger / n if exact else (1 + larger) / (1 + n))
