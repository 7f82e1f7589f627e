"""Groups of documents: the same author, source or party."""

import json
from typing import Any

import numpy as np
import pandas as pd

from gptm._types import Array
from gptm.kernels.base import BoundKernel, Kernel
from gptm.metadata import column, level_names

ALONE = -1  # no value, or at transform a level that no training document has


class Categorical(Kernel):
    """Documents with the same value are alike, all others are not: a random effect per level.

    A missing value, and at transform a level that was never seen, leaves the document to the prior.

    Parameters
    ----------
    column : str
        Column of the metadata with names or numbers of levels.
    name : str, optional
        What tables call this term.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Matern("date") + k.Categorical("author")
    Matern('date') + Categorical('author')
    """

    def __init__(self, column: str, *, name: str | None = None):
        if not isinstance(column, str):
            raise ValueError(
                f"Categorical expects a column name, for example Categorical('author'); got {column!r}."
            )
        self.column = column
        self.name = name

    def read(self, frame: pd.DataFrame | None) -> np.ndarray:
        """(n,) names of levels, None where missing."""
        return level_names(column(frame, self.column, repr(self)))

    def bind(
        self, frame: pd.DataFrame | None, n_documents: int, y: Any = None
    ) -> "CategoricalBound":
        names = self.read(frame)
        levels = sorted({name for name in names if name is not None})
        if not levels:
            raise ValueError(
                f"{self!r} has no document to learn from: every value of {self.column!r} is missing. Leave this "
                "kernel out, or fill the column."
            )
        return CategoricalBound(self, levels, codes_of(names, levels))

    def rebind(self, arrays: dict[str, np.ndarray]) -> "CategoricalBound":
        levels = json.loads(arrays["levels"].tobytes().decode())
        return CategoricalBound(self, levels, arrays["codes"])


class CategoricalBound(BoundKernel):
    def __init__(self, kernel: Any, levels: list[str], codes: np.ndarray):
        self.kernel: Any = kernel
        self.levels = levels
        self.codes = codes
        self.n = len(codes)

    def labels(self) -> np.ndarray:
        return np.where(self.codes >= 0, self.codes, len(self.levels) + np.arange(self.n))

    @property
    def training(self) -> np.ndarray:
        return self.codes

    def gram(self, rows: np.ndarray | None = None) -> Array:
        return self.own_gram(self.codes if rows is None else self.codes[rows], joint=True)

    def read(self, frame: pd.DataFrame | None, n_documents: int) -> np.ndarray:
        if frame is None:
            return np.full(n_documents, ALONE)
        return codes_of(self.kernel.read(frame), self.levels)

    def cross_gram(self, new: np.ndarray, rows: np.ndarray | None = None) -> Array:
        codes = self.codes if rows is None else self.codes[rows]
        return ((new[:, None] == codes) & (new >= 0)[:, None]).astype(np.float64)

    def own_gram(self, new: Any, joint: bool) -> Array:
        if not joint:
            return np.ones(len(new))
        result = ((new[:, None] == new) & (new >= 0)).astype(np.float64)
        np.fill_diagonal(result, 1.0)
        return result

    def arrays(self) -> dict[str, np.ndarray]:
        text = json.dumps(self.levels).encode()
        return {"codes": self.codes, "levels": np.frombuffer(text, dtype=np.uint8)}


def codes_of(names: np.ndarray, levels: list[str]) -> np.ndarray:
    """(n,) position of each name among the levels; negative where missing or unseen."""
    positions = {level: code for code, level in enumerate(levels)}
    return np.array([positions.get(name, ALONE) for name in names], dtype=np.int64)
