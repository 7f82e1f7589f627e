"""What a document's words say of its topics.

Rows of topics are padded, see `vectors`. So are words, to a multiple of `FOUR`, and what belongs to them, with counts
of zero: see `take_words`.
"""

from gptm._hot.compile_options import FAST, TINY, inlined
from gptm._hot.exponential import log
from gptm._hot.linear_algebra import add_four, clear
from gptm._hot.simd import LANES, get, put, spread, total

FOUR = 4  # words at once: they keep more of the processor busy than one


@inlined()
def take_words(indices, data, words, counts, norms):
    """Copy a document's words and counts to longer arrays, and pad them.

    Returns how many words there are with those that pad them, and the length of what belongs to words.
    """
    n = indices.shape[0]
    n_words, length = -(-n // FOUR) * FOUR, -(-n // LANES) * LANES
    for j in range(n):
        words[j], counts[j] = indices[j], data[j]
    for j in range(n, n_words):
        words[j] = 0
    for j in range(n, length):
        counts[j], norms[j] = 0.0, 1.0
    return n_words, length


@inlined(fastmath=FAST)
def four_norms(words, n, exp_lam, beta_T, norms):
    """The part of `word_norms` for four words from n on."""
    a, b, c, d = beta_T[words[n]], beta_T[words[n + 1]], beta_T[words[n + 2]], beta_T[words[n + 3]]
    norm_a = norm_b = norm_c = norm_d = spread(0.0)
    for i in range(0, exp_lam.shape[0], LANES):
        e = get(exp_lam, i)
        norm_a += e * get(a, i)
        norm_b += e * get(b, i)
        norm_c += e * get(c, i)
        norm_d += e * get(d, i)
    norms[n], norms[n + 1] = total(norm_a) + TINY, total(norm_b) + TINY
    norms[n + 2], norms[n + 3] = total(norm_c) + TINY, total(norm_d) + TINY


@inlined(fastmath=FAST)
def word_norms(words, exp_lam, beta_T, norms):
    """Fill `norms` with beta_T[words] @ exp_lam: how likely each word is, up to a factor; never zero."""
    for n in range(0, words.shape[0], FOUR):
        four_norms(words, n, exp_lam, beta_T, norms)


@inlined(fastmath=FAST)
def log_likelihood(counts, norms):
    """counts @ log(norms), the words' part of a document's bound."""
    value = spread(0.0)
    for n in range(0, counts.shape[0], LANES):
        value += get(counts, n) * log(get(norms, n))
    return total(value)


@inlined(fastmath=FAST)
def expected_topics(words, counts, exp_lam, beta_T, norms, out):
    """Fill `out` with the expected topic counts of a document, counts @ phi with phi from eq. 9; and `norms`.

    Same as::

        phi = exp_lam * beta_T[words]                     # (n, K)
        norms = phi.sum(1)                                # as by `word_norms`
        out = counts @ (phi / norms[:, None])
    """
    clear(out)
    for n in range(0, words.shape[0], FOUR):
        four_norms(words, n, exp_lam, beta_T, norms)
        add_four(
            beta_T[words[n]],
            beta_T[words[n + 1]],
            beta_T[words[n + 2]],
            beta_T[words[n + 3]],
            counts[n] / norms[n],
            counts[n + 1] / norms[n + 1],
            counts[n + 2] / norms[n + 2],
            counts[n + 3] / norms[n + 3],
            out,
        )
    for i in range(0, out.shape[0], LANES):
        put(out, i, get(out, i) * get(exp_lam, i))


@inlined(fastmath=FAST)
def add_expected_counts(words, ratios, exp_lam, out):
    """Add one document's share of the sum in eq. 8 to `out` (V, K): times beta_T, expected word-topic counts.

    Same as::

        out[words] += counts[:, None] * phi / beta_T[words]

    All documents share beta_T, so it can wait until all of them are added.
    """
    for n in range(words.shape[0]):
        row, ratio = out[words[n]], ratios[n]
        for i in range(0, exp_lam.shape[0], LANES):
            put(row, i, get(row, i) + get(exp_lam, i) * ratio)
