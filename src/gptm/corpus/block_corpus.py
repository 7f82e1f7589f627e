"""A corpus on disk, larger than memory: a folder of blocks of documents, and a manifest that describes them."""

import hashlib
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import vstack

from gptm._basics.errors import ArgumentError, InputError
from gptm._basics.plain_json import parse_json
from gptm.corpus.block_files import checksum, import_arrow
from gptm.corpus.block_manifest import (
    MANIFEST,
    VOCABULARY,
    BlockEntry,
    Manifest,
    damaged,
    vocabulary_digest,
)
from gptm.corpus.block_reader import read_block
from gptm.corpus.corpus import Corpus
from gptm.corpus.kinds import with_kinds
from gptm.corpus.saved_words import check_value, is_texts
from gptm.corpus.words import Words

_checked: set[tuple[str, int, int]] = set()  # blocks whose checksums this process has compared


class BlockCorpus:
    """Documents in blocks on disk; `fit`, `transform` and scores take it as they take a `Corpus`.

    `gptm.open_corpus` opens it. `corpus[rows]` selects documents without reading them; `corpus.load()` reads them.

    Attributes
    ----------
    path : path of the folder
    vocabulary : array of str, or None
    words : Words or None
        How the texts became counts.
    kinds : dict
        What each column of the metadata holds.
    shape : (int, int)
        Numbers of documents and of words.

    Examples
    --------
    >>> import tempfile, gptm
    >>> corpus = gptm.Corpus.from_texts(["green tea", "black tea", "coffee beans"], min_df=1)
    >>> blocks = gptm.open_corpus(corpus.to_blocks(tempfile.mkdtemp(), block_documents=2))
    >>> blocks
    BlockCorpus(3 documents in 2 blocks, 5 words)
    >>> [len(block) for block in blocks.blocks()]
    [2, 1]
    >>> blocks[1:].load().counts.toarray().tolist()
    [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0]]
    """

    def __init__(self, path: str | os.PathLike[str], positions: np.ndarray | None = None):
        import_arrow()
        self.path = Path(path)
        self.manifest = Manifest.read(self.path)
        self.kinds = dict(self.manifest.kinds)
        settings = self.manifest.words
        try:
            self.words = None if settings is None else Words.from_dict(settings)
        except ValueError as error:
            raise damaged(self.path / MANIFEST, str(error)) from None
        self.vocabulary = _read_vocabulary(self.path, self.manifest)
        for entry in self.manifest.blocks:
            _check_size(self.path / entry.file, entry)
        self.positions = positions  # of the selected documents, None for all

    @cached_property
    def _ends(self) -> np.ndarray:
        """(blocks + 1,) where blocks begin and end among all documents of the folder."""
        sizes = [entry.documents for entry in self.manifest.blocks]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def pieces(self) -> list[tuple[int, np.ndarray | None]]:
        """Blocks with documents: the number of each, and the selected rows in it, None for all."""
        if self.positions is None:
            return [(b, None) for b, e in enumerate(self.manifest.blocks) if e.documents]
        cuts = np.searchsorted(self.positions, self._ends)
        return [
            (b, self.positions[cuts[b] : cuts[b + 1]] - self._ends[b])
            for b in range(len(self.manifest.blocks))
            if cuts[b + 1] > cuts[b]
        ]

    @cached_property
    def starts(self) -> np.ndarray:
        """(pieces + 1,) number of the first document of each of the `pieces`, among the selected ones."""
        sizes = [
            self.manifest.blocks[b].documents if rows is None else len(rows)
            for b, rows in self.pieces
        ]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def n_blocks(self) -> int:
        """Number of blocks that have any of the documents."""
        return len(self.pieces)

    def block(self, number: int) -> Corpus:
        """The documents of one of the blocks, in memory."""
        b, rows = self.pieces[number]
        block = self.whole_block(b)
        return block if rows is None else block[rows]

    def whole_block(self, number: int) -> Corpus:
        """The documents of one of the blocks of the folder, whichever are selected."""
        entry = self.manifest.blocks[number]
        path = self.path / entry.file
        block = read_block(
            path,
            checked=_check_block(path, entry),
            mark=self.manifest.vocabulary or "",
            vocabulary=self.vocabulary,
            n_words=self.manifest.n_words,
            kinds=self.kinds,
            words=self.words,
        )
        if len(block) != entry.documents:
            raise damaged(path, f"expected {entry.documents} documents, got {len(block)}")
        return block

    def blocks(self) -> Iterator[Corpus]:
        """The documents, block by block."""
        return map(self.block, range(self.n_blocks))

    def load(self) -> Corpus:
        """All selected documents as a `Corpus` in memory."""
        return joined(list(self.blocks()), self)

    @property
    def n_documents(self) -> int:
        """Number of all documents of the folder, selected or not."""
        return int(self._ends[-1])

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all documents of the folder."""
        return sum(entry.tokens for entry in self.manifest.blocks)

    @property
    def digest(self) -> str:
        """A hash of the documents: of the checksums of the blocks, and of which documents are selected."""
        content = hashlib.sha256(self.manifest.to_json().encode())
        content.update(b"" if self.positions is None else self.positions.tobytes())
        return content.hexdigest()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of documents and words."""
        return int(self.starts[-1]), self.manifest.n_words

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> "BlockCorpus":
        if isinstance(rows, tuple):
            rows = rows[0]
        if isinstance(rows, int | np.integer):
            rows = [rows]
        chosen = np.arange(len(self))[rows]
        if (np.diff(chosen) <= 0).any():
            raise InputError(
                "rows of a corpus on disk must be in ascending order, each of them once. Sort them, as in "
                "corpus[np.unique(rows)], or use corpus.load()[rows]."
            )
        positions = chosen if self.positions is None else self.positions[chosen]
        return BlockCorpus(self.path, positions.astype(np.int64))

    def __repr__(self) -> str:
        n, V = self.shape
        columns = f", metadata: {', '.join(self.kinds)}" if self.kinds else ""
        blocks = f"{self.n_blocks:,} block{'' if self.n_blocks == 1 else 's'}"
        return f"BlockCorpus({n:,} documents in {blocks}, {V:,} words{columns})"


