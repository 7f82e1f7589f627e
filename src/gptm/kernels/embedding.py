"""Similarity of vectors, such as those of a language model."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.eigenvectors import steady_signs
from gptm._basics.types import Array
from gptm._basics.validation import check_number, check_truth
from gptm.corpus.metadata import column, vectors
from gptm.kernels.bound import nothing_to_learn
from gptm.kernels.column_kernel import warn_same_vectors
from gptm.kernels.column_names import checked_column
from gptm.kernels.linear import VectorKernel
from gptm.kernels.vector_groups import vector_groups


class Embedding(VectorKernel):
    """Documents are alike if their vectors, such as embeddings of a language model, point the same way.

    Vectors are compared along the directions in which they vary most. The other directions of a language model mostly
    tell documents apart that have the same topics.

    The vectors also guide the topics, if inference is "sampling" and the start is the default one: each topic begins
    with a group of documents with similar vectors, and these documents' words count in its prior. If such groups do not
    predict words, the fit starts as it does without vectors.

    Parameters
    ----------
    column : str
        Column of the metadata with a list or array of numbers per document, all of the same length.
    n_directions : int or None, default=50
        Number of principal directions of the training vectors to keep. None keeps the vectors as they are.
    center : bool, default=True
        Subtract the mean vector of the training documents first.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Embedding("vector")
    Embedding('vector')
    """

    def __init__(
        self,
        column: str,
        *,
        n_directions: int | None = 50,
        center: bool = True,
        name: str | None = None,
    ):
        if n_directions is not None:
            check_number("n_directions", n_directions, least=1, integer=True)
        check_truth("center", center)
        self.column = checked_column("Embedding", column, "'vector'")
        self.n_directions = n_directions
        self.center = center
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return (self.column,)

    def read(
        self, frame: pd.DataFrame | None, then: np.ndarray | None = None
    ) -> tuple[Array, np.ndarray]:
        rows = vectors(column(frame, self.column, self), self.column)
        return rows, np.zeros(1, dtype=bool)

    def prepare(self, points: Array) -> tuple[Array, Array]:
        if not points.any():
            raise nothing_to_learn(self, f"every vector in {self.column!r} is zero")
        warn_same_vectors(self, self.column, points)
        width = points.shape[1]
        centre = points.mean(axis=0) if self.center else np.zeros(width)
        if self.n_directions is None or self.n_directions >= width:
            return centre, np.eye(width)
        return centre, principal_directions(points - centre, self.n_directions)

    def features(self, projected: Array) -> Array:
        lengths: Any = np.linalg.norm(projected, axis=1, keepdims=True)
        return projected / np.where(lengths == 0, 1.0, lengths)

    def groups_of(
        self, rows: Array, n_groups: int, rng: np.random.RandomState
    ) -> np.ndarray | None:
        return vector_groups(rows, n_groups, rng)

    def describe(self, dates: Collection[str] = ()) -> str:
        return f"documents with similar vectors ({self.column}) are alike"


def principal_directions(points: Array, n: int) -> Array:
    """(p, n) orthonormal directions in which the points (D, p) have most of their squares, the first one most."""
    vectors = np.linalg.eigh(points.T @ points)[1][:, ::-1][:, :n]
    return np.asarray(vectors * steady_signs(vectors))
