"""The posterior of a document's logits, its words' topics summed out, by importance-weighted points.

Eight points at a time lie side by side in a `panel`, a flat row of eight numbers for each topic: sums over topics and
words need no sums within a vector, and a panel fits the first cache.

Topics are padded, see `vectors`: logits with `NOWHERE`, matrices with zeros on all sides. So are words, with counts of
zero, and their rows.
"""

from typing import NamedTuple

import numpy as np

from gptm._hot.compile_options import FAST, TINY, inlined, loop
from gptm._hot.document_posterior import NOWHERE, take_in
from gptm._hot.exponential import exp, log
from gptm._hot.first_guess import guess_document
from gptm._hot.linear_algebra import clear, dot, product, shifted_exp
from gptm._hot.simd import (
    LANES,
    get,
    greatest,
    larger,
    padded,
    padded_zeros,
    put,
    spread,
    total,
)
from gptm._hot.word_evidence import log_likelihood, word_norms

_MOST = 100  # Newton steps
_SHORTEST = 1e-8  # of a step
_SLOPE = 1e-4  # part of the promised gain that a step must hold (Armijo)
_CLOSE = 1e-6  # nats that a step promises: after it the mode is found, since errors are squared
# The words may not leave less of a prior pivot than this: beyond, the Gaussian at the mode would be far too wide.
_LEAST = 0.1
# Keeps the start from lying just between two topics that the words do not tell apart, on a saddle.
_NUDGE = 1e-3
_ROUNDS = 3
_FEW = 1 / 8  # of the points: so few effective ones ask for another round
_WORTHWHILE = 1.5  # times as many effective points as before: fewer ask for no further round
# Times the root of the number of points: fewer effective ones have their weights flattened.
_WANTED = 4.0
_HALVINGS = 16  # of the interval in which the power of flattened weights is
_TRIES = 10  # to factorise what rounding has left indefinite
_STIFF = 1.0  # effective points per topic that know as much of a covariance as was known before
_BEYOND = 4.0  # times the squared length that a mean score has by accident


class Points(NamedTuple):
    """Points of one document, in panels, and what belongs to them."""

    eta: np.ndarray  # (points padded / 8, 8 K padded) logits
    theta: np.ndarray  # (the same) shares
    norms: np.ndarray  # (points padded / 8, 8 words padded) how likely each word is
    log_weights: np.ndarray  # (points padded,)
    weights: np.ndarray  # (points padded,)

    @classmethod
    def of(cls, K: int, length: int, n_points: int) -> "Points":
        panels = padded(n_points) // LANES
        return cls(
            padded_zeros(panels, LANES * padded(K)),
            padded_zeros(panels, LANES * padded(K)),
            padded_zeros(panels, LANES * length),
            padded_zeros(n_points),
            padded_zeros(n_points),
        )


