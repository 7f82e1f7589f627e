"""Logits of documents given the topics of their tokens, eight documents at once.

What the prior pulls at is in single precision, which takes half the time, and the pulls on eight topics of sixteen
documents are computed together. Steps are in double precision: a document may have millions of tokens.
"""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.exponential import exp, log
from gptm._hot.random_keys import two_normals, uniforms
from gptm._hot.simd import (
    LANES,
    get,
    greatest,
    larger,
    put,
    root,
    smaller,
    spread,
    total,
    where_above,
)

_LONGEST = 2.0  # Newton step, in standard deviations of the proposal
_FARTHEST = 30.0  # moves that are longer, either way, are not looked at
_NONE = np.float32(0.0)
_NOWHERE = -700.0  # logit of what is no topic


@inlined(fastmath=FAST)
def bounded(t, sd):
    """A Newton step of a few standard deviations at most.

    Far from the mode, or where a topic has next to nothing, it would go much too far: the way back would then be so
    improbable that nothing were ever accepted again.
    """
    return smaller(larger(t, sd * -_LONGEST), sd * _LONGEST)


@inlined(fastmath=FAST)
def step(n, N, g, p_prior, e, whole, normals, uniform):
    """A Metropolis step along one topic's axis with Newton's proposal, for eight documents.

    The target is n x - N log(E + e (exp(x) - 1)) - g x - p_prior x^2 / 2 as a function of the move x. Returns the move,
    which is zero where it was not accepted, and e after it. `uniform` is drawn between zero and one.
    """
    p = e / whole
    h = N * p * (1.0 - p) + p_prior
    sd = 1.0 / root(h)
    t = bounded((n - N * p - g) / h, sd)
    x = t + normals * sd
    e_new = e * exp(x)
    whole_new = whole - e + e_new
    p = e_new / whole_new
    h_new = N * p * (1.0 - p) + p_prior
    back = x + bounded((n - N * p - g - p_prior * x) / h_new, 1.0 / root(h_new))
    forth = x - t
    gain = (n - g - p_prior * 0.5 * x) * x - N * log(whole_new / whole)
    gain += (h * forth * forth - h_new * back * back) * 0.5
    gain += (
        log(h_new / (h * uniform * uniform)) * 0.5
    )  # of the densities of the proposals, and of the draw
    gain = where_above(x * x, _FARTHEST * _FARTHEST, -1.0, gain)
    return where_above(gain, 0.0, x, 0.0), where_above(gain, 0.0, e_new, e)


@inlined(fastmath=FAST)
def draw_numbers(states, room, normals, uniform):
    """Fill two panels of eight with standard normals and with uniform numbers."""
    for i in range(0, LANES * LANES, 2 * LANES):
        two_normals(states, room, normals[i : i + LANES], normals[i + LANES : i + 2 * LANES])
    for i in range(0, LANES * LANES, LANES):
        uniforms(states, uniform[i : i + LANES])


@inlined(fastmath=FAST)
def soften(eta, e):
    """Fill e (K padded) with exp(eta - high); return their sum, and `high`."""
    K = eta.shape[0]
    for k in range(K):
        e[k] = eta[k]
    for k in range(K, e.shape[0]):
        e[k] = _NOWHERE
    highest, sums = get(e, 0), spread(0.0)
    for i in range(LANES, e.shape[0], LANES):
        highest = larger(highest, get(e, i))
    high = greatest(highest)
    for i in range(0, e.shape[0], LANES):
        x = exp(get(e, i) - high)
        put(e, i, x)
        sums += x
    return total(sums), high


@inlined(fastmath=FAST)
def fill_pulls(P, first, last, one, other, pulls):
    """Fill `pulls` (2, 64) with products of eight rows of P, from `first` on, with two panels of eight documents.

    From `last` on rows are those before it again. Sixteen sums stay in registers.
    """
    a, b, c, d = P[first], P[min(first + 1, last)], P[min(first + 2, last)], P[min(first + 3, last)]
    e, f, g, h = (
        P[min(first + 4, last)],
        P[min(first + 5, last)],
        P[min(first + 6, last)],
        P[min(first + 7, last)],
    )
    a1 = b1 = c1 = d1 = e1 = f1 = g1 = h1 = spread(_NONE)
    a2 = b2 = c2 = d2 = e2 = f2 = g2 = h2 = spread(_NONE)
    for i in range(P.shape[1]):
        x, y = get(one, i * LANES), get(other, i * LANES)
        a1 += x * a[i]
        a2 += y * a[i]
        b1 += x * b[i]
        b2 += y * b[i]
        c1 += x * c[i]
        c2 += y * c[i]
        d1 += x * d[i]
        d2 += y * d[i]
        e1 += x * e[i]
        e2 += y * e[i]
        f1 += x * f[i]
        f2 += y * f[i]
        g1 += x * g[i]
        g2 += y * g[i]
        h1 += x * h[i]
        h2 += y * h[i]
    put_eight(pulls[0], a1, b1, c1, d1, e1, f1, g1, h1)
    put_eight(pulls[1], a2, b2, c2, d2, e2, f2, g2, h2)


@inlined()
def put_eight(out, a, b, c, d, e, f, g, h):
    """Write eight vectors, one after the other."""
    put(out, 0, a)
    put(out, LANES, b)
    put(out, 2 * LANES, c)
    put(out, 3 * LANES, d)
    put(out, 4 * LANES, e)
    put(out, 5 * LANES, f)
    put(out, 6 * LANES, g)
    put(out, 7 * LANES, h)


@inlined(fastmath=FAST)
def move_run(P, first, end, n, N, whole, e, panel, eta, pulls, wide, room, normals, uniform):
    """Move the logits of topics `first` to `end`, at most eight, of eight documents; pulls follow these moves.

    `panel` has the logits less their prior means, documents side by side. `wide` (64,) and `room` (3, 8) are scratch.
    """
    for i in range(LANES * LANES):
        wide[i] = pulls[i]
    for k in range(first, end):
        at = (k - first) * LANES
        for lane in range(LANES):
            room[0, lane] = n[lane, k]
            room[1, lane] = e[lane, k]
        z, u, here = get(normals, at), get(uniform, at), get(room[1], 0)
        x, after = step(
            get(room[0], 0), N, get(wide, at), np.float64(P[k, k]), here, get(whole, 0), z, u
        )
        put(whole, 0, get(whole, 0) + (after - here))
        put(room[0], 0, x)
        put(room[1], 0, after)
        for lane in range(LANES):
            e[lane, k] = room[1, lane]
            panel[k * LANES + lane] += np.float32(room[0, lane])
        for lane in range(eta.shape[0]):
            eta[lane, k] += room[0, lane]
        for j in range(k + 1, end):
            at = (j - first) * LANES
            put(wide, at, get(wide, at) + x * np.float64(P[j, k]))
