"""Random numbers from keys: a document, or a word, draws the same ones wherever it is drawn, and beside whatever."""

import math

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.exponential import log
from gptm._hot.simd import LANES, get, put, root, spread

_STEP = np.uint64(0x9E3779B97F4A7C15)
_UNIT = 1.0 / 9007199254740992.0
# Of Taylor's series in x^2 for cos(x) and sin(x) / x, the highest power first: to rounding for |x| up to pi / 4.
_OF_COS = tuple((-1) ** k / math.factorial(2 * k) for k in range(8, -1, -1))
_OF_SIN = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(8, -1, -1))
VANISHED = -80.0  # logarithm of a gamma variable beside which others are one


@inlined()
def mixed(z):
    """The bits of a number, mixed (splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined()
def stream(key, number):
    """The state from which the numbers of one document, or one word, are drawn."""
    return mixed(np.uint64(key) ^ mixed((np.uint64(number) + np.uint64(1)) * _STEP))


@inlined()
def uniform(state):
    """The next state, and a number between zero and one, neither included."""
    state = np.uint64(state) + _STEP
    return state, ((mixed(state) >> np.uint64(11)) + 0.5) * _UNIT


@inlined()
def uniforms(states, out):
    """Fill `out` with a number for each of eight states, which move on."""
    for lane in range(LANES):
        states[lane], out[lane] = uniform(states[lane])


@inlined(fastmath=FAST)
def two_normals(states, room, first, second):
    """Fill eight numbers of `first` and eight of `second` with standard normals (Box and Muller).

    The angle is four times one that two short series serve.
    """
    uniforms(states, room)
    radius = root(log(get(room, 0)) * -2.0)
    uniforms(states, room)
    x = (get(room, 0) - 0.5) * (0.5 * math.pi)
    q = x * x
    c, s = spread(0.0), spread(0.0)
    for coefficient in _OF_COS:
        c = c * q + coefficient
    for coefficient in _OF_SIN:
        s = s * q + coefficient
    s *= x
    c, s = c * c - s * s, c * s * 2.0
    put(first, 0, radius * (c * c - s * s))
    put(second, 0, radius * (c * s * 2.0))


@inlined()
def normal(state):
    """The next state, and a standard normal number."""
    state, u = uniform(state)
    state, angle = uniform(state)
    return state, math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * angle)


@inlined()
def gamma(state, shape):
    """The next state, and a gamma variable of that shape and scale one (Marsaglia and Tsang).

    One below exp(-80), as nearly all are where the shape is tiny, is zero.
    """
    boost = 0.0
    if shape < 1.0:
        state, u = uniform(state)
        boost = math.log(u) / max(shape, 1e-300)
        if boost < VANISHED:
            return state, 0.0
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        state, x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        state, u = uniform(state)
        # The first is nearly always true, and takes no logarithm.
        if u < 1.0 - 0.0331 * x * x * x * x or math.log(u) < 0.5 * x * x + d * (
            1.0 - v + math.log(v)
        ):
            return state, d * v * math.exp(boost)
