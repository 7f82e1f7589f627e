"""Kernels tied to training documents: what they store of these, and how they predict new documents."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.errors import InputError
from gptm._basics.memory import TooLarge, check_square
from gptm._basics.types import Array
from gptm._basics.validation import is_real
from gptm.kernels.description import Description
from gptm.operators import (
    Cross,
    Operator,
    Placement,
    Structure,
    Tangent,
    TrainingOperator,
    build_operator,
    covariance_of_new,
    covariance_with_training,
    variance_of_new,
)
from gptm.operators.spectral import Indefinite


class Documents(NamedTuple):
    """Everything that a kernel may read."""

    n: int
    frame: pd.DataFrame | None = None  # metadata, one row per document
    counts: csr_matrix | None = None  # words
    y: Any = None  # labels that `fit` was given
    n_jobs: int | None = None  # number of threads


class Learnable(NamedTuple):
    """A positive parameter that the user left open: its current value and its limits."""

    name: str
    value: float
    low: float
    high: float


class Groups(NamedTuple):
    """Documents that belong together, for topics to begin with."""

    codes: np.ndarray  # (D,) number of each document's group; negative for none
    given: bool  # by the user, as labels are; otherwise guessed


class BoundKernel(ABC):
    """A kernel tied to training documents: its operator, and its predictions for new documents."""

    # The `Kernel`, with its open parameters settled; not typed as one, since kernels that are made of kernels bind
    # to classes that are defined in terms of this one.
    kernel: Any
    n: int

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """The kernel matrix of the training documents, as features, graphs and a diagonal."""

    @property
    @abstractmethod
    def training(self) -> Any:
        """The training documents in the form that `read` returns for new ones."""

    @abstractmethod
    def read(self, new: Documents) -> Any:
        """What the kernel needs to know about new documents. Without metadata they fall back to the prior."""

    @abstractmethod
    def place(self, new: Any, joint: bool = False) -> Placement:
        """The position of new documents, as returned by `read`; `joint` if they are predicted together."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that a saved model needs, to `rebind` the kernel."""

    def learnables(self) -> list[Learnable]:
        """Parameters that are learnt from the documents."""
        return []

    def moved(self, values: Sequence[float]) -> "BoundKernel":
        """The same kernel, over the same documents, with other values of its learnables."""
        assert len(values) == 0
        return self

    def learnt_by(self, kernel: Description) -> list[float] | None:
        """The values of these learnables in a kernel of the same class and columns; None for any other kernel."""
        if type(kernel) is not type(self.kernel):
            return None
        values = [getattr(kernel, learnable.name) for learnable in self.learnables()]
        same = kernel.column_names() == self.kernel.column_names()
        return [float(value) for value in values] if same and all(map(is_real, values)) else None

    def tangents(self) -> list[Tangent]:
        """The derivative of the kernel matrix in the logarithm of each learnable."""
        return []

    def groups(self, n_groups: int, rng: np.random.RandomState) -> Groups | None:
        """Training documents in so many groups, if the kernel knows any."""
        return None

    def settings(self, n_points: int) -> pd.DataFrame | None:
        """Values of its columns along which to show its effect; None if there are none, as for links."""
        return None

    def date_columns(self) -> set[str]:
        """Columns that held dates in the training documents."""
        return set()

    @property
    def reads_metadata(self) -> bool:
        """Whether new documents need metadata to be placed."""
        return True

    @cached_property
    def operator(self) -> TrainingOperator:
        """The operator that solves with the kernel matrix."""
        return self.solver()

    def solver(self, like: Operator | None = None) -> TrainingOperator:
        """The operator that solves with the kernel matrix.

        `like` is the operator of the same kernel with other parameters, whose work it may reuse.
        """
        structure = self.structure  # outside of `try`: its errors name their own remedy
        try:
            return build_operator(structure, like)
        except TooLarge as error:
            remedy = "Merge rare levels of a category into one, round columns, or leave a term out."
            raise TooLarge(f"{error} {remedy}") from None

    def cross(self, new: Any, joint: bool = False) -> Cross:
        """Predictions for new documents, as returned by `read`; `joint` if they are predicted together."""
        placed = self.place(new)
        if joint:
            if placed.features is not None or placed.weights:  # otherwise the result is diagonal
                check_memory(placed.n, self.kernel)
            placed = self.place(new, joint=True)
        return self.operator.cross(placed)

    def mean_diagonal(self) -> float:
        """Mean prior variance over the training documents."""
        return self.structure.mean_diagonal()

    # Written out, 𝒦 = between + diag(own_variances): for products of kernels, for sampling, and for tests.

    def labels(self) -> np.ndarray:
        """(D,) integers, equal for training documents that the kernel cannot tell apart.

        The part of its variance that a document shares with no other is ignored.
        """
        return np.arange(self.n)

    def alone(self) -> np.ndarray:
        """(D,) whether a training document is independent of all others, for example because its value is missing."""
        return np.zeros(self.n, dtype=bool)

    @property
    def own_part(self) -> float:
        """The variance that every document, also a new one, has at least for itself alone."""
        return 0.0

    def gram(self) -> Array:
        """(D, D) the kernel among the training documents."""
        return self._written_out

    @cached_property
    def _written_out(self) -> Array:
        check_memory(self.n, self.kernel)
        return self.structure.to_dense()

    def own_variances(self) -> Array:
        """(D,) the part of each training document's variance that it shares with no other document."""
        return self.structure.own

    def shared_variances(self) -> Array:
        """(D,) the rest of the variance: the diagonal of `between`."""
        features = self.structure.features
        return np.zeros(self.n) if features is None else features.row_squares()

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        """Covariances between training documents, without `own_variances` even where a row meets itself."""
        features = self.structure.features
        if features is None:
            return np.zeros((len(rows), len(others)))
        return features.take(rows).to_dense() @ features.take(others).to_dense().T

    def cross_gram(self, new: Any, rows: np.ndarray | None = None) -> Array:
        """(n, m) covariances of new documents with all training documents, or with some `rows` of them."""
        covariances = covariance_with_training(self.structure, self.place(new))
        return covariances if rows is None else covariances[:, rows]

    def own_gram(self, new: Any, joint: bool) -> Array:
        """(n,) variances of new documents, or with `joint` their (n, n) covariances."""
        written_out = covariance_of_new if joint else variance_of_new
        return written_out(self.structure, self.place(new, joint))


