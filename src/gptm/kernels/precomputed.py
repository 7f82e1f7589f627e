"""A similarity matrix that the user brings."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.linalg import eigvalsh
from scipy.sparse import issparse

from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.corpus.metadata import as_name, column, level_names
from gptm.kernels.bound import Documents, naming
from gptm.kernels.kernel import Kernel
from gptm.kernels.pointwise import PointBound
from gptm.operators.spectral import check_spectrum, check_symmetric

_LARGEST = 1e100  # number in a matrix whose products with others can be computed


class Precomputed(Kernel):
    """A given matrix of similarities, which may also cover documents that come later.

    Parameters
    ----------
    matrix : array or DataFrame of shape (n, n)
        Symmetric and positive semi-definite.
    id : str, optional
        Column of the metadata that says which row of the matrix a document is: a position, or a label of
        the matrix's index if that is a DataFrame. Without it the training documents are the rows in order, and in
        `transform` every document is unknown.
    name : str, optional
        Name of this term in tables and plots.

    Notes
    -----
    A document that is not in the matrix falls back to the prior, with one warning for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from gptm import kernels as k
    >>> k.Precomputed(np.eye(3), id="row")
    Precomputed(<3 x 3 matrix>, id='row')
    """

    only_in_python: ClassVar[Mapping[str, str]] = {"matrix": "a matrix"}

    def __init__(self, matrix: Any, *, id: str | None = None, name: str | None = None):
        self.matrix = matrix
        self.id = id
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return () if self.id is None else (self.id,)

    def describe(self, dates: Collection[str] = ()) -> str:
        return "how alike documents are was given as a matrix"

    def bind(self, documents: Documents) -> "PrecomputedBound":
        n_documents = documents.n
        values = _checked_matrix(self.matrix)
        if self.id is None:
            if len(values) != n_documents:
                raise ValueError(
                    f"a precomputed kernel has one row per training document: expected {n_documents} x "
                    f"{n_documents}, got {len(values)} x {len(values)}. If the matrix covers other documents "
                    "too, pass Precomputed(matrix, id=...) with a metadata column that says which row is which."
                )
            check_order(self, self.matrix, documents.frame)
            rows = np.arange(n_documents)
        else:
            rows = rows_of(self, self.matrix, documents.frame)
            missing = column(documents.frame, self.id, self).isna().to_numpy()
            unknown = (rows < 0) & ~missing
            if unknown.any() or missing.all():
                raise ValueError(
                    f"every training document with an id needs a row in the precomputed kernel; {unknown.sum()} "
                    f"values of column {self.id!r} are not among its {len(values)} rows, {missing.sum()} are missing."
                )
        if len(values) > n_documents:  # the operator checks the training documents' part only
            with naming(self):
                check_spectrum(eigvalsh(values))
        return PrecomputedBound(self, values, rows)

    def rebind(self, arrays: dict[str, np.ndarray]) -> "PrecomputedBound":
        return PrecomputedBound(self, _checked_matrix(self.matrix), arrays["rows"])


class PrecomputedBound(PointBound):
    surely_definite = False

    def __init__(self, kernel: Precomputed, values: Array, rows: np.ndarray):
        self.kernel: Precomputed = kernel
        self.values = values
        self.rows = rows
        self.n = len(rows)

    def labels(self) -> np.ndarray:
        return np.where(self.alone(), len(self.values) + np.arange(self.n), self.rows)

    def alone(self) -> np.ndarray:
        return self.rows < 0

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return self.cross_gram(self.rows[rows], others)

    @property
    def training(self) -> np.ndarray:
        return self.rows

    def read(self, new: Documents) -> np.ndarray:
        rows, without = np.full(new.n, -1), np.zeros(new.n, dtype=bool)
        if self.kernel.id is None:
            without[:] = True
            remedy = "Pass Precomputed(matrix, id=...) and metadata with that column."
        elif new.frame is not None:  # otherwise the model warns
            rows = rows_of(self.kernel, self.kernel.matrix, new.frame)
            named = column(new.frame, self.kernel.id, repr(self.kernel)).notna().to_numpy()
            without = named & (rows < 0)
            remedy = f"Their values of column {self.kernel.id!r} are not in the matrix."
        if without.any():
            warn(
                f"{without.sum()} of {new.n} documents have no row in the precomputed kernel and fall "
                f"back to the prior. {remedy}",
            )
        return rows

    def cross_gram(self, new: np.ndarray, rows: np.ndarray | None = None) -> Array:
        chosen = self.rows if rows is None else self.rows[rows]
        there, here = new >= 0, chosen >= 0
        result = np.zeros((len(new), len(chosen)))
        result[np.ix_(there, here)] = self.values[np.ix_(new[there], chosen[here])]
        return result

    def own_gram(self, new: np.ndarray, joint: bool) -> Array:
        average = float(np.diagonal(self.values)[self.rows[self.rows >= 0]].mean())
        listed = new >= 0
        own = np.full(len(new), average)
        own[listed] = np.diagonal(self.values)[new[listed]]
        if not joint:
            return own
        result = np.diag(own)
        result[np.ix_(listed, listed)] = self.values[np.ix_(new[listed], new[listed])]
        return result

    @property
    def reads_metadata(self) -> bool:
        return self.kernel.id is not None

    def arrays(self) -> dict[str, np.ndarray]:
        return {"rows": self.rows}


def rows_of(kernel: Any, matrix: Any, frame: pd.DataFrame | None) -> np.ndarray:
    """(n,) row of a kernel's matrix for each document, by the column `id`; -1 where there is none."""
    ids = level_names(column(frame, kernel.id, repr(kernel)))
    size = matrix.shape[0] if hasattr(matrix, "shape") else len(matrix)
    labels = _names(matrix.index if isinstance(matrix, pd.DataFrame) else range(size))
    if not labels.is_unique:
        repeated = labels[labels.duplicated()][0]
        raise ValueError(
            f"the index of a matrix must name each row once; {repeated!r} repeats in that of {kernel!r}."
        )
    return labels.get_indexer(ids)


