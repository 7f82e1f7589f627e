"""Two fits, topic by topic: which topics both have, and which only one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from gptm._basics.errors import ArgumentError, InputError
from gptm._basics.types import Array
from gptm._basics.validation import is_real
from gptm._basics.warnings import warn
from gptm.fitted import Fitted
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.tables import shown_words, topic_shares
from gptm.views.shown_table import ShownTable, table_lines
from gptm.views.text_lines import percent

_SHOWN_WORDS = 4


@dataclass(frozen=True)
class Alignment:
    """Topics of two fits, matched; `print` shows the table.

    Attributes
    ----------
    table : DataFrame
        One row per topic, with the columns status ("both", "only a", "only b"), a and b (the topics' numbers, missing
        where there is none), overlap, share_a, share_b, topic_a and topic_b (names or words). Pairs come first, the
        largest overlap first.
    overlap : DataFrame
        Of shape (topics of a, topics of b): how much two topics have in common, from 0 to 1.
    n_common_words : int
        Words that both vocabularies have. Topics are compared on these.
    """

    table: pd.DataFrame
    overlap: pd.DataFrame
    n_common_words: int

    @property
    def pairs(self) -> dict[int, int]:
        """Topics that both fits have: numbers of the first fit to numbers of the second."""
        both = self.table[self.table["status"] == "both"]
        return dict(zip(both["a"].astype(int), both["b"].astype(int), strict=True))

    @property
    def lost(self) -> list[int]:
        """Topics that only the first fit has."""
        return [int(number) for number in self.table.loc[self.table["status"] == "only a", "a"]]

    @property
    def new(self) -> list[int]:
        """Topics that only the second fit has."""
        return [int(number) for number in self.table.loc[self.table["status"] == "only b", "b"]]

    @property
    def title(self) -> str:
        """How many topics were matched, in a line."""
        pairs = self.pairs
        mean = self.table.loc[self.table["status"] == "both", "overlap"].mean()
        said = f"{len(pairs)} topics in both" + (f", mean overlap {mean:.2f}" if pairs else "")
        said += f"; {len(self.lost)} only in a, {len(self.new)} only in b"
        return f"{said} ({self.n_common_words:,} words in common)"

    def __str__(self) -> str:
        numbers = ("overlap", "share_a", "share_b")
        shown = self.table.assign(**{name: _shares(self.table[name]) for name in numbers})
        return "\n".join([self.title, *table_lines(shown, numbers)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = self.table.assign(a=_numbers(self.table["a"]), b=_numbers(self.table["b"]))
        return ShownTable.of(shown, self.title)._repr_html_()


def _numbers(column: pd.Series) -> list[str]:
    return ["" if pd.isna(number) else str(int(number)) for number in column]


def _shares(column: pd.Series) -> list[str]:
    return ["" if pd.isna(number) else f"{number:.2f}" for number in column]


def align(a: GPTM, b: GPTM, *, threshold: float = 0.4) -> Alignment:
    """Match the topics of two fits by their words: which are the same, which are new, which are lost.

    The overlap of two topics is the sum over words of the smaller one of their two probabilities: 1 for the same
    topic, 0 for no word in common. Pairs are chosen such that all overlaps together are as large as they can be.

    Parameters
    ----------
    a, b : fitted GPTM or CTM
        Numbers of topics and vocabularies may differ. Topics are compared on the words that both models have.
    threshold : float, default=0.4
        Smallest overlap of a pair. Topics with less count as lost (only in a) or new (only in b).

    Returns
    -------
    Alignment
        With `table`, `overlap`, `pairs`, `lost` and `new`.

    Examples
    --------
    >>> from gptm import CTM, Corpus, align
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
    >>> a = CTM(2, seed_words={"tea": ["tea"]}, random_state=0).fit(corpus)
    >>> b = CTM(2, seed_words={"coffee": ["coffee"]}, random_state=1).fit(corpus)
    >>> align(a, b).pairs == {0: 1, 1: 0}
    True
    """
    for name, model in (("a", a), ("b", b)):
        check_fitted(model, name)
    check_threshold(threshold)
    first, second = a.fitted_, b.fitted_
    columns = _common_words(first, second)
    covered = [_covered(a, columns[0]), _covered(b, columns[1])]
    if min(covered) < 0.5:
        warn(
            f"the {len(columns[0]):,} words that both models have are {percent(covered[0])} of the words that are "
            f"counted in a and {percent(covered[1])} in b. Topics are compared on these alone, so those that differ "
            "may look alike. Count the words of both corpora in the same way, with the same vocabulary if you can."
        )
    overlap = overlaps(first.components[:, columns[0]], second.components[:, columns[1]])
    rows = _rows(overlap, threshold)
    table = pd.DataFrame(rows, columns=["status", "a", "b", "overlap"])
    table = table.astype({"a": "Int64", "b": "Int64"})
    for side, model, number in (("a", a, table["a"]), ("b", b, table["b"])):
        shares = topic_shares(model.doc_topics_)
        labels = topic_labels_of(model.fitted_)
        table[f"share_{side}"] = [np.nan if pd.isna(k) else shares[k] for k in number]
        table[f"topic_{side}"] = ["" if pd.isna(k) else labels[k] for k in number]
    named = pd.DataFrame(
        overlap,
        index=pd.RangeIndex(first.K, name="a"),
        columns=pd.RangeIndex(second.K, name="b"),
    )
    order = ["status", "a", "b", "overlap", "share_a", "share_b", "topic_a", "topic_b"]
    return Alignment(table[order], named, len(columns[0]))


def check_threshold(threshold: Any) -> None:
    """The least overlap of words at which two topics count as the same."""
    if not (is_real(threshold) and 0.0 <= threshold <= 1.0):
        raise ArgumentError("threshold", "must lie between 0 and 1", threshold)


def _common_words(a: Fitted, b: Fitted) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the words that both have; without names of words, all columns."""
    V = a.components.shape[1]
    if a.vocabulary is None and b.vocabulary is None:
        if b.components.shape[1] != V:
            raise InputError(
                f"the words of these models have no names and are {V} and {b.components.shape[1]}, so they cannot be "
                "matched. Fit to a Corpus or a DataFrame."
            )
        return np.arange(V), np.arange(V)
    if a.vocabulary is None or b.vocabulary is None:
        raise InputError(
            "the words of one of these models have no names, so they cannot be matched. Fit both to a Corpus."
        )
    place = {str(word): column for column, word in enumerate(b.vocabulary)}
    pairs = [(i, place[str(word)]) for i, word in enumerate(a.vocabulary) if str(word) in place]
    if not pairs:
        raise InputError("these two models have no word in common, so topics cannot be matched.")
    left, right = np.array(pairs).T
    return left, right


