"""Sparse matrices: their sums, and how they are saved. On the way back nothing in a file is believed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

_PARTS = ("data", "indices", "indptr")
_POSITIONS = (np.dtype(np.int32), np.dtype(np.int64))
_MOST_COLUMNS = 2**31 - 1


def row_sums(matrix: csr_matrix) -> np.ndarray:
    """(n,) the sum of each row, such as the number of tokens of each document."""
    return np.asarray(matrix.sum(1)).ravel()


def column_sums(matrix: csr_matrix) -> np.ndarray:
    """(m,) the sum of each column, such as how often each word occurs."""
    return np.asarray(matrix.sum(0)).ravel()


def sparse_arrays(matrix: csr_matrix, name: str) -> dict[str, np.ndarray]:
    """A sparse matrix as arrays that can be saved."""
    return csr_parts(matrix, name) | {f"{name}.shape": np.array(matrix.shape)}


def from_sparse_arrays(arrays: Mapping[str, np.ndarray], name: str) -> csr_matrix:
    """The matrix that `sparse_arrays` kept."""
    return from_csr_parts(arrays, name, tuple(arrays[f"{name}.shape"]))


def csr_parts(matrix: csr_matrix, name: str) -> dict[str, np.ndarray]:
    """What `sparse_arrays` keeps without the shape, for those who keep it elsewhere."""
    return {f"{name}.{part}": np.ascontiguousarray(getattr(matrix, part)) for part in _PARTS}


def from_csr_parts(arrays: Mapping[str, np.ndarray], name: str, shape: Any) -> csr_matrix:
    """The matrix of such a shape that `csr_parts` kept.

    Compiled loops read where the indices tell them to, so a damaged file must not come that far. The arrays themselves
    are checked: SciPy turns them into smaller numbers first, and what is out of range may seem to be inside then.
    """
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in _PARTS)
    rows, columns = map(int, shape)
    problem = _problem(data, indices, indptr, rows, columns)
    if problem is not None:
        raise ValueError(f"the sparse matrix {name!r} is damaged: {problem}")
    return csr_matrix((data, indices, indptr), shape=(rows, columns))


def _problem(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, rows: int, columns: int
) -> str | None:
    """What is wrong with the parts of a matrix, if anything is."""
    if any(part.ndim != 1 for part in (data, indices, indptr)) or rows != len(indptr) - 1:
        return f"it does not have {rows} rows"
    if not 0 <= columns <= _MOST_COLUMNS:
        return f"it cannot have {columns} columns"
    if data.dtype.kind not in "fiub" or not np.isfinite(data).all():
        return "its values are not finite numbers"
    if indices.dtype not in _POSITIONS or indptr.dtype not in _POSITIONS:
        return "its positions are not whole numbers"
    if not len(data) == len(indices) == indptr[-1] or indptr[0] != 0:
        return "its rows do not cover its values"
    if np.any(indptr[1:] < indptr[:-1]):
        return "its rows end before they begin"
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        return f"it has values outside of its {columns} columns"
    return None
