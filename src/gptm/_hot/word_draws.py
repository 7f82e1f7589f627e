"""Topics given the counts of words in them, and tables of the urn that stands for the topics' common prior."""

import math

from gptm._hot.compile_options import loop
from gptm._hot.random_keys import gamma, stream, uniform

_ONE_BY_ONE = (
    10_000  # occurrences of a word in a topic; more open next to no table and are taken together
)


@loop()
def draw_gammas(key, first, counts, prior, seeds, out):
    """Fill `out` (n, K) with gamma variables of shape counts + prior + seeds, of words numbered from `first` on.

    `prior` (n,) is the same for all topics; `seeds` is (n, K), or (0, K) for none.
    """
    for w in range(counts.shape[0]):
        state = stream(key, first + w)
        for k in range(out.shape[1]):
            extra = seeds[w, k] if seeds.shape[0] > 0 else 0.0
            state, out[w, k] = gamma(state, counts[w, k] + prior[w] + extra)


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
