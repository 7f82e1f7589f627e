"""What a kernel's arrays of the training documents must be, before a kernel is built on them.

Kernels share names for what they keep: `points` are coordinates, `codes` number groups, and so on.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gptm._basics.plain_json import parse_json
from gptm._basics.validation import check_choice, check_number
from gptm.corpus.several_values import MARKS
from gptm.kernels import BoundKernel, NearestNeighbors
from gptm.kernels.composite_bounds import CompositeBound
from gptm.kernels.network import NetworkBound
from gptm.storage.array_checks import Arrays, check_finite

_TINY = 1e-150  # its square is not zero
_PROBED = 3  # documents whose covariances are computed on loading


def check_training(arrays: Arrays, D: int, V: int) -> None:
    """An error unless the arrays can be those of a kernel over D documents with V words."""
    for path, array in arrays.items():
        begin, _, name = path.rpartition(".")
        if name in _CHECKS:
            _CHECKS[name](path, array, D)
        elif name == "shape":
            _check_matrix_shape(begin, arrays, V)
        elif name in ("centre", "scale", "axes"):
            _check_widths(path, array, begin, arrays, V)
        elif array.dtype.kind == "f":
            check_finite(path, array)


def check_bound(bound: BoundKernel, D: int) -> None:
    """An error unless every part of a kernel is over D documents, and gives finite covariances."""
    for part in _leaves(bound):
        if part.n != D:
            raise ValueError(f"{part.kernel!r} is over {part.n} documents, not {D}")
        _check_constants(part.kernel)
        columns = getattr(part.kernel, "columns", None)
        points = getattr(part, "points", None)
        if columns is not None and points is not None and points.shape[1] != len(columns):
            raise ValueError(f"{part.kernel!r} has {points.shape[1]} columns of numbers")
        if isinstance(part, NetworkBound):  # whose covariances take long to compute
            _check_edges(part)
            continue
        rows = np.arange(min(D, _PROBED))
        with np.errstate(all="ignore"):
            check_finite(repr(part.kernel), part.between(rows, rows))


def _check_constants(kernel: Any) -> None:
    """What kernels check only when they meet training documents."""
    if not all(isinstance(name, str) for name in kernel.column_names()):
        raise ValueError(f"{kernel!r} must name columns by texts")
    if isinstance(kernel, NearestNeighbors):
        check_number("n_neighbors", kernel.n_neighbors, least=1, integer=True)
        check_number("bandwidth", kernel.bandwidth, least=_TINY)
        check_choice("weighting", kernel.weighting, ("tfidf", "counts"))


def _check_edges(part: NetworkBound) -> None:
    edges = part.edges
    if edges.nnz and (edges.data.min() < 0 or abs(edges - edges.T).max() > 1e-6 * edges.data.max()):
        raise ValueError(f"links of {part.kernel!r} must be symmetric, and not negative")


def _leaves(bound: BoundKernel) -> Iterator[BoundKernel]:
    """The kernels that are not made of others."""
    parts = bound.bounds if isinstance(bound, CompositeBound) else None
    if parts is None:
        yield bound
        return
    for part in parts:
        yield from _leaves(part)


def _check_matrix_shape(begin: str, arrays: Arrays, V: int) -> None:
    """A sparse matrix is over words, or square: a number alone must not make it any larger."""
    shape = arrays[f"{begin}.shape"]
    if shape.shape != (2,) or shape.dtype.kind != "i":
        raise ValueError(f"the shape of {begin!r} must be two whole numbers")
    rows, columns = shape.tolist()
    if rows != len(arrays[f"{begin}.indptr"]) - 1 or columns not in (rows, V):
        raise ValueError(f"the matrix {begin!r} cannot have {rows} rows and {columns} columns")


def _check_widths(path: str, array: np.ndarray, begin: str, arrays: Arrays, V: int) -> None:
    """A centre or a scale is for each coordinate, or for each word; axes lead from some coordinates to others."""
    beside = f"{begin}." if begin else ""
    coordinates = arrays.get(f"{beside}points", arrays.get(f"{beside}rows"))
    width = V if coordinates is None else coordinates.shape[-1]
    axes = arrays.get(f"{beside}axes")
    if axes is not None:
        if axes.ndim != 2 or axes.shape[1] != width or axes.dtype.kind != "f":
            raise ValueError(f"{beside}axes must be {width} columns of numbers")
        check_finite(f"{beside}axes", axes)
        width = len(axes)
    if path.endswith("axes"):
        return
    if array.shape != (width,) or array.dtype.kind != "f":
        raise ValueError(f"{path} must be {width} numbers")
    check_finite(path, array)
    if path.endswith("scale") and not (array > 0).all():
        raise ValueError(f"{path} must be positive numbers")


# The arrays by their names.


def _number_of_documents(path: str, array: np.ndarray, D: int) -> None:
    if array.shape != (1,) or array.dtype.kind != "i" or array[0] != D:
        raise ValueError(f"{path} must be the number of documents, {D}")


def _flag(path: str, array: np.ndarray, D: int) -> None:
    if array.shape != (1,) or array.dtype.kind != "b":
        raise ValueError(f"{path} must be true or false")


def _coordinates(path: str, array: np.ndarray, D: int) -> None:
    """Of all documents; NaN where one has none."""
    if array.ndim != 2 or len(array) != D or array.shape[1] == 0 or array.dtype.kind != "f":
        raise ValueError(f"{path} must have a row of numbers for each of {D} documents")
    check_finite(path, array[~np.isnan(array)])


def _rows(path: str, array: np.ndarray, D: int) -> None:
    """Coordinates, or rows of a matrix."""
    if array.dtype.kind == "f":
        _coordinates(path, array, D)
    else:
        _numbers(path, array, D)
        if array.max(initial=-1) >= _MOST_ROWS:
            raise ValueError(f"{path} has rows that no matrix has")


def _codes(path: str, array: np.ndarray, D: int) -> None:
    _numbers(path, array, D)
    if array.max(initial=-1) >= D:
        raise ValueError(f"{path} must number at most {D} groups")


def _numbers(path: str, array: np.ndarray, D: int) -> None:
    if array.shape != (D,) or array.dtype.kind != "i" or array.min(initial=0) < -1:
        raise ValueError(f"{path} must be whole numbers of {D} documents, -1 for none")


def _members(path: str, array: np.ndarray, D: int) -> None:
    if array.ndim != 1 or array.dtype.kind != "i" or array.min(initial=0) < 0:
        raise ValueError(f"{path} must be whole numbers of levels")


def _ends(path: str, array: np.ndarray, D: int) -> None:
    """Where the levels of each document end among those of all."""
    if array.shape != (D,) or array.dtype.kind != "i" or (np.diff(array, prepend=0) < 0).any():
        raise ValueError(f"{path} must be {D} whole numbers that do not fall")


def _mark(path: str, array: np.ndarray, D: int) -> None:
    if _unpacked(path, array) not in ([None], *([mark] for mark in MARKS)):
        raise ValueError(f"{path} must be one of {', '.join(MARKS)}")


def _texts(path: str, array: np.ndarray, D: int) -> None:
    """A list of texts, None where one is missing."""
    texts = _unpacked(path, array)
    if not isinstance(texts, list) or not all(t is None or isinstance(t, str) for t in texts):
        raise ValueError(f"{path} must be a list of texts")


def _ids(path: str, array: np.ndarray, D: int) -> None:
    _texts(path, array, D)
    if len(_unpacked(path, array)) != D:
        raise ValueError(f"{path} must be {D} texts")


def _awaited(path: str, array: np.ndarray, D: int) -> None:
    """Documents by ids that they link to."""
    awaited = _unpacked(path, array)
    lists = awaited.values() if isinstance(awaited, dict) else [None]
    fine = all(
        isinstance(rows, list) and all(type(row) is int and 0 <= row < D for row in rows)
        for rows in lists
    )
    if not fine:
        raise ValueError(f"{path} must be lists of documents")


def _unpacked(path: str, array: np.ndarray) -> Any:
    if array.ndim != 1 or array.dtype != np.uint8:
        raise ValueError(f"{path} must be a text")
    return parse_json(array.tobytes())


_MOST_ROWS = 2**31
_CHECKS: dict[str, Callable[[str, np.ndarray, int], None]] = {
    "n": _number_of_documents,
    "learns": _flag,
    "positional": _flag,
    "cosine": _flag,
    "points": _coordinates,
    "rows": _rows,
    "codes": _codes,
    "members": _members,
    "ends": _ends,
    "mark": _mark,
    "levels": _texts,
    "ids": _ids,
    "awaited": _awaited,
}
