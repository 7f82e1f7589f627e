"""Where a new document's words are likely to take it: a start that is better than its prior."""

import numpy as np

from gptm._hot.algebra import total
from gptm._hot.documents import shifted_exp
from gptm._hot.settings import FAST, loop
from gptm._hot.words import expected_topics


@loop(fastmath=FAST)
def guess_block(indptr, indices, data, beta_T, lam, nu2, scratch):
    """Move a block of documents (CSR rows) from their priors, in place, after one look at their words.

    `lam` and `nu2` (n, K) hold the means and variances of independent priors. Same as, for each document::

        pi = softmax(lam)
        n = counts @ phi                                  # (K,) expected topic counts, phi from eq. 9 at lam
        g = n - N * pi                                    # the words' gradient for lam
        lam += sign(g) * log1p(nu2 * abs(g))
        nu2[:] = 1 / (1 / nu2 + n)

    Where the words say little this is a gradient step, scaled by the variance. Where they say much it would
    leap too far: n words more need a logit of about log n.
    """
    D, K = lam.shape
    work = scratch.topics
    e, n = work[2], work[3]
    for d in range(D):
        row = slice(indptr[d], indptr[d + 1])
        words, counts = indices[row], data[row]
        shifted_exp(lam[d], e, work[:2], scratch.bits)
        expected_topics(words, counts, e, beta_T, scratch.words[0], n)
        per = total(counts) / total(e)
        for i in range(K):
            g = n[i] - per * e[i]
            lam[d, i] += np.copysign(np.log1p(nu2[d, i] * abs(g)), g)
            nu2[d, i] /= 1.0 + n[i] * nu2[d, i]
