"""Newton's direction for one document without a factorisation of all topics.

The curvature of a document's bound is H = P + s (diag t - t t'/N): a matrix that all documents share, a
diagonal and one direction more. Most topics hardly occur in a document, so most of the diagonal is small: where
s t is close to some `level`, it is taken to be the level, whose R = (P + level I)^-1 is known beforehand; only the few
topics beyond need a small system of their own (Woodbury). One product with R is all that grows with K^2.
"""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.linear_algebra import add_rows, product
from gptm._hot.simd import LANES, get, put, spread, total, where_above

LEVELS = np.array([0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0])  # times the mean of diag P
# A topic counts on its own where its curvature beyond the level, times its variance, is more than this.
_BEYOND = 1.0


@inlined(fastmath=FAST)
def level_of(e, mass, K, N, levels):
    """Which of the ascending levels suits a document: about the curvature of topics that hardly occur.

    `e` is exp(lam) of K topics, up to a factor, in a padded row, and `mass` its sum.
    """
    mean, none = spread(mass / K), spread(0.0)
    frequent = rare = none
    for i in range(0, e.shape[0], LANES):
        x = get(e, i)
        frequent += where_above(mean, x, none, spread(1.0))  # not what pads the row
        rare += where_above(mean, x, x, none)
    few = K - total(frequent)
    level = 0
    if few > 0.0:
        curvature = 0.5 * N * total(rare) / (few * mass)
        while level + 1 < levels.shape[0] and levels[level + 1] <= curvature:
            level += 1
    return level


@inlined(fastmath=FAST)
def newton_direction(R, level, t, share, N, g, x, Px, chosen, work, L):
    """Fill x with (nearly) H^-1 g, H = P + share (diag t - t t'/N), and Px with exactly P x.

    The matrix that is inverted is A - share u u'/N with A = P + level I + diag d: d_i = share t_i - level for
    the chosen topics and zero for others, u = t for the chosen ones and at most level / share for others, which keeps
    it positive definite. `chosen` (K,) takes topics; `work` (4, K) and `L` (K, K) are scratch. Returns
    how many are chosen. All rows of topics are padded, and so is R, with zeros; then x has zeros there too, whatever
    numbers pad the others. Behind R follow its row sums, R 1, and its diagonal.
    """
    K, rows = chosen.shape[0], x.shape[0]
    R_1, diagonal = R[rows], R[rows + 1]
    d, z, v, weights = work[0], work[1], work[2], work[3]
    product(R, g, x)
    n, rest = 0, 0.0
    sums, wholes = spread(0.0), spread(0.0)
    for i in range(0, x.shape[0], LANES):
        sums += get(x, i)
        wholes += get(R_1, i)
        put(d, i, get(t, i) * share - level)
        put(z, i, get(d, i) * get(diagonal, i))
    sum_x, whole = total(sums), total(wholes)
    for i in range(K):
        if z[i] > _BEYOND:
            chosen[n] = i
            d[n] = d[i]
            n += 1
        else:
            rest += t[i]
    base = min(rest / max(K - n, 1), level / share)

    # A^-1 = R - R_S (d^-1 + R_SS)^-1 R_S' of both g and u = base 1 + (t - base)_S. Both solutions are needed as a whole
    # only in the end; until then, their entries in S.
    for a in range(n):
        for b in range(a + 1):
            s = R[chosen[a], chosen[b]]
            if a == b:
                s += 1.0 / d[a]
            for k in range(b):
                s -= L[a, k] * L[b, k]
            # Inverse roots on the diagonal: to multiply is quicker.
            L[a, b] = 1.0 / np.sqrt(s) if a == b else s * L[b, b]
    for a in range(n):
        s, r = x[chosen[a]], base * R_1[chosen[a]]
        for k in range(n):
            r += (t[chosen[k]] - base) * R[chosen[a], chosen[k]]
        for k in range(a):
            s -= L[a, k] * z[k]
            r -= L[a, k] * v[k]
        z[a], v[a] = s * L[a, a], r * L[a, a]
    for a in range(n - 1, -1, -1):
        z[a] *= L[a, a]
        v[a] *= L[a, a]
        for k in range(a):
            z[k] -= L[a, k] * z[a]
            v[k] -= L[a, k] * v[a]

    # Sherman-Morrison for u. As d^-1 + R_SS takes z to (R g)_S, (A^-1 g)_S is z / d; and (A^-1 u)_S is v / d.
    ux, uy = base * sum_x, base * base * whole
    for a in range(n):
        c = chosen[a]
        more = t[c] - base
        ux += more * z[a] / d[a] - base * R_1[c] * z[a]
        uy += more * v[a] / d[a] + base * R_1[c] * (more - v[a])
    factor, pull = 0.0, 0.0
    if N > 0.0:
        factor = share * ux / (N - share * uy)
        pull = share * (ux + factor * uy) / N
    for a in range(n):
        weights[a] = factor * (t[chosen[a]] - base - v[a]) - z[a]
    for i in range(0, x.shape[0], LANES):
        put(x, i, get(x, i) + get(R_1, i) * (factor * base))
    add_rows(R, chosen[:n], weights[:n], x)
    # P x = g - level x - d x + share u u'x / N
    for i in range(0, x.shape[0], LANES):
        put(Px, i, get(g, i) - get(x, i) * level + pull * base)
    for a in range(n):
        c = chosen[a]
        Px[c] += pull * (t[c] - base) - d[a] * x[c]
    return n
