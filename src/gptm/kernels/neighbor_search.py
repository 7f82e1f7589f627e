"""Search for the nearest documents by words, numbers or embeddings.

The result does not depend on the number of threads.
"""

import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import check_array

from gptm import _hot
from gptm._basics.parallel import BLOCK, blocks, ordered_map, shards, single_threaded_blas
from gptm._basics.types import Array
from gptm._basics.validation import check_choice, check_number
from gptm._hot.loop_cache import import_with_cache

Positions = NDArray[np.int64]

EXACT = 50_000  # distinct training rows up to which arrays are searched exactly; or the square root of that many pairs
_SHARDS = 64  # each needs one number per training document, but only while it runs
_ROWS = 64  # rows per block of products with all training rows
_GRID = 2.0**-36  # rounding of cosine distances, so that ties do not depend on the order of sums
_LARGEST = 1e150  # largest number whose squares can be summed
_GRAPH = 30  # neighbours per row in the graph of the approximate search
_SPARE = 20  # further candidates: a wider search misses fewer neighbours


class Neighbors(NamedTuple):
    """The k nearest training rows of n rows, nearest first."""

    positions: Positions  # (n, k), -1 where there are fewer
    distances: Array  # (n, k), infinite where there are fewer


def nearest(
    training: Any,
    queries: Any,
    k: int,
    *,
    metric: str = "cosine",
    n_jobs: int | None = None,
    exclude_self: bool = False,
) -> Neighbors:
    """The k training rows nearest to each row of `queries`, and their distances.

    Parameters
    ----------
    training, queries : sparse matrices (D, V) and (n, V), or arrays (D, p) and (n, p)
        Counts or weights of words, or numbers. Sparse rows are neighbours only if they have words in
        common, and the search is exact. It is also exact for arrays of up to `EXACT` distinct training rows,
        and for up to `EXACT` squared pairs of rows; beyond that, some neighbours may be missed. Rows with
        NaN, and rows of zeros under cosine distance, have no neighbours and are nobody's neighbours.
    k : int
        Number of neighbours.
    metric : {"cosine", "euclidean"}
        Sparse matrices have cosine distances only. Cosine distances are rounded to about 1e-11.
    n_jobs : int or None
        Number of threads, as in scikit-learn. The result does not depend on it.
    exclude_self : bool
        Whether the queries are the training rows themselves, and no row is its own neighbour.

    Returns
    -------
    positions, distances : arrays (n, k)
        Nearest first, equal distances by position; -1 and infinity where there are fewer than k.

    Examples
    --------
    >>> import numpy as np
    >>> positions, distances = nearest(np.array([[0.0], [1.0], [5.0]]), np.array([[4.0]]), 2, metric="euclidean")
    >>> positions, distances
    (array([[2, 1]]), array([[1., 3.]]))
    """
    check_number("k", k, least=1, integer=True)
    check_choice("metric", metric, ("cosine", "euclidean"))
    sparse = issparse(training)
    if sparse != issparse(queries):
        raise ValueError(
            "expected training and queries both sparse or both dense; got "
            f"{type(training).__name__} and {type(queries).__name__}. Convert one of them."
        )
    if sparse and metric != "cosine":
        raise ValueError(
            f"sparse matrices have cosine distances only; got metric={metric!r}. Pass arrays."
        )
    training, queries = _read(training, "training"), _read(queries, "queries")
    _check_shapes(training.shape, queries.shape, exclude_self)
    n = queries.shape[0]
    own = np.arange(n) if exclude_self else np.full(n, -1)
    if sparse:
        return _nearest_by_words(training, queries, k, own, n_jobs)
    return _nearest_points(training, queries, k, own, metric, n_jobs)


def _read(X: Any, name: str) -> Any:
    """A CSR matrix or an array of floats; NaN in arrays is allowed."""
    return check_array(
        X,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=True if issparse(X) else "allow-nan",
        ensure_min_samples=0,
        input_name=name,
    )


