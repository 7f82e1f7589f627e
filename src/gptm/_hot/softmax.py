"""Expectations of softmax under independent Gaussians."""

from typing import NamedTuple

import numpy as np

from gptm._hot.exponential import exp
from gptm._hot.settings import FAST, TINY, inlined, loop
from gptm._hot.vectors import (
    LANES,
    get,
    greatest,
    larger,
    put,
    spread,
    total,
    where_above,
    whole_product,
)

_NOTHING = 1e-7  # share of the integral that may be left out
_SQUARES = 32  # in a row: each doubles the rounding error
# How much less the width of a topic counts for each nat by which its mean share is below the largest: errors of
# topics that hardly occur are small whatever the rule.
_DISCOUNT = 0.1
_WIDEST = 100.0  # standard deviation: softmax is 0 or 1 there, and exp must not overflow
_NOWHERE = (
    -600.0
)  # pads logits: exp of it is nothing, but times small weights still a normal number
# On the left the integrand is a t + b t^2 + c t^3. These weights of the first three points t, 2t and 4t make up for all
# that the trapezoid rule would have at t/2, t/4, ...
_ENDS = (64 / 21, 8 / 21, 22 / 21)


class Rules(NamedTuple):
    """Rules for expectations under one Gaussian, from narrow to wide ones."""

    limits: np.ndarray  # (R,) the width up to which each may serve; the last one takes all others
    first: np.ndarray  # (R,) where the outer integral begins, t E[S]
    size: np.ndarray  # (R,) how many nodes a rule has
    nodes: np.ndarray  # (R, most nodes)
    weights: np.ndarray  # (R, most nodes)


@loop(fastmath=FAST)
def expected_softmax(lam, nu2, rules, out, work):
    """Fill `out` (n, K) with E[softmax(eta)] for eta ~ N(lam[d], diag nu2[d]), row by row.

    With 1/S = integral of exp(-t S) over t > 0, S = sum_j exp(eta_j), the expectation falls apart into
    one-dimensional ones, since the eta_j are independent:

        E[exp(eta_i) / S] = integral  E[exp(eta_i - t exp(eta_i))]  prod_{j != i} E[exp(-t exp(eta_j))]  dt

    One of the `rules` takes the inner expectations, the trapezoid rule in log t the outer one: its integrand is
    analytic and falls off on both sides. From one t to the next it doubles, which keeps the relative error below 1e-6
    and makes exp(-t exp(eta)) the square of what it was. Symmetric in the topics, no sampling.

    `work` (4 + 2 * most nodes, K padded) is scratch.
    """
    K, most = lam.shape[1], rules.nodes.shape[1]
    mean, sd, slopes, sums = work[0], work[1], work[2], work[3]
    exp_eta, part = work[4 : 4 + most], work[4 + most :]
    eights = range(0, sd.shape[0], LANES)
    for i in range(K, sd.shape[0]):
        mean[i], sd[i] = _NOWHERE, 0.0
    for d in range(lam.shape[0]):
        shift = lam[d, 0]
        for i in range(1, K):
            shift = max(shift, lam[d, i])
        for i in range(K):
            mean[i] = lam[d, i] - shift
            sd[i] = min(np.sqrt(nu2[d, i]), _WIDEST)
        rule = _rule_of(mean, sd, rules.limits)
        G, nodes, weights = rules.size[rule], rules.nodes[rule], rules.weights[rule]
        mean_S = spread(0.0)
        for g in range(G):
            for i in eights:
                e = exp(get(mean, i) + get(sd, i) * nodes[g])
                put(exp_eta[g], i, e)
                mean_S += e * weights[g]
        for i in eights:
            put(sums, i, spread(0.0))
        # On the right, nothing is left once the product vanishes.
        t = rules.first[rule] / total(mean_S)
        product = 1.0
        step = 0
        while product > _NOTHING:
            if step % _SQUARES == 0:
                for g in range(G):
                    _fall(t, exp_eta[g], part[g])
            products = spread(1.0)
            for i in eights:
                survive, slope = spread(TINY), spread(0.0)
                for g in range(G):
                    now = get(part[g], i)
                    weighted = now * weights[g]
                    survive += weighted
                    slope += weighted * get(exp_eta[g], i)
                    put(part[g], i, now * now)
                products *= survive
                put(slopes, i, slope / survive)
            product = whole_product(products)
            height = t * product * (_ENDS[step] if step < 3 else 1.0)
            for i in eights:
                put(sums, i, get(sums, i) + get(slopes, i) * height)
            t *= 2.0
            step += 1
        whole = spread(0.0)
        for i in eights:
            whole += get(sums, i)
        scale = 1.0 / total(whole)
        for i in range(K):
            out[d, i] = sums[i] * scale


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
def _fall(t, exp_eta, out):
    """Fill `out` with exp(-t exp_eta)."""
    for i in range(0, out.shape[0], LANES):
        x = get(exp_eta, i) * -t
        # Below its limit the exponential is not zero, but e^-700 times e^600 has to be.
        put(out, i, where_above(x, spread(-600.0), exp(x), spread(0.0)))
