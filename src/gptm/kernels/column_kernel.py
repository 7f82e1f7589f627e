"""Kernels on the numbers in some columns: their base, what they are over training points, and checks of columns."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from sklearn.gaussian_process import kernels as gp

from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.corpus.metadata import read_points
from gptm.kernels.bound import Documents, Learnable, nothing_to_learn
from gptm.kernels.kernel import Kernel
from gptm.kernels.pointwise import PointBound

_EPOCH = np.datetime64("1970-01-01", "s")  # seconds cover more years than nanoseconds


class ColumnKernel(Kernel):
    """A kernel on the numbers in some columns."""

    columns: tuple[str, ...]

    @abstractmethod
    def covariance(self) -> gp.Kernel:
        """The function of two sets of points."""

    def column_names(self) -> tuple[str, ...]:
        return self.columns

    def slope(self, points: Array, others: Array) -> Array:
        """Derivative of the covariance in the logarithm of the length-scale."""
        raise TypeError(f"{type(self).__name__} has no length-scale to learn")

    def settle(self, points: Array) -> "ColumnKernel":
        """The same kernel with open parameters filled from the training points."""
        return self

    def noise(self, points: Array) -> Array:
        """(n,) variance that a document does not share with another document at the same point."""
        return np.zeros(len(points))

    def bind(self, documents: Documents) -> "ColumnBound":
        points, dates = read_points(documents.frame, self.columns, repr(self))
        if np.isnan(points).any(axis=1).all() and len(points) > 0:
            names = ", ".join(map(repr, self.columns))
            raise nothing_to_learn(self, f"every row misses a value in {names}")
        warn_constant(self, self.columns, points)
        settled = self.settle(points)
        return ColumnBound(settled, points, dates, learns=settled is not self)

    def rebind(self, arrays: dict[str, np.ndarray]) -> "ColumnBound":
        return ColumnBound(self, arrays["points"], arrays["dates"], bool(arrays["learns"][0]))


class ColumnBound(PointBound):
    """A column kernel over training points. A document with a missing value falls back to the prior."""

    if_indefinite = "White noise does not help, as it stands apart; a product of kernels of one column each does."

    def __init__(
        self, kernel: ColumnKernel, points: Array, dates: np.ndarray, learns: bool = False
    ):
        self.kernel: Any = kernel
        self.learns = learns
        self.points = points
        self.dates = dates
        self.n = len(points)
        self._covariance = kernel.covariance()

    def labels(self) -> np.ndarray:
        labels = np.unique(self.points, axis=0, return_inverse=True)[1]
        return np.where(self.alone(), self.n + np.arange(self.n), labels)

    def alone(self) -> np.ndarray:
        return np.asarray(np.isnan(self.points).any(1))

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return self.cross_gram(self.points[rows], others)

    def learnables(self) -> list[Learnable]:
        if not self.learns:
            return []
        low, high = self.kernel.reach(self.points)
        return [Learnable("length_scale", float(self.kernel.length_scale), low, high)]

    def moved(self, values: Sequence[float]) -> "ColumnBound":
        if not self.learns:
            return self
        kernel = self.kernel.replace(length_scale=float(values[0]))
        other = ColumnBound(kernel, self.points, self.dates, learns=True)
        other._groups = self._groups  # the groups do not depend on the length-scale
        other.on_trial = True
        return other

    def slopes(self, rows: np.ndarray, others: np.ndarray) -> list[Array]:
        if not self.learns:
            return []
        return [self.kernel.slope(self.points[rows], self.points[others])]

    def settings(self, n_points: int) -> pd.DataFrame | None:
        return grid(self.kernel.columns, self.points, self.dates, n_points)

    def date_columns(self) -> set[str]:
        return set(compress(self.kernel.column_names(), self.dates))

    @property
    def training(self) -> Array:
        return self.points

    def read(self, new: Documents) -> Array:
        if new.frame is None:
            return np.full((new.n, self.points.shape[1]), np.nan)
        return read_points(new.frame, self.kernel.columns, self.kernel, self.dates)[0]

    def cross_gram(self, new: Array, rows: np.ndarray | None = None) -> Array:
        points = self.points if rows is None else self.points[rows]
        there, here = ~np.isnan(new).any(1), ~np.isnan(points).any(1)
        result = np.zeros((len(new), len(points)))
        if there.any() and here.any():
            result[np.ix_(there, here)] = self._covariance(new[there], points[here])
        return result

    def own_gram(self, new: Array, joint: bool) -> Array:
        if joint:
            return self._among(new)
        there = ~np.isnan(new).any(1)
        result = np.full(len(new), self._prior_variance())
        if there.any():
            result[there] = self._covariance.diag(new[there])
        return result

    def arrays(self) -> dict[str, np.ndarray]:
        return {"points": self.points, "dates": self.dates, "learns": np.array([self.learns])}

    def _among(self, points: Array) -> Array:
        there = ~np.isnan(points).any(1)
        result = np.diag(np.full(len(points), self._prior_variance()))
        if there.any():
            result[np.ix_(there, there)] = self._covariance(points[there])
        return result

    @property
    def own_part(self) -> float:
        return float(self._noise.min()) if len(self._noise) else 0.0

    def own_variances(self) -> Array:
        own = np.full(self.n, self._prior_variance())
        own[~self.alone()] = self._noise
        return own

    @cached_property
    def _noise(self) -> Array:
        """The noise of the documents whose values are there."""
        return self.kernel.noise(self.points[~self.alone()])

    def _prior_variance(self) -> float:
        """A document with missing values gets the mean variance of the training documents."""
        here = self.points[~np.isnan(self.points).any(1)]
        return float(self._covariance.diag(here).mean()) if len(here) else 1.0


def grid(columns: Sequence[str], points: Array, dates: np.ndarray, n_points: int) -> pd.DataFrame:
    """Even steps over the range of the first column, with the other columns at their medians.

    A column with two values has no steps in between.
    """
    first = np.unique(points[~np.isnan(points[:, 0]), 0])
    if len(first) != 2 or n_points < 2:
        first = np.linspace(first[0], first[-1], n_points)
    values = [first, *(np.full(len(first), np.nanmedian(column)) for column in points.T[1:])]
    return pd.DataFrame(
        {
            name: _EPOCH + (value * 86_400).round().astype("timedelta64[s]") if date else value
            for name, value, date in zip(columns, values, dates, strict=True)
        }
    )


def warn_constant(kernel: Kernel, columns: Sequence[str], points: Array) -> None:
    """Warn about columns with the same value in every document."""
    constant = [
        name
        for name, values in zip(columns, points.T, strict=True)
        if len(present := values[~np.isnan(values)]) and np.ptp(present) == 0
    ]
    if constant and len(points) > 1:
        warn(
            f"{kernel!r}: every document has the same value in {', '.join(map(repr, constant))}, so it says nothing "
            "about them. Leave it out, or check the column."
        )


def warn_same_vectors(kernel: Kernel, name: str, rows: Array) -> None:
    """Warn if every document has the same vector."""
    if len(rows) > 1 and (rows == rows[0]).all():
        warn(
            f"{kernel!r}: every document has the same vector in {name!r}, so it says nothing about them. Leave it out, "
            "or check the column."
        )
