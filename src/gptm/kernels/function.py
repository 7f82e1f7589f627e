"""A kernel that is a user's own function."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from gptm._basics.errors import Argument, InputError
from gptm._basics.types import Array
from gptm.kernels.bound import BoundKernel, Documents, naming, nothing_to_learn
from gptm.kernels.kernel import Kernel, means_a_kernel
from gptm.kernels.pointwise import PointBound
from gptm.operators.spectral import check_symmetric

_SOME = 256  # documents per call, where only their variances are needed


class Function(Kernel):
    """A function of two tables of metadata. A plain function can be passed wherever a kernel is expected.

    Parameters
    ----------
    function : callable
        `function(a, b)` takes two DataFrames of n and m rows and returns (n, m) covariances. It must be symmetric:
        `function(b, a)` is the transpose of `function(a, b)`. NaN between a document and itself means that a value
        is missing; the document then falls back to the prior.
    name : str, optional
        Name of this term in tables and plots.

    Notes
    -----
    A model with such a kernel cannot be saved, because model files hold no code.

    Examples
    --------
    >>> import numpy as np
    >>> from gptm import kernels as k
    >>> def same_author(a, b):
    ...     return np.equal.outer(a["author"].to_numpy(), b["author"].to_numpy())
    >>> k.Matern("date") + same_author
    Matern('date') + Function(same_author)
    """

    only_in_python: ClassVar[Mapping[str, str]] = {"function": "a function"}

    def __init__(self, function: Any, *, name: str | None = None):
        if not callable(function):
            raise ValueError(f"Function expects a function of two tables; got {function!r}.")
        self.function = function
        self.name = name

    def bind(self, documents: Documents) -> "FunctionBound":
        if documents.frame is None:
            raise InputError(
                f"{self!r} is a function of metadata, but no metadata arrived. Pass ",
                Argument("metadata", ...),
                ".",
            )
        return FunctionBound(self, documents.frame)

    def rebind(self, arrays: dict[str, np.ndarray]) -> BoundKernel:
        raise ValueError(f"{self!r} cannot be loaded: a file holds no code.")

    def __repr__(self) -> str:
        named = getattr(self.function, "__name__", repr(self.function))
        label = "" if self.name is None else f", name={self.name!r}"
        return f"Function({named}{label})"


class FunctionBound(PointBound):
    surely_definite = False

    def __init__(self, kernel: Function, frame: pd.DataFrame):
        self.kernel: Function = kernel
        self.frame = frame.reset_index(drop=True)
        self.n = len(frame)
        self._variances = self._own(self.frame)
        if self.alone().all():
            raise nothing_to_learn(
                kernel,
                f"it gives no document a finite variance, but NaN in shape {(self.n, self.n)}",
            )
        self._average = float(np.nanmean(self._variances))

    def labels(self) -> np.ndarray:
        return np.arange(self.n)

    def alone(self) -> np.ndarray:
        return np.isnan(self._variances)

    @property
    def training(self) -> pd.DataFrame:
        return self.frame

    def read(self, new: Documents) -> pd.DataFrame | int:
        return new.n if new.frame is None else new.frame

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return self._against(self.frame.iloc[rows], self._variances[rows], others)

    def cross_gram(self, new: pd.DataFrame | int, rows: np.ndarray | None = None) -> Array:
        rows = np.arange(self.n) if rows is None else rows
        if isinstance(new, int):
            return np.zeros((new, len(rows)))
        return self._against(new, self._own(new), rows)

    def own_gram(self, new: pd.DataFrame | int, joint: bool) -> Array:
        own = np.full(new, np.nan) if isinstance(new, int) else self._own(new)
        there = np.flatnonzero(~np.isnan(own))
        filled = np.where(np.isnan(own), self._average, own)
        if not joint:
            return filled
        result = np.diag(filled)
        if len(there):
            assert isinstance(new, pd.DataFrame)
            complete = new.iloc[there]
            result[np.ix_(there, there)] = self._call(complete, complete)
        return result

    def arrays(self) -> dict[str, np.ndarray]:
        raise ValueError(
            f"{self.kernel!r} cannot be saved: a file holds no code. Use a kernel of gptm.kernels, or pass its matrix "
            "as Precomputed."
        )

    def _against(self, frame: pd.DataFrame, variances: Array, rows: np.ndarray) -> Array:
        """Covariances with training documents; zero for documents with missing values."""
        there, here = np.flatnonzero(~np.isnan(variances)), np.flatnonzero(~self.alone()[rows])
        result = np.zeros((len(frame), len(rows)))
        if len(there) and len(here):
            covariances = self._call(frame.iloc[there], self.frame.iloc[rows[here]])
            result[np.ix_(there, here)] = covariances
        return result

    def _own(self, frame: pd.DataFrame) -> Array:
        """(n,) variances, computed in blocks of documents; NaN where a value is missing."""
        pieces = [frame.iloc[a : a + _SOME] for a in range(0, len(frame), _SOME)]
        return np.concatenate([np.zeros(0), *map(self._own_of_some, pieces)])

    def _own_of_some(self, piece: pd.DataFrame) -> Array:
        square = self._call(piece, piece, missing=True)
        with naming(self.kernel):  # a decomposition reads one triangle only, and would not notice
            check_symmetric(square, "Return (f(a, b) + f(b, a).T) / 2 if that is what you mean.")
        return np.diagonal(square)

    def _call(self, a: pd.DataFrame, b: pd.DataFrame, *, missing: bool = False) -> Array:
        """(n, m) the checked result of the function; with `missing`, NaN is allowed."""
        try:
            returned = self.kernel.function(a, b)
        except KeyError as error:
            columns = ", ".join(map(repr, a.columns))
            raise ValueError(
                f"{self.kernel!r} asks for {error}; the metadata columns are {columns}. Pass that column, with NaN "
                "where it is not known, and let the function return NaN there; missing_columns= has no effect on "
                "functions."
            ) from error
        try:
            covariances = np.asarray(
                returned.toarray() if issparse(returned) else returned, dtype=np.float64
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{self.kernel!r} must return covariances, numbers of shape {(len(a), len(b))}; got "
                f"{type(returned).__name__}, which cannot be read as such ({error})."
            ) from error
        finite = np.isfinite(covariances) | (missing & np.isnan(covariances))
        if covariances.shape != (len(a), len(b)) or not finite.all():
            raise ValueError(
                f"{self.kernel!r} must return finite covariances of shape {(len(a), len(b))}, one row per document "
                f"of its first table and one column per document of its second; got shape {covariances.shape}"
                f"{'' if finite.all() else ' with NaN or infinite values'}."
            )
        return covariances


def is_function(value: Any) -> bool:
    """Whether a value is a plain function, rather than a class, a kernel or an estimator."""
    return (
        callable(value)
        and not isinstance(value, Kernel | type)
        and not hasattr(value, "get_params")
    )


@means_a_kernel
def _from_function(value: Any) -> Function | None:
    return Function(value) if is_function(value) else None
