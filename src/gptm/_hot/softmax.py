"""Expectations of softmax under independent Gaussians."""

from math import factorial
from typing import NamedTuple

import numpy as np

from gptm._hot.compile_options import FAST, inlined, loop
from gptm._hot.exponential import exp
from gptm._hot.simd import (
    LANES,
    get,
    greatest,
    larger,
    padded_zeros,
    put,
    spread,
    total,
    where_above,
    whole_product,
)

_NOTHING = 1e-7  # share of the integral that may be left out
_LEAST = 1e-30  # keeps a product that has vanished from being divided by
# How much less the width of a topic counts for each nat by which its mean share is below the largest: errors of
# topics that hardly occur are small whatever the rule.
_DISCOUNT = 0.1
_WIDEST = 100.0  # standard deviation: softmax is 0 or 1 there, and exp must not overflow
# Pads logits, in double and in single precision: exp of it is nothing, but times small weights still a normal number.
_NOWHERE, _NOT_FAR = -600.0, -60.0
_AGAIN = 32  # doublings of t from one look at exp(eta) to the next: of wide Gaussians some are too small for a number
# 1 - exp(-x) begins with x / 16, doubled four times, as the polynomial of Taylor; the highest power first.
_OF_FALL = tuple((-1) ** (k + 1) / factorial(k) for k in range(6, 0, -1))
_DOUBLINGS = 4
_GONE = 20.0  # x of which nothing is left: exp(-x) is below rounding in single precision
# On the left the integrand is a t + b t^2 + c t^3. These weights of the first three points t, 2t and 4t make up for all
# that the trapezoid rule would have at t/2, t/4, ...
_ENDS = (64 / 21, 8 / 21, 22 / 21)


class Rules(NamedTuple):
    """Rules for expectations under one Gaussian, from narrow to wide ones. The last one takes what others do not.

    That one has numbers in double precision. Others err by far more than rounding does in single precision.
    """

    limits: np.ndarray  # (R,) the width up to which each may serve
    first: np.ndarray  # (R,) where the outer integral begins, t E[S]
    size: np.ndarray  # (R,) how many nodes a rule has
    nodes: np.ndarray  # (R - 1, most nodes)
    weights: np.ndarray  # (R - 1, most nodes)
    last_nodes: np.ndarray
    last_weights: np.ndarray


_ROWS = 4


class SoftmaxScratch(NamedTuple):
    """Memory for `expected_softmax`; what is in it before and after is of no use.

    Four rows of topics, then what belongs to the nodes of a rule.
    """

    double: np.ndarray
    single: np.ndarray

    @classmethod
    def of(cls, K: int, rules: Rules) -> "SoftmaxScratch":
        return cls(
            padded_zeros(_ROWS + 2 * len(rules.last_nodes), K),
            padded_zeros(_ROWS + 2 * rules.nodes.shape[1], K, dtype=np.float32),
        )


@loop(fastmath=FAST)
def expected_softmax(lam, nu2, rules, out, scratch):
    """Fill `out` (n, K) with E[softmax(eta)] for eta ~ N(lam[d], diag nu2[d]), row by row.

    Each document has the first of the `rules` that is fine enough for it. In single precision, shares of less than
    1e-37 are treated as equal.
    """
    K, last = lam.shape[1], rules.limits.shape[0] - 1
    double, single = scratch.double, scratch.single
    mean, sd = double[0], double[1]
    for i in range(K, sd.shape[0]):
        mean[i], sd[i] = _NOWHERE, 0.0
        single[0, i], single[1, i] = _NOT_FAR, 0.0
    for d in range(lam.shape[0]):
        shift = lam[d, 0]
        for i in range(1, K):
            shift = max(shift, lam[d, i])
        for i in range(K):
            mean[i] = lam[d, i] - shift
            sd[i] = min(np.sqrt(nu2[d, i]), _WIDEST)
        rule = _rule_of(mean, sd, rules.limits)
        first, G = rules.first[rule], rules.size[rule]
        if rule == last:
            _integrate(rules.last_nodes, rules.last_weights, first, double, out[d])
        else:
            for i in range(K):
                single[0, i], single[1, i] = mean[i], sd[i]
            _integrate(rules.nodes[rule, :G], rules.weights[rule, :G], first, single, out[d])


