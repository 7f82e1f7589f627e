"""What similarity is: the contract of kernels, and kernels made of kernels."""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process import kernels as gp

from gptm._basics.errors import InputError
from gptm._basics.validation import POSITIVE, is_positive
from gptm.kernels.bound import BoundKernel, Documents
from gptm.kernels.composite_bounds import Composition, ProductBound, ScaledBound, SumBound
from gptm.kernels.description import Description, split_params

_Reader = Callable[[Any], "Kernel | None"]
_READERS: list[_Reader] = []


class Kernel(Description, ABC):
    """Similarity between documents, as a description that can be printed, cloned, tuned and saved.

    A subclass stores its constructor's arguments under their own names and says in `bind` what it needs from the
    training documents. Columns of the metadata come first, as positional arguments.
    """

    @abstractmethod
    def bind(self, documents: Documents) -> BoundKernel:
        """Tie the kernel to the training documents, and give open parameters their starting values."""

    @abstractmethod
    def rebind(self, arrays: dict[str, np.ndarray]) -> BoundKernel:
        """Restore the bound kernel from what its `arrays` saved."""

    @property
    def reads_labels(self) -> bool:
        """Whether the kernel reads `y` of `fit`."""
        return False

    # Its name and words, for formulas, for help and for the report.

    # Parameters that a formula cannot hold, with what they take.
    only_in_python: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def formula_name(cls) -> str | None:
        """What formulas call the kernel; None where only Python can build it.

        Examples
        --------
        >>> from gptm import kernels as k
        >>> k.NearestNeighbors.formula_name(), k.Precomputed.formula_name()
        ('nearest_neighbors', None)
        """
        if any(p.name in cls.only_in_python and p.default is p.empty for p in cls._signature()):
            return None
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def summary(cls) -> str:
        """The kernel in one sentence: the first line of its documentation."""
        return (inspect.getdoc(cls) or cls.__name__).partition("\n")[0]

    def describe(self, dates: Collection[str] = ()) -> str:
        """The kernel in words, as a part of a sentence, for readers who do not know what a kernel is.

        `dates` are the columns that hold dates, whose lengths are in days.

        Examples
        --------
        >>> from gptm import kernels as k
        >>> k.RBF("when", length_scale=730.5).describe(dates={"when"})
        'documents close in when are alike; the similarity fades over about 2 years'
        """
        return f"documents are alike as {self!r} says"

    def __add__(self, other: "Kernel") -> "Kernel":
        other = _as_kernel(other)
        if isinstance(other, Kernel):
            return Sum.of(self, other)
        # After NotImplemented a kernel of scikit-learn would accept the sum.
        raise TypeError(
            f"only kernels of gptm.kernels can be added to a kernel; got {other!r}.{_hint(other)}"
        )

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        other = _as_kernel(other)
        if isinstance(other, Kernel):
            # A number in front of a factor moves in front of the product.
            inside = [unscaled(part) for part in (self, other)]
            scales = [part.scale for part in (self, other) if isinstance(part, Scaled)]
            return Scaled(float(np.prod(scales)), Product(*inside)) if scales else Product(*inside)
        if isinstance(other, int | float | np.number):
            if not is_positive(other):
                raise InputError(f"a kernel can be multiplied by {POSITIVE} only; got {other!r}.")
            if isinstance(self, Scaled):  # one number for both, so that the term keeps its name
                return Scaled(float(other) * self.scale, self.kernel)
            return Scaled(float(other), self)
        raise TypeError(
            f"a kernel can be multiplied by a number or a kernel; got {other!r}.{_hint(other)}"
        )

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> "Kernel":
        if isinstance(other, int) and other == 0:  # where sum() starts
            return self
        other = _as_kernel(other)
        return other + self if isinstance(other, Kernel) else NotImplemented


def means_a_kernel(reader: _Reader) -> _Reader:
    """Register a function that turns plain values into kernels, so that they can be added to kernels.

    `reader` takes any value and returns a kernel, or None if it does not know the value.
    """
    _READERS.append(reader)
    return reader


def _as_kernel(value: Any) -> Any:
    """The kernel that a plain value stands for; other values unchanged."""
    return next((kernel for reader in _READERS if (kernel := reader(value)) is not None), value)


def _hint(value: Any) -> str:
    if not isinstance(value, gp.Kernel):
        return ""
    return " Say which columns a kernel of scikit-learn reads, as in OnColumns(kernel, 'date')."


