"""Smooth similarity along numeric or date columns, by scikit-learn's Gaussian process kernels."""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv
from sklearn.gaussian_process import kernels as gp

from gptm._basics.prose import duration, listed, readable
from gptm._basics.types import Array
from gptm._basics.validation import POSITIVE, is_positive, is_real
from gptm.corpus.metadata import is_duration, parse_days
from gptm.kernels.bound import Documents
from gptm.kernels.column_kernel import ColumnBound, ColumnKernel
from gptm.kernels.column_names import checked_columns
from gptm.kernels.kernel import Kernel

_ROUGHEST = 0.001
_SMOOTHEST = 19  # largest nu for which kv(nu, x) of equal points is finite
_SOME = 256  # points per call, where only their variances are needed


class OnColumns(ColumnKernel):
    """Any kernel of `sklearn.gaussian_process.kernels` on numeric or date columns.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Its parameters are not learnt.
    *columns : str
        Columns of the metadata; dates count in days.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ExpSineSquared
    >>> from gptm import kernels as k
    >>> k.OnColumns(ExpSineSquared(periodicity=365.25), "date").columns
    ('date',)
    """

    only_in_python: ClassVar[Mapping[str, str]] = {"kernel": "a kernel of scikit-learn"}

    def __init__(self, kernel: gp.Kernel, *columns: str, name: str | None = None):
        if not isinstance(kernel, gp.Kernel):
            raise ValueError(
                "OnColumns expects a kernel of sklearn.gaussian_process.kernels first, then column names; got "
                f"{type(kernel).__name__}."
            )
        if any(isinstance(part, Kernel) for part in kernel.get_params().values()):
            raise ValueError(
                "OnColumns expects a kernel of scikit-learn, but one of gptm.kernels is inside of it; add or multiply "
                "that one outside, as in OnColumns(kernel, 'date') + RBF('age')."
            )
        if isinstance(kernel, gp.CompoundKernel):
            raise ValueError(
                "OnColumns expects one kernel, but a CompoundKernel is several side by side; add or multiply them."
            )
        self.kernel = kernel
        self.columns = checked_columns("OnColumns", columns, "kernel, 'date'")
        self.name = name

    def covariance(self) -> gp.Kernel:
        return self.kernel

    def describe(self, dates: Collection[str] = ()) -> str:
        return f"documents alike in {listed(self.columns)} are alike, by {self.kernel!r}"

    def noise(self, points: Array) -> Array:
        """White noise, which scikit-learn leaves out between two sets of points."""
        shared = [
            np.diagonal(self.kernel(some, some))
            for some in np.split(points, range(_SOME, len(points), _SOME))
        ]
        total = self.kernel.diag(points)
        noise, rounding = total - np.concatenate(shared), 1e-9 * total.max(initial=0.0)
        # Equal noise is solved faster; rounding must not make it look unequal.
        noise = np.where(noise > rounding, noise, 0.0)
        return np.full(len(noise), noise.mean()) if np.ptp(noise) <= rounding else noise


class _LengthScaled(ColumnKernel):
    """A kernel of the distance between points, in units of a length-scale."""

    length_scale: Any

    def bind(self, documents: Documents) -> "ColumnBound":
        if not any(map(is_duration, _each(self.length_scale))):
            return super().bind(documents)
        bound = self.replace(length_scale=_checked_length_scale(self)).bind(documents)
        _check_times(self, "length_scale", bound.dates, documents.frame)
        return bound

    def settle(self, points: Array) -> "ColumnKernel":
        if self.length_scale is not None:
            return self
        spread = float(np.sqrt(np.nanvar(points, axis=0).mean()))
        return self.replace(length_scale=0.5 * spread if spread > 0 else 1.0)

    def reach(self, points: Array) -> tuple[float, float]:
        """From a scale at which hardly any documents are alike to one at which almost all are."""
        span = float(np.nanmax(np.nanmax(points, axis=0) - np.nanmin(points, axis=0)))
        span = span if span > 0 else 1.0
        return span / 500.0, 5.0 * span

    def describe(self, dates: Collection[str] = ()) -> str:
        alike = f"documents close in {listed(self.columns)} are alike"
        if self.length_scale is None:
            return alike
        scales = np.broadcast_to(_checked_length_scale(self), len(self.columns))
        pairs = zip(self.columns, scales, strict=True)
        lengths = [duration(scale) if name in dates else readable(scale) for name, scale in pairs]
        return f"{alike}; the similarity fades over about {listed(dict.fromkeys(lengths))}"

    def scaled_distances(self, points: Array, others: Array) -> Array:
        """(n, m) distances in units of the length-scale."""
        scale = np.asarray(self.length_scale, dtype=np.float64)
        return np.asarray(cdist(points / scale, others / scale))


