"""Topics given the counts of words in them, and tables of the urn that stands for the topics' common prior."""

import math

import numpy as np

from gptm._hot.compile_options import FAST, inlined, loop
from gptm._hot.exponential import exp, log
from gptm._hot.random_keys import VANISHED, gamma, stream, two_normals, uniform, uniforms
from gptm._hot.simd import LANES, get, greatest, larger, put, root, spread, where_above

_BELOW_ONE = np.nextafter(1.0, 0.0)
_LEAST = 1e-300
_TINY = 1e-30
_ONE_BY_ONE = (
    10_000  # occurrences of a word in a topic; more open next to no table and are taken together
)


@inlined(fastmath=FAST)
def eight_gammas(states, shape, room):
    """Eight gamma variables of scale one (Marsaglia and Tsang), one for each state, which move on.

    One below exp(-80), as nearly all are where the shape is tiny, is zero. `room` (4, 8) is scratch.
    """
    put(room[0], 0, shape)
    small = where_above(shape, _BELOW_ONE, 0.0, 1.0)
    uniforms(states, room[1])
    boost = log(get(room[1], 0)) / larger(shape, _LEAST) * small
    if greatest(boost) < VANISHED:
        return spread(0.0)
    d = shape + small - 1.0 / 3.0
    two_normals(states, room[1], room[2], room[3])
    x = get(room[2], 0)
    v = x / root(d * 9.0) + 1.0
    v = where_above(v, 0.0, v * v * v, _TINY)
    uniforms(states, room[1])
    gain = x * x * 0.5 + d * (1.0 - v + log(v)) - log(get(room[1], 0))
    drawn = d * v * exp(where_above(boost, VANISHED, boost, 0.0))
    put(room[1], 0, gain)
    put(room[2], 0, where_above(boost, VANISHED, drawn, 0.0))
    put(room[3], 0, boost)
    for lane in range(LANES):  # few: the first proposal nearly always does
        if not room[1, lane] > 0.0 and room[3, lane] >= VANISHED:
            more = 1.0 if room[0, lane] <= _BELOW_ONE else 0.0
            states[lane], again = gamma(states[lane], room[0, lane] + more)
            room[2, lane] = again * math.exp(room[3, lane])
    return get(room[2], 0)


@inlined()
def take_states(key, number, states):
    """Eight states for a word's topics."""
    state = stream(key, number)
    for lane in range(LANES):
        states[lane] = stream(state, lane)


@loop(fastmath=FAST)
def draw_gammas(key, first, counts, prior, seeds, occurs, out, sums, states, room):
    """Fill `out` (n, K padded) with gamma variables of shape counts + prior + seeds, of words numbered from `first` on.

    `prior` (n,) is the same for all topics; `seeds` is (n, K), or (0, K) for none. Words that do not `occur` are passed
    over. `sums` (K padded,) has the sums over words added. Columns beyond K are any numbers. `states` (8,) and
    `room` (6, 8) are scratch.
    """
    for w in range(counts.shape[0]):
        if not occurs[w]:
            continue
        take_states(key, first + w, states)
        for k in range(0, counts.shape[1], LANES):
            shape = get(counts[w], k) + prior[w]
            if seeds.shape[0] > 0:
                put(room[4], 0, shape)
                for i in range(k, min(k + LANES, seeds.shape[1])):
                    room[4, i - k] += seeds[w, i]
                shape = get(room[4], 0)
            x = eight_gammas(states, shape, room)
            put(sums, k, get(sums, k) + x)
            put(room[5], 0, x)
            for lane in range(LANES):
                out[w, k + lane] = room[5, lane]


@loop()
def normalise_words(scale, out):
    """Multiply the columns of `out` (n, K padded) by `scale` (K padded,)."""
    for w in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[w, k] *= scale[k]


@loop()
def draw_tables(key, first, counts, prior, out):
    """Fill `out` (n,) with the tables that a word's occurrences opened in all topics together (Antoniak).

    Occurrence i opens one with probability a / (a + i), a = prior.
    """
    for w in range(counts.shape[0]):
        state, tables, a = stream(key, first + w), 0.0, prior[w]
        for k in range(counts.shape[1]):
            n = int(counts[w, k] + 0.5)
            for i in range(min(n, _ONE_BY_ONE)):
                state, u = uniform(state)
                if u * (a + i) < a:
                    tables += 1.0
            if n > _ONE_BY_ONE:
                state, u = uniform(state)
                tables += math.floor(a * math.log((a + n) / (a + _ONE_BY_ONE)) + u)
        out[w] = tables


@loop()
def expected_words(counts, prior, seeds, total, out):
    """Add (counts + prior + seeds) / total, the expected topics given the counts, to `out` (V, K)."""
    for w in range(counts.shape[0]):
        for k in range(out.shape[1]):
            extra = seeds[w, k] if seeds.shape[0] > 0 else 0.0
            out[w, k] += (counts[w, k] + prior[w] + extra) / total[k]
