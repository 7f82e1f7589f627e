"""Which topic a random number falls upon, given running sums of the topics' weights."""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.simd import LANES, get, put, spread, where_above

_NONE, _ONE = np.float32(0.0), np.float32(1.0)
_LONG = LANES * LANES  # topics in eight groups
_MANY = 4 * _LONG


@inlined(fastmath=FAST)
def find_topic(running, left, room):
    """The topic at which the running sum of weights passes `left`, first its lane, then its group.

    `running` (K padded) are sums over every eighth topic, eight of them side by side: its last eight numbers are those
    over all topics. It counts instead of searching: which way a search would end the processor could only guess. Of
    many groups every eighth is looked at first. `room` (8,) is scratch.
    """
    last = running.shape[0] - LANES
    lane, below, passed = 0, _NONE, _NONE
    for i in range(LANES - 1):
        passed += running[last + i]
        beyond = left >= passed
        lane += beyond
        below = passed if beyond else below
    left -= below
    first, end = 0, last
    if last > _MANY:
        first = _LONG * count_passed(running, _LONG - LANES, last, _LONG, left, lane, room)
        end = min(first + _LONG - LANES, last)
    return first + LANES * count_passed(running, first, end, LANES, left, lane, room) + lane


@inlined(fastmath=FAST)
def count_passed(running, first, last, stride, left, lane, room):
    """How many of the running sums of a lane are not above `left`; all lanes are counted, which takes no longer."""
    n = spread(_NONE)
    for i in range(first, last, stride):
        n += where_above(get(running, i), left, _NONE, _ONE)
    put(room, 0, n)
    return int(room[lane])
