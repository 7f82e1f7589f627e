"""Points around the mode of a document's logits, and their importance weights."""

from typing import NamedTuple

import numpy as np

from gptm._hot.compile_options import FAST, TINY, inlined
from gptm._hot.exponential import exp, log
from gptm._hot.linear_algebra import clear, dot, product
from gptm._hot.panel_factors import factorise, solve, solve_panel
from gptm._hot.panels import add_crossed, add_gram, add_product
from gptm._hot.point_summaries import moments
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

_HALVINGS = 16  # of the interval in which the power of flattened weights is
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
    """Eight times |root (eta - m)|^2 / 2; `root` is the upper factor of the precision. `d` and `eight` are scratch."""
    value = spread(0.0)
    for i in range(m.shape[0]):
        put(d, i * LANES, get(panel, i * LANES) - m[i])
    for k in range(0, m.shape[0], LANES):
        clear(eight)
        add_product(root, k, k, d, 1.0, eight, 0)
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
