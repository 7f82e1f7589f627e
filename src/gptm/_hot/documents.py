"""The posterior of one document, and of a block of them."""

import numpy as np
from numba import njit

from gptm._hot.algebra import inverse, weighted_precision
from gptm._hot.direction import LEVELS, level_of, newton_direction
from gptm._hot.exponential import exponential
from gptm._hot.settings import FAST
from gptm._hot.variances import settle_nu2
from gptm._hot.words import add_expected_counts, words_term


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def prior_gradient(P, lam, m, out):
    """Fill `out` with P (lam - m) and return (lam - m)' P (lam - m)."""
    K = lam.shape[0]
    for i in range(K):
        out[i] = 0.0
    for k in range(K):
        r = lam[k] - m[k]
        for i in range(K):
            out[i] += P[k, i] * r
    quad = 0.0
    for i in range(K):
        quad += (lam[i] - m[i]) * out[i]
    return quad


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
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


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def optimise_document(
    words,
    counts,
    m,
    P,
    R,
    levels,
    beta_T,
    lam,
    nu2,
    max_inner,
    tol,
    work,
    bits,
    chosen,
    ratios,
    expected,
):
    """Raise one document's bound l_d over lam and nu2 in place, phi and zeta at their optimum.

    Returns the words and normaliser terms of l_d and the number of inner iterations. Each of them takes nu2
    to its optimum for the present zeta (eq. 10), then lam by a damped Newton step that never lowers l_d.
    It stops when both promise less than `tol` nats per token. `expected` (V, K), unless empty, has the expected
    word-topic counts added.

    R[j] (K + 1, K) is (P + levels[j] I)^-1 with its row sums below. `work` (18 + K, K), `chosen` (K,) and `ratios` (2,
    the number of words or more) are scratch, `bits` is the second row of `work` as integers.
    """
    K = lam.shape[0]
    scratch = work[:2]
    # One by one: rows that are unpacked together count as not contiguous.
    n, n_new, e, e_new, half, t = work[2], work[3], work[4], work[5], work[6], work[7]
    g, x, Px, pull, p, upper = work[8], work[9], work[10], work[11], work[12], work[13]
    ratio, ratio_new = ratios[0], ratios[1]
    N = counts.sum()

    shift = shifted_exp(lam, e, scratch, bits)
    value, sure = words_term(words, counts, e, beta_T, n, ratio)
    value += N * shift
    quad = prior_gradient(P, lam, m, pull)
    for i in range(K):
        p[i] = P[i, i]
        scratch[0, i] = 0.5 * nu2[i]
    exponential(scratch[0], half, scratch[1], bits)
    present = 0.0
    inner = 0
    while inner < max_inner:
        inner += 1
        zeta = 0.0
        for i in range(K):
            zeta += e[i] * half[i]
        per = N / zeta
        for i in range(K):
            t[i] = per * e[i]
        moved = settle_nu2(p, t, nu2, half, g, upper, scratch, bits)
        zeta = 0.0
        for i in range(K):
            t[i] = e[i] * half[i]
            zeta += t[i]
        per = N / zeta
        squares = 0.0
        for i in range(K):
            t[i] *= per
            g[i] = n[i] - t[i] - pull[i]
            squares += n[i] * n[i]
        present = value - N * (np.log(zeta) + shift) - 0.5 * quad

        # What the words do not know of their topics they take from the curvature (Louis' missing information). Past
        # 0.7 the steps are cut back more often than they save iterations (measured).
        spread = N * N - squares
        missing = min(0.7, N * (N - sure) / spread) if spread > 1e-12 * N * N else 0.0
        share = 1.0 - max(missing, 0.0)
        j = level_of(e, N, levels)
        newton_direction(R[j], levels[j], t, share, N, g, x, Px, chosen, work[14:18], work[18:])
        promise = 0.0
        for i in range(K):
            promise += g[i] * x[i]
        if not promise > tol * max(N, 1.0):
            if not moved > tol * max(N, 1.0):
                break
            continue  # lam is where it should be; nu2 and zeta still settle with each other

        along, curved = 0.0, 0.0
        for i in range(K):
            along += x[i] * pull[i]
            curved += x[i] * Px[i]
        step = 1.0
        while True:
            for i in range(K):
                g[i] = lam[i] + step * x[i]
            shift_new = shifted_exp(g, e_new, scratch, bits)
            value_new, sure_new = words_term(words, counts, e_new, beta_T, n_new, ratio_new)
            value_new += N * shift_new
            quad_new = quad + step * (2.0 * along + step * curved)
            zeta = 0.0
            for i in range(K):
                zeta += e_new[i] * half[i]
            after = value_new - N * (np.log(zeta) + shift_new) - 0.5 * quad_new
            if after >= present or step < 1e-6:
                break
            step *= 0.5
        if not after >= present:  # the promise is below rounding: stay
            break
        for i in range(K):
            lam[i] = g[i]
            pull[i] += step * Px[i]
        value, sure, shift, quad, present = value_new, sure_new, shift_new, quad_new, after
        n, n_new, e, e_new, ratio, ratio_new = n_new, n, e_new, e, ratio_new, ratio
    if expected.shape[0] > 0:
        add_expected_counts(words, ratio, e, beta_T, expected)
    return present + 0.5 * quad, inner


@njit(cache=True, nogil=True)
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
):
    """Run `optimise_document` over a block of documents (CSR rows); return the inner iterations.

    The prior precision P of document d is T diag(weight[d]) T'; or `precision`, unless that is empty, for all of them,
    and `resolvents` are then (P + level I)^-1 and their row sums below for each of `LEVELS` times the mean of
    diag P. `terms` (n,) takes the words and normaliser terms.
    """
    D, K = lam.shape
    work = np.zeros((18 + K, K))
    bits = work[1].view(np.int64)
    chosen = np.empty(K, dtype=np.int64)
    longest = 0
    for d in range(D):
        longest = max(longest, indptr[d + 1] - indptr[d])
    ratios = np.empty((2, longest))
    shared = precision.shape[0] > 0
    P = precision if shared else np.empty((K, K))
    R = resolvents if shared else np.empty((1, K + 1, K))
    levels = np.trace(P) / K * LEVELS
    inner = 0
    for d in range(D):
        row = slice(indptr[d], indptr[d + 1])
        words, counts = indices[row], data[row]
        if not shared:
            weighted_precision(T, weight[d], P)
            shifted_exp(lam[d], work[2], work[:2], bits)
            levels = np.trace(P) / K * LEVELS
            j = level_of(work[2], counts.sum(), levels)
            levels = levels[j : j + 1]
            resolvent(P, levels[0], work[18:], R[0])
        terms[d], used = optimise_document(
            words,
            counts,
            m[d],
            P,
            R,
            levels,
            beta_T,
            lam[d],
            nu2[d],
            max_inner,
            tol,
            work,
            bits,
            chosen,
            ratios,
            expected,
        )
        inner += used
    return inner


@njit(cache=True, nogil=True, forceinline=True)
def resolvent(P, level, scratch, out):
    """Fill `out` (K + 1, K) with (P + level I)^-1 and its row sums."""
    K = P.shape[0]
    for i in range(K):
        P[i, i] += level
    inverse(P, scratch, out[:K])
    for i in range(K):
        P[i, i] -= level
        out[K, i] = 0.0
    for k in range(K):
        for i in range(K):
            out[K, i] += out[k, i]
