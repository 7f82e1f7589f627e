"""The contracts: what inference asks of a kernel over the training documents, and over new ones."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from gptm._types import Array

if TYPE_CHECKING:
    from gptm.operators.spectral import Spectral


class Operator(ABC):
    """A symmetric positive semi-definite (D, D) matrix 𝒦 that need not exist as an array.

    Products, solves and traces act on vectors in the operator's own orthonormal coordinates: rotate the
    data once, work there as long as parameters change, rotate the answer back. An operator without
    a better choice keeps the documents' coordinates, and both rotations return what they are given.

    `b` is a vector of non-negative strengths, one per column.
    """

    n: int  # number of documents

    def rotate(self, X: Array) -> Array:
        """(D, m) documents' coordinates to the operator's own."""
        return X

    def unrotate(self, X: Array) -> Array:
        """(D, m) the operator's coordinates back to documents'."""
        return X

    @abstractmethod
    def matmul(self, X: Array) -> Array:
        """𝒦 X."""

    @abstractmethod
    def solve(self, b: Array, X: Array) -> Array:
        """Column i is (b_i 𝒦 + I)^-1 X[:, i]."""

    @abstractmethod
    def logdet(self, b: Array) -> Array:
        """log |b_i 𝒦 + I| for every i."""

    @abstractmethod
    def trace(self, b: Array) -> Array:
        """tr 𝒦 (b_i 𝒦 + I)^-1 for every i."""

    @abstractmethod
    def diagonal(self, b: Array) -> Array:
        """(D, len(b)), diagonal of 𝒦 (b_i 𝒦 + I)^-1 in documents' coordinates."""

    @abstractmethod
    def log_pseudo_determinant(self) -> tuple[float, int]:
        """log of the product of the non-zero eigenvalues of 𝒦, and their number."""

    def to_dense(self) -> Array:
        """𝒦 as an array, for small problems and tests."""
        return self.unrotate(self.matmul(self.rotate(np.eye(self.n))))


class Cross(ABC):
    """What a kernel says of n new documents given the D training documents."""

    @abstractmethod
    def mean(self, alpha: Array) -> Array:
        """(n, K) the GP's prediction 𝒦_*f alpha, eq. 17."""

    @abstractmethod
    def variance(self, b: Array) -> Array:
        """(n, len(b)) b_i 𝒦_** - b_i^2 𝒦_*f (b_i 𝒦_ff + I)^-1 𝒦_f*, per document, never negative."""

    @abstractmethod
    def conditional(self) -> "Spectral":
        """𝒦_** - 𝒦_*f 𝒦_ff^-1 𝒦_f*, eq. 16, jointly over the batch."""
