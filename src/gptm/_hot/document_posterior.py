"""The posterior of one document, and of a block of them."""

import numpy as np

from gptm._hot.compile_options import FAST, inlined, loop
from gptm._hot.exponential import exp
from gptm._hot.first_guess import guess_document
from gptm._hot.linear_algebra import dot, inverse, product, shifted_exp, summed, weighted_precision
from gptm._hot.logit_variances import settle_nu2
from gptm._hot.newton import LEVELS, level_of, newton_direction
from gptm._hot.simd import LANES, get, put
from gptm._hot.word_evidence import (
    add_expected_counts,
    expected_topics,
    log_likelihood,
    take_words,
    word_norms,
)

# Part of the words' curvature that steps reckon with. The rest is information that is missing: words do not know their
# topics (Louis). It differs between documents, but reckoning with each one's own brought no more than this one number.
SHARE = 0.4
_IDLE = 1e-12  # nats per token: a step that promises less is hardly more than rounding
_SHORTEST = 1e-6  # of a Newton step
# What pads the rows: a topic that no document has, at its prior, so that nothing pulls on it.
NOWHERE, ANYTHING = -1e300, 1.0  # lam and m; nu2 and p


@inlined(fastmath=FAST)
def optimise_document(
    words,
    counts,
    N,
    m,
    P,
    p,
    R,
    levels,
    beta_T,
    lam,
    nu2,
    max_inner,
    tol,
    bounded,
    expected,
    scratch,
):
    """Raise one document's bound l_d over lam and nu2 in place, phi and zeta at their optimum.

    Returns the words and normaliser terms of l_d, if it is to be `bounded`, and the number of inner iterations. Each of
    them takes nu2 to its optimum for the present zeta (eq. 10), then lam by a damped Newton step that never lowers l_d.
    The last one promises less than `tol` nats per token. `expected` (V, K), unless empty, has the expected counts of a
    `bounded` document added, see `add_expected_counts`.

    N is the sum of the counts, p is diag P, and R[j] is (P + levels[j] I)^-1 with its row sums and its
    diagonal below. All rows of topics are padded: lam and m with `NOWHERE`, nu2 and p with `ANYTHING`, beta_T, P and R
    with zeros, the latter two below as well. Words and counts are padded too, see `take_words`, which fills the first
    row of `scratch.words` as well.
    """
    K, work = scratch.chosen.shape[0], scratch.rows
    # One by one: rows that are unpacked together count as not contiguous.
    n, e, e_new, half, t = work[0], work[1], work[2], work[3], work[4]
    g, x, Px, pull, old = work[5], work[6], work[7], work[8], work[9]
    eights = range(0, lam.shape[0], LANES)
    norms = scratch.words[0, : counts.shape[0]]

    shift, mass = shifted_exp(lam, e)
    for i in eights:
        put(x, i, get(lam, i) - get(m, i))
        put(half, i, exp(get(nu2, i) * 0.5))
    product(P, x, pull)
    zeta = dot(e, half)
    level = level_of(e, mass, K, N, levels)
    enough, idle = tol * max(N, 1.0), min(tol, _IDLE) * max(N, 1.0)
    inner = 0
    while inner < max_inner:
        inner += 1
        expected_topics(words, counts, e, beta_T, norms, n)
        for i in eights:
            put(t, i, get(e, i) * (N / zeta))
        moved = settle_nu2(p, t, nu2, half, old)
        zeta = dot(e, half)
        for i in eights:
            of_t = get(e, i) * get(half, i) * (N / zeta)
            put(t, i, of_t)
            put(g, i, get(n, i) - of_t - get(pull, i))
        newton_direction(
            R[level],
            levels[level],
            t,
            SHARE,
            N,
            g,
            x,
            Px,
            scratch.chosen,
            scratch.newton,
            scratch.small,
        )
        promise = dot(x, g)
        if not promise > idle:
            if moved > enough:
                continue  # lam is where it should be; nu2 and zeta still settle with each other
            break
        step, shift_new, zeta_new = step_along(
            words,
            counts,
            N,
            beta_T,
            lam,
            x,
            n,
            pull,
            Px,
            half,
            shift,
            zeta,
            g,
            e_new,
            scratch.words,
        )
        if step == 0.0:  # the promise is below rounding: stay
            break
        for i in eights:
            put(lam, i, get(g, i))
            put(pull, i, get(pull, i) + get(Px, i) * step)
        shift, zeta = shift_new, zeta_new
        e, e_new = e_new, e
        if not max(moved, promise) > enough:  # after the step: it was there already
            break
    if not bounded:
        return 0.0, inner
    word_norms(words, e, beta_T, norms)
    if expected.shape[0] > 0:
        ratios = scratch.words[1, : counts.shape[0]]
        for w in range(0, counts.shape[0], LANES):
            put(ratios, w, get(counts, w) / get(norms, w))
        add_expected_counts(words, ratios, e, expected)
    return log_likelihood(counts, norms) - N * np.log(zeta), inner


