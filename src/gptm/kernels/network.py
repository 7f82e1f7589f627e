"""Similarity along the edges of a graph between documents, wherever the edges come from."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from gptm._basics.errors import ArgumentError, Message
from gptm._basics.memory import check_square
from gptm._basics.sparse_arrays import row_sums
from gptm._basics.types import Array
from gptm._basics.validation import POSITIVE, check_choice, is_positive, is_real
from gptm.kernels.bound import BoundKernel, Learnable
from gptm.kernels.kernel import Kernel
from gptm.operators import EXACT, Network, Placement, Sparse, Structure, Tangent

Form = Literal["smooth", "direct"]
KAPPA = 0.17  # start of learning, and the value if nothing is learnt; chosen by measurement
SPARE = 0.1  # added to every degree, in mean edges; chosen by measurement, see docs/kernels.md
_CLOSE = 1e-4  # relative tolerance of the lowest eigenvalue of a large graph
POWER_STEPS = 30  # towards the largest eigenvalue; any number gives a valid bound


class NetworkKernel(Kernel):
    """A kernel over a weighted graph, in one of two forms.

    smooth: ((1 + kappa^2) I - S)^-nu with S the graph normalised by its degrees, scaled to a mean variance of
        one; its precision is sparse.
        Similarity spreads along paths, over a distance of about 1 / kappa.
    direct: gamma times the weight of an edge and `diagonal` for each document, eq. 21 of the paper.
    """

    form: Form
    kappa: float | None
    nu: int
    gamma: float
    diagonal: float | None


@dataclass(frozen=True)
class SmoothForm:
    """Map eigenvalues of the normalised graph to those of the smooth form."""

    kappa: float
    nu: int

    def __call__(self, x: Array) -> Array:
        return (1.0 + self.kappa**2 - x) ** -float(self.nu)


@dataclass(frozen=True)
class SmoothSlope:
    """Derivative in log kappa of the smooth form, scaled to a mean of one over the given eigenvalues."""

    form: SmoothForm
    scale: float
    mean: float  # of the derivative of the logarithm, weighted by variance

    @classmethod
    def of(cls, form: SmoothForm, points: Array, weights: Array) -> "SmoothSlope":
        variances = weights * form(points)
        plain = cls(form, 1.0, 0.0)
        total = float(variances.sum())
        mean = float(variances @ plain.relative(points)) / total
        return cls(form, float(weights.sum()) / total, mean)

    def relative(self, x: Array) -> Array:
        stay = 1.0 + self.form.kappa**2
        return -2.0 * self.form.nu * self.form.kappa**2 / (stay - x)

    def __call__(self, x: Array) -> Array:
        return self.scale * self.form(x) * (self.relative(x) - self.mean)


@dataclass(frozen=True)
class DirectForm:
    """Map eigenvalues of the graph to those of the direct form."""

    variance: float
    gamma: float

    def __call__(self, x: Array) -> Array:
        return self.variance + self.gamma * x


class NewNodes(NamedTuple):
    """New documents: their edges to training documents, or the training document that they are."""

    edges: csr_matrix  # (n, D)
    same: np.ndarray  # (n,), -1 for documents that are really new


class NetworkBound(BoundKernel):
    """A graph over training documents. New documents are attached as leaves, so the training graph never changes."""

    kernel: Any

    def __init__(self, kernel: Any, edges: csr_matrix):
        check_form(kernel)
        self.learns = kernel.kappa is None and kernel.form == "smooth"
        self.kernel = kernel.replace(kappa=KAPPA) if self.learns else kernel
        self.edges = edges  # (D, D) symmetric, not negative, nothing on the diagonal
        self.n = edges.shape[0]

    @cached_property
    def _degrees(self) -> Array:
        return row_sums(self.edges)

    @cached_property
    def _spare(self) -> float:
        """What is added to the degree of every document."""
        return SPARE * float(self.edges.data.mean()) if self.edges.nnz else 1.0

    @cached_property
    def structure(self) -> Structure:
        return Structure(self.n, None, np.zeros(self.n), (self._graph,))

    @cached_property
    def _graph(self) -> Sparse:
        if self.kernel.form == "smooth":
            return Sparse(self._network, self._smoothing).scaled(self._scale)
        return Sparse(self._network, DirectForm(self._variance, float(self.kernel.gamma)))

    @cached_property
    def _network(self) -> Network:
        if self.kernel.form == "smooth":
            inverse = diags(1.0 / np.sqrt(self._degrees + self._spare))
            return Network((inverse @ self.edges @ inverse).tocsr(), -1.0, 1.0)
        # 𝒦 is positive definite at the true eigenvalues; the bound may be wider than they are.
        low = -min(self._radius, self._variance / float(self.kernel.gamma) * (1.0 - 1e-9))
        return Network(self.edges, low, self._radius)

    @property
    def _smoothing(self) -> "SmoothForm":
        return SmoothForm(float(self.kernel.kappa), int(self.kernel.nu))

    @cached_property
    def _scale(self) -> float:
        """The factor that makes the mean variance one."""
        return self.n / float(Sparse(self._network, self._smoothing).trace(np.zeros(1))[0])

    def learnables(self) -> list[Learnable]:
        if not self.learns:
            return []
        # A smaller kappa takes more products with the graph, which is too slow for a large one.
        low = KAPPA if self.n > EXACT else 0.05
        return [Learnable("kappa", float(self.kernel.kappa), low, 3.0)]

    def moved(self, values: Sequence[float]) -> "NetworkBound":
        if not self.learns:
            return self
        other = copy(self)
        for name in ("structure", "operator", "_graph", "_scale", "_written_out"):
            other.__dict__.pop(name, None)
        other.kernel = self.kernel.replace(kappa=float(values[0]))
        return other

    def tangents(self) -> list[Tangent]:
        if not self.learns:
            return []
        slope = SmoothSlope.of(self._smoothing, *self._network.spectrum)
        return [Tangent(graphs=((self._network, slope),))]

    @cached_property
    def _radius(self) -> float:
        """A bound of the largest eigenvalue's size, for any graph: max (W x) / x over some positive x."""
        if self.edges.nnz == 0:
            return 1.0
        x = np.ones(self.n)
        for _ in range(POWER_STEPS):
            image = self.edges @ x
            # Adding half of the size so far keeps bipartite graphs from oscillating.
            x = image + 0.5 * float(np.linalg.norm(image) / np.linalg.norm(x)) * x
            x /= x.max()
        return float(((self.edges @ x) / x).max())

    @cached_property
    def _variance(self) -> float:
        """The diagonal of the direct form: the given value if that is positive definite, else an error."""
        gamma, given = float(self.kernel.gamma), self.kernel.diagonal
        safe = gamma * self._radius * (1.0 + 1e-6)
        if given is None:
            return safe
        if given < safe:
            smallest = gamma * min(-_lowest_eigenvalue(self.edges), self._radius)
            if not given > smallest * (1.0 + 1e-9):
                enough = f"{smallest * (1.0 + 1e-6):.7g}"  # also as printed
                raise ValueError(
                    f"diagonal={given!r} does not make {self.kernel!r} positive definite; on these documents it "
                    f"must be at least {enough}. Leave it out, and the kernel finds a value by itself."
                )
        return float(given)

    def mean_diagonal(self) -> float:
        """Exact, where a trace would be an estimate."""
        return 1.0 if self.kernel.form == "smooth" else self._variance

    @cached_property
    def _written_out(self) -> Array:
        check_square(
            self.n,
            f"{self.kernel!r} over {self.n:,} documents is written out inside of a product",
            "Add it to other terms rather than multiply it by them, or fit to fewer documents.",
        )
        return self.structure.to_dense()

    def shared_variances(self) -> Array:
        return np.diagonal(self._written_out)

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return self._written_out[np.ix_(rows, others)]

    @property
    def training(self) -> NewNodes:
        return NewNodes(csr_matrix((self.n, self.n)), np.arange(self.n))

    def place(self, new: NewNodes, joint: bool = False) -> Placement:
        smooth = self.kernel.form == "smooth"
        weights, own = self._smooth_leaves(new.edges) if smooth else self._direct_leaves(new.edges)
        seen = np.flatnonzero(new.same >= 0)
        if len(seen):
            others = diags((new.same < 0).astype(np.float64))
            itself = (np.ones(len(seen)), (seen, new.same[seen]))
            weights = (others @ weights + csr_matrix(itself, shape=weights.shape)).tocsr()
            own = np.where(new.same >= 0, 0.0, own)
        return Placement(len(own), None, own, (weights,))

    def _smooth_leaves(self, edges: csr_matrix) -> tuple[csr_matrix, Array]:
        """f_* = (sum_j s_*j f_j + e) / (1 + kappa^2), s normalised as in the graph with the document in it."""
        stay = 1.0 + self.kernel.kappa**2
        degree = row_sums(edges)
        rows = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
        there = self._degrees[edges.indices] + edges.data
        here, there = degree[rows] + self._spare, there + self._spare
        joined = np.sqrt(here * there)
        tiny = joined < 1e-150  # whose squares are no numbers any more
        joined[tiny] = np.sqrt(here[tiny]) * np.sqrt(there[tiny])
        weights = csr_matrix(
            (edges.data / joined / stay, edges.indices, edges.indptr), shape=edges.shape
        )
        return weights, np.full(edges.shape[0], self._scale / stay**self.kernel.nu)

    def _direct_leaves(self, edges: csr_matrix) -> tuple[csr_matrix, Array]:
        """f_* = gamma / c sum_j w_*j f_j + e, so that it varies with f_j by about gamma w_*j, and by c itself."""
        variance, gamma = self._variance, float(self.kernel.gamma)
        weights = edges * (gamma / variance)
        taken = variance * np.asarray(weights.multiply(weights).sum(1)).ravel()
        taken += gamma * np.asarray(weights.multiply(weights @ self.edges).sum(1)).ravel()
        with np.errstate(over="ignore"):  # next to nothing is taken
            shrink = np.sqrt(np.minimum(1.0, variance / np.maximum(taken, 1e-300)))
        own = np.maximum(variance - shrink**2 * taken, 0.0)
        return (diags(shrink) @ weights).tocsr(), own


