"""One sweep over a block of documents: topics of tokens, then logits."""

import numpy as np

from gptm._hot.compile_options import FAST, inlined, loop
from gptm._hot.exponential import log
from gptm._hot.logit_draws import draw_numbers, move_eight, soften
from gptm._hot.random_keys import stream
from gptm._hot.simd import LANES, get, padded, padded_zeros, put
from gptm._hot.token_draws import draw_tokens

PANELS = 8  # of eight documents each, whose logits move together: the prior precision is read once for all


class SweepScratch:
    """Memory for one thread."""

    def __init__(self, K: int):
        rows = padded(K)
        self.panels = padded_zeros(4, PANELS, LANES * rows)  # tokens, mean, away, e
        self.lanes = padded_zeros(2, PANELS, LANES)  # lengths, and sums of e
        self.room = padded_zeros(3, LANES)
        self.numbers = padded_zeros(3, LANES * LANES)
        self.states = np.zeros((PANELS, LANES), dtype=np.uint64)
        self.single = np.zeros((3, rows), dtype=np.float32)  # proportions, and weights of topics
        self.n = np.zeros(K)

    def __iter__(self):
        return iter(vars(self).values())


@inlined(fastmath=FAST)
def take_in(eta, mean, start, means, away):
    """Fill a panel with prior means of documents, and one with how far their logits are from these, from `start` on."""
    for lane in range(LANES):
        d = min(start + lane, eta.shape[0] - 1)  # the last one again, in lanes that are not read
        for k in range(eta.shape[1]):
            means[k * LANES + lane] = mean[d, k]
            away[k * LANES + lane] = eta[d, k] - mean[d, k]


@inlined(fastmath=FAST)
def hand_back(means, away, start, eta):
    """Write logits, centred: words cannot see what a document's topics have in common."""
    K = eta.shape[1]
    for lane in range(min(LANES, eta.shape[0] - start)):
        d, middle = start + lane, 0.0
        for k in range(K):
            eta[d, k] = means[k * LANES + lane] + away[k * LANES + lane]
            middle += eta[d, k]
        middle /= K
        for k in range(K):
            eta[d, k] -= middle


@inlined(fastmath=FAST)
def take_shares(e, lane, scale, out, shares):
    """Fill `out` with the proportions of one document, and add them to `shares`."""
    for k in range(shares.shape[0]):
        theta = e[k * LANES + lane] * scale
        out[k] = np.float32(theta)
        shares[k] += theta


@loop(fastmath=FAST)
def sweep_block(
    indptr,
    indices,
    data,
    first,
    key,
    mean,
    P,
    passes,
    beta_T,
    eta,
    tally,
    fits,
    shares,
    panels,
    lanes,
    room,
    numbers,
    all_states,
    single,
    n,
):
    """Draw the topics of all tokens, then the logits, of a block of documents; eta (n, K) moves in place.

    `first` is the number of the block's first document: with `key` it says which random numbers are whose. `mean` are
    the documents' prior means, P (K padded, K padded) their precision, `beta_T` (V, K padded) the topics in single
    precision. Logits make so many `passes` over the topics. `tally` (V, K padded) has the drawn topics of words added,
    `shares` (K,) the proportions before the sweep; `fits` (n,) are log-probabilities of the words under these, topics
    of tokens summed out.
    """
    D, K = eta.shape
    theta, running, weights = single[0], single[1], single[2]
    for group in range(0, D, LANES * PANELS):
        here = min(PANELS, -(-(D - group) // LANES))
        for b in range(here):
            start = group + b * LANES
            tokens, means, away = panels[0, b], panels[1, b], panels[2, b]
            e, states, N = panels[3, b, : K * LANES], all_states[b], lanes[0, b]
            take_in(eta, mean, start, means, away)
            whole, high = soften(away, means, e)
            put(lanes[1, b], 0, whole)
            put(room[0], 0, high + log(whole))
            put(room[1], 0, 1.0 / whole)
            for lane in range(LANES):
                d = min(start + lane, D - 1)
                state = stream(key, first + d)
                n[:] = 0.0
                if start + lane < D:
                    span = slice(indptr[d], indptr[d + 1])
                    take_shares(e, lane, room[1, lane], theta, shares)
                    state, fits[d] = draw_tokens(
                        indices[span],
                        data[span],
                        eta[d],
                        room[0, lane],
                        theta,
                        beta_T,
                        state,
                        running,
                        weights,
                        n,
                        tally,
                    )
                states[lane] = state
                N[lane] = n.sum()
                for k in range(K):
                    tokens[k * LANES + lane] = n[k]
        for _ in range(passes):
            move_logits(K, P, here, panels, lanes, room, numbers, all_states)
        for b in range(here):
            hand_back(panels[1, b], panels[2, b], group + b * LANES, eta)


@inlined(fastmath=FAST)
def move_logits(K, P, here, panels, lanes, room, numbers, states):
    """A pass over all topics of some panels of documents."""
    pulls, normals, uniform = numbers[0], numbers[1], numbers[2]
    for k in range(0, K, LANES):
        for b in range(here):
            draw_numbers(states[b], room[2], normals, uniform)
            N, whole, e = get(lanes[0, b], 0), get(lanes[1, b], 0), panels[3, b, : K * LANES]
            whole = move_eight(
                P, k, panels[0, b], N, whole, panels[2, b], e, pulls, normals, uniform
            )
            put(lanes[1, b], 0, whole)
