"""Collapsed Gibbs sampling for LDA, word after word: a draw looks at the topics that its document has, and no others.

The weight of topic k is n_dk (n_wk + b) / n_k + alpha (n_wk + b) / n_k. The first part has few terms. The second is
proposed from a table of the word's, made a little while ago. What has changed since, and what the token itself adds,
decides whether a proposal is accepted, so that draws have the right distribution.

Word after word, since a word's row of counts stays in the first cache, and documents' lists are short.
"""

import numpy as np

from gptm._hot.compile_options import FAST, inlined, loop
from gptm._hot.lda_tokens import next_uniform
from gptm._hot.simd import LANES, get, put, spread, total
from gptm._hot.topic_search import find_topic

_ONE, _NONE = np.float32(1.0), np.float32(0.0)
_LASTS = 64  # draws for which a table serves


@loop()
def list_topics(docs, topics, starts, sizes, listed, held):
    """List the topics of each document and how many of its tokens they have.

    Document d has listed[starts[d] : starts[d] + sizes[d]], and `held` likewise; sizes are zero before.
    """
    for j in range(docs.shape[0]):
        d, k = docs[j], topics[j]
        first = starts[d]
        i = find(listed, first, sizes[d], k)
        if i == sizes[d]:
            listed[first + i], held[first + i] = k, _NONE
            sizes[d] += 1
        held[first + i] += _ONE


@inlined()
def find(listed, first, n, k):
    """The place of topic k among n listed ones; n if it is not there."""
    for i in range(n):
        if listed[first + i] == k:
            return i
    return n


@inlined(fastmath=FAST)
def make_table(word, b, inverse, table):
    """Fill `table` with sums of (word + b) inverse over every eighth topic so far; return the sum of all."""
    sums = spread(_NONE)
    for i in range(0, table.shape[0], LANES):
        sums += (get(word, i) + b) * get(inverse, i)
        put(table, i, sums)
    return total(sums)


@inlined()
def of_table(table, k):
    """What a topic has in a table of running sums."""
    return table[k] - table[k - LANES] if k >= LANES else table[k]


@inlined(fastmath=FAST)
def weigh_listed(first, n, listed, held, word, b, inverse, weights):
    """Fill weights of a document's topics; return their sum."""
    mass = _NONE
    for i in range(n):
        k = listed[first + i]
        x = held[first + i] * (word[k] + b) * inverse[k]
        weights[i] = x
        mass += x
    return mass


@inlined()
def pick(n, weights, left):
    """The place at which the sum of weights passes `left`."""
    for i in range(n - 1):
        left -= weights[i]
        if left < _NONE:
            return i
    return n - 1


@loop(fastmath=FAST)
def word_sweep(
    docs,
    words,
    topics,
    starts,
    sizes,
    listed,
    held,
    word_topic,
    topic_total,
    inverse,
    alpha,
    prior,
    state,
    scratch,
):
    """One sweep of collapsed Gibbs sampling for LDA over tokens that are sorted by words, all counts in place.

    Each token leaves its topic and draws a new one in proportion to
    (tokens of the document + alpha) (word_topic + prior) / topic_total; `prior` (V,) are pseudo-counts of words in any
    topic, in single precision, and `topic_total` (K,) holds the topics' counts and the sum of the pseudo-counts.
    Single precision is enough: a draw is random by far more than 1e-6.

    Topics of documents are as `list_topics` makes them. Counts of words have columns for a multiple of `LANES` topics.
    `inverse`, as long, is 1 / topic_total, and zero beyond K. `scratch` (3, the same) is for work.
    """
    table, weights, room = scratch[0], scratch[1], scratch[2]
    alpha = np.float32(alpha)
    K, seed = topic_total.shape[0], state[0]
    before, left_over, mass = -1, 0, _NONE
    for j in range(words.shape[0]):
        d, w, old = docs[j], words[j], topics[j]
        word, b = word_topic[w], prior[w]
        if w != before or left_over == 0:
            mass = alpha * make_table(word, b, inverse, table)
            before, left_over = w, _LASTS
        left_over -= 1
        first, n = starts[d], sizes[d]
        own = weigh_listed(first, n, listed, held, word, b, inverse, weights)
        at = find(listed, first, n, old)
        # Without the token itself
        of_old = (word[old] - _ONE + b) * np.float32(1.0 / (topic_total[old] - 1.0))
        less = (held[first + at] - _ONE) * of_old
        own = max(own + (less - weights[at]), _NONE)
        weights[at] = less
        seed, u = next_uniform(np.uint64(seed))
        left = np.float32(u) * (own + mass)
        if left < own:
            to = pick(n, weights, left)
            new = listed[first + to]
        else:
            new = min(find_topic(table, (left - own) / alpha, room), K - 1)
            to = find(listed, first, n, new)
        if new == old:
            continue
        seed, u = next_uniform(np.uint64(seed))
        of_new = (word[new] + b) * inverse[new]
        has = held[first + to] if to < n else _NONE
        of_doc = held[first + at] - _ONE
        to_new = has * of_new + alpha * of_table(table, new)
        to_old = of_doc * of_old + alpha * of_table(table, old)
        if np.float32(u) * (of_doc + alpha) * of_old * to_new >= (has + alpha) * of_new * to_old:
            continue
        topics[j] = new
        if to == n:
            listed[first + n], held[first + n] = new, _NONE
            n += 1
        held[first + to] += _ONE
        held[first + at] -= _ONE
        if not held[first + at] > _NONE:
            n -= 1
            listed[first + at], held[first + at] = listed[first + n], held[first + n]
        sizes[d] = n
        word[old] -= _ONE
        word[new] += _ONE
        topic_total[old] -= 1.0
        topic_total[new] += 1.0
        inverse[old] = np.float32(1.0 / topic_total[old])
        inverse[new] = np.float32(1.0 / topic_total[new])
    state[0] = seed
