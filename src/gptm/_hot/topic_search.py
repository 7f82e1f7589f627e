"""Which topic a random number falls upon, given sums of the topics' weights.

Weights are added up over every eighth topic, eight sums side by side, so that no sums within a vector are needed, and
from the beginning again after each `STRETCH` of topics: one stretch does not wait for the sums of another.
"""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.simd import LANES

STRETCH = LANES * LANES
_NONE = np.float32(0.0)


def room_for_sums(*shape):
    """Arrays as `find_topic` reads them, for the last of these lengths as a number of topics: infinite beyond these."""
    *others, K = shape
    whole = -(-K // STRETCH) * STRETCH
    return np.full((*others, whole + LANES), np.inf, dtype=np.float32)


@inlined(fastmath=FAST)
def find_topic(running, left):
    """The topic at which the sum of weights passes `left`: first its lane, then its stretch, then itself.

    `running` are sums within stretches, infinite beyond the last topic, and behind them the sums of lanes. It counts
    instead of searching: which way a search would end the processor could only guess. Where rounding leads beyond the
    last topic, so does the result.
    """
    last = running.shape[0] - LANES
    lane, below, passed = 0, _NONE, _NONE
    for i in range(LANES - 1):
        passed += running[last + i]
        beyond = left >= passed
        lane += beyond
        below = passed if beyond else below
    left -= below
    first, below, passed = lane, _NONE, _NONE
    for i in range(STRETCH - LANES + lane, last - LANES, STRETCH):
        passed += running[i]
        beyond = left >= passed
        first += STRETCH * beyond
        below = passed if beyond else below
    left -= below
    n = 0
    for i in range(LANES - 1):
        n += left >= running[first + i * LANES]
    return first + n * LANES
