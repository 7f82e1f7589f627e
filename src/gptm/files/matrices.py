"""Counts that somebody made already: Matrix Market, LDA-C and scipy's own files, each with a vocabulary."""

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.errors import Argument, InputError, Message, PythonOnly
from gptm._basics.progress import Tell
from gptm._basics.sparse_arrays import column_sums
from gptm.corpus.problems import ProblemLog
from gptm.corpus.stop_words import composed
from gptm.corpus.word_checks import checked_vocabulary
from gptm.corpus.word_limits import limit_words
from gptm.corpus.words import Words
from gptm.corpus.words_report import WordsReport, removed_words, with_kept
from gptm.files.formats import FilePath
from gptm.files.matrix_market import parse_matrix_market
from gptm.files.streams import AUTO, Input, Lines, check_archive

logger = logging.getLogger("gptm")
_OWN_VOCABULARY = Message(
    "Pass the vocabulary that belongs to the counts: ", Argument("vocabulary", ...), "."
)

_MOST = 2.0**53  # of one word: beyond, numbers do not count one by one
_REPORTED_LINES = 1000  # between two reports of how far a file is read
_NAMES = ("vocab.txt", "vocabulary.txt", "vocab.json", "features.txt", "words.txt")


def read_count_file(
    path: FilePath,
    format: str,
    vocabulary: Any,
    encoding: str,
    log: ProblemLog,
    progress: Tell | None = None,
) -> tuple[csr_matrix, np.ndarray, list[int]]:
    """Counts (documents x words), the words, and the place of each document in the file."""
    if vocabulary is None:
        vocabulary = _beside(path)
        # The level that is shown without any set-up: the file may be there for other counts.
        logger.warning("the words of %s are read from %s, which lies beside it", path, vocabulary)
    words = read_vocabulary(path, vocabulary, encoding)
    origin = f"the vocabulary {str(vocabulary)!r}" if _is_path(vocabulary) else "the vocabulary"
    with Input(path, progress) as source:
        if format == "ldac":
            counts, lines = _ldac(source, encoding, len(words), origin, log)
        else:
            log.unit = "row"
            load = _matrix_market if format == "mtx" else _npz
            counts = _documents_first(load(source), len(words), origin, source.name)
            lines = list(range(1, counts.shape[0] + 1))
        source.report()
    return checked_counts(counts, lines, log), words, lines


def read_vocabulary(path: FilePath, given: Any, encoding: str = AUTO) -> np.ndarray:
    """The words of the columns: as given, from a file, or from a file beside the counts.

    A file has one word per line, or is a JSON list, or a JSON object from words to columns.
    """
    if given is None:
        given = _beside(path)
    if not _is_path(given):
        return checked_vocabulary(given)
    with Input(given) as source:
        log = ProblemLog(strict=True, name=str(given))  # a wrong letter makes another word
        lines = [line.rstrip("\r\n") for line in Lines(source, encoding, log)]
        log.check()
    start = next((line for line in lines if line.strip()), "")
    if start.lstrip()[:1] in ("[", "{") and str(given).removesuffix(".gz").endswith(".json"):
        words = _json_words("\n".join(lines), str(given))
    else:
        while lines and not lines[-1].strip():
            lines.pop()
        words = [_word(line) for line in lines]
    return checked_vocabulary(words)


def _is_path(vocabulary: Any) -> bool:
    return isinstance(vocabulary, str | Path)


def _beside(path: FilePath) -> Path:
    """The vocabulary that lies beside the counts, under one of the usual names."""
    if str(path) != "-":
        here = Path(path)
        stem = here.name.removesuffix(".gz").rpartition(".")[0]
        own = (f"{stem}.vocab", f"{stem}.vocab.txt", f"vocab.{stem}.txt", f"{stem}.words")
        for name in (*own, *_NAMES):
            for candidate in (here.with_name(name), here.with_name(name + ".gz")):
                if candidate.is_file():
                    return candidate
    raise InputError(
        f"counts need a vocabulary, and there is none beside {str(path)!r}. Pass ",
        Argument("vocabulary", ...),
        ", a file with one word per line",
        PythonOnly(" or a list of words"),
        ".",
    )


def _json_words(content: str, name: str) -> list[str]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the vocabulary {name!r} is not valid JSON ({error}).") from None
    if isinstance(value, dict):  # scikit-learn's vocabulary_
        if sorted(value.values()) != list(range(len(value))):
            raise ValueError(
                f"the vocabulary {name!r} must number its words 0 to {len(value) - 1}, each once."
            )
        return sorted(value, key=value.__getitem__)
    return [str(word) for word in value]


def _word(line: str) -> str:
    """The word of a line that may have a number before it and frequencies after it, between tabs."""
    if "\t" not in line:
        return line.strip()
    parts = [part.strip() for part in line.split("\t")]
    return next((part for part in parts if part and not part.isdigit()), parts[0])


def _matrix_market(source: Input) -> csr_matrix:
    try:
        return parse_matrix_market(source.whole())
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(
            f"{source.name} cannot be read as a Matrix Market file ({str(error).strip()})."
        ) from None


