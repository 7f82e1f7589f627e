"""exp and log of vectors, several times as fast as one number after the other."""

from math import factorial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload

from gptm._hot.simd import LANES, larger, smaller, spread, where_above
from gptm._hot.simd_lowering import Vector, compiled, is_vector

_LOG2_E = 1.4426950408889634
# log 2 in two parts: n times the first is exact for the n that occur.
_LOG_2_HIGH, _LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Of Taylor's polynomial for exp, and of that for artanh(s) / s in s^2; the highest power first.
_OF_EXP = tuple(1 / factorial(k) for k in range(11, -1, -1))
_OF_ARTANH = tuple(1 / (2 * k + 1) for k in range(9, -1, -1))
_SQRT_2 = 1.4142135623730951


class _Kind(NamedTuple):
    """How numbers of some bits are made."""

    bits: int
    mantissa: int  # bits of it
    bias: int  # of the exponent
    magic: float  # added to a number, it leaves the nearest integer in the lowest bits
    limit: float  # of |x| for exp(x); beyond it the power of two would not fit
    log_2: tuple[float, float]
    of_exp: tuple[float, ...]

    def constant(self, number):
        return ir.Constant(self.integers, [number] * LANES)

    @property
    def integers(self):
        return ir.VectorType(ir.IntType(self.bits), LANES)


_DOUBLE = _Kind(64, 52, 1023, 1.5 * 2.0**52, 700.0, (_LOG_2_HIGH, _LOG_2_LOW), _OF_EXP)
_SINGLE = _Kind(32, 23, 127, 1.5 * 2.0**23, 87.0, (0.693359375, -2.12194440e-4), _OF_EXP[4:])


def _kind_of(dtype):
    return _SINGLE if np.dtype(str(dtype)) == np.float32 else _DOUBLE


def exp(x):
    """exp(x) to 1e-14 of itself; x below -700 and above 700 count as these. Single precision: to 3e-7, and 87."""
    limit = _kind_of(x.dtype).limit
    return np.exp(np.clip(x, -limit, limit))


def log(x):
    """log(x) to 1e-15, for finite x of 1e-300 and more; of others it is any number."""
    return np.log(x)


def _power_of_two(shifted):
    """2^n for an integer n to which the magic was added."""
    return np.exp2(shifted - _kind_of(shifted.dtype).magic)


def _exponent(x):
    """n of x = 2^n y with y from 1 to 2."""
    return np.frexp(x)[1] - 1.0


def _mantissa(x):
    """y of x = 2^n y, likewise."""
    return 2.0 * np.frexp(x)[0]


_SIXTY_FOUR, _integers = _DOUBLE.integers, _DOUBLE.constant


def _typed_double(x):
    return x if is_vector(x) and x.dtype == types.float64 else None


@compiled(_power_of_two, Vector)
def _build_power_of_two():
    def typed(x):
        return x if is_vector(x) else None

    def generate(context, builder, signature, arguments):
        # The lowest bits are n; shifted, they are the exponent of a float.
        kind = _kind_of(signature.return_type.dtype)
        bits = builder.add(builder.bitcast(arguments[0], kind.integers), kind.constant(kind.bias))
        bits = builder.shl(bits, kind.constant(kind.mantissa))
        return builder.bitcast(bits, arguments[0].type)

    return typed, generate


@compiled(_exponent, Vector)
def _build_exponent():
    def generate(context, builder, signature, arguments):
        # The exponent as the lowest bits of 2^52, where a unit in the last place is one.
        bits = builder.bitcast(arguments[0], _SIXTY_FOUR)
        bits = builder.or_(builder.lshr(bits, _integers(52)), _integers(0x433 << 52))
        number = builder.bitcast(bits, arguments[0].type)
        offset = ir.Constant(arguments[0].type, [2.0**52 + 1023.0] * LANES)
        return builder.fsub(number, offset)

    return _typed_double, generate


@compiled(_mantissa, Vector)
def _build_mantissa():
    def generate(context, builder, signature, arguments):
        bits = builder.bitcast(arguments[0], _SIXTY_FOUR)
        bits = builder.or_(builder.and_(bits, _integers((1 << 52) - 1)), _integers(0x3FF << 52))
        return builder.bitcast(bits, arguments[0].type)

    return _typed_double, generate


# Reassociation, which other loops allow, would cancel the magic.
_STRICT: Any = {"forceinline": True, "fastmath": {"contract"}}


@overload(exp, jit_options=_STRICT)
def _compiled_exp(x):
    """exp(x) = 2^n exp(r) with |r| at most log(2) / 2, and Taylor's polynomial for exp(r)."""
    if not is_vector(x):
        return None
    kind = _kind_of(x.dtype)
    limit, magic, (high, low), of_exp = kind.limit, kind.magic, kind.log_2, kind.of_exp

    def of_vector(x):
        x = smaller(larger(x, -limit), limit)
        shifted = x * _LOG2_E + magic
        n = shifted - magic
        r = (x - n * high) - n * low
        p = r * of_exp[0] + of_exp[1]
        for coefficient in of_exp[2:]:
            p = r * p + coefficient
        return p * _power_of_two(shifted)

    return of_vector


@overload(log, jit_options=_STRICT)
def _compiled_log(x):
    """log(x) = n log(2) + log(y) with y near one, and the series of 2 artanh((y - 1) / (y + 1)) for log(y)."""
    if not is_vector(x):
        return None

    def of_vector(x):
        n, y = _exponent(x), _mantissa(x)
        n = where_above(y, _SQRT_2, n + 1.0, n)
        y = where_above(y, _SQRT_2, y * 0.5, y)
        s = (y - 1.0) / (y + 1.0)
        q = s * s
        p = spread(0.0)
        for coefficient in _OF_ARTANH:
            p = q * p + coefficient
        return 2.0 * s * p + n * _LOG_2_LOW + n * _LOG_2_HIGH

    return of_vector
