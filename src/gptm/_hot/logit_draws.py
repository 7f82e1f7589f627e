"""Logits of documents given the topics of their tokens, eight documents at once."""

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.exponential import exp, log
from gptm._hot.random_keys import two_normals, uniforms
from gptm._hot.simd import get, larger, put, root, smaller, spread, where_above

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
def step(n, N, g, p_prior, e, whole, normals, uniform):
    """A Metropolis step along one topic's axis with Newton's proposal, for eight documents.

    The target is n x - N log(E + e (exp(x) - 1)) - g x - p_prior x^2 / 2 as a function of the move x. Returns the move,
    which is zero where it was not accepted, and e after it. `uniform` is drawn between zero and one.
    """
    p = e / whole
    h = N * p * (1.0 - p) + p_prior
    sd = 1.0 / root(h)
    t = bounded((n - N * p - g) / h, sd)
    x = t + normals * sd
    e_new = e * exp(x)
    whole_new = whole - e + e_new
    p = e_new / whole_new
    h_new = N * p * (1.0 - p) + p_prior
    back = x + bounded((n - N * p - g - p_prior * x) / h_new, 1.0 / root(h_new))
    forth = x - t
    gain = (n - g - p_prior * 0.5 * x) * x - N * log(whole_new / whole)
    gain += (h * forth * forth - h_new * back * back) * 0.5
    gain += (
        log(h_new / (h * uniform * uniform)) * 0.5
    )  # of the densities of the proposals, and of the draw
    gain = where_above(x * x, _FARTHEST * _FARTHEST, -1.0, gain)
    return where_above(gain, 0.0, x, 0.0), where_above(gain, 0.0, e_new, e)


@inlined(fastmath=FAST)
def soften(eta, e):
    """Fill e (K, 8) with exp(eta - high), the largest logits of each document; return their sums, and `high`."""
    high, whole = get(eta[0], 0), spread(0.0)
    for k in range(1, e.shape[0]):
        high = larger(high, get(eta[k], 0))
    for k in range(e.shape[0]):
        x = exp(get(eta[k], 0) - high)
        put(e[k], 0, x)
        whole += x
    return whole, high


@inlined(fastmath=FAST)
def move_logits(n, N, P, passes, eta, away, e, whole, states, room):
    """Some passes over the topics of eight documents: eta and away (K padded, 8) move, and eta is centred.

    `n` are counts of tokens by topic (rows) and document (lanes), N their sums (8,), `away` is eta less its prior mean,
    P the prior precision (K padded, K padded), zero beyond K; e and its sums `whole` are as `soften` makes them. `room`
    is (3, 8) for random numbers.
    """
    K, uniform, one, other = e.shape[0], room[0], room[1], room[2]
    lengths = get(N, 0)
    for i in range(passes * K):
        k = i % K
        if i % 2 == 0:
            two_normals(states, uniform, one, other)
        normals = get(one if i % 2 == 0 else other, 0)
        uniforms(states, uniform)
        here, g = get(e[k], 0), pull(P, k, away)
        x, after = step(get(n[k], 0), lengths, g, P[k, k], here, whole, normals, get(uniform, 0))
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
