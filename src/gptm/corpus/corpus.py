"""Documents as a table of counts, with their vocabulary, metadata and ids kept together."""

import logging
import os
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.errors import Argument, ArgumentError, InputError
from gptm._basics.progress import tell, telling
from gptm._basics.validation import as_items, check_text, check_truth
from gptm._basics.warnings import warn
from gptm.corpus.block_writer import BLOCK_DOCUMENTS, BLOCKS_WRITTEN, write_blocks
from gptm.corpus.corpus_view import corpus_html
from gptm.corpus.kinds import check_kinds, kinds_of
from gptm.corpus.metadata import as_frame
from gptm.corpus.problems import ProblemLog
from gptm.corpus.token_lists import count_tokens
from gptm.corpus.token_pattern import TOKEN_PATTERN
from gptm.corpus.typed_columns import find_id_column, read_ids, typed_frame
from gptm.corpus.word_checks import checked_vocabulary
from gptm.corpus.words import Counting, Words, check_words, chunks
from gptm.corpus.words_report import WordsReport

logger = logging.getLogger("gptm")


class Corpus:
    """Counts of words in documents, with their metadata, ids and texts.

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
    kinds : mapping from columns to kinds, optional
        What columns of the metadata hold, where the guess is wrong: one of `gptm.files.KINDS`, such as "category",
        "date:%d/%m/%Y" or "number:comma".
    words : Words, optional
        How the texts became counts.

    Attributes
    ----------
    counts : csr_matrix of shape (n_documents, n_words)
    vocabulary, ids, texts : arrays, or None
    metadata : DataFrame or None
        The columns by their kinds: text that holds dates or numbers is read, NA and its like are missing, links are
        lists of ids. Columns that pandas has a type for keep it.
    kinds : dict
        What each column of the metadata holds, as given or guessed.
    words : Words or None
        The settings as used, with the language of the stop words: pass them to read new texts in the same way.
    report : WordsReport or None
        What became of the words of the texts.

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
        kinds: Mapping[str, str] | None = None,
        words: Words | None = None,
    ):
        self.counts = csr_matrix(counts)
        n, V = self.counts.shape
        self.vocabulary = None if vocabulary is None else checked_vocabulary(vocabulary)
        if self.vocabulary is not None and len(self.vocabulary) != V:
            expected = f"must name every column of the counts: expected {V} words"
            raise ArgumentError("vocabulary", expected, len(self.vocabulary))
        self.words = words
        self.report: WordsReport | None = None
        self._given_metadata = as_frame(metadata, n)
        self._given_kinds = check_kinds(kinds)
        self._metadata: pd.DataFrame | None = None
        check_text([] if self.vocabulary is None else self.vocabulary, "a word of the vocabulary")
        self.ids = None if ids is None else _read_ids(ids, n)
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
        stop_words: Any = "auto",
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_features: int | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        token_pattern: str = TOKEN_PATTERN,
        keep: str | Sequence[str] = (),
        phrases: bool | Sequence[str] = False,
        word_forms: str | None = None,
        segmenter: Any = None,
        words: Words | None = None,
        kinds: Mapping[str, str] | None = None,
        verbose: bool = False,
    ) -> "Corpus":
        """Count the words of texts.

        The result is that of `gptm.files.read` for a file with the same texts and columns.

        Parameters
        ----------
        texts : iterable of str
        metadata : DataFrame or dict of columns, optional
            One row per text.
        ids : sequence, optional
            One per text, all different; by default those of a column of ids in the metadata, if there is one.
        vocabulary : sequence of str, optional
            Count these words and no others. Pass `vocabulary`, `words` and `kinds` of the training corpus to read new
            documents; words outside of the vocabulary are then not counted.
        stop_words, min_df, max_df, max_features, ngram_range, token_pattern, keep, phrases, word_forms, segmenter
            As in `gptm.corpus.Words`, used to choose the vocabulary where none is given. By default the language of
            the stop words is guessed from the first texts. In a given vocabulary stop words are counted where it holds
            them. URLs, HTML, @names and e-mail addresses are taken out of the texts, and a line on the logger "gptm"
            says so; `keep` keeps them.
        words : Words, optional
            All of these settings at once, instead of one by one.
        kinds : mapping from columns to kinds, optional
            What columns of the metadata hold, where the guess is wrong, as in `gptm.files.read`.
        verbose : bool, default=False
            Whether to print a line a second while texts are counted.

        Returns
        -------
        Corpus
            With one row per text, also for texts without any counted word.

        Examples
        --------
        >>> from gptm import Corpus
        >>> texts = ["Der Tee ist nicht kalt.", "Die Tasse ist nicht leer."]
        >>> corpus = Corpus.from_texts(texts, metadata={"when": ["31.01.2020", "NA"]})
        >>> list(corpus.vocabulary), corpus.words.stop_words, corpus.kinds
        (['kalt', 'leer', 'tasse', 'tee'], 'german', {'when': 'date:%d.%m.%Y'})
        """
        _check_order(texts, metadata)
        check_words(words)
        if words is None:
            words = Words(
                stop_words,
                min_df,
                max_df,
                max_features,
                ngram_range,
                token_pattern=token_pattern,
                keep=keep,
                phrases=phrases,
                word_forms=word_forms,
                segmenter=segmenter,
            )
        if vocabulary is not None:
            vocabulary = checked_vocabulary(vocabulary)
            words = _for_vocabulary(words, vocabulary)
        check_truth("verbose", verbose)
        counting, documents = Counting(words, vocabulary), list[str]()
        total = len(texts) if isinstance(texts, Sized) else None
        with telling("texts counted", verbose):
            for chunk in chunks(texts):
                counting.add(chunk)
                documents.extend(chunk)
                tell(len(documents), total)
        counts, names, report = counting.finish()
        corpus = cls(
            counts,
            names,
            metadata=metadata,
            ids=ids,
            texts=documents,
            kinds=kinds,
            words=counting.words,
        )
        corpus.report = report
        if ids is None:
            corpus._take_ids()
        if vocabulary is None:
            if report.cleaned:  # the level that is shown without any set-up
                logger.warning(report.said_of_cleaning)
            corpus._check_kinds_are_of_columns()
            corpus._settle_kinds()
        return corpus

    @classmethod
    def from_tokens(
        cls,
        tokens: Iterable[Sequence[str]],
        metadata: Any = None,
        ids: Sequence[Any] | None = None,
        *,
        vocabulary: Sequence[str] | np.ndarray | None = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        kinds: Mapping[str, str] | None = None,
        verbose: bool = False,
    ) -> "Corpus":
        """Count the words of documents that are already cut into words, as gensim and tomotopy take them.

        Parameters
        ----------
        tokens : iterable of lists of str
            One list per document. Words are counted as they are: nothing is left out or put into lower case.
        metadata, ids, kinds
            As in `from_texts`.
        vocabulary : sequence of str, optional
            Count these words and no others: that of the training corpus, for new documents.
        min_df, max_df : int or float
            In how many documents a word must and may be, or in which share of them, as in scikit-learn.
        verbose : bool, default=False
            Whether to print a line a second while documents are counted.

        Returns
        -------
        Corpus

        Examples
        --------
        >>> from gptm import Corpus
        >>> corpus = Corpus.from_tokens([["green", "tea"], ["tea", "house", "tea"]])
        >>> list(corpus.vocabulary), corpus.counts.toarray().tolist()
        (['green', 'house', 'tea'], [[1, 0, 1], [0, 1, 2]])
        """
        _check_order(tokens, metadata)
        check_truth("verbose", verbose)
        with telling("documents counted", verbose):
            counts, names, texts = count_tokens(tokens, vocabulary, min_df, max_df)
        corpus = cls(counts, names, metadata=metadata, ids=ids, texts=texts, kinds=kinds)
        if ids is None:
            corpus._take_ids()
        corpus._check_kinds_are_of_columns()
        return corpus

    @property
    def metadata(self) -> pd.DataFrame | None:
        """One row per document, with columns by their kinds; None where there is none."""
        if self._metadata is None:
            self._settle_kinds()
        return self._metadata

    def _check_kinds_are_of_columns(self) -> None:
        names = [] if self._given_metadata is None else list(self._given_metadata.columns)
        for name in self._given_kinds:
            if name not in names:
                columns = ", ".join(map(repr, names)) or "none"
                raise InputError(
                    Argument("kinds"),
                    f" names the column {name!r}; the columns of the metadata are {columns}.",
                )

    def _settle_kinds(self) -> None:
        if self._given_metadata is not None:
            self._metadata = self.metadata_as({})

    def metadata_as(
        self, kinds: Mapping[str, str], only: Collection[str] | None = None
    ) -> pd.DataFrame | None:
        """The metadata as given, read with the kinds of the documents that a model was trained on.

        `only` some columns are read, or all of them.
        """
        if not kinds and self._metadata is not None:
            return self._metadata
        frame = self._given_metadata
        kinds = self._given_kinds | dict(kinds)
        return None if frame is None else typed_frame(frame, kinds, ids=self.ids, only=only)

    @property
    def kinds(self) -> dict[str, str]:
        """What each column of the metadata holds; empty without metadata."""
        return kinds_of(self.metadata)

    def _take_ids(self) -> None:
        """The ids of a column of the metadata that names the documents."""
        frame = self._given_metadata
        if frame is None or not frame.columns.is_unique:
            return
        table = {name: frame[name].tolist() for name in frame.columns}
        column = find_id_column(table, self._given_kinds | kinds_of(frame))
        if column is None:
            return
        log = ProblemLog(unit="row", name="metadata")
        self.ids = read_ids(table[column.name], range(1, len(self) + 1), log)
        for problem in log.problems():
            warn(problem.said)

    def to_blocks(
        self,
        folder: str | os.PathLike[str],
        *,
        block_documents: int = BLOCK_DOCUMENTS,
        overwrite: bool = False,
        verbose: bool = False,
    ) -> Path:
        """Write the corpus to a folder of blocks, which `gptm.open_corpus` opens; needs pyarrow.

        Parameters
        ----------
        folder : str or path
            A new or empty folder.
        block_documents : int, default=16384
            Maximum number of documents of a block. Blocks of very long documents have fewer.
        overwrite : bool, default=False
            Whether to replace a corpus that is in the folder.
        verbose : bool, default=False
            Whether to print a line a second while blocks are written.

        Returns
        -------
        Path
            The folder.

        Examples
        --------
        >>> import tempfile, gptm
        >>> folder = gptm.Corpus.from_texts(["green tea", "black tea"]).to_blocks(tempfile.mkdtemp())
        >>> gptm.open_corpus(folder)
        BlockCorpus(2 documents in 1 block, 3 words)
        """
        check_truth("verbose", verbose)
        with telling(BLOCKS_WRITTEN, verbose):
            return write_blocks(self, folder, block_documents, overwrite)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of documents and words."""
        return self.counts.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> "Corpus":
        if isinstance(rows, tuple):  # scikit-learn selects rows as X[rows, ...]
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError("a corpus is indexed by documents only: corpus[rows].")
            rows = rows[0]
        if isinstance(rows, int | np.integer):
            rows = [rows]
        positions = np.arange(len(self))[rows]
        selected = Corpus(
            self.counts[positions],
            self.vocabulary,
            metadata=None if self.metadata is None else self.metadata.iloc[positions],
            texts=None if self.texts is None else self.texts[positions].tolist(),
            words=self.words,
        )
        if self.ids is not None:  # a document may be selected twice, as a bootstrap does
            selected.ids = self.ids[positions]
        return selected

    def _repr_html_(self) -> str:
        return corpus_html(self)

    def __repr__(self) -> str:
        n, V = self.shape
        frame = self._given_metadata
        columns = "" if frame is None else f", metadata: {', '.join(map(str, frame))}"
        return f"Corpus({n:,} documents, {V:,} words, {self.counts.sum():,} tokens{columns})"


