"""Short texts that are the same if, and practically only if, what they stand for is."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np


def digest(arrays: Iterable[np.ndarray]) -> str:
    """Of numbers, with their types and shapes.

    >>> digest([np.arange(3)]) == digest([np.arange(3)]) != digest([np.arange(4)])
    True
    """
    state = hashlib.blake2b(digest_size=16)
    for array in arrays:
        state.update(str((array.dtype, array.shape)).encode())
        state.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return state.hexdigest()


def text_digest(text: str) -> str:
    """Of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def setting_digest(value: Any) -> str:
    """A setting as people write it; an array by what is in it."""
    if isinstance(value, np.ndarray):
        return f"an array {digest([value])}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__
    return repr(value)
