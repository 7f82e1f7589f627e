"""Public attributes of an estimator that are read from its `Fitted`, so that no array has a second home."""

from collections.abc import Callable
from typing import Generic, Self, TypeVar, overload

import numpy as np

from gptm.fitted import Fitted

T = TypeVar("T")


class FromFit(Generic[T]):
    """An attribute of a fitted model, read from its `fitted_`; before a fit there is none."""

    def __init__(self, read: Callable[[Fitted], T]):
        self.read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...
    @overload
    def __get__(self, model: object, owner: type) -> T: ...
    def __get__(self, model: object | None, owner: type) -> T | Self:
        if model is None:
            return self
        fitted = model.__dict__.get("fitted_")
        if fitted is None:
            raise AttributeError(f"{owner.__name__} has no {self.name} before it is fitted")
        return self.read(fitted)

    def __set__(self, model: object, value: object) -> None:
        raise AttributeError(f"{self.name} is read from fitted_ and cannot be set")


def named_words(fitted: Fitted) -> np.ndarray:
    """The vocabulary, or the error of an attribute that is not there."""
    if fitted.vocabulary is None:
        raise AttributeError("the words of this model have no names")
    return fitted.vocabulary