def check_order(kernel: Kernel, matrix: Any, frame: pd.DataFrame | None) -> None:
    """Raise an error if rows are matched by order, but their labels show that the order differs."""
    if frame is None or not isinstance(matrix, pd.DataFrame):
        return
    if matrix.index.equals(pd.RangeIndex(len(matrix))):  # just row numbers
        return
    rows, documents = _names(matrix.index), _names(frame.index)
    both = rows.is_unique and documents.is_unique and not rows.equals(documents)
    if both and set(rows) == set(documents):
        raise ValueError(
            f"{kernel!r} and the metadata have the same labels in another order, and without id= rows are matched by "
            "their order. Bring them into one, as in matrix.loc[labels, labels], or name the column of labels by id=."
        )


def _names(labels: Iterable[Any]) -> pd.Index:
    return pd.Index([as_name(label) for label in labels], dtype=object)


def in_order(matrix: Any) -> Any:
    """A table with its columns in the order of its rows, if both have the same labels."""
    if not isinstance(matrix, pd.DataFrame):
        return matrix
    rows, columns = _names(matrix.index), _names(matrix.columns)
    same = rows.is_unique and columns.is_unique and set(rows) == set(columns)
    return matrix.iloc[:, columns.get_indexer(rows)] if same else matrix


def _checked_matrix(matrix: Any) -> Array:
    if issparse(matrix):
        raise ValueError(
            "a precomputed kernel must be a dense array or DataFrame; got a sparse matrix. Pass matrix.toarray()."
        )
    try:
        values = np.asarray(in_order(matrix), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"a precomputed kernel must be a square matrix of numbers; {error}."
        ) from error
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(
            f"a precomputed kernel must be a square matrix, documents x documents; got shape {values.shape}. For one "
            "vector per document pass metadata={'vector': vectors} and the kernel Embedding('vector')."
        )
    if not np.isfinite(values).all():
        raise ValueError("a precomputed kernel must be finite; it holds NaN or infinite values.")
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST:
        raise ValueError(
            f"a precomputed kernel must hold numbers of at most {_LARGEST:.0e}, whose products can be computed; the "
            f"largest is {largest:.2g}. Divide the matrix by a power of ten: the strength of a kernel is learnt."
        )
    check_symmetric(values, "Pass (matrix + matrix.T) / 2 if that is what you mean.")
    return 0.5 * (values + values.T)
