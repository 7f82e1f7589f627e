"""Logits of documents given the topics of their tokens, eight documents at once."""

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.exponential import exp, log
from gptm._hot.panels import add_product
from gptm._hot.random_keys import two_normals, uniforms
from gptm._hot.simd import LANES, get, larger, put, root, smaller, spread, where_above

_LONGEST = 2.0  # Newton step, in standard deviations of the proposal
_FARTHEST = 30.0  # moves that are longer, either way, are not looked at


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
def soften(away, mean, e):
    """Fill e (flat panel of K) with exp(eta - high), eta = away + mean; return their sums, and `high`."""
    high, whole = get(away, 0) + get(mean, 0), spread(0.0)
    for i in range(LANES, e.shape[0], LANES):
        high = larger(high, get(away, i) + get(mean, i))
    for i in range(0, e.shape[0], LANES):
        x = exp(get(away, i) + get(mean, i) - high)
        put(e, i, x)
        whole += x
    return whole, high


@inlined(fastmath=FAST)
def draw_numbers(states, room, normals, uniform):
    """Fill two panels of eight with standard normals and with uniform numbers."""
    for i in range(0, LANES * LANES, 2 * LANES):
        two_normals(states, room, normals[i : i + LANES], normals[i + LANES : i + 2 * LANES])
    for i in range(0, LANES * LANES, LANES):
        uniforms(states, uniform[i : i + LANES])


@inlined(fastmath=FAST)
def move_eight(P, first, n, N, whole, away, e, pulls, normals, uniform):
    """Move the logits of eight topics from `first` on, of eight documents, in panels `away` and e; the sums of e then.

    `n` are counts of tokens, N (8,) their sums, `away` is eta less its prior mean, P the prior precision (K padded,
    K padded), zero beyond K. How P pulls is computed for eight topics at once, and brought up to date after each.
    `pulls` is scratch.
    """
    for i in range(0, LANES * LANES, LANES):
        put(pulls, i, spread(0.0))
    add_product(P, first, 0, away, 1.0, pulls, 0)
    last = min(first + LANES, e.shape[0] // LANES)
    for k in range(first, last):
        i, at = (k - first) * LANES, k * LANES
        here, z, u = get(e, at), get(normals, i), get(uniform, i)
        x, after = step(get(n, at), N, get(pulls, i), P[k, k], here, whole, z, u)
        whole += after - here
        put(e, at, after)
        put(away, at, get(away, at) + x)
        for j in range(k + 1, last):
            at = (j - first) * LANES
            put(pulls, at, get(pulls, at) + x * P[j, k])
    return whole
