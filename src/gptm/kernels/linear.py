"""Linear similarity of numeric columns, and of vectors such as embeddings."""

from abc import abstractmethod
from collections.abc import Collection
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.prose import listed
from gptm._basics.types import Array
from gptm.corpus.metadata import column, read_points, vectors
from gptm.kernels.bound import BoundKernel, Documents, nothing_to_learn
from gptm.kernels.kernel import Kernel
from gptm.kernels.smooth import checked_columns, grid, warn_constant, warn_same_vectors
from gptm.operators import Block, Features, Placement, Structure


class _VectorKernel(Kernel):
    """A kernel x' y of some numbers of the documents."""

    @abstractmethod
    def read(
        self, frame: pd.DataFrame | None, then: np.ndarray | None = None
    ) -> tuple[Array, np.ndarray]:
        """(n, p) numbers, a row with NaN counts as missing; and which columns hold dates, `then` as in training."""

    @abstractmethod
    def prepare(self, points: Array) -> tuple[Array, Array]:
        """(p,) centre and scale of the training points."""

    @abstractmethod
    def features(self, standardised: Array) -> Array:
        """(n, p) rows whose inner products are the kernel."""

    def settings(self, bound: "VectorBound", n_points: int) -> pd.DataFrame | None:
        """Values along which to show its effect; None if there are none."""
        return None

    def bind(self, documents: Documents) -> "VectorBound":
        points, dates = self.read(documents.frame)
        there = ~np.isnan(points).any(1)
        if not there.any():
            names = ", ".join(map(repr, self.column_names()))
            raise nothing_to_learn(self, f"every row misses a value in {names}")
        centre, scale = self.prepare(points[there])
        return VectorBound(self, self.features((points - centre) / scale), centre, scale, dates)

    def rebind(self, arrays: dict[str, np.ndarray]) -> "VectorBound":
        return VectorBound(self, *(arrays[name] for name in ("rows", "centre", "scale", "dates")))


class VectorBound(BoundKernel):
    """Rows of features of the training documents, NaN where missing."""

    def __init__(
        self, kernel: _VectorKernel, rows: Array, centre: Array, scale: Array, dates: np.ndarray
    ):
        self.kernel: _VectorKernel = kernel
        self.rows = rows
        self.centre, self.scale, self.dates = centre, scale, dates
        self.n = len(rows)
        self._variance = float((rows[~self.alone()] ** 2).sum(1).mean())

    @cached_property
    def structure(self) -> Structure:
        return Structure(self.n, *self._parts(self.rows))

    def place(self, new: Array, joint: bool = False) -> Placement:
        return Placement(len(new), *self._parts(new))

    def _parts(self, rows: Array) -> tuple[Features, Array]:
        """A document with missing values gets the mean variance of the training documents."""
        missing = np.array(np.isnan(rows).any(axis=1))
        filled = np.where(missing[:, None], 0.0, rows)
        return Features([Block(None, filled)]), np.where(missing, self._variance, 0.0)

    def settings(self, n_points: int) -> pd.DataFrame | None:
        return self.kernel.settings(self, n_points)

    def alone(self) -> np.ndarray:
        return np.array(np.isnan(self.rows).any(axis=1))

    def date_columns(self) -> set[str]:
        return set(compress(self.kernel.column_names(), self.dates))

    @property
    def training(self) -> Array:
        return self.rows

    def read(self, new: Documents) -> Array:
        if new.frame is None:
            return np.full((new.n, self.rows.shape[1]), np.nan)
        points, _ = self.kernel.read(new.frame, self.dates)
        if np.isnan(points).all():
            return np.full((new.n, self.rows.shape[1]), np.nan)
        if points.shape[1] != len(self.centre):
            raise ValueError(
                f"{self.kernel!r} was fitted to vectors of {len(self.centre)} numbers; these have {points.shape[1]}."
            )
        return self.kernel.features((points - self.centre) / self.scale)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "rows": self.rows,
            "centre": self.centre,
            "scale": self.scale,
            "dates": self.dates,
        }


class Linear(_VectorKernel):
    """Straight-line effects of numeric or date columns, each standardised and with the same weight.

    Parameters
    ----------
    *columns : str
        Numeric or date columns of the metadata.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Linear("age", "income")
    Linear('age', 'income')
    """

    def __init__(self, *columns: str, name: str | None = None):
        self.columns = checked_columns("Linear", columns)
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return self.columns

    def read(
        self, frame: pd.DataFrame | None, then: np.ndarray | None = None
    ) -> tuple[Array, np.ndarray]:
        return read_points(frame, self.columns, repr(self), then)

    def prepare(self, points: Array) -> tuple[Array, Array]:
        warn_constant(self, self.columns, points)
        constant = np.ptp(points, axis=0) == 0
        centre = np.where(constant, points[0], points.mean(axis=0))
        return centre, np.where(constant, 1.0, points.std(axis=0))

    def features(self, standardised: Array) -> Array:
        return standardised / np.sqrt(len(self.columns))

    def describe(self, dates: Collection[str] = ()) -> str:
        return f"topics rise or fall steadily with {listed(self.columns)}"

    def settings(self, bound: "VectorBound", n_points: int) -> pd.DataFrame | None:
        points = bound.rows * np.sqrt(len(self.columns)) * bound.scale + bound.centre
        return grid(self.columns, points, bound.dates, n_points)


class Embedding(_VectorKernel):
    """Documents are alike if their vectors, such as embeddings of a language model, point the same way.

    Parameters
    ----------
    column : str
        Column of the metadata with a list or array of numbers per document, all of the same length.
    center : bool, default=False
        Subtract the mean vector of the training documents first. Try it if nearly all vectors point the same way.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Embedding("vector")
    Embedding('vector')
    """

    def __init__(self, column: str, *, center: bool = False, name: str | None = None):
        if not isinstance(column, str):
            raise ValueError(
                f"Embedding expects a column name, for example Embedding('vector'); got {column!r}."
            )
        self.column = column
        self.center = center
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return (self.column,)

    def read(
        self, frame: pd.DataFrame | None, then: np.ndarray | None = None
    ) -> tuple[Array, np.ndarray]:
        rows = vectors(column(frame, self.column, repr(self)), self.column)
        return rows, np.zeros(1, dtype=bool)

    def prepare(self, points: Array) -> tuple[Array, Array]:
        if not points.any():
            raise nothing_to_learn(self, f"every vector in {self.column!r} is zero")
        warn_same_vectors(self, self.column, points)
        centre = points.mean(axis=0)
        return (centre if self.center else np.zeros_like(centre)), np.ones_like(centre)

    def describe(self, dates: Collection[str] = ()) -> str:
        return f"documents with similar vectors ({self.column}) are alike"

    def features(self, standardised: Array) -> Array:
        lengths: Any = np.linalg.norm(standardised, axis=1, keepdims=True)
        return standardised / np.where(lengths == 0, 1.0, lengths)