class PointsScratch(NamedTuple):
    """Memory for `weigh_block` of one thread; what is in it before and after is of no use."""

    rows: np.ndarray  # (16, K padded)
    words: np.ndarray  # (2, words of the longest document, padded)
    places: np.ndarray  # (the same,) 0, 1, 2, ...
    beta: np.ndarray  # (the same, K padded) rows of topics of a document's words
    phi: np.ndarray  # (the same, K padded)
    square: np.ndarray  # (4, K padded, K padded), the second with zeros behind its rows and below
    points: Points
    others: Points
    y: np.ndarray  # (2, points padded / 8, 8 K padded)
    pairs: np.ndarray  # (2, points padded)
    moments: np.ndarray  # (points padded, K padded)
    panel: np.ndarray  # (8 K padded,)
    eight: np.ndarray  # (64,)

    @classmethod
    def of(cls, K: int, longest: int, n_points: int) -> "PointsScratch":
        """For K topics and documents of at most `longest` distinct words."""
        length, rows, most = max(padded(longest), LANES), padded(K), padded(n_points)
        return cls(
            padded_zeros(16, K),
            padded_zeros(2, length),
            np.arange(length),
            padded_zeros(length, K),
            padded_zeros(length, K),
            padded_zeros(4, rows, K),
            Points.of(K, length, n_points),
            Points.of(K, length, n_points),
            padded_zeros(2, most // LANES, LANES * rows),
            padded_zeros(2, n_points),
            padded_zeros(most, K),
            padded_zeros(LANES * rows),
            padded_zeros(LANES * LANES),
        )


class PointsOut(NamedTuple):
    """What `weigh_block` fills for its documents; arrays that are not needed are empty."""

    theta: np.ndarray  # (n, K)
    std: np.ndarray
    logits: np.ndarray
    variance: np.ndarray
    effective: np.ndarray  # (n,)
    quantiles: np.ndarray  # (q, n, K)


# Products of eight rows with eight columns, whose sums stay in registers


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
    for k in range(rows):
        x[k] *= roots[k]
        for i in range(k + 1, rows):
            x[i] -= U[k, i] * x[k]
    for k in range(rows - 1, -1, -1):
        s = x[k]
        for i in range(k + 1, rows):
            s -= U[k, i] * x[i]
        x[k] = s * roots[k]


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


# The mode


@inlined(fastmath=FAST)
def gather(words, data, beta_T, counts, norms, rows):
    """Copy rows of topics of a document's words, each over its largest number, which changes log p by a constant.

    Returns how many words there are with those that pad them, and the sum of the counts. Words that no topic has say
    nothing and count as nothing.
    """
    n, N = words.shape[0], 0.0
    length = -(-n // LANES) * LANES
    for w in range(n):
        source, high = beta_T[words[w]], spread(0.0)
        for i in range(0, source.shape[0], LANES):
            high = larger(high, get(source, i))
        most = greatest(high)
        counts[w] = data[w] if most > 0.0 else 0.0
        N += counts[w]
        scale = 1.0 / most if most > 0.0 else 0.0
        for i in range(0, source.shape[0], LANES):
            put(rows[w], i, get(source, i) * scale)
    for w in range(n, length):
        counts[w], norms[w] = 0.0, 1.0
        clear(rows[w])
    return length, N


@inlined(fastmath=FAST)
def add_words(beta, counts, norms, q, phi, n):
    """Fill `n` with expected topic counts at theta = q, and rows of `phi` with the words' topics, times root counts."""
    clear(n)
    for w in range(beta.shape[0]):
        root = np.sqrt(counts[w])
        scale, source, row = root / norms[w], beta[w], phi[w]
        for i in range(0, q.shape[0], LANES):
            share = get(source, i) * get(q, i) * scale
            put(row, i, share)
            put(n, i, get(n, i) + share * root)


@inlined(fastmath=FAST)
def safe_curvature(P, q, N, H):
    """Fill H with P + N (diag q - q q'), which is not below the curvature of -log p in any direction."""
    rows = P.shape[0]
    for k in range(rows):
        for i in range(k // LANES * LANES, rows, LANES):
            put(H[k], i, get(P[k], i) - get(q, i) * (N * q[k]))
        H[k, k] += N * q[k]


@inlined(fastmath=FAST)
def log_posterior(places, beta, counts, norms, P, m, eta, q, d, pull):
    """log p up to a constant at eta; fills the words' norms, q = softmax(eta), d = eta - m and P d."""
    _, mass = shifted_exp(eta, q)
    for i in range(0, eta.shape[0], LANES):
        put(q, i, get(q, i) * (1.0 / mass))
        put(d, i, get(eta, i) - get(m, i))
    product(P, d, pull)
    word_norms(places, q, beta, norms)
    return log_likelihood(counts, norms) - 0.5 * dot(d, pull)


@inlined(fastmath=FAST)
def find_mode(places, beta, counts, N, P, least, none, m, eta, phi, H, U, roots, norms, work):
    """Take eta to a mode of log p by Newton's method; returns the number of steps.

    Where the curvature is not safely positive, a bound of it takes its place: then a step is short, but in a direction
    in which log p rises. `U` is left with the factor of the curvature, or its bound, just before the last step, which
    is next to nothing. `norms` are padded with ones.
    """
    q, d, pull, n, x = work[0], work[1], work[2], work[3], work[4]
    there, q_new, d_new, pull_new = work[5], work[6], work[7], work[8]
    value = log_posterior(places, beta, counts, norms, P, m, eta, q, d, pull)
    for step in range(_MOST):
        add_words(beta, counts, norms, q, phi, n)
        safe_curvature(P, q, N, H)
        add_gram(phi, beta.shape[0], H)
        for i in range(n.shape[0]):
            H[i, i] -= n[i]
        if not factorise(H, least, U, roots):
            safe_curvature(P, q, N, H)
            factorise_anyway(H, none, U, roots)
        for i in range(0, x.shape[0], LANES):
            put(x, i, get(n, i) - get(q, i) * N - get(pull, i))
            put(there, i, get(x, i))
        solve(U, roots, x)
        promise, length = dot(x, there), 1.0
        if not promise > _CLOSE:
            for i in range(0, x.shape[0], LANES):
                put(eta, i, get(eta, i) + get(x, i))
            return step + 1
        while length > _SHORTEST:
            for i in range(0, x.shape[0], LANES):
                put(there, i, get(eta, i) + get(x, i) * length)
            new = log_posterior(places, beta, counts, norms, P, m, there, q_new, d_new, pull_new)
            if new >= value + _SLOPE * length * promise:
                break
            length *= 0.5
        if not length > _SHORTEST:  # no more to be gained but rounding
            return step + 1
        value = new
        for i in range(0, x.shape[0], LANES):
            put(eta, i, get(there, i))
        q, q_new = q_new, q
        pull, pull_new = pull_new, pull
    return _MOST


# The points


@inlined(fastmath=FAST)
def soften(mode, panel, theta):
    """Add the mode to a panel, which are logits then, and fill `theta` with their softmax."""
    high, sums = spread(-np.inf), spread(0.0)
    for i in range(mode.shape[0]):
        x = get(panel, i * LANES) + mode[i]
        put(panel, i * LANES, x)
        high = larger(high, x)
    for i in range(mode.shape[0]):
        e = exp(get(panel, i * LANES) - high)
        put(theta, i * LANES, e)
        sums += e
    scale = 1.0 / sums
    for i in range(mode.shape[0]):
        put(theta, i * LANES, get(theta, i * LANES) * scale)


@inlined(fastmath=FAST)
def prior_term(root, m, panel, d, eight):
    """Eight times |root (eta - m)|^2 / 2; the precision is root' root. `d` and `eight` are scratch."""
    value = spread(0.0)
    for i in range(m.shape[0]):
        put(d, i * LANES, get(panel, i * LANES) - m[i])
    for k in range(0, m.shape[0], LANES):
        clear(eight)
        add_product(root, k, 0, d, 1.0, eight, 0)
        for i in range(0, LANES * LANES, LANES):
            value += get(eight, i) * get(eight, i)
    return value * 0.5


@inlined(fastmath=FAST)
def words_term(beta, counts, theta, norms):
    """Eight times the log-likelihood of a document's words; fills a panel of their norms."""
    value = spread(0.0)
    for w in range(0, counts.shape[0], LANES):
        clear(norms[w * LANES : (w + LANES) * LANES])
        add_product(beta, w, 0, theta, 1.0, norms, w * LANES)
        for i in range(w, w + LANES):
            norm = get(norms, i * LANES) + TINY
            put(norms, i * LANES, norm)
            value += log(norm) * counts[i]
    return value


@inlined(fastmath=FAST)
def weigh_points(y, half, mode, U, roots, root, m, beta, counts, points, d, eight):
    """Fill `points` for normals y around the mode; returns how many are effective.

    `half` is half the squared length of the standard normals that y came from; of those that pad them, nothing that
    counts. `d` and `eight` are scratch.
    """
    for b in range(y.shape[0]):
        panel, shares, norms = points.eta[b], points.theta[b], points.norms[b]
        for i in range(0, panel.shape[0], LANES):
            put(panel, i, get(y[b], i))
        solve_panel(U, roots, panel)
        soften(mode, panel, shares)
        value = words_term(beta, counts, shares, norms) - prior_term(root, m, panel, d, eight)
        put(points.log_weights, b * LANES, value + get(half, b * LANES))
    return take_weights(points.log_weights, 1.0, points.weights)


@inlined(fastmath=FAST)
def take_weights(log_weights, power, weights):
    """Fill normalised weights to some power; returns how many points are effective."""
    high = spread(-np.inf)
    for s in range(0, weights.shape[0], LANES):
        high = larger(high, get(log_weights, s))
    top, sums = greatest(high), spread(0.0)
    for s in range(0, weights.shape[0], LANES):
        e = exp((get(log_weights, s) - top) * power)
        put(weights, s, e)
        sums += e
    scale = 1.0 / total(sums)
    for s in range(0, weights.shape[0], LANES):
        put(weights, s, get(weights, s) * scale)
    return 1.0 / dot(weights, weights)


@inlined()
def temper(log_weights, effective, wanted, weights):
    """Flatten the weights until so many points are effective; returns how many are.

    The few points that have most of the weight are more of an accident than the posterior's doing.
    """
    if effective >= wanted:
        return take_weights(log_weights, 1.0, weights)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if take_weights(log_weights, middle, weights) >= wanted:
            low = middle
        else:
            high = middle
    return take_weights(log_weights, low, weights)


@inlined(fastmath=FAST)
def mean_score(points, K, beta, counts, N, P, m, panel, d, out):
    """Fill `out` with the weighted mean of the gradient of log p; `panel` and `d` are scratch, the norms are used up.

    Same as::

        sum(weight * (counts @ phi - N * theta - P @ (eta - m)) for each point)
    """
    weights, rows = points.weights, out.shape[0]
    moments(points.eta, weights, d)
    for i in range(rows):
        d[i] = d[i] - m[i] if i < K else 0.0
    product(P, d, out)
    for i in range(0, rows, LANES):
        put(out, i, spread(0.0) - get(out, i))
    for b in range(points.eta.shape[0]):
        theta, norms, weight = points.theta[b], points.norms[b], get(weights, b * LANES)
        for w in range(counts.shape[0]):
            put(norms, w * LANES, counts[w] / get(norms, w * LANES))
        clear(panel)
        for i in range(0, rows, LANES):
            add_crossed(beta, i, counts.shape[0], norms, 0, LANES, 1.0, panel, i)
        for i in range(rows):
            out[i] += total(get(theta, i * LANES) * (get(panel, i * LANES) - N) * weight)


@inlined(fastmath=FAST)
def move_points(points, score, effective, U, roots, shift):
    """Move all points alike by a Newton step, so that their mean score is about zero, as the posterior's is.

    Of a Gaussian this leaves no error of the mean, whatever the points: what they err by is made up for by their score
    (control variates, in the place of logits). It is kept to what may be an accident of so many points.
    """
    for i in range(0, shift.shape[0], LANES):
        put(shift, i, get(score, i))
    solve(U, roots, shift)
    length = dot(shift, score)
    limit = _BEYOND * score.shape[0] / effective
    scale = 1.0 if length <= limit else np.sqrt(limit / length)
    for i in range(shift.shape[0]):
        shift[i] *= scale
    for b in range(points.eta.shape[0]):
        soften(shift, points.eta[b], points.theta[b])


@inlined(fastmath=FAST)
def spread_again(points, y, z, effective, score, U, roots, mean, rows, C, own_roots, none, out):
    """Fill `out` with normals with about the mean and covariance of the weighted points.

    `score` is their mean score, which makes the mean more certain. Of the covariance few effective points know little,
    so that it is drawn towards that of before, which is one here. Other rows, and C, are scratch.
    """
    n, weights = C.shape[0], points.weights
    trust = effective / (effective + _STIFF * n)
    moments(y, weights, mean)
    for s in range(weights.shape[0]):
        root = np.sqrt(weights[s] * trust)
        for i in range(n):
            rows[s, i] = root * (y[s // LANES, i * LANES + s % LANES] - mean[i])
    for i in range(n):
        clear(C[i])
        C[i, i] = 1.0 - trust
    add_gram(rows, weights.shape[0], C)
    factorise(C, none, C, own_roots)
    for i in range(n):
        own_roots[i] = score[i]
    for k in range(n):  # y is U times logits: the Newton step is U'^-1 of the score there
        own_roots[k] *= roots[k]
        mean[k] += own_roots[k]
        for i in range(k + 1, n):
            own_roots[i] -= U[k, i] * own_roots[k]
    for b in range(y.shape[0]):
        panel = out[b]
        for i in range(n):
            put(panel, i * LANES, spread(mean[i]))
        for k in range(0, n, LANES):
            add_crossed(C, k, k + LANES, z[b], 0, LANES, 1.0, panel, k)


# What is made of them


@inlined(fastmath=FAST)
def moments(panels, weights, mean):
    """Fill `mean` with the weighted mean of each row of the panels."""
    for i in range(mean.shape[0]):
        sums = spread(0.0)
        for b in range(panels.shape[0]):
            sums += get(panels[b], i * LANES) * get(weights, b * LANES)
        mean[i] = total(sums)


@inlined(fastmath=FAST)
def variances(panels, weights, mean, out):
    """Fill `out` with the weighted variance of each row of the panels."""
    for i in range(out.shape[0]):
        sums = spread(0.0)
        for b in range(panels.shape[0]):
            x = get(panels[b], i * LANES) - mean[i]
            sums += x * x * get(weights, b * LANES)
        out[i] = total(sums)


@inlined(fastmath=FAST)
def centre(panels, K):
    """Subtract from each point's logits their mean over the topics."""
    for b in range(panels.shape[0]):
        sums = spread(0.0)
        for i in range(K):
            sums += get(panels[b], i * LANES)
        middle = sums * (1.0 / K)
        for i in range(K):
            put(panels[b], i * LANES, get(panels[b], i * LANES) - middle)


@inlined()
def add_up(theta, groups, n_groups, sums):
    """Replace each point's shares by sums over groups of topics, scaled to one; groups[i] is -1 for no group."""
    for b in range(theta.shape[0]):
        for lane in range(LANES):
            clear(sums)
            whole = 0.0
            for i in range(groups.shape[0]):
                if groups[i] >= 0:
                    share = theta[b, i * LANES + lane]
                    sums[groups[i]] += share
                    whole += share
            for g in range(n_groups):
                theta[b, g * LANES + lane] = sums[g] / max(whole, TINY)


@inlined()
def sort_pairs(values, weights):
    """Sort values in place, and the weights with them (Shell's method)."""
    n = values.shape[0]
    gap = n
    while gap > 1:
        gap = max(gap * 5 // 11, 1)
        for s in range(gap, n):
            value, weight, at = values[s], weights[s], s
            while at >= gap and values[at - gap] > value:
                values[at], weights[at] = values[at - gap], weights[at - gap]
                at -= gap
            values[at], weights[at] = value, weight


@inlined()
def weighted_quantiles(values, weights, probabilities, out):
    """Fill `out` with quantiles, which lie between the middles of the sorted values' weights on a line.

    `probabilities` ascend. Values and weights are sorted.
    """
    s, below, middle, last = 0, 0.0, 0.5 * weights[0], 0.0
    for j in range(probabilities.shape[0]):
        while middle < probabilities[j] and s + 1 < values.shape[0]:
            below += weights[s]
            s += 1
            last, middle = middle, below + 0.5 * weights[s]
        if s == 0 or middle < probabilities[j]:
            out[j] = values[s]
        else:
            part = (probabilities[j] - last) / max(middle - last, TINY)
            out[j] = values[s - 1] + part * (values[s] - values[s - 1])


@inlined()
def take_quantiles(theta, weights, n_points, probabilities, values, sorted_weights, d, out):
    """Fill out[:, d] with quantiles of each topic's share."""
    for i in range(out.shape[2]):
        for s in range(n_points):
            values[s] = theta[s // LANES, i * LANES + s % LANES]
            sorted_weights[s] = weights[s]
        sort_pairs(values[:n_points], sorted_weights[:n_points])
        weighted_quantiles(
            values[:n_points], sorted_weights[:n_points], probabilities, out[:, d, i]
        )


@inlined()
def take_prior(T, weight, none, root, P, H, U, roots, least):
    """Fill `root`, P = root' root = T diag(weight) T' and the `least` pivots; H, U and `roots` are scratch."""
    K, rows = T.shape[0], P.shape[0]
    for k in range(K):
        scale = np.sqrt(weight[k])
        for i in range(K):
            root[k, i] = T[i, k] * scale
    for i in range(rows):
        clear(P[i])
        P[i, i] = 0.0 if i < K else 1.0
    add_gram(root, K, P)
    for i in range(rows):
        for j in range(0, rows, LANES):
            put(H[i], j, get(P[i], j))
    factorise_anyway(H, none, U, roots)
    for i in range(rows):
        least[i] = _LEAST / (roots[i] * roots[i])


@inlined(fastmath=FAST)
def start_document(places, beta, counts, norms, N, m, P, mode, nu2, e, n):
    """Fill `mode` with a start for `find_mode`: one look at the words from the prior. Other rows are scratch."""
    for i in range(m.shape[0]):
        mode[i], nu2[i] = m[i], 1.0 / P[i, i]
    guess_document(places, counts, N, beta, mode, nu2, e, n, norms)
    for i in range(m.shape[0]):
        mode[i] += _NUDGE * (i * 5 % 7 - 3)


@inlined()
def write_moments(eta, theta, weights, effective, d, mean, squares, out):
    """Write means and, if their arrays are not empty, variances of the weighted points for document d."""
    K = out.theta.shape[1]
    moments(theta, weights, mean)
    for i in range(K):
        out.theta[d, i] = mean[i]
    if out.std.shape[0] == 0:
        return
    variances(theta, weights, mean, squares)
    for i in range(K):
        out.std[d, i] = np.sqrt(squares[i])
    out.effective[d] = effective
    if out.logits.shape[0] == 0:
        return
    centre(eta, K)
    moments(eta, weights, mean)
    variances(eta, weights, mean, squares)
    for i in range(K):
        out.logits[d, i], out.variance[d, i] = mean[i], squares[i]


@loop()
def weigh_block(
    indptr,
    indices,
    data,
    mean,
    T,
    weight,
    beta_T,
    z,
    half,
    n_points,
    probabilities,
    groups,
    out,
    scratch,
):
    """Fill `out` for a block of documents (CSR rows); returns how many Newton steps and rounds of points it took.

    The prior precision of document d is T diag(weight[d]) T', or that of the first row where there is only one. z has
    standard normals in panels, `half` half of their squared lengths. Where `groups` is not empty, shares are those of
    groups of topics.
    """
    K, work, squares = T.shape[0], scratch.rows, scratch.square
    m, mode, least, none, roots, nu2 = work[9], work[10], work[11], work[12], work[13], work[14]
    score = work[15]
    P, root, H, U = squares[0], squares[1], squares[2], squares[3]
    eight, panel = scratch.eight, scratch.panel
    wanted = min(0.5 * n_points, _WANTED * np.sqrt(n_points))
    clear(none)
    steps = rounds = 0
    for d in range(mean.shape[0]):
        if d == 0 or weight.shape[0] > 1:
            take_prior(T, weight[d], none, root, P, H, U, roots, least)
        row = slice(indptr[d], indptr[d + 1])
        norms = scratch.words[0]
        length, N = gather(indices[row], data[row], beta_T, scratch.words[1], norms, scratch.beta)
        norms, counts = norms[:length], scratch.words[1, :length]
        places, beta = scratch.places[:length], scratch.beta[:length]
        take_in(mean[d], m, NOWHERE)
        start_document(places, beta, counts, norms, N, m, P, mode, nu2, work[0], work[1])
        steps += find_mode(
            places, beta, counts, N, P, least, none, m, mode, scratch.phi, H, U, roots, norms, work
        )
        now, other, y, y_new = scratch.points, scratch.others, scratch.y[0], scratch.y[1]
        first = True
        for b in range(z.shape[0]):
            for i in range(0, z.shape[1], LANES):
                put(y[b], i, get(z[b], i))
        effective = weigh_points(y, half, mode, U, roots, root, m, beta, counts, now, panel, eight)
        rounds += 1
        some = temper(now.log_weights, effective, wanted, now.weights)
        mean_score(now, K, beta, counts, N, P, m, panel, work[1], score)
        for _ in range(1, _ROUNDS):
            if effective >= _FEW * n_points:
                break
            spread_again(
                now, y, z, some, score, U, roots, work[0], scratch.moments, H, work[1], none, y_new
            )
            again = weigh_points(
                y_new, half, mode, U, roots, root, m, beta, counts, other, panel, eight
            )
            rounds += 1
            if not again > effective:
                break
            worthwhile = again > _WORTHWHILE * effective
            effective, first = again, False
            now, other = other, now
            y, y_new = y_new, y
            some = temper(now.log_weights, effective, wanted, now.weights)
            mean_score(now, K, beta, counts, N, P, m, panel, work[1], score)
            if not worthwhile:
                break
        if first:  # points that had to be spread anew know of more than one mode, or of one that is no Gaussian
            move_points(now, score, some, U, roots, work[1])
        if groups.shape[0] > 0:
            add_up(now.theta, groups, out.theta.shape[1], work[0])
        if probabilities.shape[0] > 0:
            take_quantiles(
                now.theta,
                now.weights,
                n_points,
                probabilities,
                scratch.pairs[0],
                scratch.pairs[1],
                d,
                out.quantiles,
            )
        write_moments(now.eta, now.theta, now.weights, effective, d, work[0], work[1], out)
    return steps, rounds
