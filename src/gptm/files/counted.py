"""From the rows of a file, or from a file of counts, to counts, words and a table of metadata."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gptm._basics.errors import Argument, InputError
from gptm._basics.progress import Tell
from gptm.corpus.problems import ProblemLog
from gptm.corpus.words import Counting, Words
from gptm.corpus.words_report import WordsReport
from gptm.files.bags import BagCounting
from gptm.files.formats import FilePath, Source, find_format
from gptm.files.matrices import checked_counts, match_words, read_count_file, select_words
from gptm.files.plan import Plan
from gptm.files.rows import Row
from gptm.files.table import CellTable


@dataclass
class Counted:
    """Counts and what belongs to them, before the metadata are read."""

    format: str
    counts: Any
    vocabulary: np.ndarray
    report: WordsReport
    words: Words
    table: CellTable
    texts: list[str] | None = None


def count_file(
    path: FilePath,
    format: str | None,
    vocabulary: Any,
    encoding: str,
    words: Words | None,
    log: ProblemLog,
    progress: Tell | None,
) -> Counted:
    """Counts that are there already; words are removed only where somebody asks for it."""
    format_of_file = find_format(path, format)
    counts, names, lines = read_count_file(
        path, format_of_file, vocabulary, encoding, log, progress
    )
    asked = None if words == Words() else words  # the defaults are for texts
    counts, names, report = select_words(counts, names, asked)
    table = CellTable()
    table.add([(line, {}) for line in lines])
    return Counted(format_of_file, counts, names, report, asked or Words(None), table)


def match(
    counted: Counted, vocabulary: Sequence[str] | np.ndarray, words: Words | None = None
) -> None:
    """Bring counts into the order of another vocabulary; `words` are the settings that it came from."""
    counted.counts, counted.vocabulary, counted.report = match_words(
        counted.counts, counted.vocabulary, vocabulary
    )
    counted.words = words or counted.words


def count_bags(
    source: Source, chunks: Iterator[list[Row]], plan: Plan, words: Words | None, log: ProblemLog
) -> Counted:
    """One pass over rows that hold counts; words are removed only where somebody asks for it."""
    table, counting = CellTable(plan.left_out), BagCounting()
    for chunk in chunks:
        counting.add(chunk, log)
        table.add(chunk)
        source.report()
    counts, names = counting.finish()
    if not len(names):
        raise InputError(
            f"{log.name}: all counts are empty. Expected rows such as "
            '{"id": "a", "counts": {"tea": 2}}, with a word in one of them at least.'
        )
    counts = checked_counts(counts, table.lines, log)
    asked = None if words == Words() else words
    counts, names, report = select_words(counts, names, asked)
    return Counted(source.format, counts, names, report, asked or Words(None), table)


def count_rows(
    source: Source,
    chunks: Iterator[list[Row]],
    plan: Plan,
    counting: Counting,
    keep_texts: bool | int,
    log: ProblemLog,
) -> Counted:
    """One pass over the rows: count the texts, keep the other cells."""
    table = CellTable(plan.left_out)
    texts: list[str] | None = [] if keep_texts else None
    end = None if keep_texts is True else int(keep_texts)
    n_empty = 0
    for chunk in chunks:
        chunk_texts = [plan.text_of(cells) for _, cells in chunk]
        for (line, _), document in zip(chunk, chunk_texts, strict=True):
            if not document.strip():
                log.add("empty text", line)
                n_empty += 1
        counting.add(chunk_texts)
        table.add(chunk)
        if texts is not None:
            texts.extend(document[:end] for document in chunk_texts)
        source.report()
        del chunk, chunk_texts  # before the next one is read
    try:
        counts, vocabulary, report = counting.finish()
    except ValueError:
        if n_empty < len(table.lines):
            log.check()  # a damaged file may be the reason
            raise
        raise _all_empty(source.format, plan, log) from None
    return Counted(source.format, counts, vocabulary, report, counting.words, table, texts)


def _all_empty(format: str, plan: Plan, log: ProblemLog) -> ValueError:
    if format in ("lines", "folder"):
        return ValueError(
            f"{log.name}: all texts are empty. Expected words in one of them at least."
        )
    columns = ", ".join(map(repr, plan.text))
    return InputError(
        f"{log.name}: all texts are empty, in the column {columns}. Name the one to count: ",
        Argument("text", ...),
        ".",
    )
