"""Kernels without similarity: the paper's KI, and the absence of any GP term."""

from typing import Any

import numpy as np
import pandas as pd

from gptm._types import Array
from gptm.kernels.base import BoundKernel, Kernel
from gptm.operators import Spectral, SpectralCross


class Identity(Kernel):
    """Each document has a mean of its own, independent of all others.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Identity()
    Identity()
    """

    def __init__(self, *, name: str | None = None):
        self.name = name

    def bind(self, frame: pd.DataFrame | None, n_documents: int, y: Any = None) -> "IdentityBound":
        return IdentityBound(self, n_documents)

    def rebind(self, arrays: dict[str, np.ndarray]) -> "IdentityBound":
        return IdentityBound(self, int(arrays["n"][0]))


class IdentityBound(BoundKernel):
    def __init__(self, kernel: Identity, n: int):
        self.kernel = kernel
        self.n = n

    @property
    def operator(self) -> Spectral:
        return Spectral.constant_diagonal(self.n, 1.0)

    @property
    def own_part(self) -> float:
        return 1.0

    def labels(self) -> np.ndarray:
        return np.zeros(self.n, dtype=np.int64)

    def gram(self, rows: np.ndarray | None = None) -> Array:
        return np.eye(self.n if rows is None else len(rows))

    @property
    def reads_metadata(self) -> bool:
        return False

    @property
    def training(self) -> int:
        return self.n

    def read(self, frame: pd.DataFrame | None, n_documents: int) -> int:
        return n_documents

    def cross_gram(self, new: Any, rows: np.ndarray | None = None) -> None:
        return None

    def own_gram(self, new: int, joint: bool) -> Array:
        return np.eye(new) if joint else np.ones(new)

    def cross(self, new: int, joint: bool = False) -> SpectralCross:
        return SpectralCross(self.operator, None, self.own_gram(new, joint=False))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"n": np.array([self.n])}


class NothingBound(IdentityBound):
    """No GP term at all: F is zero and the model is the correlated topic model."""

    def __init__(self, n: int):
        super().__init__(Identity(), n)

    @property
    def operator(self) -> Spectral:
        return Spectral.constant_diagonal(self.n, 0.0)

    def gram(self, rows: np.ndarray | None = None) -> Array:
        return 0.0 * super().gram(rows)

    def own_gram(self, new: int, joint: bool) -> Array:
        return np.zeros((new, new)) if joint else np.zeros(new)