class Composite(Composition, Kernel):
    """A kernel made of others."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Kernel, ...]: ...

    @abstractmethod
    def bound(self, parts: list[BoundKernel]) -> BoundKernel:
        """The composition of bound parts."""

    @classmethod
    def formula_name(cls) -> str | None:
        """None: formulas write it with `+` and `*`."""
        return None

    def column_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.column_names()))

    @property
    def reads_labels(self) -> bool:
        return any(part.reads_labels for part in self.parts)

    def bind(self, documents: Documents) -> BoundKernel:
        return self.bound([part.bind(documents) for part in self.parts])

    def rebind(self, arrays: dict[str, np.ndarray]) -> BoundKernel:
        bounds = []
        for position, part in enumerate(self.parts):
            prefix = f"{position}."
            own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
            bounds.append(part.rebind(own))
        return self.bound(bounds)


class Sum(Composite):
    """A sum of kernels, written `a + b`: documents are alike if they are alike in any term."""

    def __init__(self, *terms: Kernel):
        self.terms = _checked_parts("Sum", terms)

    @classmethod
    def of(cls, *kernels: Kernel) -> "Sum":
        """The sum of kernels; terms of nested sums become terms of this one."""
        return cls(*(term for kernel in kernels for term in summands(kernel)))

    name = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return tuple(self.terms)

    def rebuild(self, parts: list[Kernel]) -> "Sum":
        return Sum(*parts)

    def bound(self, parts: list[BoundKernel]) -> SumBound:
        return SumBound(self, parts)

    def describe(self, dates: Collection[str] = ()) -> str:
        return "; or ".join(term.describe(dates) for term in self.terms)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return _numbered_params(self, "terms", deep)

    def set_params(self, **params: Any) -> "Sum":
        self.terms = _set_numbered(self, "terms", params)
        return self

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))


class Product(Composite):
    """A product of kernels, written `a * b`: documents are alike if they are alike in all factors."""

    def __init__(self, *factors: Kernel):
        self.factors = _checked_parts("Product", factors)

    name = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return tuple(self.factors)

    def rebuild(self, parts: list[Kernel]) -> "Product":
        return Product(*parts)

    def bound(self, parts: list[BoundKernel]) -> ProductBound:
        return ProductBound(self, parts)

    def describe(self, dates: Collection[str] = ()) -> str:
        return "; and at the same time ".join(factor.describe(dates) for factor in self.factors)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return _numbered_params(self, "factors", deep)

    def set_params(self, **params: Any) -> "Product":
        self.factors = _set_numbered(self, "factors", params)
        return self

    def __repr__(self) -> str:
        return " * ".join(_bracketed(factor) for factor in self.factors)


class Scaled(Composite):
    """A multiple of a kernel, written `2.0 * kernel`."""

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

    def bound(self, parts: list[BoundKernel]) -> ScaledBound:
        return ScaledBound(self, parts)

    def describe(self, dates: Collection[str] = ()) -> str:
        return self.kernel.describe(dates)

    def __repr__(self) -> str:
        return f"{self.scale!r} * {_bracketed(self.kernel)}"


def summands(kernel: Kernel) -> tuple[Kernel, ...]:
    """The terms of a sum; any other kernel is the only one of its own."""
    return kernel.terms if isinstance(kernel, Sum) else (kernel,)


def unscaled(kernel: Kernel) -> Kernel:
    """The kernel without the number in front of it."""
    return kernel.kernel if isinstance(kernel, Scaled) else kernel


def _checked_parts(kind: str, parts: tuple[Any, ...]) -> tuple[Kernel, ...]:
    if not parts or not all(isinstance(part, Kernel) for part in parts):
        raise ValueError(f"{kind} expects one or more kernels; got {parts!r}.")
    return tuple(parts)


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
    whole, inside = split_params(params)
    changed = list(whole.pop(name, kernel.parts))
    positions = {f"k{i}": i - 1 for i in range(1, len(changed) + 1)}
    unknown = (whole.keys() | inside.keys()) - positions.keys()
    if unknown:
        valid = sorted([name, *positions])
        raise ValueError(f"{kernel!r} has no parameter {min(unknown)!r}; it has {valid}.")
    for key, part in whole.items():
        changed[positions[key]] = part
    for key, rest in inside.items():
        changed[positions[key]].set_params(**rest)
    return tuple(changed)
