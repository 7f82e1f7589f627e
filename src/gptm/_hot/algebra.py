"""Linear algebra of a few topics."""

import numpy as np

from gptm._hot.exponential import exp
from gptm._hot.settings import FAST, inlined
from gptm._hot.vectors import LANES, get, greatest, larger, put, spread, total


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
def product(A, K, x, out):
    """Fill `out` with x @ A[:K], which is A x where A is symmetric; rows are padded, and may be more than K."""
    clear(out)
    last = K - 1
    for n in range(0, K, 4):
        a, b, c, d = next_four(n, last)
        of_a, of_b, of_c, of_d = weights_of_four(x, n, last)
        add_four(A[a], A[b], A[c], A[d], of_a, of_b, of_c, of_d, out)


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
