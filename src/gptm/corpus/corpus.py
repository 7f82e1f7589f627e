"""Documents as a table of counts, with their vocabulary, metadata and ids kept together."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from gptm._basics.errors import ArgumentError, InputError
from gptm.corpus.metadata import as_frame
from gptm.corpus.stop_words import composed, language_list
from gptm.corpus.words import KEEP_MORE, TOKEN_PATTERN, expanded, warn_of_no_blanks


class Corpus:
    """Counts of words in documents, with all that is known about the documents.

    Rows can be selected with `corpus[rows]`; counts, metadata, ids and texts stay together, also
    inside scikit-learn's cross-validation.

    Parameters
    ----------
    counts : sparse or dense array of shape (n_documents, n_words)
    vocabulary : sequence of str, optional
        The words of the columns.
    metadata : DataFrame or dict of columns, optional
        One row per document.
    ids : sequence, optional
        One per document, all different.
    texts : sequence of str, optional
        The documents as they came.

    Examples
    --------
    >>> from gptm import Corpus
    >>> corpus = Corpus.from_texts(["green tea and black tea", "coffee beans"], min_df=1)
    >>> corpus
    Corpus(2 documents, 5 words, 6 tokens)
    >>> list(corpus.vocabulary)
    ['beans', 'black', 'coffee', 'green', 'tea']
    >>> corpus[1:].counts.toarray().tolist()
    [[1, 0, 1, 0, 0]]
    """

    def __init__(
        self,
        counts: Any,
        vocabulary: Sequence[str] | np.ndarray | None = None,
        *,
        metadata: Any = None,
        ids: Sequence[Any] | np.ndarray | None = None,
        texts: Sequence[str] | None = None,
    ):
        self.counts = csr_matrix(counts)
        n, V = self.counts.shape
        self.vocabulary = (
            None
            if vocabulary is None
            else np.array([str(word) for word in vocabulary], dtype=object)
        )
        if self.vocabulary is not None and len(self.vocabulary) != V:
            expected = f"must name every column of the counts: expected {V} words"
            raise ArgumentError("vocabulary", expected, len(self.vocabulary))
        self.metadata = as_frame(metadata, n)
        self.ids = None if ids is None else np.asarray(ids)
        if self.ids is not None:
            _check_ids(self.ids, n)
        self.texts = None if texts is None else np.asarray(list(texts), dtype=object)
        if self.texts is not None and len(self.texts) != n:
            raise ValueError(
                f"texts must have one entry per document: expected {n}, got {len(self.texts)}."
            )

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadata: Any = None,
        ids: Sequence[Any] | None = None,
        *,
        vocabulary: Sequence[str] | np.ndarray | None = None,
        stop_words: str | Sequence[str] | None = "english",
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_features: int | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        token_pattern: str = TOKEN_PATTERN,
    ) -> "Corpus":
        """Count the words of texts.

        Parameters
        ----------
        texts : iterable of str
        metadata : DataFrame or dict of columns, optional
            One row per text.
        ids : sequence, optional
            One per text, all different.
        vocabulary : sequence of str, optional
            Count these words and no others. Pass `corpus.vocabulary` of the training corpus to read new texts;
            words outside of it are then not counted.
        stop_words, min_df, max_df, max_features, ngram_range, token_pattern
            As in scikit-learn's `CountVectorizer`, used to choose the vocabulary where none is given; in a given one
            stop words count where it holds them, and stand in the way of no pair of words where not. `min_df`
            is by default 1 below 100 texts, 2 below 1,000 and 5 above; `max_df` is 0.5 from 10 texts on.

        Returns
        -------
        Corpus
            With one row per text, also for texts without any counted word.
        """
        if isinstance(texts, str):
            raise ValueError("texts must be a list of strings, one per document; got one string.")
        _check_order(texts, metadata)
        documents = list(texts)
        for position, text in enumerate(documents):
            if not isinstance(text, str):
                raise ValueError(
                    f"texts must be strings; the one at position {position} is {text!r} of type "
                    f"{type(text).__name__}. Use an empty string for a document without text."
                )
        n = len(documents)
        if n == 0:
            raise ValueError("texts must hold at least one document; got none.")
        pattern, stop_list = expanded(token_pattern), _stop_list(stop_words)
        if vocabulary is not None:
            vectorizer = _counting(vocabulary, stop_list, pattern)
        else:
            warn_of_no_blanks(documents[:1000])
            vectorizer = CountVectorizer(
                stop_words=stop_list,
                min_df=min_df if min_df is not None else 1 if n < 100 else 2 if n < 1000 else 5,
                max_df=max_df if max_df is not None else 0.5 if n >= 10 else 1.0,
                max_features=max_features,
                token_pattern=pattern,
                ngram_range=ngram_range,
            )
        try:
            counts = vectorizer.fit_transform(map(composed, documents))
        except ValueError as error:
            if "empty vocabulary" not in str(error) and "no terms remain" not in str(error):
                raise
            raise InputError(
                f"no word of the {n} texts is left to count ({error}) ", KEEP_MORE
            ) from error
        names = vectorizer.get_feature_names_out() if vocabulary is None else vocabulary
        return cls(counts, names, metadata=metadata, ids=ids, texts=documents)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of documents and words."""
        return self.counts.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> "Corpus":
        if isinstance(rows, tuple):  # scikit-learn selects rows as X[rows, ...]
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError("a corpus is indexed by documents alone: corpus[rows].")
            rows = rows[0]
        if isinstance(rows, int | np.integer):
            rows = [rows]
        positions = np.arange(len(self))[rows]
        selected = Corpus(
            self.counts[positions],
            self.vocabulary,
            metadata=None if self.metadata is None else self.metadata.iloc[positions],
            texts=None if self.texts is None else self.texts[positions].tolist(),
        )
        if self.ids is not None:  # a document may be selected twice, as a bootstrap does
            selected.ids = self.ids[positions]
        return selected

    def __repr__(self) -> str:
        n, V = self.shape
        columns = (
            "" if self.metadata is None else f", metadata: {', '.join(map(str, self.metadata))}"
        )
        return f"Corpus({n:,} documents, {V:,} words, {self.counts.sum():,} tokens{columns})"


