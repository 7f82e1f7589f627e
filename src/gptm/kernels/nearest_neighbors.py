"""Documents among their nearest neighbours: by words, numbers or embeddings."""

from collections.abc import Collection, Iterable, Set
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, diags

from gptm._basics.errors import ArgumentError, Message
from gptm._basics.prose import listed
from gptm._basics.sparse_arrays import from_sparse_arrays, sparse_arrays
from gptm._basics.types import Array
from gptm._basics.validation import POSITIVE, check_choice, check_number, is_positive
from gptm.corpus.metadata import column, is_missing, read_points, vectors
from gptm.kernels.bound import Documents, nothing_to_learn
from gptm.kernels.column_kernel import warn_constant, warn_same_vectors
from gptm.kernels.column_names import checked_columns
from gptm.kernels.neighbor_search import nearest
from gptm.kernels.network import (
    Form,
    NetworkBound,
    NetworkKernel,
    NewNodes,
    symmetrised,
)


class NearestNeighbors(NetworkKernel):
    """Documents are alike if one is among the other's nearest neighbours (eq. 21 of the paper).

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours of each document.
    on : str or sequence of str, optional
        Numeric or date columns of the metadata (standardised, Euclidean distance), or one column of vectors (cosine
        distance). By default the documents' words are compared (cosine distance).
    weighting : {"tfidf", "counts"}, default="tfidf"
        How words are weighted.
    bandwidth : float, optional
        sigma in exp(-distance / (2 sigma^2)), the weight of an edge. By default sigma^2 is an eighth of the mean
        distance between neighbours.
    form, kappa, nu, gamma, diagonal, name
        As in `Graph`.

    Notes
    -----
    The search is exact for words, and for columns of up to 50,000 documents. Beyond that `pynndescent` finds
    approximate neighbours, with a fixed seed. The neighbours of a new document are training documents.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.NearestNeighbors(5)
    NearestNeighbors(5)
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        on: Any = None,
        weighting: Literal["tfidf", "counts"] = "tfidf",
        bandwidth: float | None = None,
        form: Form = "smooth",
        kappa: float | None = None,
        nu: int = 3,
        gamma: float = 1.0,
        diagonal: float | None = None,
        name: str | None = None,
    ):
        self.n_neighbors = n_neighbors
        # A set has a different order in every process, and cannot be saved.
        self.on = sorted(on, key=str) if isinstance(on, Set) else on
        self.weighting = weighting
        self.bandwidth = bandwidth
        self.form = form
        self.kappa = kappa
        self.nu = nu
        self.gamma = gamma
        self.diagonal = diagonal
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return () if self.on is None else self._names()

    def describe(self, dates: Collection[str] = ()) -> str:
        by = "by their words" if self.on is None else f"in {listed(self.column_names())}"
        count = "one" if self.n_neighbors == 1 else self.n_neighbors
        return f"each document is like the {count} nearest to it {by}"

    def bind(self, documents: Documents) -> "NeighborBound":
        check_number("n_neighbors", self.n_neighbors, least=1, integer=True)
        check_choice("weighting", self.weighting, ("tfidf", "counts"))
        given = self.bandwidth
        if given is not None and not is_positive(given):
            got = Message(f"{given!r} in {self!r}")
            raise ArgumentError("bandwidth", f"must be {POSITIVE}", got)
        if self.on is None:
            return self._bind_words(documents)
        return self._bind_columns(documents)

    def _bind_words(self, documents: Documents) -> "NeighborBound":
        if documents.counts is None:
            raise ValueError(
                f"{self!r} compares words; bind it to documents with counts, or name a column, on=."
            )
        counts = documents.counts
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        inverse = np.log((1.0 + documents.n) / (1.0 + frequency)) + 1.0
        scale = inverse if self.weighting == "tfidf" else np.ones_like(inverse)
        points = self.weighed(counts, scale)
        return self._bound(points, {"scale": scale}, "cosine", documents.n_jobs)

    def _bind_columns(self, documents: Documents) -> "NeighborBound":
        values, as_vectors, dates = self.read_columns(documents)
        there = ~np.isnan(values).any(1)
        if not there.any():
            names = ", ".join(map(repr, self.column_names()))
            raise nothing_to_learn(self, f"every row misses a value in {names}")
        centre, scale = np.zeros(values.shape[1]), np.ones(values.shape[1])
        if as_vectors:
            warn_same_vectors(self, self.column_names()[0], values[there])
        else:
            warn_constant(self, self.column_names(), values)
            spread = values[there].std(axis=0)
            centre, scale = values[there].mean(axis=0), np.where(spread > 0, spread, 1.0)
        points = (values - centre) / scale
        metric = "cosine" if as_vectors else "euclidean"
        prepared = {"scale": scale, "centre": centre, "dates": dates.astype(np.float64)}
        return self._bound(points, prepared, metric, documents.n_jobs)

    def _bound(
        self,
        points: Array | csr_matrix,
        prepared: dict[str, Array],
        metric: str,
        n_jobs: int | None,
    ) -> "NeighborBound":
        k = min(self.n_neighbors, points.shape[0])
        neighbors = nearest(points, points, k, metric=metric, n_jobs=n_jobs, exclude_self=True)
        distances = neighbors[1][np.isfinite(neighbors[1])]
        if len(distances) == 0:
            raise nothing_to_learn(
                self, "no document has a word, or a value, in common with another"
            )
        bandwidth = self.bandwidth
        if bandwidth is None:
            mean = float(distances.mean())
            bandwidth = float(np.sqrt(mean / 8.0)) if mean > 0 else 1.0
        settled = self.replace(bandwidth=bandwidth)
        edges = symmetrised(_weighted(*neighbors, bandwidth, points.shape[0]))
        return NeighborBound(settled, edges, points, prepared, metric)

    def weighed(self, counts: csr_matrix, scale: Array) -> csr_matrix:
        """Counts with the weights that the distance uses."""
        values = counts.astype(np.float64)
        values.eliminate_zeros()
        if self.weighting == "tfidf":
            values.data = np.where(
                values.data < 1.0, values.data, 1.0 + np.log(np.maximum(values.data, 1.0))
            )
        return (values @ diags(scale)).tocsr()

    def read_columns(
        self, documents: Documents, then: np.ndarray | None = None
    ) -> tuple[Array, bool, np.ndarray]:
        """(n, p) numbers, NaN where missing; whether they are one column's vectors; which columns hold dates.

        `then` says which columns held dates in training.
        """
        names = self._names()
        first = column(documents.frame, names[0], self)
        if len(names) == 1 and any(np.ndim(v) == 1 for v in first if not is_missing(v)):
            return vectors(first, names[0]), True, np.zeros(1, dtype=bool)
        values, dates = read_points(documents.frame, names, repr(self), then)
        return values, False, dates

    def _names(self) -> tuple[str, ...]:
        on = self.on
        one = not isinstance(on, Iterable) or not all(isinstance(name, str) for name in on)
        names = (on,) if one or isinstance(on, str) else tuple(on)
        return checked_columns("NearestNeighbors", names, "10, on='vector'")

    def rebind(self, arrays: dict[str, np.ndarray]) -> "NeighborBound":
        edges = from_sparse_arrays(arrays, "edges")
        names = ("scale",) if self.on is None else ("scale", "centre", "dates")
        prepared: dict[str, Array] = {name: arrays[name] for name in names}
        if "points" in arrays:
            metric = "cosine" if arrays["cosine"][0] else "euclidean"
            return NeighborBound(self, edges, arrays["points"], prepared, metric)
        return NeighborBound(self, edges, from_sparse_arrays(arrays, "points"), prepared, "cosine")


class NeighborBound(NetworkBound):
    """Training documents in the space where neighbours are found, and the graph between them."""

    def __init__(
        self,
        kernel: NearestNeighbors,
        edges: csr_matrix,
        points: Array | csr_matrix,
        prepared: dict[str, Array],
        metric: str,
    ):
        super().__init__(kernel, edges)
        self.points = points
        self.prepared = prepared
        self.metric = metric

    @property
    def reads_metadata(self) -> bool:
        return self.kernel.on is not None

    @property
    def training(self) -> NewNodes:
        """By their neighbours, each among its own neighbours, as `transform` would place them."""
        return self._found(self.points)

    def read(self, new: Documents) -> NewNodes:
        points = self._points(new)
        if points is None:
            return NewNodes(csr_matrix((new.n, self.n)), np.full(new.n, -1))
        return self._found(points, new.n_jobs)

    def _found(self, points: Array | csr_matrix, n_jobs: int | None = None) -> NewNodes:
        k = min(self.kernel.n_neighbors, self.n)
        neighbors = nearest(self.points, points, k, metric=self.metric, n_jobs=n_jobs)
        edges = _weighted(*neighbors, self.kernel.bandwidth, self.n)
        return NewNodes(edges, np.full(edges.shape[0], -1))

    def _points(self, new: Documents) -> Array | csr_matrix | None:
        if self.kernel.on is None:
            return (
                None
                if new.counts is None
                else self.kernel.weighed(new.counts, self.prepared["scale"])
            )
        if new.frame is None:
            return None
        values, _, _ = self.kernel.read_columns(new, self.prepared["dates"])
        centre, scale = self.prepared["centre"], self.prepared["scale"]
        if np.isnan(values).all():
            return np.full((new.n, len(centre)), np.nan)
        if values.shape[1] != len(centre):
            raise ValueError(
                f"{self.kernel!r} was fitted to vectors of {len(centre)} numbers in {self.kernel.on!r}; these have "
                f"{values.shape[1]}."
            )
        return (values - centre) / scale

    def arrays(self) -> dict[str, np.ndarray]:
        if isinstance(self.points, csr_matrix):
            points = sparse_arrays(self.points, "points")
        else:
            points = {"points": self.points, "cosine": np.array([self.metric == "cosine"])}
        return sparse_arrays(self.edges, "edges") | self.prepared | points


def _weighted(positions: np.ndarray, distances: Array, bandwidth: float, n: int) -> csr_matrix:
    """(n_queries, n) exp(-distance / (2 sigma^2)) at the neighbours, eq. 21."""
    there = positions >= 0
    indptr = np.concatenate([[0], np.cumsum(there.sum(1))])
    weights = np.exp(-0.5 * distances[there] / bandwidth**2)
    edges = csr_matrix((weights, positions[there], indptr), shape=(len(positions), n))
    edges.sort_indices()
    return edges
