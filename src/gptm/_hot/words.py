"""What a document's words say of its topics."""

import numpy as np
from numba import njit

from gptm._hot.settings import FAST, TINY


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
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
    K, n_words = exp_lam.shape[0], words.shape[0]
    sureness = 0.0
    for i in range(K):
        expected[i] = 0.0
    for n in range(0, n_words, 2):  # two words at once keep more of the processor busy
        m = min(n + 1, n_words - 1)  # the last one has no partner, and is its own without weight
        row, other = beta_T[words[n]], beta_T[words[m]]
        norm, norm_m = TINY, TINY
        square, square_m = 0.0, 0.0
        for i in range(K):
            joint, joint_m = exp_lam[i] * row[i], exp_lam[i] * other[i]
            norm += joint
            norm_m += joint_m
            square += joint * joint
            square_m += joint_m * joint_m
        ratio = counts[n] / norm
        ratio_m = counts[m] / norm_m if m > n else 0.0
        sureness += ratio * square / norm + ratio_m * square_m / norm_m
        for i in range(K):
            expected[i] += ratio * row[i] + ratio_m * other[i]
        ratios[m] = ratio_m
        ratios[n] = ratio
    for i in range(K):
        expected[i] *= exp_lam[i]

    value = 0.0
    product = 1.0  # of words that occur once: one logarithm serves many of them
    for n in range(n_words):
        if counts[n] == 1.0 and ratios[n] < 1e100:
            product *= ratios[n]
            if product > 1e200:
                value -= np.log(product)
                product = 1.0
        elif counts[n] > 0.0:
            value -= counts[n] * np.log(ratios[n] / counts[n])
    return value - np.log(product), sureness


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def add_expected_counts(words, ratios, exp_lam, beta_T, out):
    """Add one document's expected word-topic counts to `out` (V, K), the sum of eq. 8.

    Same as::

        out[words] += counts[:, None] * phi               # phi and ratios as in words_term
    """
    for n in range(words.shape[0]):
        w, ratio = words[n], ratios[n]
        for i in range(exp_lam.shape[0]):
            out[w, i] += ratio * exp_lam[i] * beta_T[w, i]