def _covered(model: GPTM, columns: np.ndarray) -> float:
    """The part of a model's tokens that belongs to some of its words, as its topics have it."""
    return float(topic_shares(model.doc_topics_) @ model.components_[:, columns].sum(1))


def overlaps(a: Array, b: Array) -> Array:
    """(topics of a, topics of b) sums of the smaller probabilities, on the words that both have."""
    a, b = (beta / np.maximum(beta.sum(1, keepdims=True), 1e-300) for beta in (a, b))
    return np.array([np.minimum(row, b).sum(1) for row in a])


def best_pairs(overlap: Array) -> list[tuple[int, int]]:
    """Each topic with at most one other, such that all overlaps together are as large as they can be."""
    left, right = linear_sum_assignment(overlap, maximize=True)
    return [(int(i), int(j)) for i, j in zip(left, right, strict=True)]


def _rows(overlap: Array, threshold: float) -> list[tuple[Any, ...]]:
    pairs = [pair for pair in best_pairs(overlap) if overlap[pair] >= threshold]
    pairs.sort(key=lambda pair: -overlap[pair])
    lost = sorted(set(range(overlap.shape[0])) - {i for i, _ in pairs})
    new = sorted(set(range(overlap.shape[1])) - {j for _, j in pairs})
    return [
        *(("both", i, j, overlap[i, j]) for i, j in pairs),
        *(("only a", i, None, np.nan) for i in lost),
        *(("only b", None, j, np.nan) for j in new),
    ]


def topic_labels_of(fitted: Fitted) -> list[str]:
    """The names of topics, or their most prominent words."""
    words = shown_words(fitted, _SHOWN_WORDS)
    return [name or " ".join(own) for name, own in zip(fitted.names, words, strict=True)]