def _for_vocabulary(words: Words, vocabulary: Iterable[str]) -> Words:
    """The settings with as many words in a row as those of a vocabulary have, unless these are phrases."""
    if words.phrases:
        return words
    longest = max((len(str(word).split()) for word in vocabulary), default=1)
    least, most = words.ngram_range
    return replace(words, ngram_range=(least, max(most, longest)))


def _check_order(texts: Any, metadata: Any) -> None:
    """Rows go by their order; where both sides have labels, these should not say otherwise."""
    indices = [getattr(side, "index", None) for side in (texts, metadata)]
    if any(index is None or callable(index) for index in indices):  # a list has a method `index`
        return
    labels, others = map(pd.Index, indices)
    if labels.equals(others) or len(labels) != len(others):
        return
    if labels.is_unique and others.is_unique and labels.isin(others).all():
        raise ValueError(
            "texts and metadata have the same labels in another order, and rows are matched by their order. Bring them "
            "into one, as in metadata.loc[texts.index], or drop the labels by reset_index(drop=True)."
        )


def _read_ids(ids: Any, n: int) -> np.ndarray:
    expected = f"must have one entry per document: expected {n}"
    return np.asarray(ids if hasattr(ids, "dtype") else as_items("ids", ids, expected))


def _check_ids(ids: np.ndarray, n: int) -> None:
    if len(ids) != n:
        raise ValueError(f"ids must have one entry per document: expected {n}, got {len(ids)}.")
    repeated = pd.Series(ids)[pd.Series(ids).duplicated()]
    if len(repeated):
        raise ValueError(
            f"ids must all be different; {len(repeated)} repeat an earlier one, for example {repeated.iloc[0]!r}."
        )
