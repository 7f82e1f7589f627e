"""Which topic a random number falls upon, given running sums of the topics' weights."""

import numpy as np

from gptm._hot.compile_options import FAST, inlined
from gptm._hot.simd import LANES, get, put, spread, total, where_above

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
def weigh_stretches(e, topics, running):
    """Fill the beginning of `running` with sums of e times `topics` over every eighth topic, but only at the end of
    each stretch of 64; return the sum of all.

    To write all of them would take longer than to add them up.
    """
    sums, at = spread(_NONE), 0
    for first in range(0, e.shape[0], _LONG):
        own = spread(_NONE)
        for i in range(first, min(first + _LONG, e.shape[0]), LANES):
            own += get(e, i) * get(topics, i)
        sums += own
        put(running, at, sums)
        at += LANES
    return total(sums)


@inlined(fastmath=FAST)
def find_in_stretches(e, topics, running, left):
    """The topic at which the running sum passes `left`: its lane, then its stretch, then itself."""
    n = (e.shape[0] + _LONG - 1) // _LONG
    last = (n - 1) * LANES
    lane, below, passed = 0, _NONE, _NONE
    for i in range(LANES - 1):
        passed += running[last + i]
        beyond = left >= passed
        lane += beyond
        below = passed if beyond else below
    left -= below
    stretch = 0
    for i in range(lane, last, LANES):
        stretch += left >= running[i]
    left -= running[(stretch - 1) * LANES + lane] if stretch > 0 else _NONE
    first = stretch * _LONG + lane
    k, passed = first, _NONE
    for i in range(first, min(first + _LONG, e.shape[0]) - LANES, LANES):
        passed += e[i] * topics[i]
        k += LANES * (left >= passed)
    return k


@inlined(fastmath=FAST)
def count_passed(running, first, last, stride, left, lane, room):
    """How many of the running sums of a lane are not above `left`; all lanes are counted, which takes no longer."""
    n = spread(_NONE)
    for i in range(first, last, stride):
        n += where_above(get(running, i), left, _NONE, _ONE)
    put(room, 0, n)
    return int(room[lane])