def _counting(vocabulary: Iterable[str], stop_list: Any, pattern: str) -> CountVectorizer:
    """What counts given words and no others, with as many words in a row as the given ones have."""
    lengths = [len(str(word).split()) for word in vocabulary] or [1]
    stops = CountVectorizer(stop_words=stop_list).get_stop_words() or ()
    known = [composed(str(word)) for word in vocabulary]
    return CountVectorizer(
        vocabulary=known,
        stop_words=sorted(set(stops).difference(known)) or None,
        token_pattern=pattern,
        ngram_range=(min(lengths), max(lengths)),
    )


def _stop_list(given: str | Sequence[str] | None) -> Any:
    """What `CountVectorizer` takes; the English words are those of `gptm.corpus.words`."""
    if isinstance(given, str):
        return language_list(given) if given == "english" else given
    return None if given is None else [composed(word) for word in given]


def _check_order(texts: Any, metadata: Any) -> None:
    """Rows go by their order; where both sides have labels, these should not say otherwise."""
    found = [getattr(one, "index", None) for one in (texts, metadata)]
    if any(one is None or callable(one) for one in found):  # a list has a method of that name
        return
    labels, others = map(pd.Index, found)
    if labels.equals(others) or len(labels) != len(others):
        return
    if labels.is_unique and others.is_unique and labels.isin(others).all():
        raise ValueError(
            "texts and metadata have the same labels in another order, and rows are matched by their order. Bring them "
            "into one, as in metadata.loc[texts.index], or drop the labels by reset_index(drop=True)."
        )


def _check_ids(ids: np.ndarray, n: int) -> None:
    if len(ids) != n:
        raise ValueError(f"ids must have one entry per document: expected {n}, got {len(ids)}.")
    repeated = pd.Series(ids)[pd.Series(ids).duplicated()]
    if len(repeated):
        raise ValueError(
            f"ids must all be different; {len(repeated)} repeat an earlier one, for example {repeated.iloc[0]!r}."
        )
