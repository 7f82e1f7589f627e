"""Expectations of softmax under independent Gaussians."""

from typing import NamedTuple

import numpy as np

from gptm._hot.exponential import exponential
from gptm._hot.settings import FAST, TINY, inlined, loop

_NOTHING = 1e-7  # share of the integral that may be left out
_SQUARES = 32  # in a row: each doubles the rounding error
# How much less the width of a topic counts for each nat by which its mean share is below the largest: errors of
# topics that hardly occur are small whatever the rule.
_DISCOUNT = 0.1
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
def expected_softmax(lam, nu2, rules, out, work, bits):
    """Fill `out` (n, K) with E[softmax(eta)] for eta ~ N(lam[d], diag nu2[d]), row by row.

    With 1/S = integral of exp(-t S) over t > 0, S = sum_j exp(eta_j), the expectation falls apart into
    one-dimensional ones, since the eta_j are independent:

        E[exp(eta_i) / S] = integral  E[exp(eta_i - t exp(eta_i))]  prod_{j != i} E[exp(-t exp(eta_j))]  dt

    One of the `rules` takes the inner expectations, the trapezoid rule in log t the outer one: its integrand is
    analytic and falls off on both sides. From one t to the next it doubles, which keeps the relative error below 1e-6
    and makes exp(-t exp(eta)) the square of what it was. Symmetric in the topics, no sampling.

    `work` (5 + 2 * most nodes, K) is scratch, and `bits` its first row as integers.
    """
    D, K = lam.shape
    most = rules.nodes.shape[1]
    power, argument, sd, survive, slope = work[0], work[1], work[2], work[3], work[4]
    exp_eta, part = work[5 : 5 + most], work[5 + most :]
    for d in range(D):
        shift = lam[d, 0]
        for i in range(1, K):
            shift = max(shift, lam[d, i])
        for i in range(K):
            sd[i] = min(np.sqrt(nu2[d, i]), 100.0)  # softmax is 0 or 1 there; exp must not overflow
            out[d, i] = 0.0
        rule = _rule_of(lam[d], sd, rules.limits, argument, slope, power, bits)
        G, nodes, weights = rules.size[rule], rules.nodes[rule], rules.weights[rule]
        mean_S = 0.0
        for g in range(G):
            for i in range(K):
                argument[i] = lam[d, i] - shift + sd[i] * nodes[g]
            exponential(argument, exp_eta[g], power, bits)
            for i in range(K):
                mean_S += weights[g] * exp_eta[g, i]
        # On the right, nothing is left once the product vanishes.
        t = rules.first[rule] / mean_S
        product = 1.0
        step = 0
        while product > _NOTHING:
            if step % _SQUARES == 0:
                for g in range(G):
                    _fall(t, exp_eta[g], argument, part[g], power, bits)
            for i in range(K):
                survive[i] = TINY
                slope[i] = 0.0
            for g in range(G):
                weight, now, factor = weights[g], part[g], exp_eta[g]
                for i in range(K):
                    weighted = weight * now[i]
                    survive[i] += weighted
                    slope[i] += weighted * factor[i]
                    now[i] *= now[i]
            product = 1.0
            for i in range(K):
                product *= survive[i]
            height = t * product * (_ENDS[step] if step < 3 else 1.0)
            for i in range(K):
                out[d, i] += height * (slope[i] / survive[i])
            t *= 2.0
            step += 1
        total = 0.0
        for i in range(K):
            total += out[d, i]
        for i in range(K):
            out[d, i] /= total


@inlined(fastmath=FAST)
def _rule_of(lam, sd, limits, argument, share, power, bits):
    """The first rule for the widest of the topics; a small share discounts a topic's width."""
    K = lam.shape[0]
    largest = -np.inf
    for i in range(K):
        argument[i] = lam[i] + 0.5 * sd[i] * sd[i]  # E[exp(eta)], up to a factor
        largest = max(largest, argument[i])
    for i in range(K):
        argument[i] = _DISCOUNT * (argument[i] - largest)
    exponential(argument, share, power, bits)
    width = 0.0
    for i in range(K):
        width = max(width, sd[i] * share[i])
    rule = 0
    while rule + 1 < limits.shape[0] and width > limits[rule]:
        rule += 1
    return rule


@inlined(fastmath=FAST)
def _fall(t, exp_eta, argument, out, power, bits):
    """Fill `out` with exp(-t exp_eta)."""
    for i in range(out.shape[0]):
        argument[i] = -t * exp_eta[i]
    exponential(argument, out, power, bits)
    for i in range(out.shape[0]):
        # Below its limit the exponential is not zero, but e^-700 times e^600 has to be.
        out[i] = out[i] if argument[i] > -600.0 else 0.0
