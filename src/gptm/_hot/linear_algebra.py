"""Linear algebra of a few topics."""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.exponential import exp
from gptm._hot.simd import LANES, get, greatest, larger, put, spread, total, totals


@inlined(fastmath=FAST)
def cholesky(A, L):
    """Fill the lower triangle of `L` with the Cholesky factor of A (its lower triangle is read)."""
    K = A.shape[0]
    for i in range(K):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]


@inlined(fastmath=FAST)
def summed(a):
    """The sum of a, of any length."""
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
    return s


@inlined(fastmath=FAST)
def dot(a, b):
    """The sum of a * b, padded rows."""
    sums = spread(0.0)
    for i in range(0, a.shape[0], LANES):
        sums += get(a, i) * get(b, i)
    return total(sums)


@inlined()
def next_four(n, last):
    """n to n + 3, none beyond the last."""
    return n, min(n + 1, last), min(n + 2, last), min(n + 3, last)


@inlined()
def weights_of_four(weights, n, last):
    """weights[n : n + 4], and nothing for those beyond the last."""
    a, b, c, d = next_four(n, last)
    return (
        weights[a],
        weights[b] if n + 1 <= last else 0.0,
        weights[c] if n + 2 <= last else 0.0,
        weights[d] if n + 3 <= last else 0.0,
    )


@inlined(fastmath=FAST)
def add_four(a, b, c, d, of_a, of_b, of_c, of_d, out):
    """Add four padded rows times a weight each to `out`, which is read and written once for all of them."""
    for i in range(0, out.shape[0], LANES):
        two = get(a, i) * of_a + get(b, i) * of_b
        two += get(c, i) * of_c + get(d, i) * of_d
        put(out, i, get(out, i) + two)


@inlined(fastmath=FAST)
def add_rows(A, rows, weights, out):
    """Add weights @ A[rows] to `out`; all rows are padded."""
    last = rows.shape[0] - 1
    for n in range(0, last + 1, 4):
        a, b, c, d = next_four(n, last)
        of_a, of_b, of_c, of_d = weights_of_four(weights, n, last)
        add_four(A[rows[a]], A[rows[b]], A[rows[c]], A[rows[d]], of_a, of_b, of_c, of_d, out)


@inlined(fastmath=FAST)
def product(A, x, out):
    """Fill `out` with A x for a symmetric A; all are padded.

    With many topics A does not fit the first cache, so half of it is not read. Eight rows at a time: what is right of
    their own eight columns counts twice, for these rows and for the columns.
    """
    clear(out)
    n = x.shape[0]
    for i in range(0, n, LANES):
        a, b, c, d = A[i], A[i + 1], A[i + 2], A[i + 3]
        e, f, g, h = A[i + 4], A[i + 5], A[i + 6], A[i + 7]
        of_a, of_b, of_c, of_d = x[i], x[i + 1], x[i + 2], x[i + 3]
        of_e, of_f, of_g, of_h = x[i + 4], x[i + 5], x[i + 6], x[i + 7]
        own = (get(a, i) * of_a + get(b, i) * of_b) + (get(c, i) * of_c + get(d, i) * of_d)
        own += (get(e, i) * of_e + get(f, i) * of_f) + (get(g, i) * of_g + get(h, i) * of_h)
        own += get(out, i)
        sum_a = sum_b = sum_c = sum_d = sum_e = sum_f = sum_g = sum_h = spread(0.0)
        for j in range(i + LANES, n, LANES):
            there = get(x, j)
            part_a, part_b, part_c, part_d = get(a, j), get(b, j), get(c, j), get(d, j)
            part_e, part_f, part_g, part_h = get(e, j), get(f, j), get(g, j), get(h, j)
            sum_a += part_a * there
            sum_b += part_b * there
            sum_c += part_c * there
            sum_d += part_d * there
            sum_e += part_e * there
            sum_f += part_f * there
            sum_g += part_g * there
            sum_h += part_h * there
            four = (part_a * of_a + part_b * of_b) + (part_c * of_c + part_d * of_d)
            others = (part_e * of_e + part_f * of_f) + (part_g * of_g + part_h * of_h)
            put(out, j, get(out, j) + four + others)
        put(out, i, own + totals(sum_a, sum_b, sum_c, sum_d, sum_e, sum_f, sum_g, sum_h))


@inlined(fastmath=FAST)
def shifted_exp(x, out):
    """Fill `out` with exp(x - max x), at least exp(-700); return max x and the sum of `out`. Rows are padded."""
    high = spread(-np.inf)
    for i in range(0, x.shape[0], LANES):
        high = larger(high, get(x, i))
    shift, sums = greatest(high), spread(0.0)
    for i in range(0, x.shape[0], LANES):
        e = exp(get(x, i) - shift)
        put(out, i, e)
        sums += e
    return shift, total(sums)


@inlined()
def clear(out):
    """Fill a padded row with zeros."""
    for i in range(0, out.shape[0], LANES):
        put(out, i, spread(0.0))


@inlined(fastmath=FAST)
def weighted_precision(T, weight, P):
    """Fill P with T diag(weight) T', the prior precision of a new document."""
    K = T.shape[0]
    for i in range(K):
        for j in range(i + 1):
            s = 0.0
            for k in range(K):
                s += T[i, k] * weight[k] * T[j, k]
            P[i, j] = s
            P[j, i] = s


@inlined(fastmath=FAST)
def inverse(A, L, out):
    """Fill `out` with the inverse of the positive definite A; `L` is scratch of the same size."""
    K = A.shape[0]
    cholesky(A, L)
    for j in range(K):  # column j of L^-1, in row j
        for i in range(j):
            out[j, i] = 0.0
        for i in range(j, K):
            s = 1.0 if i == j else 0.0
            for k in range(j, i):
                s -= L[i, k] * out[j, k]
            out[j, i] = s / L[i, i]
    for i in range(K):  # its rows' products: what is overwritten is not needed again
        for j in range(i + 1):
            s = 0.0
            for k in range(i, K):
                s += out[i, k] * out[j, k]
            L[i, j] = s
    for i in range(K):
        for j in range(i + 1):
            out[i, j] = L[i, j]
            out[j, i] = L[i, j]
