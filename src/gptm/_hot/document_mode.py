"""The mode of a document's logits, its words' topics summed out, by Newton's method."""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.first_guess import guess_document
from gptm._hot.linear_algebra import clear, dot, product, shifted_exp
from gptm._hot.panel_factors import factorise, factorise_anyway, solve
from gptm._hot.panels import add_gram
from gptm._hot.simd import LANES, get, greatest, larger, put, spread
from gptm._hot.word_evidence import log_likelihood, word_norms

_MOST = 100  # Newton steps
_SHORTEST = 1e-8  # of a step
_SLOPE = 1e-4  # part of the promised gain that a step must hold (Armijo)
_CLOSE = 1e-6  # nats that a step promises: after it the mode is found, since errors are squared
# The words may not leave less of a prior pivot than this: beyond, the Gaussian at the mode would be far too wide.
_LEAST = 0.1
# Keeps the start from lying just between two topics that the words do not tell apart, on a saddle.
_NUDGE = 1e-3


@inlined(fastmath=FAST)
def gather(words, data, beta_T, counts, norms, rows):
    """Copy rows of topics of a document's words, each over its largest number, which changes log p by a constant.

    Returns how many words there are with those that pad them, and the sum of the counts. Words that no topic has say
    nothing and count as nothing.
    """
    n, N = words.shape[0], 0.0
    length = -(-n // LANES) * LANES
    for w in range(n):
        source, high = beta_T[words[w]], spread(0.0)
        for i in range(0, source.shape[0], LANES):
            high = larger(high, get(source, i))
        most = greatest(high)
        counts[w] = data[w] if most > 0.0 else 0.0
        N += counts[w]
        scale = 1.0 / most if most > 0.0 else 0.0
        for i in range(0, source.shape[0], LANES):
            put(rows[w], i, get(source, i) * scale)
    for w in range(n, length):
        counts[w], norms[w] = 0.0, 1.0
        clear(rows[w])
    return length, N


@inlined(fastmath=FAST)
def add_words(beta, counts, norms, q, phi, n):
    """Fill `n` with expected topic counts at theta = q, and rows of `phi` with the words' topics, times root counts."""
    clear(n)
    for w in range(beta.shape[0]):
        root = np.sqrt(counts[w])
        scale, source, row = root / norms[w], beta[w], phi[w]
        for i in range(0, q.shape[0], LANES):
            share = get(source, i) * get(q, i) * scale
            put(row, i, share)
            put(n, i, get(n, i) + share * root)


@inlined(fastmath=FAST)
def safe_curvature(P, q, N, H):
    """Fill H with P + N (diag q - q q'), which is not below the curvature of -log p in any direction."""
    rows = P.shape[0]
    for k in range(rows):
        for i in range(k // LANES * LANES, rows, LANES):
            put(H[k], i, get(P[k], i) - get(q, i) * (N * q[k]))
        H[k, k] += N * q[k]


@inlined(fastmath=FAST)
def log_posterior(places, beta, counts, norms, P, m, eta, q, d, pull):
    """log p up to a constant at eta; fills the words' norms, q = softmax(eta), d = eta - m and P d."""
    _, mass = shifted_exp(eta, q)
    for i in range(0, eta.shape[0], LANES):
        put(q, i, get(q, i) * (1.0 / mass))
        put(d, i, get(eta, i) - get(m, i))
    product(P, d, pull)
    word_norms(places, q, beta, norms)
    return log_likelihood(counts, norms) - 0.5 * dot(d, pull)


@inlined(fastmath=FAST)
def find_mode(places, beta, counts, N, P, least, none, m, eta, phi, H, U, roots, norms, work):
    """Take eta to a mode of log p by Newton's method; returns the number of steps.

    Where the curvature is not safely positive, a bound of it takes its place: then a step is short, but in a direction
    in which log p rises. `U` is left with the factor of the curvature, or its bound, just before the last step, which
    is next to nothing. `norms` are padded with ones.
    """
    q, d, pull, n, x = work[0], work[1], work[2], work[3], work[4]
    there, q_new, d_new, pull_new = work[5], work[6], work[7], work[8]
    value = log_posterior(places, beta, counts, norms, P, m, eta, q, d, pull)
    for step in range(_MOST):
        add_words(beta, counts, norms, q, phi, n)
        safe_curvature(P, q, N, H)
        add_gram(phi, beta.shape[0], H)
        for i in range(n.shape[0]):
            H[i, i] -= n[i]
        if not factorise(H, least, U, roots):
            safe_curvature(P, q, N, H)
            factorise_anyway(H, none, U, roots)
        for i in range(0, x.shape[0], LANES):
            put(x, i, get(n, i) - get(q, i) * N - get(pull, i))
            put(there, i, get(x, i))
        solve(U, roots, x)
        promise, length = dot(x, there), 1.0
        if not promise > _CLOSE:
            for i in range(0, x.shape[0], LANES):
                put(eta, i, get(eta, i) + get(x, i))
            return step + 1
        while length > _SHORTEST:
            for i in range(0, x.shape[0], LANES):
                put(there, i, get(eta, i) + get(x, i) * length)
            new = log_posterior(places, beta, counts, norms, P, m, there, q_new, d_new, pull_new)
            if new >= value + _SLOPE * length * promise:
                break
            length *= 0.5
        if not length > _SHORTEST:  # no more to be gained but rounding
            return step + 1
        value = new
        for i in range(0, x.shape[0], LANES):
            put(eta, i, get(there, i))
        q, q_new = q_new, q
        pull, pull_new = pull_new, pull
    return _MOST


@inlined()
def take_prior(T, weight, none, root, P, H, roots, least):
    """Fill P = T diag(weight) T', its upper factor `root` and the `least` pivots; H and `roots` are scratch.

    Below its blocks of eight upon the diagonal, `root` is left with any numbers.
    """
    K, rows = T.shape[0], P.shape[0]
    for k in range(K):
        scale = np.sqrt(weight[k])
        for i in range(K):
            root[k, i] = T[i, k] * scale
    for i in range(rows):
        clear(P[i])
        P[i, i] = 0.0 if i < K else 1.0
    add_gram(root, K, P)
    for i in range(rows):
        for j in range(0, rows, LANES):
            put(H[i], j, get(P[i], j))
    factorise_anyway(H, none, root, roots)
    for i in range(rows):
        least[i] = _LEAST / (roots[i] * roots[i])


@inlined(fastmath=FAST)
def start_document(places, beta, counts, norms, N, m, P, mode, nu2, e, n):
    """Fill `mode` with a start for `find_mode`: one look at the words from the prior. Other rows are scratch."""
    for i in range(m.shape[0]):
        mode[i], nu2[i] = m[i], 1.0 / P[i, i]
    guess_document(places, counts, N, beta, mode, nu2, e, n, norms)
    for i in range(m.shape[0]):
        mode[i] += _NUDGE * (i * 5 % 7 - 3)
