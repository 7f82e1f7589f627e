"""The contract of operators over training documents: they also predict new ones."""

from abc import ABC, abstractmethod

from gptm._basics.types import Array
from gptm.operators.operator import Operator
from gptm.operators.placement import Placement
from gptm.operators.spectral import Spectral


class Cross(ABC):
    """Predictions for n new documents, given the D training documents."""

    @abstractmethod
    def mean(self, alpha: Array, F: Array) -> Array:
        """(n, K) the GP's prediction 𝒦_*f alpha, eq. 17.

        F = 𝒦 alpha comes from the fit, and is far more accurate than a new product with the kernel of a graph.
        """

    @abstractmethod
    def variance(self, b: Array) -> Array:
        """(n, len(b)) b_i 𝒦_** - b_i^2 𝒦_*f (b_i 𝒦_ff + I)^-1 𝒦_f*, per document, never negative."""

    @abstractmethod
    def conditional(self) -> Spectral:
        """𝒦_** - 𝒦_*f 𝒦_ff^-1 𝒦_f*, eq. 16, jointly over the batch."""


class TrainingOperator(Operator):
    """An operator over training documents."""

    @abstractmethod
    def cross(self, new: Placement) -> Cross:
        """Predictions for new documents."""
