"""Tokens of one word in one document shared out among topics in one go, exactly, however many there are."""

import math

import numpy as np

from gptm._hot.compile_options import inlined
from gptm._hot.random_keys import gamma, uniform

_FEW = 10.0  # successes expected, at most, of trials that are counted out one success at a time
_FARTHEST = 200  # successes, which are never so many where few are expected


@inlined()
def few_successes(state, n, p):
    """The next state, and a binomial number of n trials of probability p, n p small: by inversion."""
    state, left = uniform(state)
    odds, chance, k = p / (1.0 - p), math.exp(n * math.log1p(-p)), 0.0
    while left > chance and k < n and k < _FARTHEST:
        left -= chance
        k += 1.0
        chance *= odds * (n - k + 1.0) / k
    return state, k


@inlined()
def beta(state, a, b):
    """The next state, and a number with a beta distribution."""
    state, first = gamma(state, a)
    state, second = gamma(state, b)
    return state, first / (first + second)


@inlined()
def binomial(state, n, p):
    """The next state, and a binomial number of n trials of probability p, whole numbers up to 2^53.

    Among n uniform numbers the i-th smallest, i = n p, has a beta distribution and is close to p. Given its value x,
    what is left to count are numbers between x and p: about the root of n p. A few such steps leave few successes.
    """
    counted, sign = 0.0, 1.0
    if p > 0.5:  # failures are fewer
        counted, sign, p = n, -1.0, 1.0 - p
    while n * p >= _FEW:
        i = np.floor((n + 1.0) * p)
        state, x = beta(np.uint64(state), i, n + 1.0 - i)
        if x <= p:  # i successes, and those of the other numbers that are below p too
            counted += sign * i
            n -= i
            p = min((p - x) / (1.0 - x), 1.0)
        else:  # of the i - 1 numbers below x those beyond p are no successes
            n = i - 1.0
            counted += sign * n
            sign = -sign
            p = (x - p) / x
        if p > 0.5:
            counted += sign * n
            sign = -sign
            p = 1.0 - p
    state, k = few_successes(np.uint64(state), n, p)
    return state, counted + sign * k


@inlined()
def share_out(state, count, draws, weights, n, tally):
    """Add `count` to topics, in `draws` equal parts, each to a topic in proportion to `weights`; the next state.

    `n` (K,) and `tally` take the topics' parts. Same as a multinomial of `draws`, times count / draws.
    """
    mass, last = 0.0, 0
    for k in range(n.shape[0]):
        mass += weights[k]
        if weights[k] > 0.0:
            last = k
    left, share = draws, count / draws
    for k in range(last + 1):
        if left <= 0.0:
            break
        taken = left
        if k < last:
            p = min(max(weights[k] / mass, 0.0), 1.0)
            state, taken = binomial(state, left, p)
            mass -= weights[k]
        n[k] += taken * share
        tally[k] += taken * share
        left -= taken
    return state