def _check_shapes(training: tuple[int, int], queries: tuple[int, int], exclude_self: bool) -> None:
    if training[1] != queries[1]:
        raise ValueError(
            f"queries must have the columns of training: expected {training[1]}, got {queries[1]}."
        )
    if exclude_self and training[0] != queries[0]:
        raise ValueError(
            "with exclude_self the queries are the training rows themselves: expected "
            f"{training[0]} rows, got {queries[0]}."
        )


def _nobody(n: int, k: int) -> Neighbors:
    """Empty results for n rows."""
    return Neighbors(np.full((n, k), -1), np.full((n, k), np.inf))


# Words


def _nearest_by_words(
    training: csr_matrix, queries: csr_matrix, k: int, own: Positions, n_jobs: int | None
) -> Neighbors:
    """Exact neighbours by words; only documents with a word in common are compared."""
    rows, columns = _unit_words(queries), _unit_words(training).tocsc()
    neighbors = _nobody(len(own), k)

    def run(shard: slice, checkpoint: Callable[[], None]) -> None:
        scores = np.zeros(columns.shape[0])
        for block in blocks(shard.start, shard.stop, BLOCK):
            checkpoint()
            _hot.nearest_by_words(
                rows.indptr[block.start : block.stop + 1],
                rows.indices,
                rows.data,
                columns.indptr,
                columns.indices,
                columns.data,
                own[block],
                _GRID,
                scores,
                neighbors.distances[block],
                neighbors.positions[block],
            )

    ordered_map(run, shards(_work(rows, columns), _SHARDS), n_jobs)
    return neighbors


def _unit_words(X: csr_matrix) -> csr_matrix:
    """A canonical copy with rows of unit length; rows without words stay empty."""
    unit = csr_matrix(X, copy=True)
    unit.sum_duplicates()
    unit.eliminate_zeros()
    row = np.repeat(np.arange(unit.shape[0]), np.diff(unit.indptr))
    largest = np.zeros(unit.shape[0])
    np.maximum.at(largest, row, np.abs(unit.data))
    unit.data /= largest[row]  # so that squares do not overflow or vanish
    unit.data /= np.sqrt(np.bincount(row, unit.data**2, minlength=unit.shape[0]))[row]
    return unit


