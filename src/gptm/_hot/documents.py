"""The posterior of one document, and of a block of them."""

import numpy as np

from gptm._hot.algebra import dot, inverse, product, total, weighted_precision
from gptm._hot.direction import LEVELS, level_of, newton_direction
from gptm._hot.exponential import exponential
from gptm._hot.settings import FAST, inlined, loop
from gptm._hot.variances import settle_nu2
from gptm._hot.words import (
    add_expected_counts,
    expected_topics,
    log_likelihood,
    word_norms,
)

# Part of the words' curvature that steps reckon with. The rest is information that is missing: words do not know their
# topics (Louis). It differs between documents, but reckoning with each one's own brought no more than this one number.
SHARE = 0.4
_IDLE = 1e-12  # nats per token: a step that promises less is hardly more than rounding


@inlined(fastmath=FAST)
def shifted_exp(lam, out, scratch, bits):
    """Fill `out` with exp(lam - max lam), at least exp(-700), and return max lam."""
    shift = lam[0]
    for i in range(1, lam.shape[0]):
        shift = max(shift, lam[i])
    argument, power = scratch[0], scratch[1]
    for i in range(lam.shape[0]):
        argument[i] = lam[i] - shift
    exponential(argument, out, power, bits)
    return shift


@inlined(fastmath=FAST)
def optimise_document(
    words,
    counts,
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

    p is diag P, and R[j] (K + 2, K) is (P + levels[j] I)^-1 with its row sums and its diagonal below.
    """
    K = lam.shape[0]
    work, bits, per_word = scratch.topics, scratch.bits, scratch.words
    pair = work[:2]
    # One by one: rows that are unpacked together count as not contiguous.
    n, e, e_new, half, t = work[2], work[3], work[4], work[5], work[6]
    g, x, Px, pull = work[7], work[8], work[9], work[10]
    norms, norms_new = per_word[0, : words.shape[0]], per_word[1, : words.shape[0]]
    ratios = per_word[2, : words.shape[0]]
    N = total(counts)

    shift = shifted_exp(lam, e, pair, bits)
    for i in range(K):
        x[i] = lam[i] - m[i]
    product(P, x, pull)
    for i in range(K):
        pair[0, i] = 0.5 * nu2[i]
    exponential(pair[0], half, pair[1], bits)
    zeta = dot(e, half)
    level = level_of(e, N, levels)
    enough, idle = tol * max(N, 1.0), min(tol, _IDLE) * max(N, 1.0)
    rounding = 1e-15 * N
    inner = 0
    while inner < max_inner:
        inner += 1
        expected_topics(words, counts, e, beta_T, norms, n)
        per = N / zeta
        for i in range(K):
            t[i] = per * e[i]
        moved = settle_nu2(p, t, nu2, half, g, pair, bits)
        zeta = dot(e, half)
        per = N / zeta
        for i in range(K):
            t[i] = per * e[i] * half[i]
            g[i] = n[i] - t[i] - pull[i]
        newton_direction(
            R[level], levels[level], t, SHARE, N, g, x, Px, scratch.chosen, work[12:16], work[16:]
        )
        promise = dot(x, g)
        if not promise > idle:
            if moved > enough:
                continue  # lam is where it should be; nu2 and zeta still settle with each other
            break
        towards, along, curved = dot(x, n), dot(x, pull), dot(x, Px)
        step = 1.0
        while True:
            for i in range(K):
                g[i] = lam[i] + step * x[i]
            shift_new = shifted_exp(g, e_new, pair, bits)
            zeta_new = dot(e_new, half)
            gain = -N * (np.log(zeta_new / zeta) + shift_new - shift) - step * (
                along + 0.5 * step * curved
            )
            # With phi as it is, a lower bound of what the words gain, their likelihood need not be known.
            if gain + step * towards >= -rounding:
                break
            word_norms(words, e_new, beta_T, norms_new)
            gain += log_likelihood(counts, norms_new) - log_likelihood(counts, norms)
            if gain + N * (shift_new - shift) >= -rounding or step < 1e-6:
                break
            step *= 0.5
        if step < 1e-6:  # the promise is below rounding: stay
            break
        for i in range(K):
            lam[i] = g[i]
            pull[i] += step * Px[i]
        shift, zeta = shift_new, zeta_new
        e, e_new = e_new, e
        if not max(moved, promise) > enough:  # after the step: it was there already
            break
    if not bounded:
        return 0.0, inner
    word_norms(words, e, beta_T, norms)
    if expected.shape[0] > 0:
        for w in range(words.shape[0]):
            ratios[w] = counts[w] / norms[w]
        add_expected_counts(words, ratios, e, expected)
    return log_likelihood(counts, norms) - N * np.log(zeta), inner


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
    max_inner,
    tol,
    terms,
    expected,
    scratch,
):
    """Run `optimise_document` over a block of documents (CSR rows); return the inner iterations.

    The prior precision P of document d is T diag(weight[d]) T'; or `precision`, unless that is empty, for all of them,
    and `resolvents` are then (P + level I)^-1, with row sums and diagonal below, for each of `LEVELS` times the mean of
    diag P. `terms` (n,) takes the words and normaliser terms, unless it is empty.
    """
    shared, bounded = precision.shape[0] > 0, terms.shape[0] > 0
    P = precision if shared else scratch.precision
    R = resolvents if shared else scratch.resolvent
    levels, e, p = scratch.levels, scratch.topics[2], scratch.topics[11]
    if shared:
        take_diagonal(P, p, levels)
    inner = 0
    for d in range(lam.shape[0]):
        row = slice(indptr[d], indptr[d + 1])
        words, counts = indices[row], data[row]
        if not shared:
            levels = scratch.levels
            weighted_precision(T, weight[d], P)
            take_diagonal(P, p, levels)
            shifted_exp(lam[d], e, scratch.topics[:2], scratch.bits)
            j = level_of(e, total(counts), levels)
            levels = levels[j : j + 1]
            resolvent(P, levels[0], scratch.topics[16:], R[0])
        term, used = optimise_document(
            words,
            counts,
            m[d],
            P,
            p,
            R,
            levels,
            beta_T,
            lam[d],
            nu2[d],
            max_inner,
            tol,
            bounded,
            expected,
            scratch,
        )
        inner += used
        if bounded:
            terms[d] = term
    return inner


@inlined()
def take_diagonal(P, p, levels):
    """Fill `p` with diag P, and `levels` with `LEVELS` times its mean."""
    for i in range(P.shape[0]):
        p[i] = P[i, i]
    unit = total(p) / P.shape[0]
    for j in range(levels.shape[0]):
        levels[j] = LEVELS[j] * unit


@inlined()
def resolvent(P, level, scratch, out):
    """Fill `out` (K + 2, K) with (P + level I)^-1, its row sums and its diagonal."""
    K = P.shape[0]
    for i in range(K):
        P[i, i] += level
    inverse(P, scratch, out[:K])
    for i in range(K):
        P[i, i] -= level
        out[K, i] = 0.0
        out[K + 1, i] = out[i, i]
    for k in range(K):
        for i in range(K):
            out[K, i] += out[k, i]