def packed(value: Any) -> np.ndarray:
    """Names and lists of names as an array that can be saved."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def unpacked(array: np.ndarray) -> Any:
    return json.loads(array.tobytes().decode())


def nothing_to_learn(kernel: Description, why: str) -> ValueError:
    """The error for a kernel that has no usable values in the training documents."""
    return ValueError(
        f"{kernel!r} has nothing to learn from: {why}. Leave this kernel out, or fill the column."
    )


@contextmanager
def naming(kernel: Description, remedy: str = "") -> Iterator[None]:
    """Name the kernel in errors raised inside, and add a remedy if its matrix is not a covariance."""
    try:
        yield
    except Indefinite as error:
        raise Indefinite(f"{kernel!r}: {error} {remedy}".rstrip()) from None
    except ValueError as error:
        raise InputError.about(repr(kernel), error) from None


def check_memory(n: int, kernel: Description) -> None:
    """Refuse a dense decomposition that does not fit into memory (matrix, vectors and work space)."""
    check_square(
        n,
        f"{kernel!r} tells {n:,} documents apart",
        "Round the columns it reads (for example dates to months), so that more documents share a value; give a "
        "longer length-scale; use a kernel that stays small (Linear, Categorical, Embedding, Graph, NearestNeighbors, "
        "and sums of these); or fit to fewer documents.",
    )