class RBF(_LengthScaled):
    """Very smooth similarity along columns: exp(-distance^2 / (2 length_scale^2)).

    Parameters
    ----------
    *columns : str
        Numeric or date columns of the metadata; dates count in days.
    length_scale : float, str, timedelta, or sequence of these, optional
        In the column's units, one for all columns or one for each; for dates also "1y", "1m", "1w", "1d", "12h" or
        a timedelta. Learnt if not given, starting at half the standard deviation of the columns.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.RBF("date", length_scale=365.0)
    RBF('date', length_scale=365.0)
    """

    def __init__(
        self,
        *columns: str,
        length_scale: Any = None,
        name: str | None = None,
    ):
        self.columns = checked_columns("RBF", columns)
        self.length_scale = length_scale
        self.name = name

    def covariance(self) -> gp.Kernel:
        return gp.RBF(length_scale=_checked_length_scale(self))

    def slope(self, points: Array, others: Array) -> Array:
        square = self.scaled_distances(points, others) ** 2
        return square * np.exp(-0.5 * square)


class Matern(_LengthScaled):
    """Smooth similarity along columns, with sharper bends than `RBF`; `nu` sets how smooth.

    Parameters
    ----------
    *columns : str
        Numeric or date columns of the metadata; dates count in days.
    nu : float, default=1.5
        0.5 for effects with kinks, 1.5 for once and 2.5 for twice differentiable effects; at most 19, or infinity for
        `RBF`.
    length_scale : float, str, timedelta, or sequence of these, optional
        In the column's units, one for all columns or one for each; for dates also "1y", "1m", "1w", "1d", "12h" or
        a timedelta. Learnt if not given, starting at half the standard deviation of the columns.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Matern("date", nu=2.5)
    Matern('date', nu=2.5)
    """

    def __init__(
        self,
        *columns: str,
        nu: float = 1.5,
        length_scale: Any = None,
        name: str | None = None,
    ):
        self.columns = checked_columns("Matern", columns)
        self.nu = nu
        self.length_scale = length_scale
        self.name = name

    def covariance(self) -> gp.Kernel:
        if not (is_real(self.nu) and self.nu > 0):
            raise ValueError(f"nu must be a positive number; got {self.nu!r} in {self!r}.")
        if self.nu < _ROUGHEST:
            raise ValueError(
                f"nu must be at least {_ROUGHEST}, below which its formula is all rounding; got {self.nu!r} in "
                f"{self!r}. Use nu=0.5."
            )
        if _SMOOTHEST < self.nu < np.inf:
            raise ValueError(
                f"nu must be at most {_SMOOTHEST}, beyond which its formula overflows; got {self.nu!r} in {self!r}. "
                "Use RBF, its limit for large nu, which is nearly the same."
            )
        return gp.Matern(length_scale=_checked_length_scale(self), nu=self.nu)

    def slope(self, points: Array, others: Array) -> Array:
        """x^(nu + 1) K_(nu - 1)(x), up to a constant, as K_nu's derivative gives it."""
        if np.isinf(self.nu):
            return RBF(*self.columns, length_scale=self.length_scale).slope(points, others)
        x = np.sqrt(2.0 * self.nu) * self.scaled_distances(points, others)
        x = np.maximum(x, 1e-8)  # K_(nu - 1) has a pole there, the product has none
        return np.asarray(
            2.0 ** (1.0 - self.nu) / gamma(self.nu) * x ** (self.nu + 1) * kv(self.nu - 1, x)
        )


