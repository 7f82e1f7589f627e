"""Sparse matrices as plain arrays that can be saved; on the way back nothing in them is believed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

_PARTS = ("data", "indices", "indptr")
_MOST_COLUMNS = 2**31 - 1


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

    Compiled loops read where the indices tell them to, so a damaged file must not come that far.
    """
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in _PARTS)
    rows, columns = map(int, shape)
    if any(part.ndim != 1 for part in (data, indices, indptr)) or rows != len(indptr) - 1:
        raise ValueError(f"the sparse matrix {name!r} is damaged: it does not have {rows} rows")
    if not 0 <= columns <= _MOST_COLUMNS:
        raise ValueError(f"the sparse matrix {name!r} cannot have {columns} columns")
    if data.dtype.kind not in "fiub" or not np.isfinite(data).all():
        raise ValueError(f"the values in {name!r} are not finite numbers")
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        raise ValueError(f"the positions in {name!r} are not whole numbers")
    try:
        matrix = csr_matrix((data, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"the sparse matrix {name!r} is damaged: {error}") from error
    # SciPy does not look where the last one says that nothing is stored.
    if np.any(np.diff(indptr) < 0):
        raise ValueError(f"the sparse matrix {name!r} is damaged: its rows end before they begin")
    return matrix
