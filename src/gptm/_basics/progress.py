"""What a long fit tells: lines about its iterations."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gptm._basics.validation import check_verbose

_ALL = 10  # first iterations that are all shown
_PAUSE = 1.0  # seconds between the lines after these


class Progress:
    """Prints iteration, bound, change and time where `verbose` asks for it.

    With 1 these are the first iterations and then one a second, with 2 or more all of them.
    """

    def __init__(self, verbose: int | bool):
        check_verbose(verbose)
        self.verbose = int(verbose)
        self.started = time.perf_counter()
        self.previous: float | None = None
        self.first: tuple[float, int] | None = None  # when which iteration was done
        self.shown = -_PAUSE  # when the last line was printed

    def say(self, message: str) -> None:
        if self.verbose:
            print(f"[gptm] {message}", flush=True)

    def iteration(self, number: int, bound: float, limit: int | None = None) -> None:
        """A line for one iteration, if it is time for one; with a `limit` it says how long the rest may take."""
        change = (
            ""
            if self.previous is None
            else f"{(bound - self.previous) / max(abs(self.previous), 1e-300):+.2e}"
        )
        self.previous = bound
        left, now = self.left(number, limit), time.perf_counter()
        if number > _ALL and self.verbose < 2 and now < self.shown + _PAUSE and number != limit:
            return
        self.shown = now
        self.say(
            f"iteration {number:4d}  bound {bound:16.4f}  change {change:>9}  {self.elapsed()}{left}"
        )

    def left(self, number: int, limit: int | None) -> str:
        """Seconds until the limit, as fast as it went since the first iteration."""
        now = time.perf_counter()
        if self.first is None:
            self.first = (now, number)
        start, before = self.first
        if limit is None or number <= before:
            return ""
        return f", {(limit - number) * (now - start) / (number - before):.0f} s left at most"

    def elapsed(self) -> str:
        return f"{time.perf_counter() - self.started:.1f} s"


class Pieces:
    """Prints how much is done of how much, at most once a second, and nothing of what takes less than that.

    Examples
    --------
    >>> tell = Pieces("texts counted", clock=iter([0.0, 0.5, 4.0]).__next__)
    >>> tell(10, 2000)
    >>> tell(1500, 2000)
    [gptm] texts counted: 1,500 of 2,000, 4.0 s
    """

    def __init__(
        self,
        what: str,
        unit: float = 1,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ):
        self.what = what
        self.unit = unit  # how many of what is counted make one of what is shown
        self.clock = clock
        self.started = self.shown = clock()

    def __call__(self, done: float, total: float | None) -> None:
        now = self.clock()
        if now < self.shown + _PAUSE:
            return
        self.shown = now
        of = "" if total is None else f" of {total / self.unit:,.0f}"
        seconds = now - self.started
        print(f"[gptm] {self.what}: {done / self.unit:,.0f}{of}, {seconds:.1f} s", flush=True)


# Called with how much is done, and how much there is in all.
Tell = Callable[[int, int | None], Any]
_told: ContextVar[Tell | None] = ContextVar("told", default=None)


@contextmanager
def telling(what: str, verbose: int | bool, progress: Tell | None = None) -> Iterator[None]:
    """Inside the block, long loops call `progress` with how far they are, or print it if `verbose` asks for it."""
    token = _told.set(Pieces(what) if verbose and progress is None else progress)
    try:
        yield
    finally:
        _told.reset(token)


def told() -> Tell | None:
    """What a long loop over documents calls with how many pieces are done, and of how many; None for nothing."""
    return _told.get()


def tell(done: int, total: int | None) -> None:
    """One step of a long loop, for a caller who wants to know; `telling` decides what becomes of it."""
    told_to = told()
    if told_to is not None:
        told_to(done, total)
