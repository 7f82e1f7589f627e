"""The derivative of a kernel matrix in one of its parameters."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gptm._basics.types import Array
from gptm.operators.features import Features
from gptm.operators.graph_polynomials import Network


class Tangent(NamedTuple):
    """d𝒦 = Phi dPhi' + dPhi Phi' + graphs + diag(own), in some columns of the features only."""

    features: Features | None = None  # the columns of Phi that move
    motion: Features | None = None  # dPhi; None where they grow as a whole, which is Phi / 2
    start: int = 0  # where these columns begin among all
    own: Array | None = None  # (D,)
    graphs: tuple[tuple[Network, Callable[[Array], Array]], ...] = ()  # functions of eigenvalues

    @property
    def columns(self) -> slice:
        """The columns of Phi that move."""
        width = 0 if self.features is None else self.features.width
        return slice(self.start, self.start + width)

    def scaled(self, factor: float) -> "Tangent":
        """The tangent of a multiple of the kernel."""
        root = float(np.sqrt(factor))
        return self._replace(
            features=None if self.features is None else self.features.scaled(root),
            motion=None if self.motion is None else self.motion.scaled(root),
            own=None if self.own is None else factor * self.own,
            graphs=tuple((network, _times(factor, h)) for network, h in self.graphs),
        )

    def quadratic(self, a: Array) -> Array:
        """(K,) a_i' d𝒦 a_i for every column."""
        total = np.zeros(a.shape[1])
        if self.features is not None:
            along = self.features.t_dot(a)
            moved = 0.5 * along if self.motion is None else self.motion.t_dot(a)
            total += 2.0 * (along * moved).sum(0)
        if self.own is not None:
            total += self.own @ a**2
        for network, h in self.graphs:
            total += (a * network.apply(h, a)).sum(0)
        return total


def _times(factor: float, h: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: factor * h(x)
