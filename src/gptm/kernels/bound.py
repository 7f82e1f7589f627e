"""Kernels over given training documents: what they know of them, and what they say of new ones."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

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
    """What a kernel may look at."""

    n: int
    frame: pd.DataFrame | None = None  # metadata, one row per document
    counts: csr_matrix | None = None  # words
    y: Any = None  # labels that `fit` was given
    n_jobs: int | None = None  # threads that may help


class Learnable(NamedTuple):
    """A positive parameter that was not given, where it stands, and how far it may go."""

    name: str
    value: float
    low: float
    high: float


class BoundKernel(ABC):
    """A kernel over given training documents: its operator, and what it says of new documents."""

    # The `Kernel`, with its open parameters settled; not typed as one, since kernels that are made of kernels bind
    # to classes that are defined in terms of this one.
    kernel: Any
    n: int

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """What the kernel among the training documents is made of."""

    @property
    @abstractmethod
    def training(self) -> Any:
        """What the kernel knows of the training documents, in the form that `read` gives."""

    @abstractmethod
    def read(self, new: Documents) -> Any:
        """What the kernel needs of new documents. Without metadata they fall back to the prior."""

    @abstractmethod
    def place(self, new: Any, joint: bool = False) -> Placement:
        """Where new documents, as `read`, stand; `joint` where they are predicted together."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """What has to be saved of the training documents."""

    def learnables(self) -> list[Learnable]:
        """Parameters that the documents may decide."""
        return []

    def moved(self, values: Sequence[float]) -> "BoundKernel":
        """The same kernel, over the same documents, with other values of its learnables."""
        assert len(values) == 0
        return self

    def learnt_by(self, kernel: Description) -> list[float] | None:
        """The values that a kernel of the same kind and columns has for these learnables; None for another one."""
        if type(kernel) is not type(self.kernel):
            return None
        values = [getattr(kernel, one.name) for one in self.learnables()]
        same = kernel.column_names() == self.kernel.column_names()
        return [float(one) for one in values] if same and all(map(is_real, values)) else None

    def tangents(self) -> list[Tangent]:
        """How its matrix moves with the logarithm of each of them."""
        return []

    def settings(self, n_points: int) -> pd.DataFrame | None:
        """Values of its columns that show what it does; None where only documents can."""
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
        """How to solve with it."""
        return self.solver()

    def solver(self, like: Operator | None = None) -> TrainingOperator:
        """How to solve with it; `like` is the operator of the same kernel with other parameters."""
        structure = self.structure  # whose refusals name a remedy of their own
        try:
            return build_operator(structure, like)
        except TooLarge as error:
            remedy = "Merge rare levels of a category into one, round columns, or leave a term out."
            raise TooLarge(f"{error} {remedy}") from None

    def cross(self, new: Any, joint: bool = False) -> Cross:
        """The kernel's word on new documents as `read`; `joint` where they are predicted together."""
        placed = self.place(new)
        if joint:
            if placed.features is not None or placed.weights:  # else each has only what is its own
                check_memory(placed.n, self.kernel)
            placed = self.place(new, joint=True)
        return self.operator.cross(placed)

    def mean_diagonal(self) -> float:
        """Mean prior variance over the training documents."""
        return self.structure.mean_diagonal()

    # Written out, 𝒦 = between + diag(own_variances): for products of kernels, for sampling, and for tests.

    def labels(self) -> np.ndarray:
        """(D,) integers, equal for training documents that the kernel cannot tell apart.

        What a document has for itself alone does not count.
        """
        return np.arange(self.n)

    def alone(self) -> np.ndarray:
        """(D,) whether a training document has nothing in common with any other, as for want of a value."""
        return np.zeros(self.n, dtype=bool)

    @property
    def own_part(self) -> float:
        """The part of every document's variance, of new ones too, that it shares with no other document."""
        return 0.0

    def gram(self) -> Array:
        """(D, D) the kernel among the training documents."""
        return self._written_out

    @cached_property
    def _written_out(self) -> Array:
        check_memory(self.n, self.kernel)
        return self.structure.to_dense()

    def own_variances(self) -> Array:
        """(D,) what of each training document's variance it shares with no other document."""
        return self.structure.own

    def shared_variances(self) -> Array:
        """(D,) the rest of it: the diagonal of `between`."""
        features = self.structure.features
        return np.zeros(self.n) if features is None else features.row_squares()

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        """Training documents against training documents, each pair taken as two, without what is their own."""
        features = self.structure.features
        if features is None:
            return np.zeros((len(rows), len(others)))
        return features.take(rows).to_dense() @ features.take(others).to_dense().T

    def cross_gram(self, new: Any, rows: np.ndarray | None = None) -> Array:
        """(n, m) new documents against training documents, or some of them."""
        found = covariance_with_training(self.structure, self.place(new))
        return found if rows is None else found[:, rows]

    def own_gram(self, new: Any, joint: bool) -> Array:
        """(n,) the new documents' own variances, or with `joint` (n, n) among them."""
        written_out = covariance_of_new if joint else variance_of_new
        return written_out(self.structure, self.place(new, joint))


def packed(value: Any) -> np.ndarray:
    """Names and lists of names as an array that can be saved."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def unpacked(array: np.ndarray) -> Any:
    return json.loads(array.tobytes().decode())


def nothing_to_learn(kernel: Description, why: str) -> ValueError:
    """The error for a kernel whose documents tell it nothing."""
    return ValueError(
        f"{kernel!r} has nothing to learn from: {why}. Leave this kernel out, or fill the column."
    )


@contextmanager
def naming(kernel: Description, remedy: str = "") -> Iterator[None]:
    """Errors in here say which kernel they are about, and what else to try where it is no covariance."""
    try:
        yield
    except Indefinite as error:
        raise Indefinite(f"{kernel!r}: {error} {remedy}".rstrip()) from None
    except ValueError as error:
        raise ValueError(f"{kernel!r}: {error}") from None


def check_memory(n: int, kernel: Description) -> None:
    """Refuse a dense decomposition that the machine cannot hold (matrix, vectors and work space)."""
    check_square(
        n,
        f"{kernel!r} tells {n:,} documents apart",
        "Round the columns it reads (for example dates to months), so that more documents share a value; give a "
        "longer length-scale; use a kernel that stays small (Linear, Categorical, Embedding, Graph, NearestNeighbors, "
        "and sums of these); or fit to fewer documents.",
    )
