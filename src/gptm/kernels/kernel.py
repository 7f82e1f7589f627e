"""The contract of kernels: what similarity is, and what it says of given documents."""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp

from gptm._basics.memory import TooLarge, check_square
from gptm._basics.types import Array
from gptm._basics.validation import is_real
from gptm.operators import (
    Cross,
    Operator,
    Placement,
    Structure,
    Tangent,
    build_operator,
    covariance_of_new,
    covariance_with_training,
    variance_of_new,
)
from gptm.operators.spectral import Indefinite

_LISTED = 10  # values of a parameter that are printed


class Documents(NamedTuple):
    """What a kernel may look at."""

    n: int
    frame: pd.DataFrame | None = None  # metadata, one row per document
    counts: csr_matrix | None = None  # words
    y: Any = None  # labels that `fit` was given
    n_jobs: int | None = None  # threads that may help


class Kernel(ABC):
    """Similarity between documents, as a description that can be printed, cloned, tuned and saved.

    A subclass stores its constructor's arguments under their own names and says in `bind` what it needs of the
    training documents. Columns of metadata come first and positionally.
    """

    name: str | None

    @abstractmethod
    def bind(self, documents: Documents) -> "BoundKernel":
        """Tie the kernel to the training documents, with open parameters settled."""

    @abstractmethod
    def rebind(self, arrays: dict[str, np.ndarray]) -> "BoundKernel":
        """Tie the kernel to what `BoundKernel.arrays` kept of the training documents."""

    def column_names(self) -> tuple[str, ...]:
        """Columns of the metadata that the kernel reads."""
        return ()

    @property
    def reads_labels(self) -> bool:
        """Whether the kernel reads `y` of `fit`."""
        return False

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
        whole, inside = split_params(params)
        unknown = (whole.keys() | inside.keys()) - valid.keys()
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {min(unknown)!r}; it has {sorted(valid)}."
            )
        vars(self).update(vars(self.replace(**whole)))  # as the constructor takes them
        for name, rest in inside.items():
            getattr(self, name).set_params(**rest)
        return self

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Self:
        """The kernel that has these parameters; the inverse of `get_params(deep=False)`."""
        keywords = dict(params)
        positional: list[Any] = []
        for parameter in cls._signature():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                given = keywords.pop(parameter.name)
                positional.extend((given,) if isinstance(given, str) else given)
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
        return all(_equal(mine[key], theirs[key]) for key in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts: list[str] = []
        for parameter in self._signature():
            value = getattr(self, parameter.name)
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                parts.extend(map(repr, value))
            elif parameter.default is inspect.Parameter.empty or not _equal(
                value, parameter.default
            ):
                first = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                parts.append(short(value) if first else f"{parameter.name}={short(value)}")
        return f"{type(self).__name__}({', '.join(parts)})"

    # The algebra, which is written in terms of this module.

    def __add__(self, other: "Kernel") -> "Kernel":
        from gptm.kernels.algebra import Sum

        other = _as_kernel(other)
        if isinstance(other, Kernel):
            return Sum.of(self, other)
        # NotImplemented would let scikit-learn's kernels swallow it.
        raise TypeError(
            f"only kernels of gptm.kernels can be added to a kernel; got {other!r}.{_hint(other)}"
        )

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        from gptm.kernels.algebra import Product, Scaled

        other = _as_kernel(other)
        if isinstance(other, Kernel):
            # A number in front of a factor is one in front of the product.
            inside = [part.kernel if isinstance(part, Scaled) else part for part in (self, other)]
            scales = [part.scale for part in (self, other) if isinstance(part, Scaled)]
            return Scaled(float(np.prod(scales)), Product(*inside)) if scales else Product(*inside)
        if isinstance(other, int | float | np.number):
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


def split_params(params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Parameters themselves, and by their names those inside of them, which are to be set after them."""
    whole: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for key, value in params.items():
        name, _, rest = key.partition("__")
        if rest:
            inside.setdefault(name, {})[rest] = value
        else:
            whole[name] = value
    return whole, inside


def _as_kernel(value: Any) -> Any:
    """A function of two tables as a kernel; anything else as it is."""
    from gptm.kernels.function import Function, is_function

    return Function(value) if is_function(value) else value


def _hint(value: Any) -> str:
    if not isinstance(value, gp.Kernel):
        return ""
    return " Say which columns a kernel of scikit-learn reads, as in OnColumns(kernel, 'date')."


class Learnable(NamedTuple):
    """A positive parameter that was not given, where it stands, and how far it may go."""

    name: str
    value: float
    low: float
    high: float


class BoundKernel(ABC):
    """A kernel over given training documents: its operator, and what it says of new documents."""

    kernel: Kernel  # with its open parameters settled
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

    def learnt_by(self, kernel: Kernel) -> list[float] | None:
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

    @property
    def reads_metadata(self) -> bool:
        """Whether new documents need metadata to be placed."""
        return True

    @cached_property
    def operator(self) -> Operator:
        """How to solve with it."""
        return self.solver()

    def solver(self, like: Operator | None = None) -> Operator:
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

    def scaled(self, factor: float) -> "BoundKernel":
        """A multiple of this kernel over the same documents."""
        from gptm.kernels.algebra import Scaled, ScaledBound

        return ScaledBound(Scaled(factor, self.kernel), [self])

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


def _equal(one: Any, other: Any) -> bool:
    if issparse(one) or issparse(other):
        both = issparse(one) and issparse(other) and one.shape == other.shape
        return bool(both and (one != other).nnz == 0)
    if isinstance(one, pd.DataFrame) and isinstance(
        other, pd.DataFrame
    ):  # labels say which row is which
        labels = zip(one.axes, other.axes, strict=True)
        return all(a.equals(b) for a, b in labels) and np.array_equal(one, other)
    return bool(np.array_equal(one, other))


def short(value: Any) -> str:
    """A parameter as it is printed: as it was written, unless that is long."""
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        return repr(value.item())
    if (isinstance(value, np.ndarray | pd.DataFrame) and value.ndim > 1) or issparse(value):
        return f"<{' x '.join(map(str, value.shape))} matrix>"
    if isinstance(value, list | tuple | np.ndarray):
        listed = value.tolist() if isinstance(value, np.ndarray) else value
        return repr(listed) if len(listed) <= _LISTED else f"<{len(listed)} values>"
    return repr(value)


def packed(value: Any) -> np.ndarray:
    """Names and lists of names as an array that can be saved."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def unpacked(array: np.ndarray) -> Any:
    return json.loads(array.tobytes().decode())


def nothing_to_learn(kernel: Kernel, why: str) -> ValueError:
    """The error for a kernel whose documents tell it nothing."""
    return ValueError(
        f"{kernel!r} has nothing to learn from: {why}. Leave this kernel out, or fill the column."
    )


@contextmanager
def naming(kernel: Kernel, remedy: str = "") -> Iterator[None]:
    """Errors in here say which kernel they are about, and what else to try where it is no covariance."""
    try:
        yield
    except Indefinite as error:
        raise Indefinite(f"{kernel!r}: {error} {remedy}".rstrip()) from None
    except ValueError as error:
        raise ValueError(f"{kernel!r}: {error}") from None


def check_memory(n: int, kernel: Kernel) -> None:
    """Refuse a dense decomposition that the machine cannot hold (matrix, vectors and work space)."""
    check_square(
        n,
        f"{kernel!r} tells {n:,} documents apart",
        "Round the columns it reads (for example dates to months), so that more documents share a value; give a "
        "longer length-scale; use a kernel that stays small (Linear, Categorical, Embedding, Graph, NearestNeighbors, "
        "and sums of these); or fit to fewer documents.",
    )
