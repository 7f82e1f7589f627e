"""Links between documents: citations, replies, dependencies."""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse

from gptm._basics.errors import InputError
from gptm._basics.sparse_arrays import from_sparse_arrays, sparse_arrays
from gptm._basics.validation import POSITIVE, is_positive
from gptm._basics.warnings import warn
from gptm.corpus.metadata import RENUMBERED, column, level_names, link_lists
from gptm.kernels.bound import Documents, nothing_to_learn, packed, unpacked
from gptm.kernels.column_names import checked_column
from gptm.kernels.network import (
    Form,
    NetworkBound,
    NetworkKernel,
    NewNodes,
    symmetrised,
)
from gptm.kernels.precomputed import check_order, in_order, rows_of
from gptm.operators import pointing


class Graph(NetworkKernel):
    """Linked documents are alike, and more distant ones along the links are less so.

    Parameters
    ----------
    column : str, optional
        Column of the metadata with the ids of the documents that a document links to: a list, a single id, or text
        with ids separated by commas, semicolons, bars or spaces (a separator that occurs in ids is not used).
        Missing means no links.
    id : str, optional
        Column with the documents' own ids. By default the index of the table; a polars table has none, so its rows
        are numbered, and numbered again once some are selected. With `adjacency`: column that says which row of
        the matrix a document is, as a position, or as a label of its index if it is a DataFrame.
    adjacency : sparse or dense array or DataFrame of shape (n, n), optional
        Instead of a column: non-negative weights of links. Without `id` its rows are the training documents in order;
        with `id` the matrix may also cover documents that come later.
    form : {"smooth", "direct"}, default="smooth"
        "smooth" is ((1 + kappa^2) I - S)^-nu, scaled to a mean variance of one. S are the links, normalised by the
        number of links at both ends plus a tenth, so that isolated pairs do not get the largest variance.
        "direct" is the paper's eq. 21: covariance `gamma` for linked documents, variance `diagonal` for each.
    kappa : float, optional
        For "smooth": the smaller, the further similarity reaches along the links. Learnt if not given, starting at
        0.17; with more than 2,000 documents it can only grow, because smaller values would be slow.
    nu : {1, 2, 3, 4}, default=3
        For "smooth": the larger, the smoother.
    gamma : float, default=1.0
        For "direct": covariance of linked documents.
    diagonal : float, optional
        For "direct": variance of each document. The default is always large enough for a positive definite kernel.
    name : str, optional
        Name of this term in tables and plots.

    Notes
    -----
    Links have no direction and count once; links of a document to itself are ignored. A link to an id that does not
    exist yet is kept, and used when a document with that id arrives. New documents are attached to the graph by
    links from or to training documents; the fitted model does not change.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Graph("links", id="id")
    Graph('links', id='id')
    """

    only_in_python: ClassVar[Mapping[str, str]] = {"adjacency": "a matrix"}

    def __init__(
        self,
        column: str | None = None,
        *,
        id: str | None = None,
        adjacency: Any = None,
        form: Form = "smooth",
        kappa: float | None = None,
        nu: int = 3,
        gamma: float = 1.0,
        diagonal: float | None = None,
        name: str | None = None,
    ):
        if (column is None) == (adjacency is None):
            raise ValueError(
                "Graph expects a column of links, as in Graph('links', id='id'), or adjacency=, a matrix; got "
                f"{'both' if column is not None else 'neither'}."
            )
        of_links = "'links', id='id'"
        if column is not None:
            checked_column("Graph", column, of_links, " Pass a matrix of links as adjacency=.")
        if id is not None:
            checked_column("Graph", id, of_links, " Pass the name of the column of ids as id=.")
        self.column = column
        self.id = id
        self.adjacency = adjacency
        self.form = form
        self.kappa = kappa
        self.nu = nu
        self.gamma = gamma
        self.diagonal = diagonal
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.column, self.id) if name is not None)

    def describe(self, dates: Collection[str] = ()) -> str:
        by = "" if self.column is None else f" ({self.column})"
        return f"documents that are linked{by} are alike"

    def bind(self, documents: Documents) -> NetworkBound:
        if self.adjacency is None:
            return _bind_links(self, documents)
        return _bind_matrix(self, documents)

    def rebind(self, arrays: dict[str, np.ndarray]) -> NetworkBound:
        if self.adjacency is not None:
            return MatrixBound(self, from_sparse_arrays(arrays, "edges"), arrays["rows"])
        ids, awaited = (unpacked(arrays[name]) for name in ("ids", "awaited"))
        links = from_sparse_arrays(arrays, "links")
        return LinkBound(self, links, ids, awaited, bool(arrays["positional"][0]))

    def ids(self, documents: Documents) -> list[str | None]:
        """The documents' own ids as text, None where missing."""
        frame = documents.frame
        assert frame is not None
        values = frame.index.to_series() if self.id is None else column(frame, self.id, self)
        return list(level_names(values))


