"""Expectations of softmax under independent Gaussians."""

import numpy as np
from numba import njit

from gptm._hot.exponential import exponential
from gptm._hot.settings import FAST, TINY

_NOTHING = 1e-9  # share of the integral that may be left out
_SQUARES = 16  # in a row: each doubles the rounding error


@njit(cache=True, nogil=True, fastmath=FAST)
def expected_softmax(lam, nu2, nodes, weights, out):
    """Fill `out` (n, K) with E[softmax(eta)] for eta ~ N(lam[d], diag nu2[d]), row by row.

    With 1/S = integral of exp(-t S) over t > 0, S = sum_j exp(eta_j), the expectation falls apart into
    one-dimensional ones, since the eta_j are independent:

        E[exp(eta_i) / S] = integral  E[exp(eta_i - t exp(eta_i))]  prod_{j != i} E[exp(-t exp(eta_j))]  dt

    Gauss-Hermite `nodes` and `weights` take the inner expectations, the trapezoid rule in log t the outer
    one: its integrand is analytic and falls off on both sides. From one t to the next it doubles, which keeps
    the relative error below 1e-6 and makes exp(-t exp(eta)) the square of what it was. Symmetric in the
    topics, no sampling.
    """
    D, K = lam.shape
    G = nodes.shape[0]
    argument, power = np.empty(K), np.empty(K)
    bits = power.view(np.int64)
    exp_eta, part = np.empty((G, K)), np.empty((G, K))
    sd, survive, slope = np.empty(K), np.empty(K), np.empty(K)
    for d in range(D):
        shift = lam[d, 0]
        for i in range(1, K):
            shift = max(shift, lam[d, i])
        for i in range(K):
            sd[i] = min(np.sqrt(nu2[d, i]), 100.0)  # softmax is 0 or 1 there; exp must not overflow
            out[d, i] = 0.0
        mean_S = 0.0
        for g in range(G):
            for i in range(K):
                argument[i] = lam[d, i] - shift + sd[i] * nodes[g]
            exponential(argument, exp_eta[g], power, bits)
            for i in range(K):
                mean_S += weights[g] * exp_eta[g, i]
        # Left of t = 1e-3 / E[S] the integrand is t E[exp(eta_i)] to that accuracy, and the rest of the
        # trapezoid rule is a geometric sum: as much again. On the right, nothing is left once the product vanishes.
        t = 1e-3 / mean_S
        tail = 2.0
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
            for i in range(K):
                out[d, i] += tail * t * product * (slope[i] / survive[i])
            tail = 1.0
            t *= 2.0
            step += 1
        total = 0.0
        for i in range(K):
            total += out[d, i]
        for i in range(K):
            out[d, i] /= total


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _fall(t, exp_eta, argument, out, power, bits):
    """Fill `out` with exp(-t exp_eta)."""
    for i in range(out.shape[0]):
        argument[i] = -t * exp_eta[i]
    exponential(argument, out, power, bits)
    for i in range(out.shape[0]):
        # Below its limit the exponential is not zero, but e^-700 times e^600 has to be.
        out[i] = out[i] if argument[i] > -600.0 else 0.0
