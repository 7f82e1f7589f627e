"""A kernel that is a function of the user's own."""

from typing import Any

import numpy as np
import pandas as pd

from gptm._types import Array
from gptm.kernels.base import BoundKernel, Documents, Kernel
from gptm.kernels.points import PointBound


class Function(Kernel):
    """Any function of two tables of metadata; a plain function where a kernel is expected becomes one.

    Parameters
    ----------
    function : callable
        `function(a, b)` takes two DataFrames of n and m rows and returns (n, m) covariances.
    name : str, optional
        What tables call this term.

    Notes
    -----
    A model with such a kernel cannot be saved, since a file holds no code.

    Examples
    --------
    >>> import numpy as np
    >>> from gptm import kernels as k
    >>> def same_author(a, b):
    ...     return np.equal.outer(a["author"].to_numpy(), b["author"].to_numpy())
    >>> k.Matern("date") + same_author
    Matern('date') + Function(same_author)
    """

    def __init__(self, function: Any, *, name: str | None = None):
        if not callable(function):
            raise ValueError(f"Function expects a function of two tables; got {function!r}.")
        self.function = function
        self.name = name

    def bind(self, documents: Documents) -> "FunctionBound":
        if documents.frame is None:
            raise ValueError(
                f"{self!r} is a function of metadata, but no metadata arrived. Pass metadata=."
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
        self._average = float(self._own(self.frame).mean()) if self.n else 1.0

    def labels(self) -> np.ndarray:
        return np.arange(self.n)

    @property
    def training(self) -> pd.DataFrame:
        return self.frame

    def read(self, new: Documents) -> pd.DataFrame | int:
        return new.n if new.frame is None else new.frame

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return self._call(self.frame.iloc[rows], self.frame.iloc[others])

    def cross_gram(self, new: pd.DataFrame | int, rows: np.ndarray | None = None) -> Array:
        there = self.frame if rows is None else self.frame.iloc[rows]
        if isinstance(new, int):
            return np.zeros((new, len(there)))
        return self._call(new, there)

    def own_gram(self, new: pd.DataFrame | int, joint: bool) -> Array:
        if isinstance(new, int):
            own = np.full(new, self._average)
            return np.diag(own) if joint else own
        return self._call(new, new) if joint else self._own(new)

    def arrays(self) -> dict[str, np.ndarray]:
        raise ValueError(
            f"{self.kernel!r} cannot be saved: a file holds no code. Use a kernel of gptm.kernels, or pass its matrix "
            "as Precomputed."
        )

    def _own(self, frame: pd.DataFrame) -> Array:
        """(n,) variances, some documents at a time."""
        pieces = range(0, len(frame), 256)
        squares = (self._call(frame.iloc[a : a + 256], frame.iloc[a : a + 256]) for a in pieces)
        return np.concatenate([np.diagonal(square) for square in squares])

    def _call(self, a: pd.DataFrame, b: pd.DataFrame) -> Array:
        found = np.asarray(self.kernel.function(a, b), dtype=np.float64)
        if found.shape != (len(a), len(b)) or not np.isfinite(found).all():
            raise ValueError(
                f"{self.kernel!r} must return finite covariances of shape {(len(a), len(b))}, one row per document "
                f"of its first table and one column per document of its second; got shape {found.shape}"
                f"{'' if np.isfinite(found).all() else ' with NaN or infinite values'}."
            )
        return found


def is_function(value: Any) -> bool:
    """Whether a value is meant as a kernel function: callable, and nothing else that we know."""
    return (
        callable(value)
        and not isinstance(value, Kernel | type)
        and not hasattr(value, "get_params")
    )
