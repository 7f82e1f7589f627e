"""An order of documents that depends on what they hold, not on where they stand in a batch."""

from hashlib import blake2b

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix


def batch_order(counts: csr_matrix, frame: pd.DataFrame | None) -> np.ndarray:
    """Numbers of the documents, sorted by their words and metadata.

    >>> X = csr_matrix([[0, 2], [1, 0], [3, 3]])
    >>> (X[batch_order(X, None)] != X[[2, 0, 1]][batch_order(X[[2, 0, 1]], None)]).nnz
    0
    """
    cells = [b""] * counts.shape[0] if frame is None else row_keys(frame)
    digests = []
    for row, cell in enumerate(cells):
        span = slice(counts.indptr[row], counts.indptr[row + 1])
        digest = blake2b(counts.indices[span].astype(np.int64).tobytes(), digest_size=16)
        digest.update(counts.data[span].astype(np.float64).tobytes())
        digest.update(cell)
        digests.append(digest.digest())
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)


def row_keys(frame: pd.DataFrame) -> list[bytes]:
    """Rows of a table as bytes; equal for equal values."""
    columns = [list(map(_text, frame[name].tolist())) for name in frame.columns]
    return [repr(row).encode() for row in zip(*columns, strict=True)] or [b""] * len(frame)


def _text(cell: object) -> str:
    if isinstance(cell, np.ndarray):
        return repr(cell.tolist())
    if isinstance(cell, float) and cell != cell:
        return "nan"
    return repr(cell)