class Periodic(ColumnKernel):
    """Similarity that repeats: documents a whole number of periods apart are alike.

    Parameters
    ----------
    *columns : str
        Numeric or date columns of the metadata; dates count in days. Documents are alike where all columns agree.
    period : float, str or timedelta
        In the column's units; for dates also text such as "1y", "1m", "1w", "1d" or "12h", or a timedelta.
    length_scale : float, optional
        Relative to the period: small for sharp peaks, large for a gentle wave. Learnt if not given, starting at 1.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Periodic("date", period="1y")
    Periodic('date', period='1y')
    """

    def __init__(
        self,
        *columns: str,
        period: Any,
        length_scale: float | None = None,
        name: str | None = None,
    ):
        self.columns = checked_columns("Periodic", columns)
        self.period = period
        self.length_scale = length_scale
        self.name = name

    def bind(self, documents: Documents) -> "ColumnBound":
        bound = super().bind(documents)
        _check_times(self, "period", bound.dates, documents.frame)
        return bound

    def settle(self, points: Array) -> "ColumnKernel":
        return self if self.length_scale is not None else self.replace(length_scale=1.0)

    def reach(self, points: Array) -> tuple[float, float]:
        """From a peak of a few days in a year to an almost flat wave."""
        return 0.05, 10.0

    def slope(self, points: Array, others: Array) -> Array:
        circles = self.covariance()
        square = (circles.distances(points, others) / circles.length_scale) ** 2
        return square * np.exp(-0.5 * square)

    def describe(self, dates: Collection[str] = ()) -> str:
        days, columns = parse_days(self.period), listed(self.columns)
        length = duration(days) if set(dates) & set(self.columns) else readable(days, 6)
        return f"documents at the same point of a cycle in {columns}, of length {length}, are alike"

    def covariance(self) -> "_OnCircles":
        given = 1.0 if self.length_scale is None else self.length_scale
        if not is_positive(given):
            raise ValueError(f"length_scale must be {POSITIVE}; got {given!r} in {self!r}.")
        return _OnCircles(parse_days(self.period, owner=self), float(given))


class _OnCircles:
    """exp(-2 sum_j sin^2(pi d_j / period) / length_scale^2): an RBF of places on circles, one for each column.

    Unlike the same function of a distance in several columns, it is always positive definite.
    """

    def __init__(self, period: float, length_scale: float):
        self.period, self.length_scale = period, length_scale

    def __call__(self, points: Array, others: Array | None = None) -> Array:
        others = points if others is None else others
        return np.asarray(np.exp(-0.5 * (self.distances(points, others) / self.length_scale) ** 2))

    def diag(self, points: Array) -> Array:
        return np.ones(len(points))

    def distances(self, points: Array, others: Array) -> Array:
        """(n, m) through the circles."""
        return np.asarray(cdist(self._places(points), self._places(others)))

    def _places(self, points: Array) -> Array:
        angles = 2.0 * np.pi * points / self.period
        return np.hstack([np.cos(angles), np.sin(angles)])


def _each(given: Any) -> list[Any]:
    """A parameter as a list: one value per column, or one for all columns."""
    if np.ndim(given) > 0:
        return list(given)
    return [given[()] if isinstance(given, np.ndarray) else given]


def _checked_length_scale(kernel: _LengthScaled) -> Any:
    """The length-scale in the columns' units, with lengths of time in days."""
    given: Any = 1.0 if kernel.length_scale is None else kernel.length_scale
    if np.ndim(given) > 1 or (np.ndim(given) == 1 and len(given) != len(kernel.columns)):
        raise ValueError(
            f"length_scale must be one number or one per column ({len(kernel.columns)}); "
            f"got {kernel.length_scale!r} in {kernel!r}."
        )
    values = [parse_days(length, "length_scale", kernel) for length in _each(given)]
    return values[0] if np.ndim(given) == 0 else np.array(values)


def _check_times(
    kernel: ColumnKernel, name: str, dates: np.ndarray, frame: pd.DataFrame | None
) -> None:
    """Raise an error if a length of time is given for a column of plain numbers."""
    assert frame is not None
    given = getattr(kernel, name)
    each = _each(given) if np.ndim(given) > 0 else [given] * len(dates)
    for length, column, date in zip(each, kernel.columns, dates, strict=True):
        if is_duration(length) and not (date or pd.api.types.is_timedelta64_dtype(frame[column])):
            raise ValueError(
                f"{name}={given!r} is a length of time, but {kernel!r} reads numbers in {column!r}; give the {name} as "
                "a number in the column's units."
            )
