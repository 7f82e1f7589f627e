"""Means, variances and quantiles of weighted points."""

from typing import NamedTuple

import numpy as np

from gptm._hot.compile_options import FAST, TINY, inlined
from gptm._hot.linear_algebra import clear
from gptm._hot.simd import LANES, get, put, spread, total


class PointsOut(NamedTuple):
    """What `weigh_block` fills for its documents; arrays that are not needed are empty."""

    theta: np.ndarray  # (n, K)
    std: np.ndarray
    logits: np.ndarray
    variance: np.ndarray
    effective: np.ndarray  # (n,)
    quantiles: np.ndarray  # (q, n, K)


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
