"""Most of the way to the mode of a document's logits, by steps that need no curvature of their own (L-BFGS).

A Newton step forms and factorises a curvature, K^3 operations, and from afar it takes seven or eight of them. Here one
matrix is factorised for all steps: about the curvature at the start. What they see of the gradient corrects it.
"""

from typing import NamedTuple

import numpy as np

from gptm._hot.compile_options import FAST, TINY, inlined
from gptm._hot.linear_algebra import clear, dot, product, shifted_exp
from gptm._hot.panel_factors import factorise_anyway, solve
from gptm._hot.simd import LANES, get, padded_zeros, put, spread, totals
from gptm._hot.word_evidence import log_likelihood

_KEPT = 8  # steps that correct the next one
_MOST = 100  # steps; few documents need more than 50
_CLOSE = 1e-8  # nats that a step promises: a factor there is as good as one at the mode
_SHORTEST = 1e-4  # of a step
_SLOPE = 1e-4  # part of the promised gain that a step must hold (Armijo)
# The part of the words' curvature that is not missing information, see `document_posterior`.
_SHARE = 0.4


class Steps(NamedTuple):
    """Steps that were taken, the latest ones, in a ring."""

    moves: np.ndarray  # (kept, K padded) differences of logits
    falls: np.ndarray  # (kept, K padded) how much the gradient fell by
    scales: np.ndarray  # (kept, padded) one over the product of the two
    parts: np.ndarray  # (kept, padded) scratch

    @classmethod
    def of(cls, K):
        return cls(
            padded_zeros(_KEPT, K),
            padded_zeros(_KEPT, K),
            padded_zeros(_KEPT),
            padded_zeros(_KEPT),
        )


@inlined(fastmath=FAST)
def add_eight_words(beta, counts, norms, w, q, out):
    """Fill eight words' norms, from w on, and add their counts times topics over norms to `out`."""
    a, b, c, d = beta[w], beta[w + 1], beta[w + 2], beta[w + 3]
    e, f, g, h = beta[w + 4], beta[w + 5], beta[w + 6], beta[w + 7]
    sum_a = sum_b = sum_c = sum_d = sum_e = sum_f = sum_g = sum_h = spread(0.0)
    for i in range(0, q.shape[0], LANES):
        x = get(q, i)
        sum_a += x * get(a, i)
        sum_b += x * get(b, i)
        sum_c += x * get(c, i)
        sum_d += x * get(d, i)
        sum_e += x * get(e, i)
        sum_f += x * get(f, i)
        sum_g += x * get(g, i)
        sum_h += x * get(h, i)
    norm = totals(sum_a, sum_b, sum_c, sum_d, sum_e, sum_f, sum_g, sum_h) + TINY
    put(norms, w, get(counts, w) / norm)  # for a moment
    of_a, of_b, of_c, of_d = norms[w], norms[w + 1], norms[w + 2], norms[w + 3]
    of_e, of_f, of_g, of_h = norms[w + 4], norms[w + 5], norms[w + 6], norms[w + 7]
    for i in range(0, q.shape[0], LANES):
        four = (get(a, i) * of_a + get(b, i) * of_b) + (get(c, i) * of_c + get(d, i) * of_d)
        others = (get(e, i) * of_e + get(f, i) * of_f) + (get(g, i) * of_g + get(h, i) * of_h)
        put(out, i, get(out, i) + four + others)
    put(norms, w, norm)


@inlined(fastmath=FAST)
def log_posterior_and_slope(beta, counts, N, P, m, eta, q, pull, norms, slope):
    """log p up to a constant at eta, and fills its gradient `slope`; q, `pull` and `norms` as by `log_posterior`.

    Words are padded to a multiple of eight, with counts of zero.
    """
    _, mass = shifted_exp(eta, q)
    for i in range(0, eta.shape[0], LANES):
        put(q, i, get(q, i) * (1.0 / mass))
        put(slope, i, get(eta, i) - get(m, i))
    product(P, slope, pull)
    far = dot(slope, pull)
    clear(slope)
    for w in range(0, counts.shape[0], LANES):
        add_eight_words(beta, counts, norms, w, q, slope)
    for i in range(0, eta.shape[0], LANES):
        put(slope, i, (get(slope, i) - N) * get(q, i) - get(pull, i))
    return log_likelihood(counts, norms) - 0.5 * far


