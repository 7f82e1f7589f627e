"""The paper's must-link kernel: documents that are known to belong together."""

from collections.abc import Collection, Iterable, Iterator, Set
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from gptm._basics.validation import check_text, is_real
from gptm.corpus.metadata import column, level_names
from gptm.kernels.bound import Documents, Groups, nothing_to_learn, unpacked
from gptm.kernels.categorical import ALONE, CategoricalBound, codes_of, warn_useless
from gptm.kernels.column_names import checked_column
from gptm.kernels.kernel import Kernel

_UNLABELLED = "-1"  # scikit-learn's way to write a missing label


class MustLink(Kernel):
    """Documents with the same label, or linked in pairs, belong together (eq. 22 of the paper).

    Labels may be known for a few documents only; each of the others is a group of its own.

    If there are as many groups as topics, inference is "sampling" and the start is the default one, each group gets a
    topic of its own: the words of its documents count in the prior of that topic.

    Parameters
    ----------
    column : str, optional
        Column of the metadata with labels; missing or -1 means unlabelled. Without it, and without `pairs`, the
        labels are `y` of `fit`, and every document at transform is unlabelled.
    pairs : iterable of (int, int), optional
        Positions of training documents that belong together, in a list, a set, an array or a table of two columns.
        Documents that are linked through others count as linked. Do not use pairs where rows are selected, as in
        cross-validation, because positions then mean other documents: use a column.
    gamma : float, default=1.0
        Covariance of linked documents.
    diagonal : float, optional
        Variance of every document. It must be larger than gamma, for a positive definite kernel. By default
        twice gamma: of 1.01, 1.1 and 2 times gamma, this predicted held-out words best on three corpora.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> from gptm.kernels import Documents
    >>> k.MustLink(pairs=[(0, 1), (1, 2)]).bind(Documents(4)).gram()
    array([[2., 1., 1., 0.],
           [1., 2., 1., 0.],
           [1., 1., 2., 0.],
           [0., 0., 0., 2.]])
    """

    def __init__(
        self,
        column: str | None = None,
        *,
        pairs: Iterable[tuple[int, int]] | np.ndarray | pd.DataFrame | None = None,
        gamma: float = 1.0,
        diagonal: float | None = None,
        name: str | None = None,
    ):
        if column is not None and pairs is not None:
            raise ValueError("MustLink takes a column of labels or pairs of documents, not both.")
        self.column = None if column is None else checked_column("MustLink", column, "'label'")
        # Iterators can be read only once, and sets have no order: both become lists.
        self.pairs: Any = list(pairs) if isinstance(pairs, Iterator | Set) else pairs
        self.gamma = gamma
        self.diagonal = diagonal
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    @property
    def reads_labels(self) -> bool:
        return self.column is None and self.pairs is None

    def describe(self, dates: Collection[str] = ()) -> str:
        by = "" if self.column is None else f" ({self.column})"
        return f"documents with the same label{by} belong together"

    def bind(self, documents: Documents) -> "MustLinkBound":
        n_documents, y = documents.n, documents.y
        if self.pairs is not None:
            links = _checked_pairs(self, n_documents)
            return MustLinkBound(self, [], _closure(links, n_documents))
        if self.column is not None:
            names = self.read(documents.frame)
        elif y is not None:
            names = _labels(_as_series(y))
            if len(names) != n_documents:
                raise ValueError(
                    f"y must hold one label per document: expected {n_documents}, got {len(names)}."
                )
        else:
            raise ValueError(
                f"{self!r} needs labels: name a column, as in MustLink('label'), or pass y to fit, with -1 for "
                "unlabelled documents."
            )
        levels = sorted({name for name in names if name is not None})
        if not levels:
            raise nothing_to_learn(self, "every document is unlabelled")
        where = "y" if self.column is None else repr(self.column)
        check_text(levels, f"a label in {where}")
        codes = codes_of(names, levels)
        warn_useless(self, codes, len(levels), f"label in {where}")
        return MustLinkBound(self, levels, codes)

    def rebind(self, arrays: dict[str, np.ndarray]) -> "MustLinkBound":
        levels = unpacked(arrays["levels"])
        return MustLinkBound(self, levels, arrays["codes"])

    def read(self, frame: pd.DataFrame | None) -> np.ndarray:
        """(n,) labels as text, None for unlabelled documents."""
        assert self.column is not None
        return _labels(column(frame, self.column, self))


