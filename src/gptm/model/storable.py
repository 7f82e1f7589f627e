"""The classes that a model's file can name. `save` asks before it writes, `load` when it reads."""

from typing import Any, TypeVar

C = TypeVar("C", bound=type)

_CLASSES: dict[str, Any] = {}


def storable(cls: C) -> C:
    """Register a class under its name."""
    _CLASSES[cls.__name__] = cls
    return cls


def kind_of(model: object) -> str:
    """The name of a model's class; an error for other classes, such as those that users derive."""
    kind = type(model).__name__
    if _CLASSES.get(kind) is not type(model):
        raise ValueError(
            f"a {kind} cannot be saved: load would not know the class. Save a GPTM or CTM."
        )
    return kind


def class_of(kind: str, file: str) -> Any:
    """The class that a file names."""
    if kind not in _CLASSES:
        raise ValueError(
            f"{file} contains a {kind!r}, which this version does not know. Upgrade gptm."
        )
    return _CLASSES[kind]
