"""Linear similarity of numbers: of numeric columns, and what this shares with vectors such as embeddings."""

from abc import abstractmethod
from collections.abc import Collection
from functools import cached_property
from itertools import compress

import numpy as np
import pandas as pd

from gptm._basics.prose import listed
from gptm._basics.types import Array
from gptm.corpus.metadata import read_points
from gptm.kernels.bound import BoundKernel, Documents, Groups, nothing_to_learn
from gptm.kernels.column_kernel import grid, warn_constant
from gptm.kernels.column_names import checked_columns
from gptm.kernels.kernel import Kernel
from gptm.operators import Block, Features, Placement, Structure


class VectorKernel(Kernel):
    """A kernel x' y of some numbers of the documents."""

    @abstractmethod
    def read(
        self, frame: pd.DataFrame | None, then: np.ndarray | None = None
    ) -> tuple[Array, np.ndarray]:
        """(n, p) numbers, a row with NaN counts as missing; and which columns hold dates, `then` as in training."""

    @abstractmethod
    def prepare(self, points: Array) -> tuple[Array, Array]:
        """(p,) centre of the training points, and (p, r) axes along which documents are compared."""

    def features(self, projected: Array) -> Array:
        """(n, r) rows whose inner products are the kernel, from coordinates along the axes."""
        return projected

    def settings(self, bound: "VectorBound", n_points: int) -> pd.DataFrame | None:
        """Values along which to show its effect; None if there are none."""
        return None

    def groups_of(
        self, rows: Array, n_groups: int, rng: np.random.RandomState
    ) -> np.ndarray | None:
        """(n,) number of the group of each row of features, None if it makes no groups."""
        return None

    def bind(self, documents: Documents) -> "VectorBound":
        points, dates = self.read(documents.frame)
        there = ~np.isnan(points).any(1)
        if not there.any():
            names = ", ".join(map(repr, self.column_names()))
            raise nothing_to_learn(self, f"every row misses a value in {names}")
        centre, axes = self.prepare(points[there])
        return VectorBound(self, self.features((points - centre) @ axes), centre, axes, dates)

    def rebind(self, arrays: dict[str, np.ndarray]) -> "VectorBound":
        return VectorBound(self, *(arrays[name] for name in ("rows", "centre", "axes", "dates")))


class VectorBound(BoundKernel):
    """Rows of features of the training documents, NaN where missing."""

    def __init__(
        self, kernel: VectorKernel, rows: Array, centre: Array, axes: Array, dates: np.ndarray
    ):
        self.kernel: VectorKernel = kernel
        self.rows = rows
        self.centre, self.axes, self.dates = centre, axes, dates
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

    def groups(self, n_groups: int, rng: np.random.RandomState) -> Groups | None:
        there = ~self.alone()
        of_rows = self.kernel.groups_of(self.rows[there], n_groups, rng)
        if of_rows is None:
            return None
        codes = np.full(self.n, -1)
        codes[there] = of_rows
        return Groups(codes, given=False)

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
        return self.kernel.features((points - self.centre) @ self.axes)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "rows": self.rows,
            "centre": self.centre,
            "axes": self.axes,
            "dates": self.dates,
        }


class Linear(VectorKernel):
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
        self.columns = checked_columns("Linear", columns, "'age'")
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
        scale = np.where(constant, 1.0, points.std(axis=0))
        return centre, np.diag(1.0 / (scale * np.sqrt(len(scale))))

    def describe(self, dates: Collection[str] = ()) -> str:
        return f"topics rise or fall steadily with {listed(self.columns)}"

    def settings(self, bound: "VectorBound", n_points: int) -> pd.DataFrame | None:
        points = bound.rows / np.diagonal(bound.axes) + bound.centre
        return grid(self.columns, points, bound.dates, n_points)
