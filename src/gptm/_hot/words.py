"""What a document's words say of its topics."""

import numpy as np

from gptm._hot.algebra import add_four, next_four, weights_of_four
from gptm._hot.settings import FAST, TINY, inlined


@inlined(fastmath=FAST)
def four_norms(words, n, exp_lam, beta_T, norms):
    """The part of `word_norms` for words n to n + 3: four at once keep more of the processor busy."""
    n, n_b, n_c, n_d = next_four(n, words.shape[0] - 1)
    a, b, c, d = beta_T[words[n]], beta_T[words[n_b]], beta_T[words[n_c]], beta_T[words[n_d]]
    norm_a = norm_b = norm_c = norm_d = TINY
    for i in range(exp_lam.shape[0]):
        e = exp_lam[i]
        norm_a += e * a[i]
        norm_b += e * b[i]
        norm_c += e * c[i]
        norm_d += e * d[i]
    norms[n], norms[n_b], norms[n_c], norms[n_d] = norm_a, norm_b, norm_c, norm_d


@inlined(fastmath=FAST)
def word_norms(words, exp_lam, beta_T, norms):
    """Fill `norms` with beta_T[words] @ exp_lam: how likely each word is, up to a factor; never zero."""
    for n in range(0, words.shape[0], 4):
        four_norms(words, n, exp_lam, beta_T, norms)


@inlined(fastmath=FAST)
def log_likelihood(counts, norms):
    """counts @ log(norms), the words' part of a document's bound."""
    value = 0.0
    product = 1.0  # of words that occur once: one logarithm serves many of them
    for n in range(counts.shape[0]):
        if counts[n] == 1.0 and norms[n] > 1e-100:
            product *= norms[n]
            if product < 1e-200:
                value += np.log(product)
                product = 1.0
        elif counts[n] > 0.0:
            value += counts[n] * np.log(norms[n])
    return value + np.log(product)


@inlined(fastmath=FAST)
def expected_topics(words, counts, exp_lam, beta_T, norms, out):
    """Fill `out` with the expected topic counts of a document, counts @ phi with phi from eq. 9; and `norms`.

    Same as::

        phi = exp_lam * beta_T[words]                     # (n, K)
        norms = phi.sum(1)                                # as by `word_norms`
        out = counts @ (phi / norms[:, None])
    """
    for i in range(out.shape[0]):
        out[i] = 0.0
    last = words.shape[0] - 1
    for n in range(0, last + 1, 4):
        four_norms(words, n, exp_lam, beta_T, norms)
        a, b, c, d = next_four(n, last)
        of_a, of_b, of_c, of_d = weights_of_four(counts, n, last)
        add_four(
            beta_T[words[a]],
            beta_T[words[b]],
            beta_T[words[c]],
            beta_T[words[d]],
            of_a / norms[a],
            of_b / norms[b],
            of_c / norms[c],
            of_d / norms[d],
            out,
        )
    for i in range(out.shape[0]):
        out[i] *= exp_lam[i]


@inlined(fastmath=FAST)
def add_expected_counts(words, ratios, exp_lam, out):
    """Add one document's share of the sum in eq. 8 to `out` (V, K): times beta_T, expected word-topic counts.

    Same as::

        out[words] += counts[:, None] * phi / beta_T[words]

    All documents share beta_T, so it can wait until all of them are added.
    """
    for n in range(words.shape[0]):
        row, ratio = out[words[n]], ratios[n]
        for i in range(exp_lam.shape[0]):
            row[i] += ratio * exp_lam[i]
