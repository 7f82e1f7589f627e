"""Logits of documents where topics are many, eight documents at once.

What the prior pulls at is in single precision, which takes half the time, and the pulls on eight topics of sixteen
documents are computed together. Steps are in double precision: a document may have millions of tokens.
"""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.exponential import exp
from gptm._hot.logit_draws import step
from gptm._hot.simd import LANES, get, greatest, larger, put, spread, total

_NONE = np.float32(0.0)
_NOWHERE = -700.0  # logit of what is no topic


@inlined(fastmath=FAST)
def soften_row(eta, e):
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
