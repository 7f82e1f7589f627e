"""From files to a corpus on disk: texts are counted by all cores, and memory holds a few blocks at a time.

Each text is counted once. Blocks first have provisional numbers of words, in the order in which words turned up; when
all words are known, those to keep are chosen, and blocks get their final numbers.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gptm._basics.errors import InputError
from gptm._basics.parallel import n_threads
from gptm._basics.progress import Tell, telling
from gptm._basics.validation import check_n_jobs, check_number
from gptm.corpus.block_corpus import open_corpus
from gptm.corpus.block_files import import_arrow
from gptm.corpus.block_writer import (
    BLOCK_DOCUMENTS,
    BLOCKS_WRITTEN,
    whole_or_nothing,
    write_blocks,
)
from gptm.corpus.words import Words
from gptm.files.dask_tables import Partitions, is_collection
from gptm.files.formats import COUNTS, FilePath, find_format
from gptm.files.matrices import read_vocabulary
from gptm.files.read_checks import check_reading
from gptm.files.reader import holds_bags, read
from gptm.files.streams import AUTO, shown
from gptm.files.texts_to_blocks import BlockReadResult, TextsToBlocks

if TYPE_CHECKING:
    from distributed import Client

_SPOOL = "spool"


def read_to_blocks(
    paths: Any,
    folder: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    kinds: Mapping[str, str] | None = None,
    vocabulary: Any = None,
    encoding: str = AUTO,
    words: Words | None = None,
    strict: bool = False,
    keep_texts: bool | int = False,
    block_documents: int = BLOCK_DOCUMENTS,
    overwrite: bool = False,
    n_jobs: int | None = -1,
    progress: Tell | None = None,
    verbose: bool = False,
    client: "Client | None" = None,
) -> BlockReadResult:
    """Read files, or a dask dataframe or bag, into a corpus on disk, which `gptm.open_corpus` opens; needs pyarrow.

    Counts, vocabulary and metadata are those that `read` gives, but memory does not grow with the documents: it holds
    some blocks, and all different words. Kinds of columns are decided by the first 20,000 documents. Files of counts
    are read as a whole.

    Parameters
    ----------
    paths : path, sequence of paths, or dask dataframe, series or bag
        As in `read`. Several files must have the same columns. A dataframe has a column with the text; its other
        columns are the metadata, and its index is not used. Items of a bag are texts, or dictionaries of such columns.
    folder : path
        A new or empty folder for the blocks.
    format, text, id, kinds, vocabulary, encoding, words, strict, keep_texts, verbose
        As in `read`.
    block_documents : int, default=16384
        Maximum number of documents of a block.
    overwrite : bool, default=False
        Whether to replace a corpus that is in the folder.
    n_jobs : int or None, default=-1
        Number of processes that count words; -1 means all cores. The result does not depend on it.
    progress : callable, optional
        Called with how much is done, and of how much: with bytes of the files, or with partitions of a dask
        collection; then with blocks as they are written.
    client : dask.distributed.Client, optional
        Whose workers count the words of a dask dataframe or bag; by default, those that dask takes.

    Returns
    -------
    BlockReadResult

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gptm import files
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (place / "a.csv").write_text("date,body\\n2020-01-31,green tea\\n2021-02-28,black tea\\n")
    >>> result = files.read_to_blocks(place / "a.csv", place / "blocks", n_jobs=1)
    >>> result.corpus
    BlockCorpus(2 documents in 1 block, 3 words, metadata: date)
    """
    import_arrow()
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
    check_number("block_documents", block_documents, least=1, integer=True)
    check_n_jobs(n_jobs)
    reading = shown(progress, verbose)
    started = time.perf_counter()
    target = Path(folder)
    if is_collection(paths):
        with whole_or_nothing(target, overwrite):
            fixed = None if vocabulary is None else read_vocabulary("", vocabulary, encoding)
            with _spool(target) as spool:
                run = TextsToBlocks(
                    spool, words or Words(), fixed, block_documents, strict, keep_texts
                )
                with telling("partitions counted", verbose, progress):
                    partitions = Partitions(paths, client)
                    run.count_partitions(partitions, text, id, kinds, n_threads(n_jobs))
                return run.result(target, started, verbose, progress)
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not names:
        raise InputError("expected at least one file to read; got none.")
    with whole_or_nothing(target, overwrite):
        settings: dict[str, Any] = {"format": format, "encoding": encoding}
        columns = {"text": text, "id": id, "kinds": kinds}
        if find_format(names[0], format) in COUNTS or holds_bags(names[0], **settings, **columns):
            result = _counts_to_blocks(
                names,
                target,
                block_documents,
                vocabulary=vocabulary,
                words=words,
                strict=strict,
                verbose=verbose,
                progress=progress,
                **columns,
                **settings,
            )
            return replace(result, seconds=time.perf_counter() - started)
        fixed = None if vocabulary is None else read_vocabulary(names[0], vocabulary, encoding)
        with _spool(target) as spool:
            run = TextsToBlocks(spool, words or Words(), fixed, block_documents, strict, keep_texts)
            chunks = run.rows(names, settings, text, id, kinds, reading)
            run.count(chunks, n_threads(n_jobs))
            return run.result(target, started, verbose, progress)


def _counts_to_blocks(
    names: list[FilePath],
    folder: Path,
    block_documents: int,
    verbose: bool,
    progress: Tell | None,
    **settings: Any,
) -> BlockReadResult:
    """Counts are there already, in one file."""
    if len(names) > 1:
        raise InputError(
            f"several files of counts cannot be joined, as their words may differ; got {len(names)}. Pass one."
        )
    result = read(names[0], verbose=verbose, progress=progress, **settings)
    with telling(BLOCKS_WRITTEN, verbose, progress):
        write_blocks(result.corpus, folder, block_documents, overwrite=True)
    return BlockReadResult(open_corpus(folder), result.columns, result.problems, result.report, 0.0)


@contextmanager
def _spool(folder: Path) -> Iterator[Path]:
    """A folder for blocks with provisional numbers of words."""
    spool = folder / _SPOOL
    spool.mkdir()
    try:
        yield spool
    finally:
        shutil.rmtree(spool, ignore_errors=True)
