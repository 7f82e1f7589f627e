"""How much a kernel has to do with values of documents: the mean likeness of documents that the kernel calls alike."""

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix

from gptm._basics.errors import ArgumentError, InputError
from gptm._basics.parallel import single_threaded_blas
from gptm._basics.progress import Progress
from gptm._basics.types import Array
from gptm.kernels import BoundKernel, Documents, Kernel
from gptm.kernels.nearest_neighbors import NearestNeighbors
from gptm.operators import EXACT, Structure

SCALES = (0.25, 1.0, 4.0)  # times the starting values of parameters that are left open
_NUMBERS = 20_000_000  # documents times columns, that are looked at together


def structures_of(term: Kernel, documents: Documents) -> list[Structure]:
    """A kernel over documents, at some values of the parameters that it leaves open.

    Values that a fit learns must not be used: they suit the column as it is, and not the shuffled ones.
    """
    if isinstance(term, NearestNeighbors) and not term.column_names():
        raise ArgumentError(
            "term", "must read a column that can be shuffled; this one reads the words", term
        )
    bound = term.bind(documents)
    bounds: list[BoundKernel] = [bound]
    learnables = bound.learnables()
    if learnables:
        bounds = [
            bound.moved([float(np.clip(p.value * s, p.low, p.high)) for p in learnables])
            for s in SCALES
        ]
    structures = [b.structure for b in bounds]
    if all(s.features is None and not s.graphs for s in structures):
        raise InputError(f"{term!r} makes no two documents alike, so there is nothing to test.")
    return structures


def quadratic_forms(structure: Structure, W: Array) -> Array:
    """(m,) w' 𝒦 w of each column w, without what documents have for themselves."""
    total = np.zeros(W.shape[1])
    if structure.features is not None:
        total += (np.asarray(structure.features.t_dot(W)) ** 2).sum(0)
    for graph in structure.graphs:
        product = graph.dense @ W if structure.n <= EXACT else graph.matmul(W)
        total += (W * product).sum(0)
    return total


def standardised(Y: Array) -> Array:
    """Columns with mean zero and variance one; a column that does not vary stays zero."""
    centred = Y - Y.mean(0)
    deviation = centred.std(0)
    varies = deviation > 1e-12 * np.maximum(np.abs(Y).max(0, initial=0.0), 1e-300)
    return np.where(varies, centred / np.where(varies, deviation, 1.0), 0.0)


def associations(
    structures: list[Structure],
    Y: Array,
    orders: Iterable[np.ndarray],
    n_orders: int,
    n_jobs: int | None,
    progress: Progress,
) -> Array:
    """(orders, K) for each order of the documents and each column of Y: y' 𝒦 y over its mean under shuffling.

    The columns of Y are standardised, so the mean under free shuffling is the trace of the centred kernel times
    D / (D - 1). Several structures are averaged.
    """
    scales = [_expected(structure) for structure in structures]
    size = max(1, _NUMBERS // max(Y.size, 1))
    source = iter(orders)

    def batches() -> Iterator[list[np.ndarray]]:
        while batch := list(islice(source, size)):
            yield batch

    def run(batch: list[np.ndarray]) -> Array:
        W = np.hstack([_moved(Y, order) for order in batch])
        forms = [
            quadratic_forms(structure, W) / scale
            for structure, scale in zip(structures, scales, strict=True)
        ]
        return np.mean(forms, axis=0).reshape(len(batch), Y.shape[1])

    found: list[Array] = []
    with single_threaded_blas():
        calls = (delayed(run)(batch) for batch in batches())
        for part in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(calls):
            found.append(part)
            done = sum(map(len, found))
            if n_orders > size:
                progress.say(f"{done:,} of {n_orders:,} shuffles")
    return np.concatenate(found)


def _moved(Y: Array, order: np.ndarray) -> Array:
    """(D, K) the values at the documents whose place in the kernel they take; several may share one."""
    n = len(order)
    return np.asarray(csr_matrix((np.ones(n), (order, np.arange(n))), shape=(n, n)) @ Y)


def _expected(structure: Structure) -> float:
    """tr(H 𝒦 H) D / (D - 1), with H the matrix that centres; the diagonal of the kernel's own part left out."""
    n = structure.n
    ones = quadratic_forms(structure, np.ones((n, 1)))[0]
    trace = n * (structure._replace(own=np.zeros(n)).mean_diagonal())
    centred = trace - ones / n
    return float(centred * n / max(n - 1, 1)) if centred > 1e-12 * max(trace, 1e-300) else 1.0
