"""Collapsed Gibbs sampling, token by token."""

import numpy as np
from numba import njit

from gptm._hot.settings import FAST

_WIDTH = 8  # topics that are added up at once, in one vector


@njit(cache=True, nogil=True, forceinline=True)
def next_uniform(state):
    """The next state of the splitmix64 generator, and its uniform number in [0, 1)."""
    state = np.uint64(state) + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return state, (z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True, fastmath=FAST)
def gibbs_sweep(docs, words, topics, doc_topic, word_topic, topic_total, alpha, eta, state):
    """One sweep of collapsed Gibbs sampling for LDA over a run of tokens, all counts in place.

    Each token leaves its topic and draws a new one in proportion to
    (doc_topic + alpha) (word_topic + eta) / (topic_total + V eta). A draw finds the group of topics first and the topic
    in it second. Single precision is enough: a draw is random by far more than 1e-6.
    """
    V, K = word_topic.shape
    groups = -(-K // _WIDTH)
    weights = np.zeros(groups * _WIDTH, dtype=np.float32)
    sums = np.empty(groups, dtype=np.float32)
    alpha, eta = np.float32(alpha), np.float32(eta)
    below = V * np.float64(eta)
    inverse = (1.0 / (topic_total + below)).astype(np.float32)
    seed = state[0]  # in a register: threads would fight over a cache line of states
    for j in range(words.shape[0]):
        d, w, i = docs[j], words[j], topics[j]
        doc_topic[d, i] -= 1
        word_topic[w, i] -= 1
        topic_total[i] -= 1
        inverse[i] = 1.0 / (topic_total[i] + below)
        for k in range(K):
            weights[k] = (doc_topic[d, k] + alpha) * (word_topic[w, k] + eta) * inverse[k]
        total = np.float32(0.0)
        for group in range(groups):
            s = np.float32(0.0)
            for k in range(_WIDTH):
                s += weights[group * _WIDTH + k]
            sums[group] = s
            total += s
        seed, uniform = next_uniform(np.uint64(seed))
        left = np.float32(uniform) * total
        group = 0
        while group < groups - 1 and left >= sums[group]:
            left -= sums[group]
            group += 1
        i = group * _WIDTH
        last = min(i + _WIDTH, K) - 1
        while i < last and left >= weights[i]:
            left -= weights[i]
            i += 1
        topics[j] = i
        doc_topic[d, i] += 1
        word_topic[w, i] += 1
        topic_total[i] += 1
        inverse[i] = 1.0 / (topic_total[i] + below)
    state[0] = seed
