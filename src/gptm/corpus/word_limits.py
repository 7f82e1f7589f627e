"""Which words of texts are counted: not those too rare, too frequent, or too many."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.sparse_arrays import column_sums
from gptm._basics.validation import is_whole
from gptm.corpus.words_report import WordsReport, removed_words, with_kept

# What to do where no word is left.
FIND_MORE = Message(  # where there is no word even before some are left out
    "Words have two letters or more. Pass ",
    Argument("token_pattern", r"\w+"),
    " to count single letters and numbers, too.",
)
KEEP_MORE = Message(
    "Lower ",
    Argument("min_df"),
    ", raise ",
    Argument("max_df"),
    ", or pass ",
    Argument("stop_words", None),
    ".",
)


class Limits(NamedTuple):
    """How many documents a word may be in, as numbers or shares of them, and how many words there may be."""

    min_df: int | float | None
    max_df: int | float | None
    max_features: int | None

    def frequencies(self, n: int) -> tuple[int | float, int | float]:
        """`min_df` and `max_df`, with the defaults for so many documents."""
        low = self.min_df if self.min_df is not None else 1 if n < 100 else 2 if n < 1000 else 5
        high = self.max_df if self.max_df is not None else 0.5 if n >= 10 else 1.0
        return low, high


def limit_words(
    counts: csr_matrix, vocabulary: np.ndarray, limits: Limits, report: WordsReport
) -> tuple[csr_matrix, np.ndarray, WordsReport]:
    """Counts and words without those too rare, too frequent or too many; the report says which."""
    frequency = np.bincount(counts.indices, minlength=len(vocabulary))
    tokens = column_sums(counts)
    kept, report = choose_words(counts.shape[0], frequency, tokens, vocabulary, limits, report)
    if not kept.all():
        counts, vocabulary = counts[:, np.flatnonzero(kept)], vocabulary[kept]
    return counts, vocabulary, with_kept(report, counts)


def choose_words(
    n: int,
    frequency: np.ndarray,
    tokens: np.ndarray,
    vocabulary: np.ndarray,
    limits: Limits,
    report: WordsReport,
) -> tuple[np.ndarray, WordsReport]:
    """Which words to keep, by the number of documents and of tokens that each occurs in; the report says why."""
    min_df, max_df = limits.frequencies(n)
    low = min_df if is_whole(min_df) else min_df * n
    high = max_df if is_whole(max_df) else max_df * n
    if high < low:
        least = Argument("min_df", min_df)
        expected = Message("must leave room above ", least, f", which is {low:g} of {n} documents")
        got = Message(f"{max_df!r}, which is {high:g}")
        remedy = Message("Raise it, or lower ", Argument("min_df"), ".")
        raise ArgumentError("max_df", expected, got, remedy)
    rare, frequent = frequency < low, frequency > high
    kept = ~(rare | frequent)
    beyond = np.zeros(len(vocabulary), dtype=bool)
    if limits.max_features is not None and kept.sum() > limits.max_features:
        # Ties go as in scikit-learn, whose sort this is.
        beyond[np.flatnonzero(kept)[(-tokens[kept]).argsort()[limits.max_features :]]] = True
        kept &= ~beyond
    report = replace(
        report,
        min_df=min_df,
        max_df=max_df,
        rare=removed_words(tokens, vocabulary, rare),
        frequent=removed_words(tokens, vocabulary, frequent & ~rare),
        beyond=removed_words(tokens, vocabulary, beyond),
    )
    if not kept.any():
        raise InputError(
            f"no word of the {n} texts is left to count:\n{replace(report, empty_documents=n)}\n",
            KEEP_MORE if report.tokens else FIND_MORE,
        )
    return kept, report
