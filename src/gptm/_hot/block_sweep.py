"""One sweep over a block of documents: topics of tokens, then logits."""

import math

import numpy as np

from gptm._hot.compile_options import FAST, inlined, loop
from gptm._hot.logit_draws import draw_numbers, fill_pulls, move_run, soften
from gptm._hot.random_keys import stream
from gptm._hot.simd import LANES, get, padded, padded_zeros
from gptm._hot.token_draws import draw_tokens

PANELS = 16  # of eight documents each: rows of the prior precision are read once for all


class SweepScratch:
    """Memory for one thread."""

    def __init__(self, K: int):
        rows, D = padded(K), PANELS * LANES
        self.n, self.e = padded_zeros(2, D, rows)
        self.away = padded_zeros(D, rows, dtype=np.float32)
        self.panels = padded_zeros(PANELS, LANES * rows, dtype=np.float32)
        self.sums = padded_zeros(2, D)  # of n and e
        self.states = np.zeros(D, dtype=np.uint64)
        self.numbers = padded_zeros(3, LANES * LANES)
        self.pulls = padded_zeros(2, LANES * LANES, dtype=np.float32)
        self.room = padded_zeros(2, LANES)
        self.single = padded_zeros(3, rows, dtype=np.float32)  # proportions, and weights of topics

    def __iter__(self):
        return iter(vars(self).values())


@inlined(fastmath=FAST)
def take_shares(e, scale, out, shares):
    """Fill `out` with the proportions of one document, and add them to `shares`."""
    for k in range(shares.shape[0]):
        theta = e[k] * scale
        out[k] = np.float32(theta)
        shares[k] += theta


@inlined(fastmath=FAST)
def take_away(eta, mean, out):
    """Fill `out` with how far a document's logits are from their prior means."""
    for k in range(eta.shape[0]):
        out[k] = np.float32(eta[k] - mean[k])


@inlined(fastmath=FAST)
def centre(eta):
    """Take from logits what a document's topics have in common: words cannot see it."""
    for d in range(eta.shape[0]):
        middle = 0.0
        for k in range(eta.shape[1]):
            middle += eta[d, k]
        middle /= eta.shape[1]
        for k in range(eta.shape[1]):
            eta[d, k] -= middle


@inlined()
def lay_side_by_side(away, panel):
    """Fill a panel from eight rows."""
    for k in range(away.shape[1]):
        for lane in range(LANES):
            panel[k * LANES + lane] = away[lane, k]


@loop(fastmath=FAST)
def sweep_block(
    indptr,
    indices,
    data,
    first,
    key,
    mean,
    P,
    beta_T,
    eta,
    tally,
    fits,
    shares,
    n,
    e,
    away,
    panels,
    sums,
    states,
    numbers,
    pulls,
    room,
    single,
):
    """Draw the topics of all tokens, then the logits, of a block of documents; eta (n, K) moves in place.

    `first` is the number of the block's first document: with `key` it says which random numbers are whose. `mean` are
    the documents' prior means, P (K padded, K padded) their precision, `beta_T` (V, K padded) the topics, both in
    single precision. `tally` (V, K padded) has the drawn topics of words added, `shares` (K,) the proportions before
    the sweep; `fits` (n,) are log-probabilities of the words under these, topics of tokens summed out.
    """
    D, K = eta.shape
    theta, running, weights = single[0], single[1], single[2]
    normals, uniform, wide = numbers[0], numbers[1], numbers[2]
    N, whole = sums[0], sums[1]
    for group in range(0, D, LANES * PANELS):
        here = min(PANELS * LANES, D - group)
        for i in range(here):
            d = group + i
            whole[i], high = soften(eta[d], e[i])
            take_away(eta[d], mean[d], away[i])
            take_shares(e[i], 1.0 / whole[i], theta, shares)
            n[i, :] = 0.0
            span = slice(indptr[d], indptr[d + 1])
            state, fits[d] = draw_tokens(
                indices[span], data[span], eta[d], high + math.log(whole[i]), theta, beta_T,
                stream(key, first + d), running, weights, n[i, :K], tally,
            )  # fmt: skip
            N[i] = n[i].sum()
            states[i] = state
        n_panels = -(-here // LANES)
        for b in range(n_panels):
            at = b * LANES
            lay_side_by_side(away[at : at + LANES], panels[b])
        for k in range(0, K, LANES):
            for pair in range(0, n_panels, 2):
                other = min(pair + 1, n_panels - 1)
                fill_pulls(P, k, K - 1, panels[pair], panels[other], pulls)
                for b in range(pair, other + 1):
                    at = b * LANES
                    draw_numbers(states[at : at + LANES], room[0], normals, uniform)
                    move_run(
                        P, k, min(k + LANES, K), n[at : at + LANES], get(N, at),
                        whole[at : at + LANES], e[at : at + LANES], panels[b],
                        eta[group + at : min(group + at + LANES, group + here)],
                        pulls[b - pair], wide, room, normals, uniform,
                    )  # fmt: skip
        centre(eta[group : group + here])
