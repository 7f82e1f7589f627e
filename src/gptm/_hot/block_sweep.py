"""One sweep over a block of documents: topics of tokens, then logits."""

import numpy as np

from gptm._hot.compile_options import FAST, inlined, loop
from gptm._hot.exponential import log
from gptm._hot.logit_draws import move_logits, soften
from gptm._hot.random_keys import stream
from gptm._hot.simd import LANES, padded, put
from gptm._hot.token_draws import draw_tokens


class SweepScratch:
    """Memory for one thread."""

    def __init__(self, K: int):
        rows = padded(K)
        self.lanes = np.zeros((4, rows, LANES))  # tokens, eta, away, e
        self.room = np.ones((6, LANES))  # random numbers, lengths, and sums of proportions
        self.states = np.zeros(LANES, dtype=np.uint64)
        self.single = np.zeros((3, rows), dtype=np.float32)  # proportions, and weights of topics
        self.n = np.zeros(K)

    def __iter__(self):
        return iter((self.lanes, self.room, self.states, self.single, self.n))


@inlined(fastmath=FAST)
def take_in(eta, mean, start, logits, away):
    """Fill eight lanes with documents' logits and with how far they are from their means, from `start` on."""
    for lane in range(LANES):
        d = min(start + lane, eta.shape[0] - 1)  # the last one again, in lanes that are not read
        for k in range(eta.shape[1]):
            logits[k, lane] = eta[d, k]
            away[k, lane] = eta[d, k] - mean[d, k]


@inlined(fastmath=FAST)
def take_shares(e, lane, scale, out, shares):
    """Fill `out` with the proportions of one document, and add them to `shares`."""
    for k in range(e.shape[0]):
        theta = e[k, lane] * scale
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
    lanes,
    room,
    states,
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
    tokens, logits, away, e = lanes[0], lanes[1], lanes[2], lanes[3, :K]
    N, log_wholes, scales = room[3], room[4], room[5]
    theta, running, weights = single[0], single[1], single[2]
    for start in range(0, D, LANES):
        take_in(eta, mean, start, logits, away)
        whole, high = soften(logits, e)
        put(log_wholes, 0, high + log(whole))
        put(scales, 0, 1.0 / whole)
        for lane in range(LANES):
            d = min(start + lane, D - 1)
            state = stream(key, first + d)
            n[:] = 0.0
            if start + lane < D:
                span = slice(indptr[d], indptr[d + 1])
                take_shares(e, lane, scales[lane], theta, shares)
                state, fits[d] = draw_tokens(
                    indices[span],
                    data[span],
                    eta[d],
                    log_wholes[lane],
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
                tokens[k, lane] = n[k]
        move_logits(tokens, N, P, passes, logits, away, e, whole, states, room)
        for lane in range(min(LANES, D - start)):
            for k in range(K):
                eta[start + lane, k] = logits[k, lane]
