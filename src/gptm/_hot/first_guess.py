"""Where a new document's words are likely to take it: a start that is better than its prior."""

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.exponential import log
from gptm._hot.linear_algebra import shifted_exp
from gptm._hot.simd import LANES, get, larger, put, spread, where_above
from gptm._hot.word_evidence import expected_topics


@inlined(fastmath=FAST)
def guess_document(words, counts, N, beta_T, lam, nu2, e, n, norms):
    """Move one document from its prior, in place, after one look at its words.

    `lam` and `nu2` hold the means and variances of independent priors, in padded rows. Same as::

        pi = softmax(lam)
        n = counts @ phi                                  # (K,) expected topic counts, phi from eq. 9 at lam
        g = n - N * pi                                    # the words' gradient for lam
        lam += sign(g) * log1p(nu2 * abs(g))
        nu2[:] = 1 / (1 / nu2 + n)

    Where the words say little this is a gradient step, scaled by the variance. Where they say much it would
    leap too far: n words more need a logit of about log n. N is the sum of the counts; `e`, `n` and `norms` are
    scratch.
    """
    _, mass = shifted_exp(lam, e)
    expected_topics(words, counts, e, beta_T, norms, n)
    per, none = N / mass, spread(0.0)
    for i in range(0, lam.shape[0], LANES):
        variance, there = get(nu2, i), get(n, i)
        g = there - get(e, i) * per
        far = log(larger(g, none - g) * variance + 1.0)
        put(lam, i, get(lam, i) + where_above(g, none, far, none - far))
        put(nu2, i, variance / (there * variance + 1.0))