def open_corpus(path: str | os.PathLike[str]) -> BlockCorpus:
    """Open a corpus on disk that `gptm corpus` or `Corpus.to_blocks` wrote; needs pyarrow.

    Parameters
    ----------
    path : str or path
        The folder.

    Returns
    -------
    BlockCorpus

    Raises
    ------
    ValueError
        If the folder is not a corpus, or if a block is missing or damaged.

    Examples
    --------
    >>> import tempfile, gptm
    >>> folder = gptm.Corpus.from_texts(["green tea", "coffee beans"]).to_blocks(tempfile.mkdtemp())
    >>> gptm.open_corpus(folder)
    BlockCorpus(2 documents in 1 block, 4 words)
    """
    if not os.path.isdir(path):
        raise InputError(
            f"{os.fspath(path)} is not a folder; open_corpus expects the folder of a corpus on disk."
        )
    return BlockCorpus(path)


def is_block_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a corpus on disk."""
    return os.path.isfile(os.path.join(path, MANIFEST))


def joined(blocks: list[Corpus], like: BlockCorpus) -> Corpus:
    """The documents of several blocks as one corpus in memory."""
    if not blocks:
        raise ArgumentError("X", "must hold at least one document", 0)
    counts = vstack([block.counts for block in blocks], format="csr")
    frames = [block.metadata for block in blocks]
    frame = None
    if frames[0] is not None:
        plain = [
            f.astype({n: object for n in f if isinstance(f[n].dtype, pd.CategoricalDtype)})
            for f in frames
            if f is not None
        ]
        frame = with_kinds(pd.concat(plain, ignore_index=True), like.kinds)
    texts = None
    if blocks[0].texts is not None:
        texts = [text for block in blocks for text in block.texts]  # type: ignore[union-attr]
    corpus = Corpus(counts, like.vocabulary, metadata=frame, texts=texts, words=like.words)
    if blocks[0].ids is not None:
        corpus.ids = np.concatenate([block.ids for block in blocks])
    return corpus


def _read_vocabulary(folder: Path, manifest: Manifest) -> np.ndarray | None:
    if manifest.vocabulary is None:
        return None
    path = folder / VOCABULARY
    try:
        listed = parse_json(path.read_text(encoding="utf-8"))
        check_value("the vocabulary", listed, is_texts, "a list of words")
    except (OSError, ValueError) as error:
        raise damaged(path, str(error)) from None
    words = np.array(listed, dtype=object)
    if vocabulary_digest(words) != manifest.vocabulary or len(words) != manifest.n_words:
        raise damaged(path, "it is the vocabulary of another corpus")
    return words


def _check_size(path: Path, entry: BlockEntry) -> None:
    """Look that a block is there, and as long as it was; that is cheap."""
    if not path.is_file():
        raise damaged(path, "the file is missing")
    size = path.stat().st_size
    if size != entry.bytes:
        raise damaged(path, f"expected {entry.bytes:,} bytes, got {size:,}")


def _check_block(path: Path, entry: BlockEntry) -> bool:
    """Compare the checksum, once in each process; whether that was done before."""
    _check_size(path, entry)
    key = (os.fspath(path.resolve()), path.stat().st_mtime_ns, entry.crc32)
    if key in _checked:
        return True
    if checksum(path) != entry.crc32:
        raise damaged(path, "its checksum differs")
    _checked.add(key)
    return False