@inlined(fastmath=FAST)
def likely_curvature(P, slope, pull, q, N, H):
    """Fill H with P + share (diag n - n n' / N), n the expected topic counts, from the gradient; q is used up."""
    rows = P.shape[0]
    for i in range(0, rows, LANES):
        put(q, i, get(q, i) * N + get(slope, i) + get(pull, i))
    per = _SHARE / N if N > 0.0 else 0.0
    for k in range(rows):
        for i in range(k // LANES * LANES, rows, LANES):
            put(H[k], i, get(P[k], i) - get(q, i) * (per * q[k]))
        H[k, k] += _SHARE * q[k]


@inlined(fastmath=FAST)
def take_direction(slope, steps, taken, U, roots, x):
    """Fill x with the inverse curvature, as far as it is known, times the gradient (the two loops of L-BFGS)."""
    first = max(taken - _KEPT, 0)
    for i in range(0, x.shape[0], LANES):
        put(x, i, get(slope, i))
    for number in range(taken - 1, first - 1, -1):
        j = number % _KEPT
        move, fall = steps.moves[j], steps.falls[j]
        part = steps.scales[j] * dot(move, x)
        steps.parts[j] = part
        for i in range(0, x.shape[0], LANES):
            put(x, i, get(x, i) - get(fall, i) * part)
    solve(U, roots, x)
    for number in range(first, taken):
        j = number % _KEPT
        move, fall = steps.moves[j], steps.falls[j]
        part = steps.parts[j] - steps.scales[j] * dot(fall, x)
        for i in range(0, x.shape[0], LANES):
            put(x, i, get(x, i) + get(move, i) * part)


@inlined(fastmath=FAST)
def approach_mode(beta, counts, N, P, none, m, eta, H, U, roots, norms, steps, work):
    """Take eta close to a mode of log p, or leave it where steps lead nowhere; returns how many were tried.

    H, U, `roots`, `norms`, `steps` and `work` are scratch.
    """
    q, pull, slope, x, there, new_slope = work[0], work[1], work[2], work[3], work[4], work[5]
    value = log_posterior_and_slope(beta, counts, N, P, m, eta, q, pull, norms, slope)
    likely_curvature(P, slope, pull, q, N, H)
    factorise_anyway(H, none, U, roots)
    tried = taken = 0
    length = 1.0
    while tried < _MOST:
        if length == 1.0:
            take_direction(slope, steps, taken, U, roots, x)
            promise = dot(x, slope)
            if not promise > _CLOSE:
                break
        for i in range(0, x.shape[0], LANES):
            put(there, i, get(eta, i) + get(x, i) * length)
        new = log_posterior_and_slope(beta, counts, N, P, m, there, q, pull, norms, new_slope)
        tried += 1
        if not new >= value + _SLOPE * length * promise:
            length *= 0.5
            if length > _SHORTEST:
                continue
            break
        value = new
        move, fall = steps.moves[taken % _KEPT], steps.falls[taken % _KEPT]
        for i in range(0, x.shape[0], LANES):
            put(move, i, get(x, i) * length)
            put(fall, i, get(slope, i) - get(new_slope, i))
            put(eta, i, get(there, i))
        along = dot(move, fall)
        if along > TINY:  # else log p curves upwards there, which a bound from above cannot say
            steps.scales[taken % _KEPT] = 1.0 / along
            taken += 1
        slope, new_slope = new_slope, slope
        length = 1.0
    return tried