@inlined(fastmath=FAST)
def _integrate(nodes, weights, first, work, out):
    """Fill `out` (K,) with the expectation for one document, whose logits and standard deviations `work` begins with.

    With 1/S = integral of exp(-t S) over t > 0, S = sum_j exp(eta_j), the expectation falls apart into
    one-dimensional ones, since the eta_j are independent:

        E[exp(eta_i) / S] = integral  E[exp(eta_i - t exp(eta_i))]  prod_{j != i} E[exp(-t exp(eta_j))]  dt

    A rule of few nodes takes the inner expectations, the trapezoid rule in log t the outer one: its integrand is
    analytic and falls off on both sides. From one t to the next it doubles, which keeps the relative error below 1e-6.
    Symmetric in the topics, no sampling.
    """
    G, kind = nodes.shape[0], work.dtype.type
    mean, sd, slopes, sums = work[0], work[1], work[2], work[3]
    # exp(eta) and 1 - exp(-t exp(eta)) side by side, node by node, eight topics after eight.
    pairs, pair = work[_ROWS:].reshape(-1), 2 * LANES
    length, eights = G * pair, range(0, sd.shape[0], LANES)
    mean_S = spread(kind(0.0))
    for i in eights:
        for g in range(G):
            e = exp(get(mean, i) + get(sd, i) * nodes[g])
            put(pairs, i // LANES * length + g * pair, e)
            mean_S += e * weights[g]
        put(sums, i, spread(kind(0.0)))
    t = first / total(mean_S)
    # On the right, nothing is left once the product vanishes.
    product = 1.0
    step = 0
    while product > _NOTHING:
        if step % _AGAIN == 0:
            for at in range(0, sd.shape[0] // LANES * length, pair):
                put(pairs, at + LANES, _gone(get(pairs, at) * t))
        products = spread(kind(1.0))
        for i in eights:
            survive, slope = spread(kind(_LEAST)), spread(kind(0.0))
            for g in range(G):
                at = i // LANES * length + g * pair
                gone = get(pairs, at + LANES)
                left = 1.0 - gone
                weighted = left * weights[g]
                survive += weighted
                slope += weighted * get(pairs, at)
                put(pairs, at + LANES, gone + gone * left)
            products *= survive
            put(slopes, i, slope / survive)
        product = float(whole_product(products))
        height = t * product * (_ENDS[step] if step < 3 else 1.0)
        for i in eights:
            put(sums, i, get(sums, i) + get(slopes, i) * height)
        t *= 2.0
        step += 1
    whole = 0.0
    for i in range(out.shape[0]):
        whole += sums[i]
    for i in range(out.shape[0]):
        out[i] = sums[i] / whole


@inlined(fastmath=FAST)
def _rule_of(mean, sd, limits):
    """The first rule for the widest of the topics; a small share discounts a topic's width."""
    high, width = spread(-np.inf), spread(0.0)
    for i in range(0, sd.shape[0], LANES):
        high = larger(high, get(mean, i) + get(sd, i) * get(sd, i) * 0.5)  # log E[exp(eta)]
    largest = greatest(high)
    for i in range(0, sd.shape[0], LANES):
        share = get(mean, i) + get(sd, i) * get(sd, i) * 0.5 - largest
        width = larger(width, get(sd, i) * exp(share * _DISCOUNT))
    widest, rule = greatest(width), 0
    while rule + 1 < limits.shape[0] and widest > limits[rule]:
        rule += 1
    return rule


@inlined(fastmath=FAST)
def _gone(x):
    """1 - exp(-x). Doubling x takes a value v to v + v (1 - v), which keeps the digits of small ones."""
    part = x * 0.5**_DOUBLINGS
    value = part * _OF_FALL[0] + _OF_FALL[1]
    for coefficient in _OF_FALL[2:]:
        value = part * value + coefficient
    value = part * value
    for _ in range(_DOUBLINGS):
        value = value + value * (1.0 - value)
    return where_above(x, _GONE, 1.0, value)
