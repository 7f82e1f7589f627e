"""The contract of kernels, and their algebra: sums, products, multiples."""

import inspect
import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone

from gptm._types import Array
from gptm.operators import Cross, LowRank, Operator, Spectral, SpectralCross


class Kernel(ABC):
    """Similarity between documents, as a description that can be printed, cloned, tuned and saved.

    A subclass stores its constructor's arguments under their own names and says in `bind` what it needs of the
    training documents. Columns of metadata come first and positionally.
    """

    name: str | None

    @abstractmethod
    def bind(self, frame: pd.DataFrame | None, n_documents: int, y: Any = None) -> "BoundKernel":
        """Tie the kernel to the training documents, with open parameters settled.

        `y` is what `fit` was given, for kernels on labels.
        """

    @abstractmethod
    def rebind(self, arrays: dict[str, np.ndarray]) -> "BoundKernel":
        """Tie the kernel to what `BoundKernel.arrays` kept of the training documents."""

    # scikit-learn's parameter protocol, so that clone and GridSearchCV reach into kernels.

    @classmethod
    def _signature(cls) -> list[inspect.Parameter]:
        return list(inspect.signature(cls.__init__).parameters.values())[1:]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, with `deep` those of nested kernels as `outer__inner`."""
        params = {p.name: getattr(self, p.name) for p in self._signature()}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    inner = value.get_params(deep=True)
                    params.update({f"{name}__{key}": item for key, item in inner.items()})
        return params

    def set_params(self, **params: Any) -> "Kernel":
        """Set parameters by name; `outer__inner` reaches into nested kernels."""
        valid = self.get_params(deep=False)
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in valid:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {sorted(valid)}."
                )
            if rest:
                valid[name].set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Self:
        """The kernel that has these parameters; the inverse of `get_params(deep=False)`."""
        keywords = dict(params)
        positional: list[Any] = []
        for parameter in cls._signature():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                positional.extend(keywords.pop(parameter.name))
            elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                positional.append(keywords.pop(parameter.name))
        return cls(*positional, **keywords)

    def replace(self, **params: Any) -> Self:
        """The same kernel with some parameters changed."""
        return self.from_params(self.get_params(deep=False) | params)

    def __sklearn_clone__(self) -> Self:
        params = self.get_params(deep=False)
        return self.replace(**{key: clone(value, safe=False) for key, value in params.items()})

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(np.array_equal(mine[key], theirs[key]) for key in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts: list[str] = []
        for parameter in self._signature():
            value = getattr(self, parameter.name)
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                parts.extend(map(repr, value))
            elif parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and (
                parameter.default is inspect.Parameter.empty
            ):
                parts.append(_short(value))
            elif not np.array_equal(value, parameter.default):
                parts.append(f"{parameter.name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(parts)})"

    # The algebra.

    def __add__(self, other: "Kernel") -> "Sum":
        if not isinstance(
            other, Kernel
        ):  # NotImplemented would let scikit-learn's kernels swallow it
            raise TypeError(
                f"only kernels of gptm.kernels can be added to a kernel; got {other!r}."
            )
        return Sum(*_terms(self), *_terms(other))

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        if isinstance(other, Kernel):
            return Product(self, other)
        if isinstance(other, int | float | np.number):
            return Scaled(float(other), self)
        raise TypeError(f"a kernel can be multiplied by a number or a kernel; got {other!r}.")

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> "Kernel":
        if isinstance(other, int) and other == 0:  # where sum() starts
            return self
        return NotImplemented


class BoundKernel(ABC):
    """A kernel over given training documents: its operator, and what it says of new documents."""

    kernel: Kernel  # with its open parameters settled
    n: int

    @abstractmethod
    def labels(self) -> np.ndarray:
        """(D,) integers, equal for training documents that the kernel cannot tell apart.

        What a document has for itself alone, `own_part`, does not count.
        """

    @property
    def own_part(self) -> float:
        """The part of every document's variance that it shares with no other document."""
        return 0.0

    @abstractmethod
    def gram(self, rows: np.ndarray | None = None) -> Array:
        """The kernel among the training documents, or some of them."""

    @property
    @abstractmethod
    def training(self) -> Any:
        """What the kernel knows of the training documents, in the form that `read` gives."""

    @abstractmethod
    def read(self, frame: pd.DataFrame | None, n_documents: int) -> Any:
        """What the kernel needs of new documents. Without metadata they fall back to the prior."""

    @abstractmethod
    def cross_gram(self, new: Any, rows: np.ndarray | None = None) -> Array | None:
        """(n, m) new documents against training documents, or some of them; None where all are zero."""

    @abstractmethod
    def own_gram(self, new: Any, joint: bool) -> Array:
        """(n,) the new documents' own variances, or with `joint` (n, n) among them."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """What has to be saved of the training documents."""

    @property
    def reads_metadata(self) -> bool:
        """Whether new documents need metadata to be placed."""
        return True

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """One training document of each group that the kernel cannot tell apart, and everybody's group."""
        _, first, groups = np.unique(self.labels(), return_index=True, return_inverse=True)
        if len(first) == self.n:
            return np.arange(self.n), np.arange(self.n)
        return first, groups

    @cached_property
    def operator(self) -> Operator:
        """One decomposition, of low rank where documents share values or the kernel is smooth."""
        first, groups = self._groups
        check_memory(len(first), self.kernel)
        if len(first) < self.n:
            shared = self.gram(first) - self.own_part * np.eye(len(first))
            return LowRank.from_groups(shared, groups, self.own_part)
        dense = Spectral.from_dense(self.gram())
        keep = dense.values > 0
        if keep.sum() > self.n / 2:
            return dense
        assert dense.vectors is not None
        return LowRank(dense.values[keep], np.ascontiguousarray(dense.vectors[:, keep]), groups)

    def mean_diagonal(self) -> float:
        """Mean prior variance over the training documents."""
        return float(self.own_gram(self.training, joint=False).mean())

    def scaled(self, factor: float) -> "BoundKernel":
        """A multiple of this kernel over the same documents."""
        return CompositeBound(Scaled(factor, self.kernel), [self])

    def cross(self, new: Any, joint: bool = False) -> Cross:
        """The kernel's word on new documents as `read`; `joint` where they are predicted together."""
        own = self.own_gram(new, joint=False)
        if joint:
            check_memory(len(own), self.kernel)
            own = self.own_gram(new, joint=True)
        operator = self.operator
        assert isinstance(operator, LowRank | Spectral)
        rows = self._groups[0] if isinstance(operator, LowRank) else None
        return SpectralCross(operator, self.cross_gram(new, rows), own)


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


def _terms(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.terms if isinstance(kernel, Sum) else (kernel,)


def _bracketed(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray | pd.DataFrame):
        return f"<{' x '.join(map(str, value.shape))} matrix>"
    return repr(value)


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


def check_memory(n: int, kernel: Kernel) -> None:
    """Refuse a dense decomposition that the machine cannot hold (matrix, vectors and work space)."""
    needed = 3 * 8 * n**2
    try:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if needed > available:
        raise ValueError(
            f"{kernel!r} tells {n:,} documents apart and would need about {needed / 2**30:.0f} GB; this machine "
            f"has {available / 2**30:.0f} GB. Round the columns it reads (for example dates to months), so that "
            "more documents share a value, or fit to fewer documents."
        )
