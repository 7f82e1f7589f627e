"""What a long fit tells: lines about its iterations."""

import time

_ALL = 10  # first iterations that are all shown
_PAUSE = 1.0  # seconds between the lines after these


class Progress:
    """Prints iteration, bound, change and time where `verbose` asks for it.

    With 1 these are the first iterations and then one a second, with 2 or more all of them.
    """

    def __init__(self, verbose: int | bool):
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