class LinkBound(NetworkBound):
    """Links by ids."""

    def __init__(
        self,
        kernel: Graph,
        links: csr_matrix,
        ids: list[str | None],
        awaited: dict[str, list[int]],
        positional: bool,
    ):
        super().__init__(kernel, symmetrised(links))
        self.links = links  # (D, D) from the linking document to the linked one
        self.ids = ids
        # Ids that do not exist yet, with the training documents that link to them.
        self.awaited = awaited
        self.positional = positional  # ids are just row numbers
        self._position = {name: row for row, name in enumerate(ids) if name is not None}

    @property
    def training(self) -> NewNodes:
        """As themselves if they have ids; otherwise by their links, as `transform` would place them."""
        named = np.array([name is not None and not self.positional for name in self.ids])
        return super().training if named.all() else NewNodes(self.links, _same(named))

    def read(self, new: Documents) -> NewNodes:
        frame = new.frame
        if frame is None:
            return NewNodes(csr_matrix((new.n, self.n)), np.full(new.n, -1))
        links = link_lists(column(frame, self.kernel.column, repr(self.kernel)), self.ids)
        ids = self._known_ids(new)
        same = np.array(
            [-1 if name is None else self._position.get(name, -1) for name in ids], dtype=np.int64
        )
        targets = [
            {self._position[name] for name in names if name in self._position}
            | set(() if own is None else self.awaited.get(own, ()))
            for names, own in zip(links, ids, strict=True)
        ]
        return NewNodes(_edges(targets, self.n), same)

    def _known_ids(self, new: Documents) -> list[str | None]:
        """Ids of new documents; a row number that equals one in training does not make it the same document."""
        ids = self.kernel.ids(new)
        assert new.frame is not None
        if not self.positional and not (self.kernel.id is None and _numbered(new.frame)):
            return ids
        return [None if name in self._position else name for name in ids]

    def arrays(self) -> dict[str, np.ndarray]:
        return sparse_arrays(self.links, "links") | {
            "ids": packed(self.ids),
            "awaited": packed(self.awaited),
            "positional": np.array([self.positional]),
        }


class MatrixBound(NetworkBound):
    """Links by a matrix; `rows` says which of its rows the training documents are."""

    def __init__(self, kernel: Graph, edges: csr_matrix, rows: np.ndarray):
        super().__init__(kernel, edges)
        self.rows = rows

    @property
    def reads_metadata(self) -> bool:
        return self.kernel.id is not None

    @property
    def training(self) -> NewNodes:
        """As themselves; documents without a row have no links, as in `transform`."""
        return NewNodes(csr_matrix((self.n, self.n)), _same(self.rows >= 0))

    def read(self, new: Documents) -> NewNodes:
        if self.kernel.id is None or new.frame is None:
            return NewNodes(csr_matrix((new.n, self.n)), np.full(new.n, -1))
        matrix = symmetrised(_checked(self.kernel.adjacency))
        rows = rows_of(self.kernel, self.kernel.adjacency, new.frame)
        position = {row: place for place, row in enumerate(self.rows) if row >= 0}
        same = np.array([position.get(row, -1) for row in rows], dtype=np.int64)
        return NewNodes(_picked(matrix, rows, self.rows), same)

    def arrays(self) -> dict[str, np.ndarray]:
        return sparse_arrays(self.edges, "edges") | {"rows": self.rows}


def _bind_links(kernel: Graph, documents: Documents) -> LinkBound:
    frame = documents.frame
    values = column(frame, kernel.column or "", repr(kernel))
    assert frame is not None
    ids = kernel.ids(documents)
    links = link_lists(values, ids)
    position = _positions(kernel, ids)
    awaited: dict[str, list[int]] = {}
    for row, names in enumerate(links):
        for name in dict.fromkeys(names):
            if name not in position:
                awaited.setdefault(name, []).append(row)
    targets = [{position[name] for name in names if name in position} for names in links]
    _report(kernel, links, ids, awaited)
    positional = kernel.id is None and _numbered(frame)
    if positional and frame.attrs.get(RENUMBERED):
        warn(
            f"{kernel!r}: a polars table has no index, so {kernel.column!r} is read as numbers of its rows. They are "
            "wrong once rows are selected, as in cross-validation; name a column with the documents' ids, id=."
        )
    return LinkBound(kernel, _edges(targets, documents.n), ids, awaited, positional)


