"""Cholesky factors of matrices of topics, and what they solve, a panel at a time where there is one."""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.panels import add_crossed, add_product
from gptm._hot.simd import LANES, get, put, spread, totals

_TRIES = 10  # to factorise what rounding has left indefinite


@inlined(fastmath=FAST)
def factorise(A, least, U, roots):
    """Fill U with the upper factor, A = U'U, and `roots` with one over its diagonal; whether A has one.

    It counts as having none where a pivot is not above `least`. The upper triangle of A is read, and blocks of eight
    upon the diagonal; below that, U is left as it is. U may be A.
    """
    rows = A.shape[0]
    for k in range(0, rows, LANES):
        for j in range(k, rows, LANES):
            for i in range(k, k + LANES):
                put(U[i], j, get(A[i], j))
            add_crossed(U, k, k, U.reshape(-1), j, rows, -1.0, U.reshape(-1), k)
        for i in range(k, k + LANES):
            pivot = U[i, i]
            if not pivot > least[i]:
                return False
            roots[i] = 1.0 / np.sqrt(pivot)
            for j in range(k, i):
                U[i, j] = 0.0
            for j in range(k, rows, LANES):
                put(U[i], j, get(U[i], j) * roots[i])
            for below in range(i + 1, k + LANES):
                for j in range(k, rows, LANES):
                    put(U[below], j, get(U[below], j) - get(U[i], j) * U[i, below])
    return True


@inlined()
def factorise_anyway(A, none, U, roots):
    """`factorise` a matrix that is positive definite but for rounding, which a small multiple of one makes up for."""
    shift = 0.0
    for _ in range(_TRIES):
        if factorise(A, none, U, roots):
            break
        more = max(1e-14 * trace(A), 99.0 * shift)
        for i in range(A.shape[0]):
            A[i, i] += more
        shift += more


@inlined()
def trace(A):
    """The sum of the diagonal."""
    s = 0.0
    for i in range(A.shape[0]):
        s += A[i, i]
    return s


@inlined(fastmath=FAST)
def solve(U, roots, x):
    """Replace x by (U'U)^-1 x, where `roots` are one over the diagonal of U."""
    rows = x.shape[0]
    for k in range(0, rows, LANES):
        for i in range(k, k + LANES):
            x[i] *= roots[i]
            for j in range(i + 1, k + LANES):
                x[j] -= U[i, j] * x[i]
        a, b, c, d = U[k], U[k + 1], U[k + 2], U[k + 3]
        e, f, g, h = U[k + 4], U[k + 5], U[k + 6], U[k + 7]
        of_a, of_b, of_c, of_d = x[k], x[k + 1], x[k + 2], x[k + 3]
        of_e, of_f, of_g, of_h = x[k + 4], x[k + 5], x[k + 6], x[k + 7]
        for i in range(k + LANES, rows, LANES):
            four = (get(a, i) * of_a + get(b, i) * of_b) + (get(c, i) * of_c + get(d, i) * of_d)
            others = (get(e, i) * of_e + get(f, i) * of_f) + (get(g, i) * of_g + get(h, i) * of_h)
            put(x, i, get(x, i) - (four + others))
    for k in range(rows - LANES, -1, -LANES):
        a, b, c, d = U[k], U[k + 1], U[k + 2], U[k + 3]
        e, f, g, h = U[k + 4], U[k + 5], U[k + 6], U[k + 7]
        sum_a = sum_b = sum_c = sum_d = sum_e = sum_f = sum_g = sum_h = spread(0.0)
        for i in range(k + LANES, rows, LANES):
            there = get(x, i)
            sum_a += get(a, i) * there
            sum_b += get(b, i) * there
            sum_c += get(c, i) * there
            sum_d += get(d, i) * there
            sum_e += get(e, i) * there
            sum_f += get(f, i) * there
            sum_g += get(g, i) * there
            sum_h += get(h, i) * there
        put(x, k, get(x, k) - totals(sum_a, sum_b, sum_c, sum_d, sum_e, sum_f, sum_g, sum_h))
        for i in range(k + LANES - 1, k - 1, -1):
            s = x[i]
            for j in range(i + 1, k + LANES):
                s -= U[i, j] * x[j]
            x[i] = s * roots[i]


@inlined(fastmath=FAST)
def solve_panel(U, roots, panel):
    """Replace a panel by U^-1 of it."""
    for k in range(U.shape[0] - LANES, -1, -LANES):
        add_product(U, k, k + LANES, panel, -1.0, panel, k * LANES)
        for i in range(k + LANES - 1, k - 1, -1):
            x = get(panel, i * LANES)
            for j in range(i + 1, k + LANES):
                x -= get(panel, j * LANES) * U[i, j]
            put(panel, i * LANES, x * roots[i])
