"""What a document's words say of its topics."""

import numpy as np
from numba import njit

from gptm._hot.settings import FAST, TINY


@njit(cache=True, nogil=True, fastmath=FAST)
def words_term(words, counts, exp_lam, beta_T, expected, ratios):
    """Words' part of one document's bound; fills its expected topic counts, with phi from eq. 9.

    Same as::

        phi = exp_lam * beta_T[words]                     # (n, K)
        norm = phi.sum(1)
        phi /= norm[:, None]
        expected[:] = counts @ phi
        ratios[:] = counts / norm
        return counts @ log(norm), counts @ (phi**2).sum(1)

    The second value says how sure the words are of their topics: N when each word has one topic.
    """
    K = exp_lam.shape[0]
    value = 0.0
    product = 1.0  # of words that occur once: one logarithm serves many of them
    sureness = 0.0
    for i in range(K):
        expected[i] = 0.0
    for n in range(words.shape[0]):
        w = words[n]
        norm = TINY
        square = 0.0
        for i in range(K):
            joint = exp_lam[i] * beta_T[w, i]
            norm += joint
            square += joint * joint
        if counts[n] == 1.0 and norm > 1e-100:
            product *= norm
            if product < 1e-200:
                value += np.log(product)
                product = 1.0
        else:
            value += counts[n] * np.log(norm)
        ratio = counts[n] / norm
        ratios[n] = ratio
        sureness += ratio * square / norm
        for i in range(K):
            expected[i] += ratio * beta_T[w, i]
    for i in range(K):
        expected[i] *= exp_lam[i]
    return value + np.log(product), sureness


@njit(cache=True, nogil=True, fastmath=FAST)
def add_expected_counts(words, ratios, exp_lam, beta_T, out):
    """Add one document's expected word-topic counts to `out` (V, K), the sum of eq. 8.

    Same as::

        out[words] += counts[:, None] * phi               # phi and ratios as in words_term
    """
    for n in range(words.shape[0]):
        w, ratio = words[n], ratios[n]
        for i in range(exp_lam.shape[0]):
            out[w, i] += ratio * exp_lam[i] * beta_T[w, i]
