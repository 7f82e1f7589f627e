"""One sweep over a block of documents: topics of tokens, then logits."""

import math

import numpy as np

from gptm._hot.compile_options import FAST, inlined, loop
from gptm._hot.logit_draws import move_logits
from gptm._hot.random_keys import stream
from gptm._hot.simd import LANES, padded
from gptm._hot.token_draws import draw_tokens


class SweepScratch:
    """Memory for one thread."""

    def __init__(self, K: int):
        rows = padded(K)
        self.lanes = np.zeros((4, rows, LANES))  # tokens, eta, away, e
        self.room = np.ones((4, LANES))  # random numbers, and lengths
        self.states = np.zeros(LANES, dtype=np.uint64)
        self.single = np.zeros((3, rows), dtype=np.float32)  # proportions, weights, sums
        self.n = np.zeros(K)

    def __iter__(self):
        return iter((self.lanes, self.room, self.states, self.single, self.n))


@inlined(fastmath=FAST)
def proportions(eta, out, shares):
    """Fill `out` with softmax(eta), add it to `shares`, return log of the sum of exp(eta)."""
    high = eta[0]
    for k in range(1, eta.shape[0]):
        high = max(high, eta[k])
    whole = 0.0
    for k in range(eta.shape[0]):
        whole += math.exp(eta[k] - high)
    whole = high + math.log(whole)
    for k in range(eta.shape[0]):
        theta = math.exp(eta[k] - whole)
        out[k] = np.float32(theta)
        shares[k] += theta
    return whole


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
    N, theta, weights = room[3], single[0], single[1]
    sums = single[2, : theta.shape[0] // LANES]
    for start in range(0, D, LANES):
        for lane in range(LANES):
            d = min(start + lane, D - 1)  # the last one again, in lanes that are not read
            state = stream(key, first + d)
            n[:] = 0.0
            if start + lane < D:
                span = slice(indptr[d], indptr[d + 1])
                log_whole = proportions(eta[d], theta, shares)
                state, fits[d] = draw_tokens(
                    indices[span],
                    data[span],
                    eta[d],
                    log_whole,
                    theta,
                    beta_T,
                    state,
                    weights,
                    sums,
                    n,
                    tally,
                )
            states[lane] = state
            N[lane] = n.sum()
            for k in range(K):
                tokens[k, lane] = n[k]
                logits[k, lane] = eta[d, k]
                away[k, lane] = eta[d, k] - mean[d, k]
        move_logits(tokens, N, P, passes, logits, away, e, states, room)
        for lane in range(min(LANES, D - start)):
            for k in range(K):
                eta[start + lane, k] = logits[k, lane]