def symmetrised(edges: csr_matrix) -> csr_matrix:
    """The undirected graph: the larger of the two directions' weights, no document linked to itself."""
    pairs = csr_matrix(edges, dtype=np.float64).tocoo()
    other = pairs.row != pairs.col
    kept = (pairs.data[other], (pairs.row[other], pairs.col[other]))
    directed = csr_matrix(kept, shape=edges.shape)
    result = directed.maximum(directed.T).tocsr()
    result.eliminate_zeros()
    result.sort_indices()
    return result


def check_form(kernel: Any) -> None:
    """Raise an error for invalid constants."""
    check_choice("form", kernel.form, ("smooth", "direct"))
    for name in ("kappa", "gamma", "diagonal"):
        value = getattr(kernel, name)
        if value is None and name in ("kappa", "diagonal"):
            continue
        if not is_positive(value):
            raise ArgumentError(name, f"must be {POSITIVE}", Message(f"{value!r} in {kernel!r}"))
    if not is_real(kernel.nu) or kernel.nu not in (1, 2, 3, 4):
        raise ValueError(f"nu must be 1, 2, 3 or 4; got {kernel.nu!r} in {kernel!r}.")


def _lowest_eigenvalue(edges: csr_matrix) -> float:
    """The lowest eigenvalue, or a little less; minus infinity where it is not found in time.

    The lowest eigenvalues of long chains are very close together; separating them would take a minute.
    """
    if edges.shape[0] <= 500:
        return float(np.linalg.eigvalsh(edges.toarray())[0])
    start = np.random.default_rng(0).standard_normal(edges.shape[0])
    try:
        lowest = eigsh(
            edges, 1, which="SA", v0=start, return_eigenvectors=False, tol=_CLOSE, maxiter=300
        )
    except ArpackNoConvergence:
        return -np.inf
    return float(lowest[0] - _CLOSE * abs(lowest[0]))
