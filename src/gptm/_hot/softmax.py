"""Expectations of softmax under independent Gaussians."""

import numpy as np
from numba import njit

from gptm._hot.exponential import exponential
from gptm._hot.settings import FAST, TINY

_LOG_T_STEP = 0.6  # the trapezoid rule's relative error is then below 1e-6


@njit(cache=True, nogil=True, fastmath=FAST)
def expected_softmax(lam, nu2, nodes, weights, out):
    """Fill `out` (n, K) with E[softmax(eta)] for eta ~ N(lam[d], diag nu2[d]), row by row.

    With 1/S = integral of exp(-t S) over t > 0, S = sum_j exp(eta_j), the expectation falls apart into
    one-dimensional ones, since the eta_j are independent:

        E[exp(eta_i) / S] = integral  E[exp(eta_i - t exp(eta_i))]  prod_{j != i} E[exp(-t exp(eta_j))]  dt

    Gauss-Hermite `nodes` and `weights` take the inner expectations, the trapezoid rule in log t the outer
    one: its integrand is analytic and falls off on both sides. Symmetric in the topics, no sampling.
    """
    D, K = lam.shape
    G = nodes.shape[0]
    argument, exp_eta = np.empty(G * K), np.empty(G * K)
    part, power = np.empty(G * K), np.empty(G * K)
    bits = power.view(np.int64)
    sd, survive, slope = np.empty(K), np.empty(K), np.empty(K)
    growth = np.exp(_LOG_T_STEP)
    for d in range(D):
        shift = lam[d, 0]
        for i in range(1, K):
            shift = max(shift, lam[d, i])
        for i in range(K):
            sd[i] = min(np.sqrt(nu2[d, i]), 100.0)  # softmax is 0 or 1 there; exp must not overflow
            out[d, i] = 0.0
        for g in range(G):
            for i in range(K):
                argument[g * K + i] = lam[d, i] - shift + sd[i] * nodes[g]
        exponential(argument, exp_eta, power, bits)
        mean_S = 0.0
        for g in range(G):
            for i in range(K):
                mean_S += weights[g] * exp_eta[g * K + i]
        # Left of t = 1e-3 / E[S] the integrand is t E[exp(eta_i)] to that accuracy, and the rest of the
        # trapezoid rule is a geometric sum; on the right, nothing is left once the product vanishes.
        t = 1e-3 / mean_S
        tail = 1.0 / (growth - 1.0)
        product = 1.0
        while product > 1e-12:
            for j in range(G * K):
                argument[j] = -t * exp_eta[j]
            exponential(argument, part, power, bits)
            for i in range(K):
                survive[i] = TINY
                slope[i] = 0.0
            for g in range(G):
                for i in range(K):
                    j = g * K + i
                    # Below its limit the exponential is not zero, but e^-700 times e^600 has to be.
                    weighted = weights[g] * part[j] if argument[j] > -600.0 else 0.0
                    survive[i] += weighted
                    slope[i] += weighted * exp_eta[j]
            product = 1.0
            for i in range(K):
                product *= survive[i]
            for i in range(K):
                out[d, i] += (1.0 + tail) * t * product * slope[i] / survive[i]
            tail = 0.0
            t *= growth
        total = 0.0
        for i in range(K):
            total += out[d, i]
        for i in range(K):
            out[d, i] /= total
