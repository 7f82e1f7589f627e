"""What became of the words of texts: how many are counted, which are left out and why."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.errors import Argument, Message
from gptm._basics.sparse_arrays import column_sums
from gptm._basics.validation import is_whole
from gptm.corpus.cleaning import PARTS

_EXAMPLES = 10


@dataclass(frozen=True)
class Removed:
    """Words that are not counted: how many, how often they occurred, and some of them."""

    words: int = 0
    tokens: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Joined:
    """Phrases that are counted as one word: how many, how often they occurred, and some of them."""

    phrases: int = 0
    tokens: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class WordsReport:
    """What became of the words of the texts.

    `tokens` are all words seen and `tokens_kept` those counted; with pairs of words, pairs count as words.
    """

    documents: int = 0
    empty_documents: int = 0  # without any counted word
    tokens: int = 0
    tokens_kept: int = 0
    words_kept: int = 0
    language: str | None = None
    min_df: int | float | None = None
    max_df: int | float | None = None
    cleaned: Mapping[str, int] = field(default_factory=dict)  # URLs and the like, by name
    phrases: Joined = field(default_factory=Joined)
    stop_words: Removed = field(default_factory=Removed)
    rare: Removed = field(default_factory=Removed)
    frequent: Removed = field(default_factory=Removed)
    beyond: Removed = field(default_factory=Removed)  # more than max_features
    unknown: Removed = field(default_factory=Removed)  # not in a given vocabulary

    def to_dict(self) -> dict[str, Any]:
        """The report in terms of JSON."""
        return {
            name: {**value, "examples": list(value["examples"])}
            if isinstance(value, dict) and "examples" in value
            else value
            for name, value in asdict(self).items()
        }

    @property
    def said(self) -> Message:
        """The report for people, one line for each thing that was left out."""
        language = f" ({self.language})" if self.language else ""
        lines: list[str | Message] = [
            f"{many(self.documents, 'document')}, {many(self.words_kept, 'word')}, "
            f"{self.tokens_kept:,} of {many(self.tokens, 'token')} counted"
        ]
        if self.cleaned:
            lines.append(Message("  ", self.said_of_cleaning))
        if self.phrases.phrases:
            lines.append(
                f"  joined to phrases: {many(self.phrases.phrases, 'phrase')}, {many(self.phrases.tokens, 'token')}, "
                f"such as {', '.join(self.phrases.examples[:5])}"
            )
        for left_out, name in (
            (self.stop_words, f"stop words{language}"),
            (self.rare, f"too rare (fewer than {_documents(self.min_df)})"),
            (self.frequent, f"too frequent (more than {_documents(self.max_df)})"),
            (self.beyond, "beyond max_features"),
            (self.unknown, "unknown to the vocabulary"),
        ):
            if left_out.words:
                lines.append(
                    f"  {name}: {many(left_out.words, 'word')}, {many(left_out.tokens, 'token')}, such as "
                    f"{', '.join(left_out.examples[:5])}"
                )
        if self.empty_documents:
            lines.append(f"  without any counted word: {many(self.empty_documents, 'document')}")
        return Message(lines[0], *(Message("\n", line) for line in lines[1:]))

    @property
    def said_of_cleaning(self) -> Message:
        """What was taken out of the texts before their words were counted, and how to keep it."""
        parts = [f"{n:,} {PARTS[name][n != 1]}" for name, n in self.cleaned.items()]
        to_keep = Argument("keep", ",".join(self.cleaned))
        return Message(f"taken out of the texts: {', '.join(parts)} (", to_keep, " keeps them)")

    def __str__(self) -> str:
        return str(self.said)


def removed_words(tokens: np.ndarray, vocabulary: np.ndarray, which: np.ndarray) -> Removed:
    """An account of some columns, by how often each occurs."""
    return removed(dict(zip(vocabulary[which], tokens[which].tolist(), strict=True)))


def joined_phrases(counts: csr_matrix, vocabulary: np.ndarray) -> Joined:
    """An account of the words that are phrases."""
    which = np.array([" " in word for word in vocabulary], dtype=bool)
    tokens = column_sums(counts)
    account = removed_words(tokens, vocabulary, which & (tokens > 0))
    return Joined(account.words, account.tokens, account.examples)


def removed(tokens: Mapping[str, int]) -> Removed:
    """An account of words that are not counted, by how often each occurred."""
    examples = sorted(tokens, key=lambda word: (-tokens[word], word))[:_EXAMPLES]
    return Removed(len(tokens), int(sum(tokens.values())), tuple(examples))


def with_kept(report: WordsReport, counts: csr_matrix) -> WordsReport:
    """The report, with what is left in the end."""
    return replace(
        report,
        words_kept=counts.shape[1],
        tokens_kept=int(counts.sum()),
        empty_documents=int((np.diff(counts.indptr) == 0).sum()),
    )


def many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _documents(frequency: int | float | None) -> str:
    if frequency is None or is_whole(frequency):
        return f"{frequency} documents"
    return f"{frequency:.3g} of the documents"
