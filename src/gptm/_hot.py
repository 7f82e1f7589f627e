"""Every compiled loop and nothing else: flat arrays in, flat arrays out.

All functions release the interpreter lock, so blocks of documents run in plain Python threads; none
uses numba's own threading, whose default layer aborts on concurrent use. The callers validate,
allocate and decide on blocks; sums run in an order that does not depend on the number of threads.
"""

import numpy as np
from numba import njit

# Lets sums vectorise, but keeps NaN and infinity meaningful (plain fastmath=True does not).
_FAST = {"reassoc", "contract", "nsz"}
_TINY = 1e-300
_LOG_T_STEP = 0.6  # the trapezoid rule's relative error is then below 1e-6


@njit(cache=True, nogil=True, fastmath=_FAST)
def words_term(words, counts, exp_lam, beta_T, expected):
    """Words' part of one document's bound; fills its expected topic counts, with phi from eq. 9.

    Same as::

        phi = exp_lam * beta_T[words]                     # (n, K)
        norm = phi.sum(1)
        phi /= norm[:, None]
        expected[:] = counts @ phi
        return counts @ log(norm), counts @ (phi**2).sum(1)

    The second value says how sure the words are of their topics: N when each word has one topic.
    """
    K = exp_lam.shape[0]
    value = 0.0
    sureness = 0.0
    for i in range(K):
        expected[i] = 0.0
    for n in range(words.shape[0]):
        w = words[n]
        norm = _TINY
        square = 0.0
        for i in range(K):
            joint = exp_lam[i] * beta_T[w, i]
            norm += joint
            square += joint * joint
        value += counts[n] * np.log(norm)
        ratio = counts[n] / norm
        sureness += ratio * square / norm
        for i in range(K):
            expected[i] += ratio * beta_T[w, i]
    for i in range(K):
        expected[i] *= exp_lam[i]
    return value, sureness


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_expected_counts(words, counts, exp_lam, beta_T, out):
    """Add one document's expected word-topic counts to `out` (V, K), the sum of eq. 8.

    Same as::

        phi = exp_lam * beta_T[words]
        out[words] += counts[:, None] * phi / phi.sum(1, keepdims=True)
    """
    K = exp_lam.shape[0]
    for n in range(words.shape[0]):
        w = words[n]
        norm = _TINY
        for i in range(K):
            norm += exp_lam[i] * beta_T[w, i]
        ratio = counts[n] / norm
        for i in range(K):
            out[w, i] += ratio * exp_lam[i] * beta_T[w, i]


@njit(cache=True, nogil=True, fastmath=_FAST)
def cholesky(A, L):
    """Fill the lower triangle of `L` with the Cholesky factor of A (its lower triangle is read)."""
    K = A.shape[0]
    for i in range(K):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]