def _work(rows: csr_matrix, columns: Any) -> Array:
    """(n,) cost of each row: the number of training entries that its search reads, plus one."""
    frequency = np.diff(columns.indptr)
    return 1.0 + csr_matrix(
        (np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape
    ) @ frequency.astype(float)


# Numbers


def _nearest_points(
    training: Array, queries: Array, k: int, own: Positions, metric: str, n_jobs: int | None
) -> Neighbors:
    """Neighbours among the rows that have distances."""
    grid = _GRID if metric == "cosine" else 0.0
    kept, points = _points(training, metric)
    asked, rows = _points(queries, metric)
    place = np.full(len(training) + 1, -1)  # one more entry, for -1
    place[kept] = np.arange(len(kept))
    search = _nearest_rows if _few(points, rows) else _nearest_groups
    among = search(points, rows, k, place[own[asked]], grid, n_jobs)
    neighbors = _nobody(len(queries), k)
    neighbors.positions[asked] = np.append(kept, -1)[among.positions]
    neighbors.distances[asked] = among.distances
    return neighbors


def _points(X: Array, metric: str) -> tuple[Positions, Array]:
    """Which rows have distances, and these rows; of unit length for cosine distances."""
    usable = ~np.isnan(X).any(axis=1)
    if metric == "cosine":
        usable &= (X != 0).any(axis=1)
    kept = np.flatnonzero(usable)
    points = X[kept]
    largest = np.abs(points).max(axis=1, initial=0.0)
    if metric == "cosine":
        points /= largest[:, None]  # so that squares do not overflow or vanish
        points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    elif largest.max(initial=0.0) > _LARGEST:
        raise ValueError(
            f"expected numbers up to {_LARGEST:g} for euclidean distances; got {largest.max():g}. "
            "Rescale the columns."
        )
    return kept, points


def _few(points: Array, rows: Array) -> bool:
    """Whether there are few enough pairs to measure them all."""
    return len(points) <= EXACT or len(points) * len(rows) <= EXACT**2


def _nearest_rows(
    points: Array, rows: Array, k: int, own: Positions, grid: float, n_jobs: int | None
) -> Neighbors:
    """Exact neighbours: matrix products rule out far points, the others are measured."""
    neighbors = _nobody(len(rows), k)
    square = (points**2).sum(axis=1)
    # Twice the largest rounding error of products, norms and distances.
    slack = 4 * (points.shape[1] + 8) * np.finfo(float).eps

    def run(block: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        _hot.nearest_rows(
            rows[block],
            points,
            rows[block] @ points.T,
            square,
            slack,
            own[block],
            grid,
            neighbors.distances[block],
            neighbors.positions[block],
        )

    with single_threaded_blas():
        ordered_map(run, blocks(0, len(rows), _ROWS), n_jobs)
    return neighbors


def _nearest_groups(
    points: Array, rows: Array, k: int, own: Positions, grid: float, n_jobs: int | None
) -> Neighbors:
    """Neighbours among many points: search the distinct points, then list all equal ones.

    Columns such as years have few distinct points, and a graph search fails among equal points.
    """
    group = _equal_rows(points)
    members = np.argsort(group, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(group))])
    distinct = points[members[start[:-1]]]
    wanted = k + 1  # groups: one may hold only the row itself
    if _few(distinct, rows):
        nobody = np.full(len(rows), -1)
        candidates = _nearest_rows(distinct, rows, wanted, nobody, grid, n_jobs).positions
    else:
        candidates = _search_graph(distinct, rows, wanted)
    neighbors = _nobody(len(rows), k)

    def run(block: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        _hot.nearest_members(
            rows[block],
            distinct,
            candidates[block],
            start,
            members,
            own[block],
            grid,
            neighbors.distances[block],
            neighbors.positions[block],
        )

    ordered_map(run, blocks(0, len(rows), BLOCK), n_jobs)
    return neighbors


def _equal_rows(points: Array) -> Positions:
    """A number for each row, the same for equal rows, in the order of their first appearance.

    This order breaks ties between groups as between their first members.
    """
    numbers: dict[bytes, int] = {}
    positive = points + 0.0  # turns minus zero, whose bytes differ, into zero
    keys = (blake2b(row, digest_size=16).digest() for row in positive)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


_graph_lock = threading.Lock()


def _search_graph(points: Array, rows: Array, k: int) -> Positions:
    """(n, m) positions of points that most likely include the k nearest; -1 where fewer were found.

    It uses one thread: with more, the graph would depend on their number, and numba's threading may
    abort when two threads use it at once.
    """
    library = _import_pynndescent()
    # A smaller degree could disconnect parts of the graph.
    degree = min(max(_GRAPH, k), len(points) - 1)
    m = min(k + _SPARE, len(points))
    centre = points.mean(axis=0)
    scale = np.abs(points - centre).max()

    def single(x: Array) -> NDArray[np.float32]:
        """Single precision, after centring and scaling, so that differences are not lost."""
        return np.clip((x - centre) / scale, -1e15, 1e15).astype(np.float32)

    candidates = np.full((len(rows), m), -1)
    with _graph_lock:
        threads = numba.get_num_threads()
        try:
            index = library.NNDescent(
                single(points), metric="euclidean", n_neighbors=degree, random_state=0, n_jobs=1
            )
            for block in blocks(0, len(rows), BLOCK):  # so that Ctrl-C works in between
                positions, distances = index.query(single(rows[block]), k=m)
                candidates[block] = np.where(np.isfinite(distances), positions, -1)
        finally:
            numba.set_num_threads(threads)  # which an interrupt would leave at one
    return candidates


def _import_pynndescent() -> Any:
    try:
        return import_with_cache("pynndescent")
    except ImportError as error:
        raise ImportError(
            f"neighbours among more than {EXACT} distinct rows of numbers need the package "
            "pynndescent: pip install pynndescent"
        ) from error
