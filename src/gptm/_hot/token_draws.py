"""Topics of the tokens of a document, given its proportions and the topics: all of them independent."""

import math

import numpy as np

from gptm._hot.binomials import share_out
from gptm._hot.compile_options import FAST, inlined
from gptm._hot.random_keys import uniform
from gptm._hot.simd import LANES, get, put, spread, total
from gptm._hot.topic_search import find_in_stretches, find_topic, weigh_stretches

MANY_TOPICS = 256  # of more, sums are kept of stretches only
ONE_BY_ONE = 1000  # tokens of a word in a document; of more, topics are drawn together
_SMALL = 1e-30  # of a word's probability, below which single precision has too few digits
_OVERFLOWS = 1e-200
_IMPOSSIBLE = (
    -700.0
)  # log-probability of a word that no topic has, as where counts are tiny fractions
_NONE = np.float32(0.0)


@inlined(fastmath=FAST)
def weigh_topics(e, topics, running):
    """Fill `running` with sums of e times a word's probabilities, each over every eighth topic; return the sum of all.

    Eight sums side by side need no sums within a vector. The last eight numbers are those of all topics.
    """
    sums = spread(_NONE)
    for first in range(0, running.shape[0], LANES):
        sums += get(e, first) * get(topics, first)
        put(running, first, sums)
    return total(sums)


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
def find(e, topics, running, left, many, room):
    """The topic at which the running sum passes `left`, of all sums or of those of stretches."""
    return find_in_stretches(e, topics, running, left) if many else find_topic(running, left, room)


@inlined(fastmath=FAST)
def draw_tokens(words, counts, eta, log_whole, e, beta_T, seed, running, weights, n, tally):
    """Draw the topics of a document's tokens; add them to `n` (K,) and `tally` (V, K padded).

    `e` (K padded, single precision) are proportions, exp(eta - log_whole). Equal words are drawn together. Returns the
    next state of the random numbers, and the words' log-probability with the tokens' topics summed out. `running` and
    `weights` (K padded, single precision) are scratch.
    """
    fit, product, many = 0.0, 1.0, e.shape[0] > MANY_TOPICS
    for j in range(words.shape[0]):
        w, count = words[j], counts[j]
        topics = beta_T[w]
        whole = weigh_stretches(e, topics, running) if many else weigh_topics(e, topics, running)
        if whole < _SMALL:
            k, value = likeliest(eta, topics)
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
            for k in range(e.shape[0]):
                weights[k] = e[k] * topics[k]
            seed = share_out(seed, count, np.ceil(count), weights, n, tally[w])
            continue
        draws = math.ceil(count)
        share = count / max(draws, 1)
        for _ in range(draws):
            seed, u = uniform(seed)
            k = find(e, topics, running, np.float32(u) * whole, many, weights)
            if not e[k] * topics[k] > _NONE:  # rounding has led beyond the end
                k = likeliest(eta, topics)[0]
            n[k] += share
            tally[w, k] += np.float32(share)
    return seed, fit + math.log(product)
