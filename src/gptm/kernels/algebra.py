"""Kernels made of kernels: sums, products, multiples."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from gptm._types import Array
from gptm.kernels.base import BoundKernel, Kernel
from gptm.operators import LowRank, Operator, Spectral


class Composite(Kernel):
    """A kernel made of others."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels inside."""

    @abstractmethod
    def rebuild(self, parts: list[Kernel]) -> "Kernel":
        """The same composition of other parts."""

    @abstractmethod
    def combine(self, matrices: list[Array]) -> Array:
        """The composition's matrix from those of its parts."""

    def combine_own(self, parts: list[float]) -> float:
        """The composition's `own_part` from those of its parts."""
        return 0.0

    def bind(self, frame: pd.DataFrame | None, n_documents: int, y: Any = None) -> "CompositeBound":
        return CompositeBound(self, [part.bind(frame, n_documents, y) for part in self.parts])

    def rebind(self, arrays: dict[str, np.ndarray]) -> "CompositeBound":
        bounds = []
        for position, part in enumerate(self.parts):
            prefix = f"{position}."
            own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
            bounds.append(part.rebind(own))
        return CompositeBound(self, bounds)


class CompositeBound(BoundKernel):
    """A composition, bound part by part."""

    def __init__(self, kernel: Composite, bounds: list[BoundKernel]):
        self.composition = kernel
        self.bounds = bounds
        self.kernel = kernel.rebuild([bound.kernel for bound in bounds])
        self.n = bounds[0].n

    @cached_property
    def operator(self) -> Operator:
        if isinstance(self.composition, Scaled):
            inner = self.bounds[0].operator
            assert isinstance(inner, LowRank | Spectral)
            return inner.scaled(self.composition.scale)
        return super().operator

    @property
    def own_part(self) -> float:
        return self.composition.combine_own([bound.own_part for bound in self.bounds])

    def labels(self) -> np.ndarray:
        if isinstance(self.composition, Product) and any(b.own_part for b in self.bounds):
            return np.arange(self.n)  # what is whose own depends on the document then
        stacked = np.column_stack([bound.labels() for bound in self.bounds])
        return np.unique(stacked, axis=0, return_inverse=True)[1]

    def gram(self, rows: np.ndarray | None = None) -> Array:
        return self.composition.combine([bound.gram(rows) for bound in self.bounds])

    @property
    def reads_metadata(self) -> bool:
        return any(bound.reads_metadata for bound in self.bounds)

    @property
    def training(self) -> list[Any]:
        return [bound.training for bound in self.bounds]

    def read(self, frame: pd.DataFrame | None, n_documents: int) -> list[Any]:
        return [bound.read(frame, n_documents) for bound in self.bounds]

    def cross_gram(self, new: list[Any], rows: np.ndarray | None = None) -> Array | None:
        pairs = zip(self.bounds, new, strict=True)
        parts = [bound.cross_gram(item, rows) for bound, item in pairs]
        shape = next((part.shape for part in parts if part is not None), None)
        if shape is None:
            return None
        return self.composition.combine([np.zeros(shape) if p is None else p for p in parts])

    def own_gram(self, new: list[Any], joint: bool) -> Array:
        pairs = zip(self.bounds, new, strict=True)
        return self.composition.combine([bound.own_gram(item, joint) for bound, item in pairs])

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            f"{position}.{key}": value
            for position, bound in enumerate(self.bounds)
            for key, value in bound.arrays().items()
        }


class Sum(Composite):
    """The sum of kernels: documents are alike if any of them says so. Written `a + b`."""

    def __init__(self, *terms: Kernel):
        self.terms = terms

    @classmethod
    def of(cls, *kernels: Kernel) -> "Sum":
        """The sum of kernels, with sums among them taken apart."""
        return cls(*(term for k in kernels for term in (k.terms if isinstance(k, Sum) else (k,))))

    name = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return tuple(self.terms)

    def rebuild(self, parts: list[Kernel]) -> "Sum":
        return Sum(*parts)

    def combine(self, matrices: list[Array]) -> Array:
        return sum(matrices[1:], matrices[0])

    def combine_own(self, parts: list[float]) -> float:
        return sum(parts)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return _numbered_params(self, "terms", deep)

    def set_params(self, **params: Any) -> "Sum":
        self.terms = _set_numbered(self, "terms", params)
        return self

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))


class Product(Composite):
    """The product of kernels: documents are alike if all of them say so. Written `a * b`."""

    def __init__(self, *factors: Kernel):
        self.factors = factors

    name = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return tuple(self.factors)

    def rebuild(self, parts: list[Kernel]) -> "Product":
        return Product(*parts)

    def combine(self, matrices: list[Array]) -> Array:
        return np.prod(np.stack(matrices), axis=0)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return _numbered_params(self, "factors", deep)

    def set_params(self, **params: Any) -> "Product":
        self.factors = _set_numbered(self, "factors", params)
        return self

    def __repr__(self) -> str:
        return " * ".join(_bracketed(factor) for factor in self.factors)


class Scaled(Composite):
    """A multiple of a kernel. Written `2.0 * kernel`."""

    def __init__(self, scale: float, kernel: Kernel):
        if not (np.isfinite(scale) and scale > 0):
            raise ValueError(f"a kernel can be scaled by a positive number only; got {scale!r}.")
        self.scale = float(scale)
        self.kernel = kernel

    name = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def rebuild(self, parts: list[Kernel]) -> "Scaled":
        return Scaled(self.scale, parts[0])

    def combine(self, matrices: list[Array]) -> Array:
        return self.scale * matrices[0]

    def combine_own(self, parts: list[float]) -> float:
        return self.scale * parts[0]

    def __repr__(self) -> str:
        return f"{self.scale!r} * {_bracketed(self.kernel)}"


def _bracketed(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)


def _numbered_params(kernel: Composite, name: str, deep: bool) -> dict[str, Any]:
    """Parameters of a kernel with any number of parts: the tuple, and with `deep` `k1`, `k2__...`."""
    params: dict[str, Any] = {name: kernel.parts}
    if deep:
        for position, part in enumerate(kernel.parts, start=1):
            params[f"k{position}"] = part
            inner = part.get_params(deep=True)
            params.update({f"k{position}__{key}": value for key, value in inner.items()})
    return params


def _set_numbered(kernel: Composite, name: str, params: dict[str, Any]) -> tuple[Kernel, ...]:
    """The parts after setting parameters by the names that `_numbered_params` gives them."""
    changed = list(params.get(name, kernel.parts))
    positions = {f"k{i}": i - 1 for i in range(1, len(changed) + 1)}
    # Whole parts first, then what is inside of them.
    for key in sorted(params.keys() - {name}, key=lambda key: "__" in key):
        head, _, rest = key.partition("__")
        if head not in positions:
            valid = sorted([name, *positions])
            raise ValueError(f"{kernel!r} has no parameter {head!r}; it has {valid}.")
        if rest:
            changed[positions[head]].set_params(**{rest: params[key]})
        else:
            changed[positions[head]] = params[key]
    return tuple(changed)
