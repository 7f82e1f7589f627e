"""What the arrays of a model must be: their types, their shapes, which fit each other, and their values."""

from collections.abc import Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]

# Letters stand for sizes: K topics, V words, D documents, T iterations; s snapshots of d documents and p = K - 1
# contrasts.
_MODEL = {
    "components": "KV",
    "mu": "K",
    "Sigma": "KK",
    "lam": "DK",
    "nu2": "DK",
    "lengths": "D",
    "doc_topics": "DK",
    "coherence": "K",
    "trace": "T",
}
_OF_KERNEL = {"B": "KK", "F": "DK", "alpha": "DK"}
_DRAWS = {
    "draws.mu": "sp",
    "draws.S": "spp",
    "draws.B": "spp",
    "draws.logits": "sdp",
    "draws.chain": "s",
    "draws.rows": "d",
}
_WHOLE = {"draws.chain", "draws.rows"}  # numbers without fractions
_MAY_MISS = {"coherence", "trace"}  # values may be NaN
_LARGEST = 1e100  # squares of larger numbers may be infinite
_ROUNDING = 1e-6


def check_model_arrays(arrays: Arrays, with_kernel: bool) -> None:
    """An error unless the arrays of a model fit each other and have values that a model can have."""
    sizes: dict[str, int] = {}
    expected = _MODEL | (_OF_KERNEL if with_kernel else {})
    for name, letters in expected.items():
        _check_floats(name, arrays[name])
        _check_shape(name, arrays[name], letters, sizes)
    if any(name.startswith("draws.") for name in arrays):
        sizes["p"] = sizes["K"] - 1
        for name, letters in _DRAWS.items():
            (_check_whole if name in _WHOLE else _check_floats)(name, arrays[name])
            _check_shape(name, arrays[name], letters, sizes)
        _check_range("draws.rows", arrays["draws.rows"], sizes["D"])
        _check_range("draws.chain", arrays["draws.chain"], max(sizes["s"], 1))
    for name, array in arrays.items():
        if name.startswith(("draws.part", "anchor.", "watched.")):
            _check_floats(name, array)
    _check_values(arrays)


def _check_values(arrays: Arrays) -> None:
    for name in ("components", "doc_topics"):
        check_proportions(name, arrays[name])
    for name in ("nu2", "lengths"):
        if (arrays[name] < 0).any():
            raise ValueError(f"{name} must not be negative")
    for name in ("Sigma", "B", "draws.S", "draws.B"):
        if name in arrays:
            check_covariance(name, arrays[name])


def _check_shape(name: str, array: np.ndarray, letters: str, sizes: dict[str, int]) -> None:
    """An error unless an array has the sizes that the letters stand for; new letters get theirs from it."""
    if array.ndim == len(letters):
        for letter, size in zip(letters, array.shape, strict=True):
            if letter in "KVDs" and size == 0:
                raise ValueError(f"{name} is empty")
            sizes.setdefault(letter, size)
    expected = tuple(sizes.get(letter, -1) for letter in letters)
    if array.shape != expected:
        raise ValueError(f"{name} has shape {array.shape}, expected {expected}")


def _check_floats(name: str, array: np.ndarray) -> None:
    if array.dtype.kind != "f":
        raise ValueError(f"{name} must have floating-point numbers, not {array.dtype}")
    if name in ("components", "lam", "Sigma") and array.dtype != np.float64:
        raise ValueError(f"{name} must have numbers of 64 bits, not {array.dtype}")
    there = array[~np.isnan(array)] if name in _MAY_MISS else array
    check_finite(name, there)


def check_finite(name: str, array: np.ndarray) -> None:
    """An error if an array has NaN, infinity, or numbers that are too large to compute with."""
    if array.size and not max(abs(float(array.max())), abs(float(array.min()))) <= _LARGEST:
        raise ValueError(f"{name} has values that are not finite, or too large")


def _check_whole(name: str, array: np.ndarray) -> None:
    if array.dtype.kind != "i":
        raise ValueError(f"{name} must have whole numbers, not {array.dtype}")


def _check_range(name: str, array: np.ndarray, end: int) -> None:
    if array.size and not (array.min() >= 0 and array.max() < end):
        raise ValueError(f"{name} must have numbers from 0 to {end - 1}")


def check_proportions(name: str, array: np.ndarray) -> None:
    """An error unless every row is a distribution."""
    if (array < 0).any() or not np.allclose(array.sum(1), 1.0, rtol=0.0, atol=_ROUNDING):
        raise ValueError(f"rows of {name} must not be negative, and must sum to one")


def check_covariance(name: str, array: np.ndarray) -> None:
    """An error unless a matrix, or each one of several, is symmetric and positive semidefinite up to rounding."""
    if not array.size:
        return
    scale = np.abs(array).max(axis=(-2, -1), keepdims=True)
    turned = np.swapaxes(array, -1, -2)
    if (np.abs(array - turned) > _ROUNDING * scale).any():
        raise ValueError(f"{name} must be symmetric")
    lifted = array / np.where(scale > 0, scale, 1.0) + _ROUNDING * np.eye(array.shape[-1])
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} must be positive definite") from None
