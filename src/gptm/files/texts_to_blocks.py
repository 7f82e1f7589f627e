"""One pass over texts that are too many for memory: count, write blocks, and number the words when all are known."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from gptm._basics.errors import Argument, ArgumentError, InputError
from gptm._basics.progress import Tell, tell, telling
from gptm.corpus import Corpus
from gptm.corpus.block_corpus import BlockCorpus, open_corpus
from gptm.corpus.block_writer import BLOCKS_WRITTEN, BlockWriter, cut
from gptm.corpus.cleaning import PARTS
from gptm.corpus.problems import DataProblem, ProblemLog
from gptm.corpus.scripts import warn_of_no_blanks
from gptm.corpus.words import ChunkCounts, Words, count_chunk
from gptm.corpus.words_report import WordsReport, removed
from gptm.files.dask_tables import Partitions, RowCounter
from gptm.files.formats import FilePath, open_source
from gptm.files.plan import Plan, make_plan
from gptm.files.row_chunks import sampled
from gptm.files.rows import Row
from gptm.files.streams import source_name
from gptm.files.table import CellTable
from gptm.files.table_columns import Columns, unknown_column
from gptm.files.word_numbers import WordNumbers, relabelled

DECIDING = 20_000  # documents by which the kinds of columns are decided


@dataclass(frozen=True)
class BlockReadResult:
    """A corpus on disk, and an account of how it was read.

    Attributes
    ----------
    corpus : BlockCorpus
    columns : Columns
        What each column was taken for, by the first documents, and why.
    problems : list of DataProblem
        What was wrong with the files, with line numbers.
    report : WordsReport
        What became of the words.
    seconds : float
        How long it took.
    """

    corpus: BlockCorpus
    columns: Columns
    problems: list[DataProblem]
    report: WordsReport
    seconds: float

    @property
    def documents_per_second(self) -> float:
        """How fast it was."""
        return len(self.corpus) / max(self.seconds, 1e-9)


class TextsToBlocks:
    """One pass over files or partitions: what is known so far."""

    def __init__(
        self,
        spool: Path,
        words: Words,
        vocabulary: np.ndarray | None,
        block_documents: int,
        strict: bool,
        keep_texts: bool | int,
    ):
        self.words, self.vocabulary, self.size = words, vocabulary, block_documents
        self.writer = BlockWriter(spool, None, 2**31 - 1, None)
        self.strict, self.keep = strict, keep_texts
        self.logs: list[ProblemLog] = []
        self.terms, self.columns = WordNumbers(), Columns(())
        self.stopped: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.cleaned: Counter[str] = Counter()
        self.n_tokens = 0
        self.kinds: dict[str, str] | None = None
        self.hashes: list[np.ndarray] = []
        self.waiting: list[tuple[csr_matrix, list[Row], list[str], ProblemLog]] = []
        self.n_waiting = 0

    def rows(
        self,
        names: list[FilePath],
        settings: dict[str, Any],
        text: Any,
        id: str | None,
        kinds: Mapping[str, str] | None,
        progress: Tell | None,
    ) -> Iterator[tuple[list[Row], list[str], ProblemLog]]:
        """Rows and their texts, chunk by chunk, of all files."""
        plan: Plan | None = None
        for name in names:
            log = ProblemLog(self.strict, name=source_name(name))
            self.logs.append(log)
            with open_source(name, log=log, progress=progress, **settings) as source:
                sample, chunks, bags = sampled(source, log, text, kinds)
                if bags:
                    raise InputError(
                        f"{log.name} holds counts of words. Read it from a file, and alone."
                    )
                if plan is None:
                    plan = self.plan = make_plan(sample, text, id, kinds)
                    self.format = source.format
                    self._settle_words([plan.text_of(cells) for _, cells in sample])
                _check_text(plan, sample, log)
                del sample
                for chunk in chunks:
                    texts = plan.take_texts(chunk)
                    for (line, _), document in zip(chunk, texts, strict=True):
                        if not document.strip():
                            log.add("empty text", line)
                    yield chunk, texts, log
                    source.report()

    def _settle_words(self, texts: list[str]) -> None:
        """The language, by the first texts."""
        if self.vocabulary is None and self.words.phrases is True:
            raise ArgumentError(
                "phrases",
                "must be a list for a corpus on disk, which reads its texts once",
                True,
                "Learn them on a part of the documents, and pass Words(phrases=part.words.phrases).",
            )
        self.words = self.words.resolved(texts)
        if self.vocabulary is None and self.words.segmenter is None:
            warn_of_no_blanks(texts)

    def count(
        self, chunks: Iterator[tuple[list[Row], list[str], ProblemLog]], n_processes: int
    ) -> None:
        """Count all texts, in as many processes, and write the blocks as they fill up."""
        queue: deque[tuple[Callable[[], ChunkCounts], list[Row], list[str], ProblemLog]] = deque()
        with ExitStack() as pool:
            submit: Callable[..., Any] | None = None
            for number, (rows, texts, log) in enumerate(chunks):
                if number == 1 and n_processes > 1:
                    submit = pool.enter_context(_processes(n_processes))
                if submit is None:
                    work = partial(count_chunk, self.words, texts, self.vocabulary)
                    queue.append((work, rows, texts, log))
                else:
                    future = submit(count_chunk, self.words, texts, self.vocabulary)
                    queue.append((future.result, rows, texts, log))
                while len(queue) > (3 * n_processes if submit else 0):
                    self._take(queue.popleft())
            while queue:
                self._take(queue.popleft())
        self._flush(last=True)

    def count_partitions(
        self,
        partitions: Partitions,
        text: Any,
        id: str | None,
        kinds: Mapping[str, str] | None,
        together: int,
    ) -> None:
        """Take in the counts of a dask collection, some partitions at a time."""
        log = ProblemLog(self.strict, unit="row", name=partitions.name)
        self.logs.append(log)
        sample = partitions.first_rows()
        self.plan, self.format = make_plan(sample, text, id, kinds), "dask"
        self._settle_words([self.plan.text_of(cells) for _, cells in sample])
        counter = RowCounter(self.plan, self.words, self.vocabulary, self.keep)
        for chunk in partitions.counted(counter, together):
            for row in chunk.empty:
                log.add("empty text", row)
            self._take((partial(_as_it_is, chunk.counts), chunk.rows, chunk.texts, log))
        self._flush(last=True)

    def _take(
        self, item: tuple[Callable[[], ChunkCounts], list[Row], list[str], ProblemLog]
    ) -> None:
        result, rows, texts, log = item
        chunk = result()
        self.stopped.update(chunk.stopped)
        self.unknown.update(chunk.unknown)
        self.cleaned.update(chunk.cleaned)
        self.n_tokens += chunk.tokens
        counts = self.terms.add(chunk) if self.vocabulary is None else chunk.counts
        kept = [] if not self.keep else texts
        end = None if self.keep is True else int(self.keep)
        self.waiting.append((counts, rows, [document[:end] for document in kept], log))
        self.n_waiting += len(rows)
        if self.n_waiting >= (max(self.size, DECIDING) if self.kinds is None else self.size):
            self._flush(last=False)

    def _flush(self, last: bool) -> None:
        """Write all blocks that are full, and at the end the rest."""
        if not self.waiting:
            return
        if self.kinds is None:
            self._decide()
        assert self.kinds is not None
        counts = vstack([item[0] for item in self.waiting], format="csr")
        rows = [(row, item[3]) for item in self.waiting for row in item[1]]
        texts = [document for item in self.waiting for document in item[2]]
        slices = cut(counts, self.size)
        done = slices if last else slices[:-1]
        for piece in done:
            self._write(counts[piece], rows[piece], texts[piece] if self.keep else None)
        stop = done[-1].stop if done else 0
        self.waiting, self.n_waiting = [], len(rows) - stop
        for log in dict.fromkeys(log for _, log in rows[stop:]):
            mine = [i for i in range(stop, len(rows)) if rows[i][1] is log]
            own = slice(mine[0], mine[-1] + 1)
            part = (
                counts[own],
                [row for row, _ in rows[own]],
                texts[own] if self.keep else [],
                log,
            )
            self.waiting.append(part)

    def _decide(self) -> None:
        """The kinds of columns, by the documents so far."""
        table, log = CellTable(self.plan.left_out), ProblemLog()
        for _, rows, _, _ in self.waiting:
            table.add(rows)
        self.plan.check(table, log)
        first = self.logs[0]
        columns = table.finish(self.plan.given, _Doubts(first), self.plan.settled)[2]
        self.columns = Columns(self.plan.in_order(columns), self.format)
        text = set(self.plan.left_out)
        self.kinds = {c.name: c.kind for c in columns if c.name not in text}

    def _write(
        self, counts: csr_matrix, rows: list[tuple[Row, ProblemLog]], texts: list[str] | None
    ) -> None:
        assert self.kinds is not None
        table, log = CellTable(), rows[0][1]
        table.add([row for row, _ in rows])
        for name in [name for name in table.cells if name not in self.kinds]:
            log.add("late column", None, repr(name))
            del table.cells[name]
        for name in self.kinds:
            table.column(name)
        table.cells = {name: table.cells[name] for name in self.kinds}
        frame, ids, _ = table.finish(self.kinds, log)
        if ids is not None:
            self.hashes.append(np.array([hash(name) for name in ids], dtype=np.int64))
        block = Corpus(counts, metadata=None if frame is None else frame.reset_index(drop=True))
        block.ids = ids
        block.texts = None if texts is None else np.asarray(texts, dtype=object)
        self.writer.add(block)

    def settle(self, folder: Path) -> tuple[BlockCorpus, WordsReport]:
        """Choose the words, and write the blocks with these alone."""
        self._note_repeated_ids()
        for log in self.logs:
            log.check()
        language = self.words.stop_words if isinstance(self.words.stop_words, str) else None
        n = sum(entry.documents for entry in self.writer.entries)
        report = WordsReport(
            documents=n,
            tokens=self.n_tokens,
            language=language,
            cleaned={name: self.cleaned[name] for name in PARTS if self.cleaned[name]},
            stop_words=removed(self.stopped),
            unknown=removed(self.unknown),
        )
        vocabulary, numbers, report = self._chosen(n, report)
        writer = BlockWriter(folder, vocabulary, len(vocabulary), self.words)
        spooled = open_corpus(self.writer.finish())
        tokens = empty = 0
        for number in range(spooled.n_blocks):
            block = spooled.whole_block(number)
            block.counts = relabelled(block.counts, numbers, len(vocabulary))
            tokens += int(block.counts.sum())
            empty += int((np.diff(block.counts.indptr) == 0).sum())
            writer.add(block)
            (spooled.path / spooled.manifest.blocks[number].file).unlink()
            tell(number + 1, spooled.n_blocks)
        report = replace(
            report, words_kept=len(vocabulary), tokens_kept=tokens, empty_documents=empty
        )
        return open_corpus(writer.finish()), report

    def result(
        self, folder: Path, started: float, verbose: bool, progress: Tell | None
    ) -> BlockReadResult:
        """The corpus, once all texts are counted."""
        with telling(BLOCKS_WRITTEN, verbose, progress):
            corpus, report = self.settle(folder)
        seconds = time.perf_counter() - started
        return BlockReadResult(corpus, self.columns, self.problems(), report, seconds)

    def _chosen(
        self, n: int, report: WordsReport
    ) -> tuple[np.ndarray, np.ndarray | None, WordsReport]:
        """The words to keep, and the number that each provisional one gets; negative for none."""
        if self.vocabulary is not None:
            return np.array([*map(str, self.vocabulary)], dtype=object), None, report
        return self.terms.chosen(n, self.words.limits, report)

    def _note_repeated_ids(self) -> None:
        """Ids that are in several blocks; those inside of one are noted already."""
        if len(self.hashes) < 2:
            return
        inside = sum(len(block) - len(np.unique(block)) for block in self.hashes)
        everywhere = np.concatenate(self.hashes)
        repeated = len(everywhere) - len(np.unique(everywhere)) - inside
        if repeated:
            self.logs[-1].add("duplicate id", None, count=repeated)

    def problems(self) -> list[DataProblem]:
        """What was wrong, file by file."""
        return [problem for log in self.logs for problem in log.problems()]


class _Doubts(ProblemLog):
    """Passes on doubts about whole columns; what is wrong with single cells is noted when blocks are written."""

    def __init__(self, log: ProblemLog):
        super().__init__(log.strict, log.unit, log.name)
        self.log = log

    def add(self, kind: str, line: int | None = None, *args: Any, **more: Any) -> None:
        if line is None:
            self.log.add(kind, line, *args, **more)


def _check_text(plan: Plan, sample: list[Row], log: ProblemLog) -> None:
    """All files have the columns of the text."""
    columns = list(dict.fromkeys(name for _, cells in sample for name in cells))
    for name in plan.text:
        if name not in columns:
            error = unknown_column(name, columns, "text")
            raise InputError(
                f"{log.name}: ",
                str(error),
                " Files that are read together have the same columns, ",
                Argument("text", ...),
                " names that of the text.",
            )


def _as_it_is(counts: ChunkCounts) -> ChunkCounts:
    return counts


@contextmanager
def _processes(n: int) -> Iterator[Callable[..., Any]]:
    """What sends work to `n` other processes, which need no `if __name__ == "__main__"`; they end with the block.

    They are not those that joblib keeps for reuse: it could not use its own any more.
    """
    from joblib.externals.loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(n)
    try:
        yield pool.submit
    finally:
        pool.shutdown(kill_workers=True)
