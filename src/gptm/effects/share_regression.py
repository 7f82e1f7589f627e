"""Least squares of topics' shares on covariates, by composition: one regression per draw of the shares, then pooled.

A draw's regression has coefficients b = Q theta with Q = (X'X)^-1 X', and a sampling covariance V of these. Over draws,
the coefficients have mean E[b] and variance E[V] + (1 + 1/m) Var[b] (Rubin's rules). This is what draws of coefficients
from each regression would have in the limit, without the noise of drawing them.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.stats import t as student

from gptm._basics.types import Array

Errors = Literal["robust", "classical"]
# Of a column's length: what the columns before it leave of it, if it depends on them.
_ROUNDING = 1e-9
_EXACT = 1e-8  # a document with a leverage of one, up to rounding, is fitted exactly


class Combination(NamedTuple):
    """A column that is a combination of columns before it."""

    column: int
    others: list[int]  # none if the column is zero


class Estimate(NamedTuple):
    """(m, K) each: of m combinations of coefficients, for K topics."""

    mean: Array
    std_error: Array
    df: Array  # degrees of freedom of Student's t

    def band(self, level: float) -> tuple[Array, Array]:
        """The ends of intervals at a level."""
        half = student.ppf(0.5 + 0.5 * level, self.df) * self.std_error
        return self.mean - half, self.mean + half

    def p_values(self) -> Array:
        """Of the hypothesis that the combination is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(2.0 * student.sf(np.abs(self.mean / self.std_error), self.df))


class Pooled(NamedTuple):
    """Regressions of K topics on p columns, pooled over draws."""

    mean: Array  # (K, p) coefficients
    within: Array  # (K, p, p) their sampling covariance, the mean over draws
    between: Array  # (K, p, p) their covariance over draws
    n_draws: int
    df: float  # degrees of freedom that the documents or clusters leave
    # (p, n) weights of documents that are fitted exactly, whose own spread nobody knows
    fixed: Array

    def combine(self, A: Array) -> Estimate:
        """Of the combinations A (m, p) of coefficients.

        A combination that rests on a document which is fitted exactly has no standard error.
        """
        mean = A @ self.mean.T
        within = _forms(A, self.within)
        between = _forms(A, self.between) * (1.0 + 1.0 / self.n_draws)
        total = np.maximum(within + between, 0.0)
        error = np.sqrt(total)
        scale = np.abs(A).max(1, initial=0.0) * np.abs(self.fixed).max(initial=0.0)
        rests = (np.abs(A @ self.fixed) > _EXACT * scale[:, None]).any(1)
        error[rests] = np.nan
        part = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
        return Estimate(mean, error, _degrees(np.clip(part, 0.0, 1.0), self.n_draws, self.df))


def pool_regressions(
    X: Array, draws: Iterable[Array], *, errors: Errors = "robust", clusters: np.ndarray | None
) -> Pooled:
    """Regress each draw (n, K) of shares on X (n, p), and pool. `clusters` (n,) are numbers from 0."""
    n, p = X.shape
    basis, R = np.linalg.qr(X)
    Q = solve_triangular(R, basis.T)
    leverage = np.minimum((basis**2).sum(1), 1.0)
    exact = leverage > 1.0 - _EXACT
    sums = _Sums(Q, clusters)
    for theta in draws:
        b = Q @ theta
        sums.add(b, theta - X @ b)
    between = sums.between()
    if clusters is not None:
        G = int(clusters.max()) + 1
        within, df = sums.clustered(G * (n - 1.0) / ((G - 1.0) * (n - p))), G - 1.0
    elif errors == "robust":
        free = np.where(exact, 1.0, 1.0 - leverage)
        within, df = sums.robust(free), float(n - p)
    else:
        within, df = sums.classical(n - p), float(n - p)
    unknown = exact & (clusters is None and errors == "robust")
    return Pooled(sums.mean.T, within, between, sums.n, df, Q[:, unknown])


