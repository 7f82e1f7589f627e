"""Kernels as descriptions: parameters that can be printed, compared, cloned and set by name."""

import inspect
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import clone

_LISTED = 10  # longer lists are printed as their length


class Description:
    """An object that is fully described by its constructor's arguments, stored under their own names.

    It follows scikit-learn's parameter protocol, so clone and GridSearchCV work.
    """

    name: str | None

    def column_names(self) -> tuple[str, ...]:
        """Columns of the metadata that the kernel reads."""
        return ()

    @classmethod
    def _signature(cls) -> list[inspect.Parameter]:
        return list(inspect.signature(cls.__init__).parameters.values())[1:]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` includes those of nested kernels as `outer__inner`."""
        params = {p.name: getattr(self, p.name) for p in self._signature()}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    inner = value.get_params(deep=True)
                    params.update({f"{name}__{key}": item for key, item in inner.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `outer__inner` reaches into nested kernels."""
        valid = self.get_params(deep=False)
        whole, inside = split_params(params)
        unknown = (whole.keys() | inside.keys()) - valid.keys()
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {min(unknown)!r}; it has {sorted(valid)}."
            )
        vars(self).update(vars(self.replace(**whole)))  # through the constructor, which checks them
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


def split_params(params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Split `outer__inner` names: own parameters, and parameters of nested kernels by the outer name."""
    whole: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for key, value in params.items():
        name, _, rest = key.partition("__")
        if rest:
            inside.setdefault(name, {})[rest] = value
        else:
            whole[name] = value
    return whole, inside


def _equal(mine: Any, theirs: Any) -> bool:
    if issparse(mine) or issparse(theirs):
        both = issparse(mine) and issparse(theirs) and mine.shape == theirs.shape
        return bool(both and (mine != theirs).nnz == 0)
    # Labels say which row is which.
    if isinstance(mine, pd.DataFrame) and isinstance(theirs, pd.DataFrame):
        labels = zip(mine.axes, theirs.axes, strict=True)
        return all(a.equals(b) for a, b in labels) and np.array_equal(mine, theirs)
    return bool(np.array_equal(mine, theirs))


def short(value: Any) -> str:
    """A parameter as it is printed: its repr, or its size if that would be long."""
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        return repr(value.item())
    if (isinstance(value, np.ndarray | pd.DataFrame) and value.ndim > 1) or issparse(value):
        return f"<{' x '.join(map(str, value.shape))} matrix>"
    if isinstance(value, pd.Series | pd.Index):
        value = value.to_numpy()
    if isinstance(value, list | tuple | np.ndarray):
        listed = value.tolist() if isinstance(value, np.ndarray) else value
        return repr(listed) if len(listed) <= _LISTED else f"<{len(listed)} values>"
    return repr(value)