class MustLinkBound(CategoricalBound):
    """Must-links over training documents: gamma within a group, and the diagonal."""

    def __init__(self, kernel: MustLink, levels: list[str], codes: np.ndarray):
        super().__init__(kernel, levels, codes)
        self.gamma, self.variance = _checked_constants(kernel)
        self.by_column = kernel.column is not None

    @property
    def own_part(self) -> float:
        return self.variance - self.gamma

    @property
    def reads_metadata(self) -> bool:
        return self.by_column

    @property
    def training(self) -> np.ndarray:
        """Unlabelled unless labels come from a column, as in `transform`."""
        return self.codes if self.by_column else np.full(self.n, ALONE)

    def groups(self, n_groups: int, rng: np.random.RandomState) -> Groups | None:
        return Groups(self.codes, given=True)

    def read(self, new: Documents) -> np.ndarray:
        return super().read(new) if self.by_column else np.full(new.n, ALONE)


def _as_series(y: Any) -> pd.Series:
    """Labels as they are; numpy would turn a missing label in a list of names into the text "nan"."""
    return pd.Series(np.asarray(y, dtype=None if hasattr(y, "__array__") else object).ravel())


def _labels(values: pd.Series) -> np.ndarray:
    names = level_names(values)
    names[names == _UNLABELLED] = None
    return names


def _checked_pairs(kernel: MustLink, n_documents: int) -> np.ndarray:
    """(m, 2) positions of training documents."""
    pairs = kernel.pairs.to_numpy() if isinstance(kernel.pairs, pd.DataFrame) else kernel.pairs
    for pair in pairs:
        if not (np.shape(pair) == (2,) and all(_is_position(end, n_documents) for end in pair)):
            raise ValueError(
                f"pairs must hold two positions of training documents each, from 0 to {n_documents - 1}; got {pair!r}. "
                "Documents that are known by names need a column of labels, as in MustLink('label')."
            )
    links = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    if (links[:, 0] == links[:, 1]).all():
        raise nothing_to_learn(kernel, "its pairs link no two different documents")
    return links


def _is_position(value: Any, n_documents: int) -> bool:
    return is_real(value) and float(value).is_integer() and bool(0 <= value < n_documents)


def _closure(links: np.ndarray, n_documents: int) -> np.ndarray:
    """(n,) number of each document's group, `ALONE` if it is in no pair."""
    graph = coo_matrix(
        (np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n_documents, n_documents)
    )
    groups = connected_components(graph, directed=False)[1].astype(np.int64)
    linked = np.zeros(n_documents, dtype=bool)
    linked[links.ravel()] = True
    codes = np.full(n_documents, ALONE)
    codes[linked] = np.unique(groups[linked], return_inverse=True)[1]
    return codes


def _checked_constants(kernel: MustLink) -> tuple[float, float]:
    if not (is_real(kernel.gamma) and 0 < kernel.gamma < np.inf):
        raise ValueError(f"gamma must be positive; got {kernel.gamma!r} in {kernel!r}.")
    gamma = float(kernel.gamma)
    variance = 2.0 * gamma if kernel.diagonal is None else float(kernel.diagonal)
    if not gamma < variance < np.inf:
        raise ValueError(
            f"diagonal must be larger than gamma for a positive definite kernel; got diagonal={kernel.diagonal!r} and "
            f"gamma={kernel.gamma!r}. Anything above {gamma:g} works."
        )
    return gamma, variance
