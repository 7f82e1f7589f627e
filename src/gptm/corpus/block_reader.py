"""Read one block of a corpus on disk, through a memory map."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.errors import InputError
from gptm.corpus.block_checks import check_offsets, check_table
from gptm.corpus.block_files import COLUMN, COUNTS, ID, TEXT, WORDS, import_arrow
from gptm.corpus.block_manifest import damaged
from gptm.corpus.corpus import Corpus
from gptm.corpus.kinds import base_kind, with_kinds
from gptm.corpus.words import Words


def read_block(
    path: Path,
    *,
    checked: bool,
    mark: str,
    vocabulary: np.ndarray | None,
    n_words: int,
    kinds: Mapping[str, str],
    words: Words | None,
) -> Corpus:
    """The documents of a block. The counts are those in the file, not copied, where they are whole.

    Unless the file was `checked` before, nothing in it is believed: Arrow itself does not look whether offsets are
    within their arrays.
    """
    pa = import_arrow()
    try:
        with pa.memory_map(os.fspath(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        _check_schema(path, table.schema, mark, kinds)
        if not checked:
            check_table(path, table, kinds)
        return _to_corpus(path, table, vocabulary, n_words, kinds, words)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise damaged(path, str(error)) from None


def _to_corpus(
    path: Path,
    table: Any,
    vocabulary: np.ndarray | None,
    n_words: int,
    kinds: Mapping[str, str],
    words: Words | None,
) -> Corpus:
    counts = _counts(path, table, n_words)
    names = table.schema.names
    ids = table.column(ID).to_numpy(zero_copy_only=False) if ID in names else None
    frame = None
    if kinds:
        columns = {n: _decoded(table.column(COLUMN + n), base_kind(k)) for n, k in kinds.items()}
        frame = pd.DataFrame(columns)
        frame = with_kinds(frame if ids is None else frame.set_axis(pd.Index(ids)), kinds)
    texts = table.column(TEXT).to_pylist() if TEXT in names else None
    corpus = Corpus(counts, vocabulary, metadata=frame, texts=texts, words=words)
    corpus.ids = ids  # repeated ones too, of which the reader of the file has told
    return corpus


def _counts(path: Path, table: Any, n_words: int) -> csr_matrix:
    pa = import_arrow()
    batch = table.combine_chunks().to_batches(max_chunksize=max(len(table), 1))
    words_of, counts_of = (_column(pa, table, batch, name) for name in (WORDS, COUNTS))
    check_offsets(path, words_of, counts_of)
    counts = csr_matrix(
        (
            counts_of.values.to_numpy(zero_copy_only=False),
            words_of.values.to_numpy(zero_copy_only=False),
            words_of.offsets.to_numpy(),
        ),
        shape=(len(table), n_words),
        copy=False,
    )
    if len(counts.indices) and not 0 <= counts.indices.min() <= counts.indices.max() < n_words:
        raise damaged(path, f"it has words beyond the {n_words} of the vocabulary")
    return counts


def _check_schema(path: Path, schema: Any, mark: str, kinds: Mapping[str, str]) -> None:
    names = schema.names
    if WORDS not in names or COUNTS not in names:
        raise damaged(path, f"expected the columns {WORDS!r} and {COUNTS!r}, got {names}")
    theirs = (schema.metadata or {}).get(b"vocabulary", b"").decode(errors="replace")
    if theirs != mark:
        raise damaged(path, "its words are of the vocabulary of another corpus")
    columns = [name.removeprefix(COLUMN) for name in names if name.startswith(COLUMN)]
    if set(columns) != set(kinds):
        raise damaged(path, f"its columns are {columns}, those of the corpus are {list(kinds)}")


def _column(pa: Any, table: Any, batches: list[Any], name: str) -> Any:
    """A column as one array, also where there are no documents."""
    if batches:
        return batches[0].column(table.schema.get_field_index(name))
    return pa.array([], type=table.schema.field(name).type)


def _decoded(column: Any, base: str) -> Any:
    if base == "id":
        names = column.to_pylist()
        return pd.Categorical(names, categories=list(dict.fromkeys(names)))
    if base not in ("links", "list", "vector"):
        values = column.to_pandas()
        return values.astype(object) if base == "note" else values
    cells = np.empty(len(column), dtype=object)
    for row, cell in enumerate(column.to_pylist()):
        cells[row] = np.array(cell) if base == "vector" and cell is not None else cell
    return cells
