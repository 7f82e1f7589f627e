"""The paper's KI, where no two documents are alike, and the model without any GP term."""

from collections.abc import Collection
from functools import cached_property

import numpy as np

from gptm._basics.types import Array
from gptm.kernels.bound import BoundKernel, Documents
from gptm.kernels.kernel import Kernel
from gptm.operators import Placement, Structure


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

    def describe(self, dates: Collection[str] = ()) -> str:
        return "each document is independent of all others"

    def bind(self, documents: Documents) -> "IdentityBound":
        return IdentityBound(self, documents.n)

    def rebind(self, arrays: dict[str, np.ndarray]) -> "IdentityBound":
        return IdentityBound(self, int(arrays["n"][0]))


class IdentityBound(BoundKernel):
    variance = 1.0

    def __init__(self, kernel: Identity, n: int):
        self.kernel = kernel
        self.n = n

    @cached_property
    def structure(self) -> Structure:
        return Structure(self.n, None, np.full(self.n, self.variance))

    def place(self, new: int, joint: bool = False) -> Placement:
        return Placement(new, None, np.full(new, self.variance))

    @property
    def own_part(self) -> float:
        return self.variance

    def labels(self) -> np.ndarray:
        return np.zeros(self.n, dtype=np.int64)

    def alone(self) -> np.ndarray:
        return np.ones(self.n, dtype=bool)

    @property
    def reads_metadata(self) -> bool:
        return False

    @property
    def training(self) -> int:
        return self.n

    def read(self, new: Documents) -> int:
        return new.n

    def cross_gram(self, new: int, rows: np.ndarray | None = None) -> Array:
        return np.zeros((new, self.n if rows is None else len(rows)))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"n": np.array([self.n])}


class NothingBound(IdentityBound):
    """No GP term at all: F is zero and the model is the correlated topic model."""

    variance = 0.0

    def __init__(self, n: int):
        super().__init__(Identity(), n)
