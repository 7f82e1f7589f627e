"""The variances nu2 of a document's logits, eq. 10: a root for each topic."""

import numpy as np

from gptm._hot.exponential import exponential
from gptm._hot.settings import FAST, inlined

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
    if t0 <= 0.0:  # no words: no exponential, which may overflow
        return 1.0 / p
    upper = min(1.0 / p, 2.0 * np.log1p(0.5 / t0))
    x = min(start, upper)
    for _ in range(50):
        growth = t0 * np.exp(0.5 * x)
        new = x - (x * (p + growth) - 1.0) / (p + growth * (1.0 + 0.5 * x))
        new = min(new, upper)
        if abs(new - x) <= 1e-12 * x:
            return new
        x = new
    return x


@inlined(fastmath=FAST)
def settle_nu2(p, t0, nu2, half, old, scratch, bits):
    """Take nu2 of all topics near the roots of `solve_nu2`, and `half`, which is exp(nu2 / 2), with them.

    From where the last call stopped, one or two steps in vector instructions do. After the first, all are on
    the right of their roots and fall onto them; none is beyond 1 / (p + t0), as exp(nu2 / 2) is at least one.
    `old` takes the start. Returns the sum of (1 - old / new)^2: twice the gain, to second order.
    """
    K = p.shape[0]
    argument, power = scratch[0], scratch[1]
    largest = 0.0
    for i in range(K):
        old[i] = nu2[i]
        largest = max(largest, nu2[i])
    far = np.inf  # by how much the last step was too large for the next one to be needless
    for step in range(_STEPS):
        if largest > _WIDE or far <= 0.0:
            break
        if step > 0:
            for i in range(K):
                argument[i] = 0.5 * nu2[i]
            exponential(argument, half, power, bits)
        far = -np.inf
        for i in range(K):
            x, growth = nu2[i], t0[i] * half[i]
            new = x - (x * (p[i] + growth) - 1.0) / (p[i] + growth * (1.0 + 0.5 * x))
            new = min(new, 1.0 / (p[i] + t0[i]))
            far = max(far, abs(new - x) - _NEAR * new)
            largest = max(largest, new)
            nu2[i] = new
    if largest > _WIDE or far > 0.0:
        for i in range(K):
            nu2[i] = solve_nu2(p[i], t0[i], old[i])
    moved = 0.0
    for i in range(K):
        argument[i] = 0.5 * nu2[i]
        moved += (1.0 - old[i] / nu2[i]) ** 2
    exponential(argument, half, power, bits)
    return moved
