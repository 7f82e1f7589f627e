"""Products of eight rows with eight columns, whose sums stay in registers.

Eight points, or documents, lie side by side in a `panel`, a flat row of eight numbers for each topic.
"""

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.simd import LANES, get, put, spread


@inlined(fastmath=FAST)
def add_eight(out, place, stride, sign, a, b, c, d, e, f, g, h):
    """Add eight vectors times a sign to eight rows of a flat matrix."""
    put(out, place, get(out, place) + a * sign)
    place += stride
    put(out, place, get(out, place) + b * sign)
    place += stride
    put(out, place, get(out, place) + c * sign)
    place += stride
    put(out, place, get(out, place) + d * sign)
    place += stride
    put(out, place, get(out, place) + e * sign)
    place += stride
    put(out, place, get(out, place) + f * sign)
    place += stride
    put(out, place, get(out, place) + g * sign)
    place += stride
    put(out, place, get(out, place) + h * sign)


@inlined(fastmath=FAST)
def add_product(A, row, low, panel, sign, out, place):
    """Add sign * A[row : row + 8, low:] @ panel[low:] to eight rows of eight, from `place` on; panels are flat."""
    a, b, c, d = A[row], A[row + 1], A[row + 2], A[row + 3]
    e, f, g, h = A[row + 4], A[row + 5], A[row + 6], A[row + 7]
    sum_a = sum_b = sum_c = sum_d = sum_e = sum_f = sum_g = sum_h = spread(0.0)
    for i in range(low, A.shape[1]):
        x = get(panel, i * LANES)
        sum_a += x * a[i]
        sum_b += x * b[i]
        sum_c += x * c[i]
        sum_d += x * d[i]
        sum_e += x * e[i]
        sum_f += x * f[i]
        sum_g += x * g[i]
        sum_h += x * h[i]
    add_eight(out, place, LANES, sign, sum_a, sum_b, sum_c, sum_d, sum_e, sum_f, sum_g, sum_h)


@inlined(fastmath=FAST)
def add_crossed(A, column, n, X, at, width, sign, out, row):
    """Add sign * A[:n, column : column + 8]' @ X[:n, at : at + 8] to out[row : row + 8, at : at + 8].

    A is a matrix; X and `out` are flat, `width` numbers in a row.
    """
    flat, stride = A.reshape(-1), A.shape[1]
    sum_a = sum_b = sum_c = sum_d = sum_e = sum_f = sum_g = sum_h = spread(0.0)
    for i in range(n):
        x, j = get(X, i * width + at), i * stride + column
        sum_a += x * flat[j]
        sum_b += x * flat[j + 1]
        sum_c += x * flat[j + 2]
        sum_d += x * flat[j + 3]
        sum_e += x * flat[j + 4]
        sum_f += x * flat[j + 5]
        sum_g += x * flat[j + 6]
        sum_h += x * flat[j + 7]
    place = row * width + at
    add_eight(out, place, width, sign, sum_a, sum_b, sum_c, sum_d, sum_e, sum_f, sum_g, sum_h)


@inlined()
def add_gram(A, n, out):
    """Add A[:n]' A[:n] to a square matrix: to what is right of the diagonal, and to blocks of eight upon it."""
    rows = out.shape[0]
    for i in range(0, rows, LANES):
        for j in range(i, rows, LANES):
            add_crossed(A, i, n, A.reshape(-1), j, rows, 1.0, out.reshape(-1), i)
