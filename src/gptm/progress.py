"""What a long fit tells: one line per iteration."""

import time


class Progress:
    """Prints iteration, bound, change and time where `verbose` asks for it."""

    def __init__(self, verbose: int | bool):
        self.verbose = int(verbose)
        self.started = time.perf_counter()
        self.previous: float | None = None

    def say(self, message: str) -> None:
        if self.verbose:
            print(f"[gptm] {message}", flush=True)

    def iteration(self, number: int, bound: float) -> None:
        change = (
            ""
            if self.previous is None
            else f"{(bound - self.previous) / max(abs(self.previous), 1e-300):+.2e}"
        )
        self.previous = bound
        self.say(
            f"iteration {number:4d}  bound {bound:16.4f}  change {change:>9}  {self.elapsed()}"
        )

    def elapsed(self) -> str:
        return f"{time.perf_counter() - self.started:.1f} s"
