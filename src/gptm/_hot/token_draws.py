"""Topics of the tokens of a document, given its proportions and the topics: all of them independent."""

import math

import numpy as np

from gptm._hot.binomials import share_out
from gptm._hot.compile_options import FAST, inlined
from gptm._hot.lda_tokens import accumulate, locate
from gptm._hot.random_keys import uniform
from gptm._hot.simd import LANES, get, put, total

ONE_BY_ONE = 1000  # tokens of a word in a document; of more, topics are drawn together
_SMALL = 1e-30  # of a word's probability, below which single precision has too few digits
_OVERFLOWS = 1e-200
_IMPOSSIBLE = (
    -700.0
)  # log-probability of a word that no topic has, as where counts are tiny fractions
_BELOW_ONE = 1.0 - 2.0**-24  # so that single precision does not round to one


@inlined(fastmath=FAST)
def weigh_topics(e, topics, weights, sums):
    """Fill `weights` with e times a word's probabilities, and `sums` with those of eight; return the sum of all."""
    for g in range(sums.shape[0]):
        x = get(e, g * LANES) * get(topics, g * LANES)
        put(weights, g * LANES, x)
        sums[g] = total(x)
    return accumulate(sums)


@inlined()
def likeliest(eta, topics):
    """The topic that gives a word most, where the sum of all is too small for single precision."""
    best, high = 0, -np.inf
    for k in range(eta.shape[0]):
        if topics[k] > 0.0:
            value = eta[k] + math.log(topics[k])
            if value > high:
                best, high = k, value
    return best, max(high, _IMPOSSIBLE)


@inlined(fastmath=FAST)
def draw_tokens(words, counts, eta, log_whole, e, beta_T, seed, weights, sums, n, tally):
    """Draw the topics of a document's tokens; add them to `n` (K,) and `tally` (V, K padded).

    `e` (K padded, single precision) are proportions, exp(eta - log_whole). Equal words are drawn together. Returns the
    next state of the random numbers, and the words' log-probability with the tokens' topics summed out.
    """
    fit, product, K = 0.0, 1.0, n.shape[0]
    for j in range(words.shape[0]):
        w, count = words[j], counts[j]
        whole = weigh_topics(e, beta_T[w], weights, sums)
        if whole < _SMALL:
            k, value = likeliest(eta, beta_T[w])
            n[k] += count
            tally[w, k] += np.float32(count)
            fit += count * (value - log_whole)
            continue
        if count == 1.0:
            product *= whole
        else:
            fit += count * math.log(whole)
        if product < _OVERFLOWS:
            fit += math.log(product)
            product = 1.0
        if count > ONE_BY_ONE:
            seed = share_out(seed, count, np.ceil(count), weights, n, tally[w])
            continue
        draws = math.ceil(count)
        share = count / max(draws, 1)
        for _ in range(draws):
            seed, u = uniform(seed)
            k = min(locate(weights, sums, np.float32(u * _BELOW_ONE) * whole), K - 1)
            n[k] += share
            tally[w, k] += np.float32(share)
    return seed, fit + math.log(product)
