"""A kernel as a weighted sum of terms: which parameters are learnt, and the derivatives in them."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gptm._basics.types import Array
from gptm.kernels.bound import BoundKernel, Learnable
from gptm.kernels.composite_bounds import ScaledBound, SumBound
from gptm.kernels.kernel import Kernel, Scaled, Sum, summands, unscaled
from gptm.operators import Operator, Tangent, growth, sum_tangents

_LEAST, _MOST = 1e-4, 1e4  # weights, relative to where they start
# Documents beyond which new features over a graph cost too much to try several.
_OVER_A_GRAPH = 10_000


def terms_of(bound: BoundKernel) -> list[BoundKernel]:
    """The terms of a kernel over documents."""
    return list(bound.bounds) if isinstance(bound, SumBound) else [bound]


class Terms:
    """𝒦 = sum_p weight_p 𝒦_p over the training documents, scaled to a mean variance of one.

    A term with a number in a sum, as in `2.0 * kernel`, keeps its weight relative to other such terms. All other
    weights are learnt, and so are the parameters of terms that were not given.
    """

    def __init__(self, bounds: Sequence[BoundKernel], weights: Array, free: Array, starts: Array):
        self.bounds = list(bounds)
        self.weights = weights
        self.free = free  # which weights are learnt
        self.starts = starts  # initial weights, which set the limits

    @classmethod
    def of(cls, bound: BoundKernel) -> "Terms":
        """The terms of a kernel, with equal variances unless numbers are given."""
        # A number in front of everything: B holds the overall strength.
        while isinstance(bound, ScaledBound):
            bound = bound.bounds[0]
        parts = terms_of(bound)
        bounds, weights, free = [], [], []
        for part in parts:
            given = len(parts) > 1 and isinstance(part, ScaledBound)
            inner: BoundKernel = part.bounds[0] if isinstance(part, ScaledBound) else part
            average = inner.mean_diagonal()
            plain = 1.0 / average if average > 0 else 1.0
            bounds.append(inner)
            weights.append(part.kernel.get_params(deep=False)["scale"] if given else plain)
            # B holds the weight of a lone term; a weight only helps if other parameters are learnt with it.
            alone = len(parts) == 1 and not inner.learnables()
            free.append(not given and not alone and average > 0)
        start = np.array(weights)
        return cls(bounds, start, np.array(free), start).normalised()[0]

    def normalised(self) -> tuple["Terms", float]:
        """The same terms with a mean variance of one, and the mean variance before."""
        average = float(self.weights @ [bound.mean_diagonal() for bound in self.bounds])
        if not average > 0:
            return self, 1.0
        scaled = Terms(self.bounds, self.weights / average, self.free, self.starts / average)
        return scaled, average

    @cached_property
    def bound(self) -> BoundKernel:
        """The kernel as a whole."""
        parts: list[BoundKernel] = []
        for weight, bound in zip(self.weights, self.bounds, strict=True):
            plain = np.isclose(weight, 1.0, rtol=1e-12) and len(self.bounds) == 1
            parts.append(bound if plain else ScaledBound(Scaled(weight, bound.kernel), [bound]))
        if len(parts) == 1:
            return parts[0]
        return SumBound(Sum(*(part.kernel for part in parts)), parts)

    def operator(self, like: Operator | None = None) -> Operator:
        """The operator that solves with it; `like` is one with other weights and parameters, to reuse its work."""
        return self.bound.solver(like)

    def resumed(self, learnt: Kernel) -> "Terms | None":
        """The same terms with the values that an earlier fit learnt; None if that fit had another kernel."""
        kernels = summands(learnt)
        if len(kernels) != len(self.bounds):
            return None
        weights, values = [], []
        for bound, kernel in zip(self.bounds, kernels, strict=True):
            weights.append(kernel.scale if isinstance(kernel, Scaled) else 1.0)
            learnt_values = bound.learnt_by(unscaled(kernel))
            if learnt_values is None:
                return None
            values += learnt_values if self._open_in(bound) else []
        given = ~self.free.astype(bool)
        fixed = np.array(weights)[given] / self.weights[given]
        if len(fixed) and np.ptp(fixed) > 1e-9 * fixed.max():  # other numbers are given now
            return None
        earlier = [*np.array(weights)[self.free], *values]
        # Values learnt from other documents may be outside of the limits for these.
        within = [
            np.clip(v, o.low, o.high) for v, o in zip(earlier, self.learnables(), strict=True)
        ]
        return Terms(self.bounds, np.array(weights), self.free, self.starts).moved(within)

    def learnables(self) -> list[Learnable]:
        """Free weights first, then what is free inside the terms."""
        weights = [
            Learnable("weight", weight, _LEAST * start, _MOST * start)
            for weight, start, free in zip(self.weights, self.starts, self.free, strict=True)
            if free
        ]
        return weights + [learnable for bound in self.bounds for learnable in self._open_in(bound)]

    def _open_in(self, bound: BoundKernel) -> list[Learnable]:
        """The parameters of a term that are learnt; beside a large graph, none that change features."""
        beside = any(other.structure.graphs for other in self.bounds if other is not bound)
        if beside and bound.n > _OVER_A_GRAPH and not bound.structure.graphs:
            return []
        return bound.learnables()

    def moved(self, values: Sequence[float]) -> "Terms":
        """The same terms with other values of the learnables."""
        n_free = int(self.free.sum())
        weights = self.weights.copy()
        weights[self.free] = values[:n_free]
        bounds, rest = [], list(values[n_free:])
        for bound in self.bounds:
            n = len(self._open_in(bound))
            bounds.append(bound.moved(rest[:n]) if n else bound)
            rest = rest[n:]
        return Terms(bounds, weights, self.free, self.starts)

    def tangents(self) -> list[Tangent]:
        """The derivative of the kernel matrix in the logarithm of each learnable."""
        structures = [
            bound.structure.scaled(weight)
            for bound, weight in zip(self.bounds, self.weights, strict=True)
        ]
        growths = sum_tangents(structures, [[growth(part)] for part in structures])
        inside = [
            [tangent.scaled(weight) for tangent in bound.tangents()] if self._open_in(bound) else []
            for bound, weight in zip(self.bounds, self.weights, strict=True)
        ]
        grown = [tangent for tangent, free in zip(growths, self.free, strict=True) if free]
        return grown + sum_tangents(structures, inside)