def _npz(source: Input) -> csr_matrix:
    from scipy.sparse import load_npz

    try:
        with source.seekable() as file:
            check_archive(file)
            return csr_matrix(load_npz(source.followed(file)))
    except Exception as error:  # zipfile's, numpy's and scipy's own errors
        raise ValueError(
            f"{source.name} is not a matrix that scipy.sparse.save_npz saved ({error})."
        ) from None


def _documents_first(counts: csr_matrix, V: int, origin: str, name: str) -> csr_matrix:
    """Documents as rows; a matrix the other way round is known by the number of words."""
    if counts.shape[1] == V:
        return counts
    if counts.shape[0] == V:
        return csr_matrix(counts.T)
    raise InputError(
        f"{name} must have one column (or row) per word of {origin}: expected {V}, got a matrix of "
        f"{counts.shape[0]} x {counts.shape[1]}. ",
        _OWN_VOCABULARY,
    )


def _ldac(
    source: Input, encoding: str, V: int, origin: str, log: ProblemLog
) -> tuple[csr_matrix, list[int]]:
    """Counts of lines such as "2 0:1 7:3": how many different words, then word:count."""
    indices: list[np.ndarray] = []
    values: list[np.ndarray] = []
    ends, kept = [0], []
    lines = Lines(source, encoding, log)
    for line in lines:
        if lines.number % _REPORTED_LINES == 0:
            source.report()
        parts = line.replace(":", " ").split()
        if not parts:
            continue
        try:
            numbers = np.array(parts, dtype=np.float64)
        except ValueError:
            numbers = np.array([-1.0])
        pairs = numbers[1:]
        if len(pairs) != 2 * numbers[0] or (pairs < 0).any():
            log.add(
                "broken line", lines.number, "expected 'n word:count word:count ...' with n pairs"
            )
            continue
        words = pairs[::2].astype(np.int64)
        if len(words) and words.max() >= V:
            raise InputError(
                f"line {lines.number} has word {words.max()}, but {origin} has {V} words, numbered from 0. ",
                _OWN_VOCABULARY,
            )
        indices.append(words.astype(np.int32))
        values.append(pairs[1::2])
        ends.append(ends[-1] + len(words))
        kept.append(lines.number)
    flat = [np.concatenate(parts) if parts else np.empty(0) for parts in (values, indices)]
    counts = csr_matrix((flat[0], flat[1].astype(np.int32), np.array(ends)), shape=(len(kept), V))
    return counts, kept


def checked_counts(counts: csr_matrix, lines: list[int], log: ProblemLog) -> csr_matrix:
    """Counts without zeros and repetitions, as whole numbers where they are."""
    if counts.shape[0] == 0:
        raise InputError(
            f"{log.name} holds no documents; expected one row of counts for each document."
        )
    sizes = np.real(counts.data)
    odd = ~np.isfinite(counts.data) | (np.imag(counts.data) != 0) | (sizes < 0) | (sizes > _MOST)
    if np.iscomplexobj(counts.data) or odd.any():
        first = int(np.argmax(odd))
        row = int(np.searchsorted(counts.indptr, first, side="right")) - 1
        raise InputError(
            f"{log.name}: counts must be finite numbers, at most {_MOST:.0e} and none below zero; {log.unit} "
            f"{lines[row]} has {counts.data[first]}. Pass raw counts of words."
        )
    counts.sum_duplicates()
    counts.eliminate_zeros()
    fractional = counts.data != np.round(counts.data)
    if not fractional.any():
        small = counts.data.max(initial=0) <= np.iinfo(np.int32).max
        counts.data = counts.data.astype(np.int32 if small else np.int64)
        return counts
    rows = np.unique(np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))[fractional])
    for row in rows:
        log.add("fractional counts", lines[row])
    return counts


def select_words(
    counts: csr_matrix, vocabulary: np.ndarray, words: Words | None
) -> tuple[csr_matrix, np.ndarray, WordsReport]:
    """Counts without the words that the settings leave out; as they are where there are none."""
    report = WordsReport(documents=counts.shape[0], tokens=int(counts.sum()))
    if words is None:
        return counts, vocabulary, with_kept(report, counts)
    stop = words.resolved([" ".join(vocabulary)]).stop_list()
    stopped = np.array([word in stop for word in vocabulary])
    report = replace(report, stop_words=removed_words(column_sums(counts), vocabulary, stopped))
    return limit_words(counts[:, ~stopped], vocabulary[~stopped], words.limits, report)


def match_words(
    counts: csr_matrix, own: np.ndarray, vocabulary: Sequence[str] | np.ndarray
) -> tuple[csr_matrix, np.ndarray, WordsReport]:
    """Counts in the order of another vocabulary; words outside of it are reported as unknown."""
    place = {composed(str(word)): column for column, word in enumerate(vocabulary)}
    columns = np.array([place.get(composed(word), -1) for word in own])
    shared = columns >= 0
    report = WordsReport(
        documents=counts.shape[0],
        tokens=int(counts.sum()),
        unknown=removed_words(column_sums(counts), own, ~shared),
    )
    chosen = counts[:, shared]
    shape = (counts.shape[0], len(vocabulary))
    matched = csr_matrix((chosen.data, columns[shared][chosen.indices], chosen.indptr), shape=shape)
    matched.sum_duplicates()  # a word in two spellings; sorted, too
    names = np.array([str(word) for word in vocabulary], dtype=object)
    return matched, names, with_kept(report, matched)
