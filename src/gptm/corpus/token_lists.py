"""Counts of documents that are already cut into words, as gensim and tomotopy take them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from gptm._basics.errors import ArgumentError, InputError, Message
from gptm._basics.progress import tell
from gptm._basics.validation import as_items
from gptm.corpus.word_checks import check_frequency, checked_vocabulary

_TOLD = 1000  # documents between two reports


def count_tokens(
    documents: Iterable[Sequence[str]],
    vocabulary: Sequence[str] | np.ndarray | None = None,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
) -> tuple[csr_matrix, np.ndarray, list[str]]:
    """Counts (documents, words), the words in order, and the documents as texts.

    Examples
    --------
    >>> counts, words, texts = count_tokens([["green", "tea", "tea"], []])
    >>> counts.toarray().tolist(), words.tolist(), texts
    ([[1, 2], [0, 0]], ['green', 'tea'], ['green tea tea', ''])
    """
    given = as_items("tokens", documents, "must be one list of words per document")
    tokens = [_checked(document, position) for position, document in enumerate(given)]
    for name, value in (("min_df", min_df), ("max_df", max_df)):
        if value is None:
            raise ArgumentError(name, "must be a number of documents, or a share of them", value)
        check_frequency(name, value)
    if vocabulary is None and not any(tokens):
        raise InputError(f"there is no word in the {len(tokens):,} documents.")
    vectorizer = CountVectorizer(
        analyzer=_as_they_are,
        lowercase=False,
        min_df=min_df,
        max_df=max_df,
        vocabulary=None if vocabulary is None else _different(checked_vocabulary(vocabulary)),
    )
    counts = csr_matrix(vectorizer.fit_transform(_passed(tokens)))
    names = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
    return counts, names, [" ".join(own) for own in tokens]


def _different(vocabulary: np.ndarray) -> list[str]:
    words = vocabulary.tolist()
    if len(set(words)) < len(words):
        got = Message(f"{len(words) - len(set(words)):,} that repeat another")
        raise ArgumentError("vocabulary", "must hold each word once", got)
    return words


def _passed(documents: list[list[str]]) -> Iterator[list[str]]:
    """The documents, with a report of how many have been passed on."""
    for number, document in enumerate(documents, start=1):
        yield document
        if number % _TOLD == 0:
            tell(number, len(documents))


def _as_they_are(tokens: list[str]) -> list[str]:
    return tokens


def _checked(document: Any, position: int) -> list[str]:
    listed = isinstance(document, list | tuple | np.ndarray)
    if listed and all(isinstance(word, str) for word in document):
        return [str(word) for word in document]
    raise InputError(
        "tokens must be one list of words per document; the one at position "
        f"{position} is {_short(document)} of type {type(document).__name__}. For texts use Corpus.from_texts."
    )


def _short(document: object) -> str:
    text = repr(document)
    return text if len(text) <= 60 else f"{text[:59]}…"
