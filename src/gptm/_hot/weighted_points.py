"""The posterior of a document's logits, its words' topics summed out, by importance-weighted points.

Eight points at a time lie side by side in a `panel`, a flat row of eight numbers for each topic: sums over topics and
words need no sums within a vector, and a panel fits the first cache.

Topics are padded, see `vectors`: logits with `NOWHERE`, matrices with zeros on all sides. So are words, with counts of
zero, and their rows.
"""

from typing import NamedTuple

import numpy as np

from gptm._hot.compile_options import loop
from gptm._hot.document_mode import find_mode, gather, start_document, take_prior
from gptm._hot.document_posterior import NOWHERE, take_in
from gptm._hot.linear_algebra import clear
from gptm._hot.mode_approach import Steps, approach_mode
from gptm._hot.point_summaries import add_up, take_quantiles, write_moments
from gptm._hot.point_weights import (
    Points,
    mean_score,
    move_points,
    spread_again,
    temper,
    weigh_points,
)
from gptm._hot.simd import LANES, get, padded, padded_zeros, put

_ROUNDS = 3
_FEW = 1 / 8  # of the points: so few effective ones ask for another round
_WORTHWHILE = 1.5  # times as many effective points as before: fewer ask for no further round
# Times the root of the number of points: fewer effective ones have their weights flattened.
_WANTED = 4.0


class PointsScratch(NamedTuple):
    """Memory for `weigh_block` of one thread; what is in it before and after is of no use."""

    rows: np.ndarray  # (16, K padded)
    words: np.ndarray  # (2, words of the longest document, padded)
    places: np.ndarray  # (the same,) 0, 1, 2, ...
    beta: np.ndarray  # (the same, K padded) rows of topics of a document's words
    phi: np.ndarray  # (the same, K padded)
    square: np.ndarray  # (4, K padded, K padded), the second with zeros behind its rows and below
    steps: Steps
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
            Steps.of(K),
            Points.of(K, length, n_points),
            Points.of(K, length, n_points),
            padded_zeros(2, most // LANES, LANES * rows),
            padded_zeros(2, n_points),
            padded_zeros(most, K),
            padded_zeros(LANES * rows),
            padded_zeros(LANES * LANES),
        )


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
            take_prior(T, weight[d], none, root, P, H, roots, least)
        row = slice(indptr[d], indptr[d + 1])
        norms = scratch.words[0]
        length, N = gather(indices[row], data[row], beta_T, scratch.words[1], norms, scratch.beta)
        norms, counts = norms[:length], scratch.words[1, :length]
        places, beta = scratch.places[:length], scratch.beta[:length]
        take_in(mean[d], m, NOWHERE)
        start_document(places, beta, counts, norms, N, m, P, mode, nu2, work[0], work[1])
        approach_mode(beta, counts, N, P, none, m, mode, H, U, roots, norms, scratch.steps, work)
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