@inlined(fastmath=FAST)
def step_along(
    words, counts, N, beta_T, lam, x, n, pull, Px, half, shift, zeta, there, e_new, of_words
):
    """How far to go from lam in the direction x: all the way, or half of it, and so on, until the bound does not fall.

    Returns that length, which is zero where even the shortest step lowers the bound: that is rounding. Then the largest
    logit there, and zeta. Fills `there` with the logits, and `e_new` with their exponentials over that of the largest.
    `of_words` holds the words' norms at lam; its second row is scratch.
    """
    norms, norms_new = of_words[0, : counts.shape[0]], of_words[1, : counts.shape[0]]
    towards, along, curved = dot(x, n), dot(x, pull), dot(x, Px)
    rounding = 1e-15 * N
    # Of a positive definite P: where N is huge, the direction may be rounding and nothing else.
    step = 1.0 if curved >= 0.0 else 0.0
    while step > _SHORTEST:
        for i in range(0, lam.shape[0], LANES):
            put(there, i, get(lam, i) + get(x, i) * step)
        shift_new, _ = shifted_exp(there, e_new)
        zeta_new = dot(e_new, half)
        gain = -N * (np.log(zeta_new / zeta) + shift_new - shift) - step * (
            along + 0.5 * step * curved
        )
        # With phi as it is, a lower bound of what the words gain, their likelihood need not be known.
        if gain + step * towards >= -rounding:
            return step, shift_new, zeta_new
        for w in range(0, counts.shape[0], LANES):
            put(norms_new, w, get(norms, w))  # with what pads them
        word_norms(words, e_new, beta_T, norms_new)
        gain += log_likelihood(counts, norms_new) - log_likelihood(counts, norms)
        if gain + N * (shift_new - shift) >= -rounding:
            return step, shift_new, zeta_new
        step *= 0.5
    return 0.0, shift, zeta


@loop()
def document_block(
    indptr,
    indices,
    data,
    m,
    T,
    weight,
    precision,
    resolvents,
    beta_T,
    lam,
    nu2,
    guess,
    max_inner,
    tol,
    terms,
    expected,
    scratch,
):
    """Run `optimise_document` over a block of documents (CSR rows); return the inner iterations.

    The prior precision P of document d is T diag(weight[d]) T'; or `precision`, unless that is empty, for all of them,
    and `resolvents` are then (P + level I)^-1, with row sums and diagonal below, for each of `LEVELS` times the mean of
    diag P. `lam` and `nu2` (n, K) are where documents start; with `guess`, they are its priors, which
    `guess_document` leaves first. `terms` (n,) takes the words and normaliser terms, unless it is empty. Rows of
    beta_T, precision, resolvents and expected are padded, those of the second and third below as well.
    """
    shared, bounded = precision.shape[0] > 0, terms.shape[0] > 0
    P = precision if shared else scratch.precision
    R = resolvents if shared else scratch.resolvent
    levels, K = scratch.levels, lam.shape[1]
    n, e = scratch.rows[0], scratch.rows[1]
    own_m, own_lam, own_nu2, p = scratch.own[0], scratch.own[1], scratch.own[2], scratch.own[3]
    if shared:
        take_diagonal(P, K, p, levels)
    inner = 0
    for d in range(lam.shape[0]):
        row = slice(indptr[d], indptr[d + 1])
        n_words, length = take_words(
            indices[row], data[row], scratch.indices, scratch.words[2], scratch.words[0]
        )
        words, counts = scratch.indices[:n_words], scratch.words[2, :length]
        N = summed(data[row])
        take_in(m[d], own_m, NOWHERE)
        take_in(lam[d], own_lam, NOWHERE)
        take_in(nu2[d], own_nu2, ANYTHING)
        if guess:
            guess_document(words, counts, N, beta_T, own_lam, own_nu2, e, n, scratch.words[0])
        if not shared:
            levels = scratch.levels
            weighted_precision(T, weight[d], P)
            take_diagonal(P, K, p, levels)
            _, mass = shifted_exp(own_lam, e)
            j = level_of(e, mass, K, N, levels)
            levels = levels[j : j + 1]
            resolvent(P, levels[0], scratch.small, R[0])
        term, used = optimise_document(
            words,
            counts,
            N,
            own_m,
            P,
            p,
            R,
            levels,
            beta_T,
            own_lam,
            own_nu2,
            max_inner,
            tol,
            bounded,
            expected,
            scratch,
        )
        for i in range(K):
            lam[d, i], nu2[d, i] = own_lam[i], own_nu2[i]
        inner += used
        if bounded:
            terms[d] = term
    return inner


@inlined()
def take_in(source, row, rest):
    """Copy to a padded row, which goes on with `rest`."""
    K = source.shape[0]
    for i in range(K):
        row[i] = source[i]
    for i in range(K, row.shape[0]):
        row[i] = rest


@inlined()
def take_diagonal(P, K, p, levels):
    """Fill the padded `p` with diag P, and `levels` with `LEVELS` times its mean."""
    trace = 0.0
    for i in range(K):
        p[i] = P[i, i]
        trace += p[i]
    for i in range(K, p.shape[0]):
        p[i] = ANYTHING
    for j in range(levels.shape[0]):
        levels[j] = LEVELS[j] * trace / K


@inlined()
def resolvent(P, level, scratch, out):
    """Fill `out` with (P + level I)^-1, and below its row sums and its diagonal; `scratch` is (K, K)."""
    K, rows = scratch.shape[0], P.shape[0]
    for i in range(K):
        P[i, i] += level
    inverse(P[:K], scratch, out[:K])
    for i in range(K):
        P[i, i] -= level
        out[rows, i] = 0.0
        out[rows + 1, i] = out[i, i]
    for k in range(K):
        for i in range(K):
            out[rows, i] += out[k, i]
