"""What a permutation test asks: the term, and the orders in which its columns are shuffled."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gptm._basics.errors import ArgumentError
from gptm.corpus.counts import columns_of
from gptm.effects.effect_tables import check_explainable, term_labels, term_number
from gptm.findings.shuffles import Shuffles
from gptm.kernels import Kernel, Sum
from gptm.kernels.kernel import summands, unscaled
from gptm.model import GPTM
from gptm.selection.alignment import best_pairs, overlaps, topic_labels_of
from gptm.selection.data import Data


class TestedTerm(NamedTuple):
    """A term, and the kernel without it."""

    kernel: Kernel
    label: str
    rest: Kernel | None
    is_new: bool  # the model's kernel has no such term


class Trial(NamedTuple):
    """A term of a model, whose columns are shuffled n times."""

    model: GPTM  # as it was fitted
    unfitted: GPTM  # a clone whose kernel is settled
    data: Data
    term: TestedTerm
    shuffles: Shuffles
    n: int
    seed: int
    n_jobs: int | None
    verbose: int | bool

    @property
    def exact(self) -> bool:
        """Whether there are so few orders that all are tried."""
        return self.shuffles.total <= self.n

    @property
    def n_orders(self) -> int:
        """Number of the orders that are tried."""
        return self.shuffles.total if self.exact else self.n

    def orders(self) -> Iterator[np.ndarray]:
        """(D,) for each order: the document whose value each document gets."""
        return self.shuffles.all() if self.exact else self.shuffles.drawn(self.n, self.seed)


def find_term(model: GPTM, kernel: Any, term: Any) -> TestedTerm:
    """The term that is asked about: one of the model's kernel, or a kernel over columns that it does not use."""
    if isinstance(term, Kernel):
        used = set(columns_of(kernel) or ()) & set(term.column_names())
        if used:
            raise ArgumentError(
                "term",
                "must be a kernel over columns that the model does not use, or the name of one of its terms",
                term,
                f"The model's own kernel reads {', '.join(map(repr, sorted(used)))}.",
            )
        label = term_labels(term)[0] if not isinstance(term, Sum) else repr(term)
        return TestedTerm(term, label, kernel, is_new=True)
    if model.fitted_.kernel is None:
        raise ArgumentError(
            "term",
            "must be a kernel for a model without one",
            term,
            f"Pass, for example, gptm.kernels.Categorical({term if isinstance(term, str) else 'party'!r}).",
        )
    check_explainable(model.fitted_)
    number = term_number(kernel, term)
    terms = list(summands(kernel))
    chosen = terms.pop(number)
    rest = None if not terms else terms[0] if len(terms) == 1 else Sum(*terms)
    return TestedTerm(unscaled(chosen), term_labels(kernel)[number], rest, is_new=False)


def matched_topics(model: GPTM, blind: GPTM) -> pd.DataFrame:
    """The topics of a blind fit, with the numbers of the model's topics that they match."""
    overlap = overlaps(blind.components_, model.components_)
    partner = dict(best_pairs(overlap))
    K = len(overlap)
    return pd.DataFrame(
        {
            "topic": pd.array([partner.get(k) for k in range(K)], dtype="Int64"),
            "words": topic_labels_of(blind.fitted_),
            "overlap": [overlap[k, partner[k]] if k in partner else np.nan for k in range(K)],
        }
    )