def _positions(kernel: Graph, ids: list[str | None]) -> dict[str, int]:
    position: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name is None:
            continue
        if name in position:
            where = "the table's index" if kernel.id is None else f"column {kernel.id!r}"
            raise ValueError(
                f"{kernel!r} needs one id per document, but {name!r} in {where} names documents {position[name]} and "
                f"{row}. Drop the repeats, or give them ids of their own."
            )
        position[name] = row
    return position


def _report(
    kernel: Graph,
    links: list[list[str]],
    ids: list[str | None],
    awaited: dict[str, list[int]],
) -> None:
    """Warn, once, if links lead to ids that do not exist."""
    n_links = sum(len(set(names) - {own}) for names, own in zip(links, ids, strict=True))
    if n_links == 0:
        raise nothing_to_learn(
            kernel,
            f"every value of {kernel.column!r} is missing or empty, or links a document to itself",
        )
    n_awaited = sum(map(len, awaited.values()))
    where = "the table's index" if kernel.id is None else f"column {kernel.id!r}"
    if n_awaited == n_links:
        warn(
            f"{kernel!r}: none of {n_links:,} links leads to a document in {where}, so nothing is learnt from them. If "
            "that is not where the ids are, name their column with id=; and write links that are text as lists."
        )
    elif n_awaited:
        example = next(iter(awaited))
        warn(
            f"{kernel!r}: {n_awaited:,} of {n_links:,} links lead to ids that are not in {where}, such as {example!r}. "
            "They are kept, and used when a document with that id arrives."
        )


def _bind_matrix(kernel: Graph, documents: Documents) -> MatrixBound:
    matrix = symmetrised(_checked(kernel.adjacency))
    if matrix.nnz == 0:
        raise nothing_to_learn(kernel, "all weights of links between different documents are zero")
    if kernel.id is None:
        if matrix.shape[0] != documents.n:
            raise ValueError(
                f"adjacency has one row per training document: expected {documents.n}, got {matrix.shape[0]}. If it "
                "covers other documents too, pass id=, a metadata column that says which row is which."
            )
        check_order(kernel, kernel.adjacency, documents.frame)
        return MatrixBound(kernel, matrix, np.arange(documents.n))
    rows = rows_of(kernel, kernel.adjacency, documents.frame)
    missing = column(documents.frame, kernel.id, repr(kernel)).isna().to_numpy()
    present = rows[rows >= 0]
    unknown = int((rows < 0).sum() - missing.sum())
    repeated = len(present) - len(np.unique(present))
    if unknown or repeated or len(present) == 0:
        raise ValueError(
            f"every training document with a value in column {kernel.id!r} needs a row of its own in adjacency; "
            f"{unknown} values are none of its {matrix.shape[0]} rows, {repeated} repeat, {missing.sum()} are missing."
        )
    return MatrixBound(kernel, _picked(matrix, rows, rows), rows)


def _picked(matrix: csr_matrix, rows: np.ndarray, columns: np.ndarray) -> csr_matrix:
    """matrix[rows][:, columns], with nothing where either is negative."""
    size = matrix.shape[0]
    left = pointing(rows, size)
    return (left @ matrix @ pointing(columns, size).T).tocsr()


def _checked(adjacency: Any) -> csr_matrix:
    if hasattr(adjacency, "nodes") and hasattr(adjacency, "edges"):
        raise ValueError(
            f"adjacency must be a matrix; got a {type(adjacency).__name__} with nodes and edges. For networkx "
            "pass nx.to_scipy_sparse_array(graph, nodelist=ids), with the ids in the order of the documents."
        )
    try:
        values = adjacency if issparse(adjacency) else np.asarray(in_order(adjacency), dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"adjacency must be a matrix of weights; got {type(adjacency).__name__}, which cannot be read as one "
            f"({error})."
        ) from error
    matrix = csr_matrix(values)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"adjacency must be square; got shape {matrix.shape}.")
    if not (np.isfinite(matrix.data).all() and (matrix.data >= 0).all()):
        raise ValueError("adjacency must hold weights that are finite and not negative.")
    largest = float(matrix.data.max(initial=0.0))
    if largest > 0 and not is_positive(largest):
        raise InputError(
            f"the largest weight of adjacency must be {POSITIVE}; got {largest:g}. Divide all weights by it."
        )
    return matrix


def _edges(targets: list[set[int]], n_columns: int) -> csr_matrix:
    indptr = np.concatenate([[0], np.cumsum([len(linked) for linked in targets])]).astype(np.int64)
    indices = np.fromiter((to for linked in targets for to in sorted(linked)), dtype=np.int64)
    return csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(targets), n_columns))


def _same(named: np.ndarray) -> np.ndarray:
    """(n,) each document's own position, or -1 where it has no name."""
    return np.where(named, np.arange(len(named)), -1)


def _numbered(frame: pd.DataFrame) -> bool:
    """Whether the index is just row numbers."""
    index = frame.index
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
