"""The variances nu2 of a document's logits, eq. 10: a root for each topic."""

import numpy as np

from gptm._hot.compile_options import FAST, TINY, inlined
from gptm._hot.exponential import exp
from gptm._hot.simd import LANES, get, greatest, larger, put, smaller, spread, total

_STEPS = 6  # for all topics at once, before each gets the care that it needs
# Beyond this steps are short though the root is far, and exponentials may overflow.
_WIDE = 20.0
# Change of the last step, relative to where it leads. Newton's method squares it, and the next inner iteration goes on.
_NEAR = 5e-2


@inlined()
def solve_nu2(p, t0, start):
    """The root nu2 of nu2 * (p + t0 * exp(nu2 / 2)) = 1, where the gradient for nu2 vanishes.

    The left side is convex and increasing, so Newton's method from the right of the root falls
    monotonically onto it; whatever the start, the first step is cut back to an upper bound of the root.
    """
    if t0 <= 0.0:  # no words: no logarithm
        return 1.0 / p
    log_t0 = np.log(t0)
    far = np.log1p(0.5 / t0) if t0 > TINY else np.log(0.5) - log_t0
    upper = min(1.0 / p, 2.0 * far)
    x = min(start, upper)
    for _ in range(50):
        growth = np.exp(0.5 * x + log_t0)  # one factor alone may overflow
        new = x - (x * (p + growth) - 1.0) / (p + growth * (1.0 + 0.5 * x))
        new = min(new, upper)
        if abs(new - x) <= 1e-12 * x:
            return new
        x = new
    return x


@inlined(fastmath=FAST)
def settle_nu2(p, t0, nu2, half, old):
    """Take nu2 of all topics near the roots of `solve_nu2`, and `half`, which is exp(nu2 / 2), with them.

    From where the last call stopped, one or two steps for eight topics at a time do. After the first, all are on
    the right of their roots and fall onto them; none is beyond 1 / (p + t0), as exp(nu2 / 2) is at least one.
    `old` takes the start. Returns the sum of (1 - old / new)^2: twice the gain, to second order. Rows are padded.
    """
    eights = range(0, p.shape[0], LANES)
    wide = spread(0.0)
    for i in eights:
        x = get(nu2, i)
        put(old, i, x)
        wide = larger(wide, x)
    largest, far = greatest(wide), np.inf
    for step in range(_STEPS):
        if largest > _WIDE or far <= 0.0:
            break
        # By how much a step was too large for the next one to be needless.
        too_far = spread(-np.inf)
        for i in eights:
            x, of_p, of_t0 = get(nu2, i), get(p, i), get(t0, i)
            growth = of_t0 * (get(half, i) if step == 0 else exp(x * 0.5))
            new = x - (x * (of_p + growth) - 1.0) / (of_p + growth * (x * 0.5 + 1.0))
            new = smaller(new, 1.0 / (of_p + of_t0))
            too_far = larger(too_far, larger(new - x, x - new) - new * _NEAR)
            wide = larger(wide, new)
            put(nu2, i, new)
        largest, far = greatest(wide), greatest(too_far)
    if largest > _WIDE or far > 0.0:
        for i in range(p.shape[0]):
            nu2[i] = solve_nu2(p[i], t0[i], old[i])
    moved = spread(0.0)
    for i in eights:
        x = get(nu2, i)
        put(half, i, exp(x * 0.5))
        change = 1.0 - get(old, i) / x
        moved += change * change
    return total(moved)