def dependent_columns(X: Array) -> list[Combination]:
    """Columns that are combinations of those before them, in order."""
    lengths = np.linalg.norm(X, axis=0)
    if lengths.all():
        R = qr(X / lengths, mode="r", pivoting=True, check_finite=False)[0]
        if np.abs(np.diagonal(R)).min() > _ROUNDING:  # as nearly always
            return []
    kept: list[int] = []
    basis = np.empty((len(X), 0))
    combinations = []
    for j in range(X.shape[1]):
        length = lengths[j]
        left = X[:, j] / length if length > 0 else X[:, j]
        for _ in range(2):  # twice, against rounding
            left = left - basis @ (basis.T @ left)
        size = np.linalg.norm(left)
        if size > _ROUNDING:
            basis = np.column_stack([basis, left / size])
            kept.append(j)
            continue
        scale = np.linalg.norm(X[:, kept], axis=0)
        weights = np.linalg.lstsq(X[:, kept] / scale, X[:, j], rcond=None)[0]
        used = np.abs(weights) > 1e-6 * np.abs(weights).max(initial=0.0)
        combinations.append(
            Combination(j, [kept[i] for i in np.flatnonzero(used)] if length else [])
        )
    return combinations


class _Sums:
    """What regressions add up to, draw by draw."""

    def __init__(self, Q: Array, clusters: np.ndarray | None):
        self.Q, self.n = Q, 0
        self.sum: Array = np.zeros(())
        self.products: Array = np.zeros(())
        self.squares: Array = np.zeros(())  # (n, K) of residuals
        self.first: Array = np.zeros(())
        self.scores: Array = np.zeros(())  # (K, p, p)
        self.order = None if clusters is None else np.argsort(clusters, kind="stable")
        self.starts = np.empty(0, dtype=np.intp)
        if clusters is not None:
            self.starts = np.unique(clusters[self.order], return_index=True)[1]

    def add(self, b: Array, residuals: Array) -> None:
        if self.n == 0:
            self.first = b  # around which products are summed, so that they do not cancel
        move = (b - self.first).T
        self.sum = self.sum + move
        self.products = self.products + move[:, :, None] * move[:, None, :]
        if self.order is None:
            self.squares = self.squares + residuals**2
        else:
            weights, ordered = self.Q.T[self.order], residuals[self.order]
            outer = [
                np.add.reduceat(weights * ordered[:, [k]], self.starts, axis=0)
                for k in range(residuals.shape[1])
            ]
            self.scores = self.scores + np.stack([S.T @ S for S in outer])
        self.n += 1

    @property
    def mean(self) -> Array:
        """(p, K)"""
        return np.asarray(self.first + self.sum.T / self.n)

    def between(self) -> Array:
        shift = self.sum / self.n
        centred = self.products - self.n * shift[:, :, None] * shift[:, None, :]
        return np.asarray(centred / max(self.n - 1, 1))

    def robust(self, free: Array) -> Array:
        """HC2: residuals are divided by what leverage leaves of them."""
        scaled = self.squares / (self.n * free[:, None])
        return np.stack([(self.Q * column) @ self.Q.T for column in scaled.T])

    def classical(self, df: int) -> Array:
        inverse = self.Q @ self.Q.T
        return np.asarray(self.squares.sum(0)[:, None, None] / (self.n * df) * inverse)

    def clustered(self, factor: float) -> Array:
        """CR1: scores are summed within clusters."""
        return np.asarray(factor * self.scores / self.n)


def _forms(A: Array, matrices: Array) -> Array:
    """(m, K) a' M a for each row a and each of K matrices M."""
    return np.stack([((A @ M) * A).sum(1) for M in matrices], axis=1)


def _degrees(part: Array, n_draws: int, df: float) -> Array:
    """Degrees of freedom where `part` of the variance is that between draws (Barnard and Rubin, 1999)."""
    of_documents = (df + 1.0) / (df + 3.0) * df * (1.0 - part)
    of_draws = (n_draws - 1.0) / np.maximum(part, 1e-12) ** 2
    both = of_documents * of_draws / np.maximum(of_documents + of_draws, 1e-300)
    return np.asarray(np.maximum(both, 1.0))
