"""From a file to counts and metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gptm._basics.progress import Tell
from gptm.corpus import Corpus
from gptm.corpus.problems import DataProblem, ProblemLog
from gptm.corpus.words import Counting, Words
from gptm.corpus.words_report import WordsReport
from gptm.files.attach import attach
from gptm.files.counted import Counted, count_bags, count_file, count_rows, match
from gptm.files.formats import COUNTS, FilePath, find_format, open_source
from gptm.files.matrices import read_vocabulary
from gptm.files.plan import BAG_REASON, Plan, make_plan
from gptm.files.read_checks import check_reading
from gptm.files.row_chunks import sampled
from gptm.files.rows import BAG
from gptm.files.streams import AUTO, shown, source_name
from gptm.files.table import CellTable
from gptm.files.table_columns import Columns

USUAL_ENCODINGS = ("", "utf-8")


@dataclass(frozen=True)
class ReadResult:
    """What a file held: the corpus, and an account of how it was read.

    Attributes
    ----------
    corpus : Corpus
        Counts, vocabulary, metadata and ids.
    texts : list of str or None
        The texts, or their beginnings, where they were asked for.
    columns : Columns
        What each column was taken for, and why.
    problems : list of DataProblem
        What was wrong with the file, with line numbers.
    report : WordsReport
        What became of the words.
    encoding : str
        The encoding that the file was read with, or several of them; empty for Parquet and other files without one.
    words : Words
        The settings as used, the language settled. With them and the vocabulary new texts are read in the same way.
    """

    corpus: Corpus
    texts: list[str] | None
    columns: Columns
    problems: list[DataProblem] = field(default_factory=list)
    report: WordsReport = field(default_factory=WordsReport)
    words: Words = field(default_factory=Words)
    encoding: str = ""

    def __str__(self) -> str:
        parts = [str(self.report)]
        if self.encoding not in USUAL_ENCODINGS:
            parts.append(f"encoding: {self.encoding}")
        if len(self.columns):
            parts.append(str(self.columns))
        return "\n".join([*parts, *map(str, self.problems)])


def read(
    path: FilePath,
    *,
    format: str | None = None,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    kinds: Mapping[str, str] | None = None,
    vocabulary: Any = None,
    metadata: FilePath | None = None,
    encoding: str = AUTO,
    words: Words | None = None,
    strict: bool = False,
    keep_texts: bool | int = False,
    progress: Tell | None = None,
    verbose: bool = False,
) -> ReadResult:
    """Documents of a file or folder as counts, with their metadata.

    The file is read in pieces, and the texts are not kept, so that memory follows the counts and not the texts. An
    empty cell, NA, NaN, null and None mean missing; a document whose text is missing is an empty one. The ids are in
    `corpus.ids`, and in the metadata both as the index and as a column.

    Parameters
    ----------
    path : path, or "-" for standard input
        A table with one document per row (CSV, TSV, JSON lines, Parquet, .xlsx), a file with one document per line
        (.txt), a folder of .txt or .md files, or counts (Matrix Market .mtx, LDA-C .ldac / .lda-c / .dat, scipy's .npz)
        with a vocabulary. All may be gzipped.
    format : str, optional
        One of `gptm.files.FORMATS`; by default by the suffix, else by the first bytes.
    text : str or sequence of str, optional
        The column to count, or several, as in "title,body"; by default the one that looks most like text.
    id : str, optional
        The column that names the documents.
    kinds : mapping from columns to kinds, optional
        Kinds of columns, where the guess is wrong: "text", "id", "date" (or "date:%d/%m/%Y"), "number" (or
        "number:comma", as in 1.234,5), "category", "links", "vector", "list" (or "list:;", with ; between the names),
        "note" or "ignore".
    vocabulary : path or sequence of str, optional
        For counts: the words of the columns, by default in a file beside it. For texts: count these words and no
        others.
    metadata : path, optional
        A table with more columns: joined by ids where both have them, else row by row.
    encoding : str, default="auto"
        By default UTF-8, or what the file shows: UTF-16 and UTF-32 with a byte-order mark, UTF-16 without one, and
        cp1252 for lines that are not valid UTF-8; these are noted. Any other encoding that Python knows can be named.
    words : Words, optional
        How texts become words. Counts are left as they are unless it is given.
    strict : bool, default=False
        Whether a broken line, an undecodable byte, an empty text or a repeated id is an error. Otherwise `read` keeps
        whatever it can, and `problems` says what was wrong.
    keep_texts : bool or int, default=False
        Whether to keep the texts, or how many of their first characters.
    progress : callable, optional
        Called with the bytes read so far and the bytes in all (None where unknown).
    verbose : bool, default=False
        Whether to print a line a second while the file is read, if there is no `progress`.

    Returns
    -------
    ReadResult

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gptm import files
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "drinks.csv"
    >>> _ = path.write_text('''key,date,body
    ... d1,2020-01-31,"Green tea, black tea"
    ... d2,2021-02-28,Coffee beans from Brazil
    ... d3,,
    ... ''', encoding="utf-8")
    >>> result = files.read(path)
    >>> result.corpus
    Corpus(3 documents, 6 words, 7 tokens, metadata: key, date)
    >>> print(result.columns)
    column  kind  why
    key     id    is called 'key'
    date    date  all dates
    body    text  the longest strings with many different words
    >>> print(result.problems[0])
    empty text: 1 line (line 4), kept as empty documents.
    """
    check_reading(
        format=format,
        text=text,
        id=id,
        kinds=kinds,
        encoding=encoding,
        words=words,
        strict=strict,
        keep_texts=keep_texts,
        progress=progress,
    )
    progress = shown(progress, verbose)
    log = ProblemLog(strict, name=source_name(path))
    if find_format(path, format) in COUNTS:
        counts = count_file(path, format, vocabulary, encoding, words, log, progress)
        return _finish(counts, Plan(given=dict(kinds or {}), id=id), metadata, encoding, log)
    fixed = None if vocabulary is None else read_vocabulary(path, vocabulary, encoding)
    counting = Counting(Words() if words is None else words, fixed)
    with open_source(path, format=format, encoding=encoding, log=log, progress=progress) as source:
        sample, chunks, bags = sampled(source, log, text, kinds)
        plan = make_plan(sample, text, id, kinds, more=metadata is not None, bags=bags)
        del sample
        if bags:
            counted = count_bags(source, chunks, plan, words, log)
            if fixed is not None:
                match(counted, fixed)
        else:
            counted = count_rows(source, chunks, plan, counting, keep_texts, log)
    return _finish(counted, plan, metadata, encoding, log)


def read_documents(
    path: FilePath,
    *,
    words: Words,
    vocabulary: Sequence[str] | np.ndarray,
    format: str | None = None,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    kinds: Mapping[str, str] | None = None,
    trained_text: Sequence[str] | None = None,
    file_vocabulary: Any = None,
    metadata: FilePath | None = None,
    encoding: str = AUTO,
    strict: bool = False,
    keep_texts: bool | int = False,
    progress: Tell | None = None,
    verbose: bool = False,
) -> ReadResult:
    """New documents with the vocabulary of a trained model; `report.unknown` has the words that are not in it.

    Parameters
    ----------
    path, format, text, id, metadata, encoding, strict, keep_texts, progress, verbose
        As in `read`.
    words : Words
        The settings of the training, `corpus.words`.
    vocabulary : sequence of str
        The words of the model, in its order.
    kinds : mapping from columns to kinds, optional
        As in `read`; pass `result.columns.kinds` of the training. A column that is not in this file is noted; where a
        kernel reads it, `transform(corpus, missing_columns="prior")` goes on without.
    trained_text : sequence of str, optional
        The columns that the training counted, `result.columns.text`. Where `text` is not given they are counted here
        too; where none of them is in this file, the only column that looks like text is.
    file_vocabulary : path or sequence of str, optional
        For counts: the words of the file's own columns, by default in a file beside it.

    Returns
    -------
    ReadResult

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gptm import files
    >>> from gptm.corpus.words import Words
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("body\\nblack tea with milk\\n", encoding="utf-8")
    >>> new = files.read_documents(path, words=Words("english"), vocabulary=["coffee", "tea"])
    >>> new.corpus.counts.toarray().tolist(), new.report.unknown.examples
    ([[0, 1]], ('black', 'milk'))
    """
    check_reading(
        format=format,
        text=text,
        id=id,
        kinds=kinds,
        encoding=encoding,
        words=words,
        strict=strict,
        keep_texts=keep_texts,
        progress=progress,
    )
    progress = shown(progress, verbose)
    log = ProblemLog(strict, name=source_name(path))
    if find_format(path, format) in COUNTS:
        counts = count_file(path, format, file_vocabulary, encoding, None, log, progress)
        match(counts, vocabulary, words)
        return _finish(
            counts, Plan(given=dict(kinds or {}), id=id, new=True), metadata, encoding, log
        )
    counting = Counting(words, vocabulary)
    with open_source(path, format=format, encoding=encoding, log=log, progress=progress) as source:
        sample, chunks, bags = sampled(source, log, text, kinds)
        if trained_text is not None and source.format in ("lines", "folder"):
            trained_text = ["text"]  # names of files may look like text too
        more = metadata is not None
        plan = make_plan(
            sample, text, id, kinds, more=more, new=True, trained_text=trained_text, bags=bags
        )
        del sample
        if bags:
            counted = count_bags(source, chunks, plan, None, log)
            match(counted, vocabulary, words)
        else:
            counted = count_rows(source, chunks, plan, counting, keep_texts, log)
    return _finish(counted, plan, metadata, encoding, log)


def sniff(
    path: FilePath,
    *,
    format: str | None = None,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    kinds: Mapping[str, str] | None = None,
    encoding: str = AUTO,
) -> Columns:
    """What the columns of a file seem to contain, judging by its first thousand rows.

    `read` looks at all rows, and may see what the first ones do not show.

    Parameters
    ----------
    path, format, text, id, kinds, encoding
        As in `read`.

    Returns
    -------
    Columns
        Empty for files of counts. Its `format` is the format found.
    """
    check_reading(format=format, text=text, id=id, kinds=kinds, encoding=encoding)
    format_of_file = find_format(path, format)
    if format_of_file in COUNTS:
        return Columns((), format_of_file)
    log = ProblemLog(name=source_name(path))
    with open_source(path, format=format, encoding=encoding, log=log) as source:
        sample, _, bags = sampled(source, log, text, kinds)
        plan = make_plan(sample, text, id, kinds, bags=bags)
        table = CellTable(plan.left_out)
        table.add(sample)
        columns = table.finish(plan.given, log, plan.settled)[2]
        return Columns(plan.in_order(columns), source.format)


def holds_bags(path: FilePath, **settings: Any) -> bool:
    """Whether a file is a table whose rows hold counts of words; `settings` are those of `sniff`."""
    if str(path) == "-" or find_format(path, settings.get("format")) not in ("jsonl", ""):
        return False
    columns = sniff(path, **settings)
    return BAG in columns.text and columns[BAG].why == BAG_REASON


def _finish(
    counted: Counted, plan: Plan, metadata: FilePath | None, encoding: str, log: ProblemLog
) -> ReadResult:
    """Join the table of metadata if there is one, type the columns, put all together."""
    side = ProblemLog(log.strict, name="" if metadata is None else source_name(metadata))
    if metadata is not None:
        file_names = log.names if counted.format == "folder" else ()
        attach(counted.table, metadata, plan, encoding, side, file_names)
    plan.check(counted.table, log)
    frame, ids, columns = counted.table.finish(plan.given, log, plan.settled)
    log.check(side)
    corpus = Corpus(
        counted.counts,
        counted.vocabulary,
        metadata=frame,
        texts=counted.texts,
        words=counted.words,
    )
    corpus.report = counted.report
    corpus.ids = ids  # repeated ones too, which the constructor refuses; `problems` tells of them
    ordered = Columns(plan.in_order(columns), counted.format)
    noted = [*log.problems(), *side.problems()]
    return ReadResult(
        corpus,
        counted.texts,
        ordered,
        noted,
        counted.report,
        counted.words,
        log.encoding,
    )