@njit(cache=True, nogil=True, fastmath=_FAST)
def cholesky_solve(L, g, x):
    """Fill x with (L L')^-1 g."""
    K = L.shape[0]
    for i in range(K):
        s = g[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s / L[i, i]
    for i in range(K - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@njit(cache=True, nogil=True)
def solve_nu2(p, t0, start):
    """The root nu2 of nu2 * (p + t0 * exp(nu2 / 2)) = 1, where the gradient for nu2 vanishes.

    The left side is convex and increasing, so Newton's method from the right of the root falls
    monotonically onto it; whatever the start, the first step is cut back to an upper bound of the root.
    """
    upper = 1.0 / p
    if t0 > 0.0:
        upper = min(upper, 2.0 * np.log1p(0.5 / t0))
    x = min(start, upper)
    for _ in range(50):
        growth = t0 * np.exp(0.5 * x)
        new = x - (x * (p + growth) - 1.0) / (p + growth * (1.0 + 0.5 * x))
        new = min(new, upper)
        if abs(new - x) <= 1e-12 * x:
            return new
        x = new
    return x


@njit(cache=True, nogil=True, fastmath=_FAST)
def newton_direction(P, t, g, N, missing, A, L, x, y):
    """Fill x with the direction H^-1 g, H = P + (1 - missing) (diag t - t t' / N).

    diag t - t t'/N is minus the curvature of the normaliser with zeta at its optimum. The words take part of
    it back: what they do not know about their topics is `missing` as a share (Louis' missing information).
    """
    K = g.shape[0]
    share = 1.0 - missing
    for i in range(K):
        for k in range(i + 1):
            A[i, k] = P[i, k]
        A[i, i] += share * t[i]
    cholesky(A, L)
    cholesky_solve(L, g, x)
    if N > 0.0:
        cholesky_solve(L, t, y)
        tx = 0.0
        ty = 0.0
        for i in range(K):
            tx += t[i] * x[i]
            ty += t[i] * y[i]
        # Sherman-Morrison. N - share * ty > 0, since y' (A - share t t'/N) y > 0.
        factor = share * tx / (N - share * ty)
        for i in range(K):
            x[i] += factor * y[i]


@njit(cache=True, nogil=True, fastmath=_FAST)
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


@njit(cache=True, nogil=True, fastmath=_FAST)
def shifted_exp(lam, out):
    """Fill `out` with exp(lam - max lam) and return max lam."""
    shift = lam[0]
    for i in range(1, lam.shape[0]):
        shift = max(shift, lam[i])
    for i in range(lam.shape[0]):
        out[i] = np.exp(lam[i] - shift)
    return shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def optimise_document(words, counts, m, P, beta_T, lam, nu2, max_inner, tol, work):
    """Raise one document's bound l_d over lam and nu2 in place, phi and zeta at their optimum.

    Returns the words and normaliser terms of l_d and the number of inner iterations. Each of them takes nu2
    to its optimum for the present zeta (eq. 10), then lam by a damped Newton step that never lowers l_d.
    It stops when both promise less than `tol` nats per token.
    """
    K = lam.shape[0]
    n, n_new, e, t, g, x, y, trial, pull = work[:9]
    A, L = work[9 : 9 + K], work[9 + K :]
    N = counts.sum()

    shift = shifted_exp(lam, e)
    value, sure = words_term(words, counts, e, beta_T, n)
    value += N * shift
    quad = prior_gradient(P, lam, m, pull)
    for inner in range(max_inner):
        zeta = 0.0
        for i in range(K):
            zeta += e[i] * np.exp(0.5 * nu2[i])
        moved = 0.0  # twice what nu2 gained, to second order
        for i in range(K):
            old = nu2[i]
            nu2[i] = solve_nu2(P[i, i], N * e[i] / zeta, old)
            moved += (1.0 - old / nu2[i]) ** 2
        zeta = 0.0
        for i in range(K):
            t[i] = e[i] * np.exp(0.5 * nu2[i])
            zeta += t[i]
        spread = N
        for i in range(K):
            t[i] *= N / zeta
            g[i] = n[i] - t[i] - pull[i]
            if N > 0.0:
                spread -= n[i] * n[i] / N
        present = value - N * (np.log(zeta) + shift) - 0.5 * quad

        # Past 0.7 the steps are cut back more often than they save iterations (measured).
        missing = min(0.7, (N - sure) / spread) if spread > 1e-12 * N else 0.0
        newton_direction(P, t, g, N, max(missing, 0.0), A, L, x, y)
        promise = 0.0
        for i in range(K):
            promise += g[i] * x[i]
        if not promise > tol * max(N, 1.0):
            if not moved > tol * max(N, 1.0):
                return present + 0.5 * quad, inner + 1
            continue  # lam is where it should be; nu2 and zeta still settle with each other

        step = 1.0
        while True:
            for i in range(K):
                trial[i] = lam[i] + step * x[i]
            shift_new = shifted_exp(trial, e)
            value_new, sure_new = words_term(words, counts, e, beta_T, n_new)
            value_new += N * shift_new
            quad_new = prior_gradient(P, trial, m, pull)
            zeta = 0.0
            for i in range(K):
                zeta += e[i] * np.exp(0.5 * nu2[i])
            after = value_new - N * (np.log(zeta) + shift_new) - 0.5 * quad_new
            if after >= present:
                break
            step *= 0.5
            if step < 1e-6:  # the promise is below rounding: stay
                return present + 0.5 * quad, inner + 1
        for i in range(K):
            lam[i] = trial[i]
            n[i] = n_new[i]
        value, sure, shift, quad, present = value_new, sure_new, shift_new, quad_new, after
    return present + 0.5 * quad, max_inner


@njit(cache=True, nogil=True, fastmath=_FAST)
def weighted_precision(T, weight, P):
    """Fill P with T diag(weight) T', the prior precision of a new document."""
    K = T.shape[0]
    for i in range(K):
        for j in range(i + 1):
            s = 0.0
            for k in range(K):
                s += T[i, k] * weight[k] * T[j, k]
            P[i, j] = s
            P[j, i] = s


@njit(cache=True, nogil=True)
def document_block(
    indptr, indices, data, m, T, weight, beta_T, lam, nu2, max_inner, tol, terms, expected
):
    """Run `optimise_document` over a block of documents (CSR rows); return the inner iterations.

    The prior precision of document d is T diag(weight[d]) T'; a `weight` of one row is shared by all.
    `terms` (n,) takes the words and normaliser terms. `expected` (V, K), unless empty, has the expected
    word-topic counts added.
    """
    D, K = lam.shape
    work = np.zeros((9 + 2 * K, K))
    P = np.empty((K, K))
    e = np.empty(K)
    inner = 0
    for d in range(D):
        if d == 0 or weight.shape[0] > 1:
            weighted_precision(T, weight[d], P)
        row = slice(indptr[d], indptr[d + 1])
        words, counts = indices[row], data[row]
        terms[d], used = optimise_document(
            words, counts, m[d], P, beta_T, lam[d], nu2[d], max_inner, tol, work
        )
        inner += used
        if expected.shape[0] > 0:
            shifted_exp(lam[d], e)
            add_expected_counts(words, counts, e, beta_T, expected)
    return inner


@njit(cache=True, nogil=True, fastmath=_FAST)
def expected_softmax(lam, nu2, nodes, weights, out):
    """Fill `out` (n, K) with E[softmax(eta)] for eta ~ N(lam[d], diag nu2[d]), row by row.

    With 1/S = integral of exp(-t S) over t > 0, S = sum_j exp(eta_j), the expectation falls apart into
    one-dimensional ones, since the eta_j are independent:

        E[exp(eta_i) / S] = integral  E[exp(eta_i - t exp(eta_i))]  prod_{j != i} E[exp(-t exp(eta_j))]  dt

    Gauss-Hermite `nodes` and `weights` take the inner expectations, the trapezoid rule in log t the outer
    one: its integrand is analytic and falls off on both sides. Symmetric in the topics, no sampling.
    """
    D, K = lam.shape
    G = nodes.shape[0]
    exp_eta = np.empty((K, G))
    ratio = np.empty(K)
    growth = np.exp(_LOG_T_STEP)
    for d in range(D):
        shift = lam[d, 0]
        for i in range(1, K):
            shift = max(shift, lam[d, i])
        mean_S = 0.0
        for i in range(K):
            sd = min(np.sqrt(nu2[d, i]), 100.0)  # softmax is 0 or 1 there; exp must not overflow
            for g in range(G):
                exp_eta[i, g] = np.exp(lam[d, i] - shift + sd * nodes[g])
                mean_S += weights[g] * exp_eta[i, g]
            out[d, i] = 0.0
        # Left of t = 1e-3 / E[S] the integrand is t E[exp(eta_i)] to that accuracy, and the rest of the
        # trapezoid rule is a geometric sum; on the right, nothing is left once the product vanishes.
        t = 1e-3 / mean_S
        tail = 1.0 / (growth - 1.0)
        product = 1.0
        while product > 1e-12:
            product = 1.0
            for i in range(K):
                survive = _TINY
                slope = 0.0
                for g in range(G):
                    part = weights[g] * np.exp(-t * exp_eta[i, g])
                    survive += part
                    slope += part * exp_eta[i, g]
                product *= survive
                ratio[i] = slope / survive
            for i in range(K):
                out[d, i] += (1.0 + tail) * t * product * ratio[i]
            tail = 0.0
            t *= growth
        total = 0.0
        for i in range(K):
            total += out[d, i]
        for i in range(K):
            out[d, i] /= total


@njit(cache=True, nogil=True)
def next_uniform(state):
    """The next state of the splitmix64 generator, and its uniform number in [0, 1)."""
    state = np.uint64(state) + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return state, (z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True, fastmath=_FAST)
def gibbs_sweep(docs, words, topics, doc_topic, word_topic, topic_total, alpha, eta, state):
    """One sweep of collapsed Gibbs sampling for LDA over a run of tokens, all counts in place.

    Each token leaves its topic and draws a new one in proportion to
    (doc_topic + alpha) (word_topic + eta) / (topic_total + V eta).
    """
    V, K = word_topic.shape
    cumulative = np.empty(K)
    inverse = 1.0 / (topic_total + V * eta)
    seed = state[0]  # in a register: threads would fight over a cache line of states
    for j in range(words.shape[0]):
        d, w, i = docs[j], words[j], topics[j]
        doc_topic[d, i] -= 1
        word_topic[w, i] -= 1
        topic_total[i] -= 1
        inverse[i] = 1.0 / (topic_total[i] + V * eta)
        for k in range(K):
            cumulative[k] = (doc_topic[d, k] + alpha) * (word_topic[w, k] + eta) * inverse[k]
        total = 0.0
        for k in range(K):
            total += cumulative[k]
            cumulative[k] = total
        seed, uniform = next_uniform(np.uint64(seed))
        threshold = uniform * total
        i = 0
        for k in range(K - 1):
            i += cumulative[k] <= threshold
        topics[j] = i
        doc_topic[d, i] += 1
        word_topic[w, i] += 1
        topic_total[i] += 1
        inverse[i] = 1.0 / (topic_total[i] + V * eta)
    state[0] = seed


@njit(cache=True, nogil=True)
def keep_nearest(distance, position, distances, positions):
    """Insert a neighbour into the k nearest so far, sorted by distance, then position.

    Returns whether it was near enough. The order of the calls does not matter.
    """
    i = distances.shape[0]
    while i > 0 and (
        distance < distances[i - 1]
        or (distance == distances[i - 1] and position < positions[i - 1])
    ):
        i -= 1
        if i + 1 < distances.shape[0]:
            distances[i + 1] = distances[i]
            positions[i + 1] = positions[i]
    if i == distances.shape[0]:
        return False
    distances[i] = distance
    positions[i] = position
    return True


@njit(cache=True, nogil=True)
def nearest_by_words(
    indptr, indices, data, doc_indptr, docs, doc_data, own, grid, scores, distances, positions
):
    """Fill the k nearest training documents of a block of documents (CSR rows of unit length).

    Training documents come as the columns of the same kind of matrix, word by word. `own` is the position
    that a row may not have as its neighbour, or -1; `scores` (D,) holds zeros before and after. Same as::

        distance = 1 - rows @ training.T      # rounded to multiples of `grid`; neighbours are below one
    """
    for d in range(own.shape[0]):
        near, where = distances[d], positions[d]
        for n in range(indptr[d], indptr[d + 1]):
            w, x = indices[n], data[n]
            for m in range(doc_indptr[w], doc_indptr[w + 1]):
                scores[docs[m]] += x * doc_data[m]
        if own[d] >= 0:
            scores[own[d]] = 0.0
        # The same walk again finds every score, and a score read is a score cleared.
        least = 0.0
        for n in range(indptr[d], indptr[d + 1]):
            w = indices[n]
            for m in range(doc_indptr[w], doc_indptr[w + 1]):
                j = docs[m]
                if scores[j] > least:
                    distance = grid * np.floor((1.0 - scores[j]) / grid + 0.5)
                    if distance < 1.0 and keep_nearest(distance, j, near, where):
                        least = max(0.0, 1.0 - near[-1] - grid)  # less cannot be rounded up to it
                scores[j] = 0.0


@njit(cache=True, nogil=True)
def distance_between(a, b, grid):
    """Euclidean distance; with a `grid`, half its square, rounded to multiples of it.

    Half the square is the cosine distance of unit vectors, without the cancellation of 1 - a'b.
    """
    square = 0.0
    for i in range(a.shape[0]):
        square += (a[i] - b[i]) ** 2
    if grid > 0.0:
        return grid * np.floor(0.5 * square / grid + 0.5)
    return np.sqrt(square)


@njit(cache=True, nogil=True)
def nearest_rows(rows, training, products, square, slack, own, grid, distances, positions):
    """Fill the k nearest rows of `training` (D, p) of a block of `rows` (n, p).

    `products` (n, D), rows @ training.T, and `square` (D,), the squared norms of training, only tell which
    rows cannot be near: each squared distance is known from them up to `slack` times both squared norms.
    All others are measured, so that no rounding of the products reaches the result.
    """
    for d in range(rows.shape[0]):
        near, where = distances[d], positions[d]
        norm = 0.0
        for i in range(rows.shape[1]):
            norm += rows[d, i] ** 2
        for j in range(training.shape[0]):
            upper = square[j] - 2.0 * products[d, j] + slack * (norm + square[j])
            if upper < near[-1] and j != own[d]:
                keep_nearest(upper, j, near, where)
        limit = near[-1] + 2.0 * grid
        near[:] = np.inf
        where[:] = -1
        for j in range(training.shape[0]):
            lower = square[j] - 2.0 * products[d, j] - slack * (norm + square[j])
            if lower <= limit and j != own[d]:
                keep_nearest(distance_between(rows[d], training[j], grid), j, near, where)


@njit(cache=True, nogil=True)
def nearest_members(rows, distinct, candidates, start, members, own, grid, distances, positions):
    """Fill the k nearest training rows of a block of `rows` among those of candidate groups.

    Group g, of equal training rows `distinct[g]`, has the ascending positions
    `members[start[g]:start[g + 1]]`; candidates below zero are none.
    """
    for d in range(rows.shape[0]):
        near, where = distances[d], positions[d]
        for g in candidates[d]:
            if g < 0:
                continue
            distance = distance_between(rows[d], distinct[g], grid)
            for j in members[start[g] : start[g + 1]]:
                if j != own[d] and not keep_nearest(distance, j, near, where):
                    break
