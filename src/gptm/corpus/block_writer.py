"""Write a corpus to disk block by block; the manifest comes last, so that a folder is whole or is none."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.atomic_files import replace_file
from gptm._basics.errors import Argument, ArgumentError, InputError
from gptm._basics.progress import tell
from gptm._basics.validation import check_number
from gptm._basics.version import VERSION
from gptm.corpus.block_files import checksum, write_block
from gptm.corpus.block_manifest import (
    MANIFEST,
    VOCABULARY,
    BlockEntry,
    Manifest,
    vocabulary_digest,
)
from gptm.corpus.words import Words

BLOCK_DOCUMENTS = 16_384  # of one block at most, and
BLOCK_ENTRIES = 4_000_000  # words of documents, about 48 MB
BLOCKS_WRITTEN = "blocks written"  # what a long write reports


class BlockWriter:
    """Writes blocks of documents that share a vocabulary, kinds of columns and settings of words."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        vocabulary: np.ndarray | None,
        n_words: int,
        words: Words | None,
    ):
        self.folder = Path(folder)
        self.vocabulary, self.n_words, self.words = vocabulary, n_words, words
        self.mark = vocabulary_digest(vocabulary)
        self.entries: list[BlockEntry] = []
        self.kinds: dict[str, str] | None = None

    def add(self, block: Any) -> None:
        """Write some more documents as one block."""
        if self.kinds is None:
            self.kinds = block.kinds
        path = self.folder / f"block-{len(self.entries):06d}.arrow"
        write_block(path, block, self.mark or "")
        entry = BlockEntry(
            path.name,
            len(block),
            int(block.counts.data.sum()),
            path.stat().st_size,
            checksum(path),
        )
        self.entries.append(entry)

    def finish(self) -> Path:
        """Write the vocabulary and the manifest; the folder."""
        if self.vocabulary is not None:
            replace_file(
                self.folder / VOCABULARY,
                json.dumps(list(self.vocabulary), ensure_ascii=False).encode(),
            )
        settings = None if self.words is None else self.words.to_dict()
        manifest = Manifest(
            tuple(self.entries), self.kinds or {}, settings, self.mark, self.n_words, VERSION
        )
        replace_file(self.folder / MANIFEST, manifest.to_json().encode())
        return self.folder


def prepare_folder(folder: Path, overwrite: bool) -> None:
    """Make the folder, or empty one that holds a corpus."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; expected a folder to write the blocks to.")
    if (folder / MANIFEST).exists() and not overwrite:
        raise InputError(
            f"the folder {folder} holds a corpus already. Choose another one, or pass ",
            Argument("overwrite", True),
            ".",
        )
    folder.mkdir(parents=True, exist_ok=True)
    remove_blocks(folder)
    others = sorted(path.name for path in folder.iterdir())
    if others:
        raise InputError(
            f"the folder {folder} holds other files, such as {others[0]}. Choose a new folder for the blocks."
        )


@contextmanager
def whole_or_nothing(folder: Path, overwrite: bool) -> Iterator[None]:
    """A folder to write blocks to; if that fails it is as it was, but for a corpus that was to be replaced."""
    is_new = not folder.exists()
    prepare_folder(folder, overwrite)
    try:
        yield
    except BaseException:
        remove_blocks(folder)
        if is_new:
            folder.rmdir()
        raise


def remove_blocks(folder: Path) -> None:
    """Remove the files of a corpus, the manifest first: from then on the folder is no corpus."""
    for path in [folder / MANIFEST, folder / VOCABULARY, *sorted(folder.glob("block-*.arrow"))]:
        path.unlink(missing_ok=True)


def cut(counts: csr_matrix, documents: int, entries: int = BLOCK_ENTRIES) -> list[slice]:
    """Consecutive documents of each block.

    >>> cut(csr_matrix(np.ones((5, 2))), 3, 4)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    slices, start, indptr = [], 0, counts.indptr
    n = counts.shape[0]
    while start < n:
        full = int(np.searchsorted(indptr, indptr[start] + entries, side="right")) - 1
        stop = min(start + documents, max(full, start + 1), n)
        slices.append(slice(start, stop))
        start = stop
    return slices


def write_blocks(
    corpus: Any, folder: str | os.PathLike[str], block_documents: int, overwrite: bool
) -> Path:
    """Write a corpus in memory to a folder."""
    check_number("block_documents", block_documents, least=1, integer=True)
    if not len(corpus):
        raise ArgumentError("corpus", "must hold at least one document", 0)
    corpus.counts.sum_duplicates()
    with whole_or_nothing(Path(folder), overwrite):
        writer = BlockWriter(folder, corpus.vocabulary, corpus.shape[1], corpus.words)
        pieces = cut(corpus.counts, block_documents)
        for number, rows in enumerate(pieces, start=1):
            writer.add(corpus[rows])
            tell(number, len(pieces))
        return writer.finish()
