"""Collapsed Gibbs sampling, token by token."""

import math

import numpy as np

from gptm._hot.compile_options import FAST, TINY, inlined, loop
from gptm._hot.simd import LANES, get, put, total

_LOOKS = 1024  # at the sizes of the topics in a sweep; between two looks they hardly change
_ONE, _NONE = np.float32(1.0), np.float32(0.0)


@inlined()
def next_uniform(state):
    """The next state of the splitmix64 generator, and its uniform number in [0, 1)."""
    state = np.uint64(state) + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return state, (z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined()
def weigh(doc, word, inverse, alpha, eta, first, weights):
    """Fill eight `weights`, from `first` on, with (doc + alpha) (word + eta) inverse; return their sum."""
    x = (get(doc, first) + alpha) * (get(word, first) + eta) * get(inverse, first)
    put(weights, first, x)
    return total(x)


@inlined(fastmath=FAST)
def choose(weights, sums, uniform):
    """The topic at `uniform` of the way through all weights; `sums` of groups of topics become running sums.

    It finds the group first and the topic in it second, and counts instead of searching: which way a search would
    end the processor could only guess.
    """
    running = _NONE
    for g in range(sums.shape[0]):
        running += sums[g]
        sums[g] = running
    left = np.float32(uniform) * running
    group = 0
    for g in range(sums.shape[0] - 1):
        group += left >= sums[g]
    left -= sums[group - 1] if group > 0 else _NONE
    first = group * LANES
    topic, running = first, _NONE
    for k in range(first, first + LANES - 1):
        running += weights[k]
        topic += left >= running
    return topic


@inlined(fastmath=FAST)
def draw_again(j, tokens, counts, inverse, alpha, prior, uniform, scratch):
    """Token j leaves its topic and draws a new one; counts are brought up to date, `inverse` is not.

    Counts are written last: to read eight of them at once right after one was written takes long.
    """
    docs, words, topics = tokens
    doc_topic, word_topic, topic_total = counts
    old = topics[j]
    doc, word = doc_topic[docs[j]], word_topic[words[j]]
    eta = prior[words[j]]
    groups = inverse.shape[0] // LANES
    weights, sums = scratch[0], scratch[1, :groups]
    for g in range(groups):
        sums[g] = weigh(doc, word, inverse, alpha, eta, g * LANES, weights)
    of_others = (doc[old] - _ONE + alpha) * (word[old] - _ONE + eta)
    of_others *= np.float32(1.0 / (topic_total[old] - 1.0))
    sums[old // LANES] += of_others - weights[old]
    weights[old] = of_others
    new = min(choose(weights, sums, uniform), topic_total.shape[0] - 1)
    topics[j] = new
    doc[old] -= _ONE
    word[old] -= _ONE
    topic_total[old] -= 1.0
    doc[new] += _ONE
    word[new] += _ONE
    topic_total[new] += 1.0


@inlined(fastmath=FAST)
def invert(a, out):
    """Fill the beginning of `out` with 1 / a."""
    for k in range(a.shape[0]):
        out[k] = 1.0 / a[k]


@loop(fastmath=FAST)
def gibbs_sweep(
    docs, words, topics, doc_topic, word_topic, topic_total, inverse, alpha, prior, state, scratch
):
    """One sweep of collapsed Gibbs sampling for LDA over a run of tokens, all counts in place.

    Each token leaves its topic and draws a new one in proportion to
    (doc_topic + alpha) (word_topic + prior) / topic_total; `prior` (V,) are pseudo-counts of words in any topic, in
    single precision, and `topic_total` (K,) holds the topics' counts and the sum of the pseudo-counts.
    Single precision is enough: a draw is random by far more than 1e-6.

    Counts have columns for a multiple of `LANES` topics; those beyond K stay empty. So does `inverse`, as long; it
    is 1 / topic_total as of a little while ago. `scratch` (2, 2, the same length) is for two tokens: the first half
    of the run and the second take turns. They hardly ever touch the same counts, so neither waits for the other.
    """
    tokens, counts = (docs, words, topics), (doc_topic, word_topic, topic_total)
    n = words.shape[0]
    half = -(-n // 2)
    every = max(n // _LOOKS, 1)
    alpha = np.float32(alpha)
    seed = state[0]  # in a register: threads would fight over a cache line of states
    left = 0
    for j in range(half):
        if left == 0:
            invert(topic_total, inverse)
            left = every
        left -= 1
        seed, uniform = next_uniform(np.uint64(seed))
        draw_again(j, tokens, counts, inverse, alpha, prior, uniform, scratch[0])
        if half + j < n:
            if every == 1:
                invert(topic_total, inverse)
            seed, uniform = next_uniform(np.uint64(seed))
            draw_again(half + j, tokens, counts, inverse, alpha, prior, uniform, scratch[1])
    state[0] = seed


@loop()
def count_values(counts, out):
    """Add one to `out` at each of a matrix' values, which are whole numbers."""
    for i in range(counts.shape[0]):
        for j in range(counts.shape[1]):
            out[int(counts[i, j] + 0.5)] += 1.0


@loop(fastmath=FAST)
def explained(docs, words, doc_topic, word_topic, alpha, prior, inverse):
    """The sum over tokens of log(sum_k (doc_topic + alpha) (word_topic + prior) inverse)."""
    value = 0.0
    for j in range(docs.shape[0]):
        doc, word, b = doc_topic[docs[j]], word_topic[words[j]], prior[words[j]]
        p = 0.0
        for k in range(inverse.shape[0]):
            p += (doc[k] + alpha) * (word[k] + b) * inverse[k]
        value += math.log(max(p, TINY))
    return value


@loop()
def count_pairs(rows, columns, out):
    """Add one to `out` at each pair of a row and a column."""
    for j in range(rows.shape[0]):
        out[rows[j], columns[j]] += 1.0
