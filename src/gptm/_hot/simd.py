"""Vectors of eight numbers, for loops over topics.

The compiler vectorises a simple loop by itself, but looks first whether its arrays overlap, has a second loop for what
eight does not divide, and writes every result to memory before the next loop reads it. With 20 topics that is most of
the work. A loop that takes eight topics at a time says what stays in registers:

    for i in range(0, a.shape[0], LANES):
        put(out, i, exp(get(a, i) - shift))

Such arrays are contiguous and `padded`: their length is a multiple of eight. In plain Python (`py_func`) a vector is a
NumPy array of eight numbers, as written here; in compiled code (`lowering`) it is a value that fits a processor's
vector register, or two of them. `exponential` has exp and log of vectors.
"""

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

LANES = 8
_BYTES = 64  # of a cache line, and of eight doubles


def padded(n):
    """The least multiple of `LANES` that is not below n.

    >>> padded(20)
    24
    """
    return -(-n // LANES) * LANES


def padded_zeros(*shape, dtype=np.float64):
    """Zeros with the last length padded; rows of doubles begin at cache lines: no vector lies across two of them."""
    shape = (*shape[:-1], padded(shape[-1]))
    size = math.prod(shape)
    room = np.zeros(size + _BYTES, dtype=dtype)
    first = -room.ctypes.data % _BYTES // room.itemsize
    return room[first : first + size].reshape(shape)


def padded_rows(A):
    """A matrix with zeros behind each row: the one that A is part of, where there is such a one, or else a copy.

    >>> room = padded_zeros(2, 3)
    >>> np.shares_memory(padded_rows(room[:, :3]), room)
    True
    >>> padded_rows(np.ones((2, 3)))[0]
    array([1., 1., 1., 0., 0., 0., 0., 0.])
    """
    A = np.asarray(A)
    n, K = A.shape
    whole = _whole_rows(A)
    if whole is None:
        whole = padded_zeros(n, K)
        whole[:, :K] = A
    return whole


def _whole_rows(A):
    """The matrix that A is the left part of, if that is padded: rows of such a length in A's memory, and zeros."""
    n, K = A.shape
    wide = A.itemsize * padded(K)
    if A.dtype != np.float64 or A.strides != (wide, A.itemsize) or A.ctypes.data % _BYTES:
        return None
    if not A.flags.writeable:  # loops would be compiled anew for it
        return None
    if padded(K) == K:
        return A
    if not isinstance(A.base, np.ndarray) or A.ctypes.data + n * wide > byte_bounds(A.base)[1]:
        return None
    whole = as_strided(A, (n, padded(K)))
    return None if whole[:, K:].any() else whole


_Array: Any = np.ndarray  # whose types of `+` and `+=` differ


class _Value(_Array):
    """Eight numbers that `+=` does not change for others who hold them: a value, as in compiled code."""

    __iadd__, __isub__, __imul__ = _Array.__add__, _Array.__sub__, _Array.__mul__


def get(array, i):
    """Eight numbers of an array, from i on."""
    return array[i : i + LANES].copy().view(_Value)


def put(array, i, x):
    """Write eight numbers, from i on."""
    array[i : i + LANES] = x


def spread(number):
    """A number eight times."""
    return np.full(LANES, number).view(_Value)


def larger(x, y):
    """The larger one of each pair; that of x where the two cannot be compared. y may be one number."""
    return np.where(y > x, y, x).view(_Value)


def smaller(x, y):
    """The smaller one of each pair, likewise."""
    return np.where(y < x, y, x).view(_Value)


def where_above(x, limit, above, else_):
    """`above` where x is more than `limit`, and `else_` elsewhere; all but x may be one number."""
    return np.where(x > limit, above, else_).view(_Value)


def root(x):
    """Square roots."""
    return np.sqrt(x).view(_Value)


def total(x):
    """The sum, of halves of halves."""
    return _folded(operator.add, x)


def totals(a, b, c, d, e, f, g, h):
    """The sums of eight vectors, as one."""
    return np.array([total(x) for x in (a, b, c, d, e, f, g, h)]).view(_Value)


def whole_product(x):
    """The product of all, likewise."""
    return _folded(operator.mul, x)


def greatest(x):
    """The largest of all. What cannot be compared is passed over, unless it comes first."""
    return _folded(larger, x)


def _folded(function, x):
    while len(x) > 1:
        half = len(x) // 2
        x = function(x[:half], x[half:])
    return x[0]
