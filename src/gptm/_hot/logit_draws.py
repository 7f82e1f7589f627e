"""Logits of documents given the topics of their tokens, eight documents at once."""

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.exponential import exp, log
from gptm._hot.random_keys import two_normals, uniforms
from gptm._hot.simd import get, larger, put, smaller, spread, where_above

_LONGEST = 2.0  # Newton step, in standard deviations of the proposal
_FARTHEST = 30.0  # moves that are longer, either way, are not looked at


@inlined(fastmath=FAST)
def pull(P, k, away):
    """Eight times the prior's pull on topic k: row k of P times the columns of `away` (K padded, 8)."""
    row = P[k]
    a = b = c = d = spread(0.0)
    for j in range(0, away.shape[0], 4):
        a += get(away[j], 0) * row[j]
        b += get(away[j + 1], 0) * row[j + 1]
        c += get(away[j + 2], 0) * row[j + 2]
        d += get(away[j + 3], 0) * row[j + 3]
    return (a + b) + (c + d)


@inlined(fastmath=FAST)
def bounded(t, sd):
    """A Newton step of a few standard deviations at most.

    Far from the mode, or where a topic has next to nothing, it would go much too far: the way back would then be so
    improbable that nothing were ever accepted again.
    """
    return smaller(larger(t, sd * -_LONGEST), sd * _LONGEST)


@inlined(fastmath=FAST)
def step(n, N, g, p_prior, e, whole, normals, room):
    """A Metropolis step along one topic's axis with Newton's proposal, for eight documents.

    The target is n x - N log(E + e (exp(x) - 1)) - g x - p_prior x^2 / 2 as a function of the move x. Returns the move,
    which is zero where it was not accepted; `room` holds uniform numbers.
    """
    p = e / whole
    h = N * p * (1.0 - p) + p_prior
    log_h = log(h)
    sd = exp(log_h * -0.5)
    t = bounded((n - N * p - g) / h, sd)
    x = t + normals * sd
    e_new = e * exp(x)
    whole_new = whole - e + e_new
    p = e_new / whole_new
    h_new = N * p * (1.0 - p) + p_prior
    log_h_new = log(h_new)
    back = x + bounded((n - N * p - g - p_prior * x) / h_new, exp(log_h_new * -0.5))
    forth = x - t
    gain = (n - g - p_prior * 0.5 * x) * x - N * log(whole_new / whole)
    gain += (log_h_new - log_h - h_new * back * back + h * forth * forth) * 0.5
    gain -= log(get(room, 0))
    accepted = where_above(gain, 0.0, x, 0.0)
    return where_above(x * x, _FARTHEST * _FARTHEST, 0.0, accepted)


@inlined(fastmath=FAST)
def move_logits(n, N, P, passes, eta, away, e, states, room):
    """Some passes over the topics of eight documents: eta and away (K padded, 8) move, and eta is centred.

    `n` are counts of tokens by topic (rows) and document (lanes), N their sums (8,), `away` is eta less its prior mean,
    P the prior precision (K padded, K padded), zero beyond K. `room` is (3, 8) for random numbers.
    """
    K, uniform, one, other = e.shape[0], room[0], room[1], room[2]
    lengths, high = get(N, 0), get(eta[0], 0)
    for k in range(1, K):
        high = where_above(get(eta[k], 0), high, get(eta[k], 0), high)
    whole = spread(0.0)
    for k in range(K):
        put(e[k], 0, exp(get(eta[k], 0) - high))
        whole += get(e[k], 0)
    for i in range(passes * K):
        k = i % K
        if i % 2 == 0:
            two_normals(states, uniform, one, other)
        normals = get(one if i % 2 == 0 else other, 0)
        uniforms(states, uniform)
        here = get(e[k], 0)
        x = step(get(n[k], 0), lengths, pull(P, k, away), P[k, k], here, whole, normals, uniform)
        after = here * exp(x)
        whole += after - here
        put(e[k], 0, after)
        put(eta[k], 0, get(eta[k], 0) + x)
        put(away[k], 0, get(away[k], 0) + x)
    centre(eta, K)


@inlined(fastmath=FAST)
def centre(eta, K):
    """Take off what the topics of a document have in common: words cannot see it."""
    mean = spread(0.0)
    for k in range(K):
        mean += get(eta[k], 0)
    mean = mean * (1.0 / K)
    for k in range(K):
        put(eta[k], 0, get(eta[k], 0) - mean)
