"""The Matrix Market format. scipy's reader is quicker, but a damaged file can end the whole process in it."""

import csv
import io
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

_FORMS = ("coordinate", "array")
_FIELDS = ("integer", "real", "double", "pattern", "unsigned-integer")
_SYMMETRIES = ("general", "symmetric")
_EMPTY_ROWS = 10_000_000  # rows or columns without an entry that a matrix may have


class _Header(NamedTuple):
    sparse: bool
    with_values: bool  # or each entry is one
    symmetric: bool  # one entry stands for two
    shape: tuple[int, int]
    n: int  # entries that are written out


def parse_matrix_market(content: bytes) -> csr_matrix:
    """The matrix in a file, or a `ValueError` that says what is wrong with it.

    >>> parse_matrix_market(b"%%MatrixMarket matrix coordinate integer general\\n2 3 2\\n1 1 5\\n2 3 1\\n").toarray()
    array([[5., 0., 0.],
           [0., 0., 1.]])
    """
    lines = io.BytesIO(content)
    header = _read_header(lines)
    _check_size(header, len(content))
    width = 1 if not header.sparse else 2 + header.with_values
    columns = _numbers(lines, width)
    if columns.shape[1] != header.n:
        raise ValueError(f"its header promises {header.n} entries, and it has {columns.shape[1]}")
    if not header.sparse:
        return csr_matrix(columns[0].reshape(header.shape, order="F"))
    rows, others = _positions(columns[:2], header.shape)
    values = columns[2] if header.with_values else np.ones(header.n)
    if header.symmetric:
        off = rows != others
        rows, others = np.r_[rows, others[off]], np.r_[others, rows[off]]
        values = np.r_[values, values[off]]
    return csr_matrix((values, (rows, others)), shape=header.shape)


def _read_header(lines: io.BytesIO) -> _Header:
    """From the first line, which names the form, and the line of sizes, which follows the comments."""
    named = lines.readline().decode("ascii", "replace").lower().split()
    if len(named) != 5 or named[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line is not %%MatrixMarket matrix FORMAT FIELD SYMMETRY")
    form, field, symmetry = named[2:]
    for given, known in ((form, _FORMS), (field, _FIELDS), (symmetry, _SYMMETRIES)):
        if given not in known:
            raise ValueError(f"its first line has {given!r}; expected one of {', '.join(known)}")
    sparse, symmetric = form == "coordinate", symmetry == "symmetric"
    if not sparse and (symmetric or field == "pattern"):
        raise ValueError(
            "a matrix with all entries written out must be 'array integer general' or 'array real general'"
        )
    sizes = next((line for line in lines if line.strip() and not line.startswith(b"%")), b"")
    numbers = [int(part) for part in sizes.split()]
    if len(numbers) != 2 + sparse or min(numbers) < 0:
        raise ValueError(f"its line of sizes must have {2 + sparse} numbers of zero or more")
    shape = (numbers[0], numbers[1])
    n = numbers[2] if sparse else shape[0] * shape[1]
    return _Header(sparse, field != "pattern", symmetric, shape, n)


def _check_size(header: _Header, size: int) -> None:
    """An error if a header promises more than the file can hold: nothing is allocated on its word."""
    rows, columns = header.shape
    if 2 * header.n > size or max(header.shape) > _EMPTY_ROWS + size:
        raise ValueError(
            f"its header promises {rows} x {columns} with {header.n} entries, more than {size} bytes can hold"
        )


def _numbers(lines: io.BytesIO, width: int) -> np.ndarray:
    """(width, n) the numbers in the lines that are left."""
    start = lines.tell()
    if not lines.read().strip():
        return np.empty((width, 0))
    lines.seek(start)
    table = pd.read_csv(
        lines,
        sep=r"\s+",
        header=None,
        names=range(width),
        dtype=np.float64,
        comment="%",
        quoting=csv.QUOTE_NONE,
        encoding="ascii",
    )
    if not isinstance(table.index, pd.RangeIndex):
        raise ValueError(f"its lines must have {width} numbers, and have more")
    return np.ascontiguousarray(table.to_numpy().T)


def _positions(places: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """(2, n) rows and columns from zero on."""
    inside = (places >= 1) & (places <= np.array(shape)[:, None]) & (places == np.floor(places))
    wrong = np.flatnonzero(~inside.all(0))
    if len(wrong):
        raise ValueError(
            f"entry {wrong[0] + 1} is outside of its {shape[0]} rows and {shape[1]} columns"
        )
    return places.astype(np.int64) - 1
