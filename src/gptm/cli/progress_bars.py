"""Progress bars with the remaining time, on standard error, and only on a terminal."""

import io
import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gptm.cli.session import Session
    from gptm.model import GPTM

EM_ITERATIONS = 200  # at most, where no number is given
_OF = re.compile(r"([\d,]+) of ([\d,]+)")
Update = Callable[[float, float | None], None]


@contextmanager
def bar(session: "Session", task: str) -> Iterator[Update]:
    """A bar, moved by `update(done, total)`; without a total it shows the time that has passed."""
    if session.quiet or not session.console.is_terminal:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Progress(*columns, console=session.console, transient=True) as progress:
        row = progress.add_task(task, total=None, left="")
        remaining = Remaining()

        def update(done: float, total: float | None) -> None:
            share = None if not total else min(done / total, 1.0)
            left = as_duration(remaining(done, total))
            # Of the whole, always: a new total would make rich forget how fast things went.
            progress.update(
                row, completed=share or 0.0, total=None if not total else 1.0, left=left
            )

        yield update


class Remaining:
    """Seconds that are left, from the speed since the first update, or since a new count began.

    Examples
    --------
    >>> remaining = Remaining(clock=iter([10.0, 14.0]).__next__)
    >>> remaining(1, 9) is None
    True
    >>> remaining(3, 9)  # two in four seconds, six to go
    12.0
    >>> remaining = Remaining(clock=iter([10.0, 20.0, 22.0]).__next__)
    >>> remaining(500, 900), remaining(1, 5), remaining(2, 5)  # bytes that are read, then blocks
    (None, None, 6.0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.first: tuple[float, float] | None = None

    def __call__(self, done: float, total: float | None) -> float | None:
        now = self.clock()
        if self.first is None or done < self.first[1]:
            self.first = (now, done)
        start, before = self.first
        if total is None or done <= before:
            return None
        return (total - done) * (now - start) / (done - before)


def as_duration(seconds: float | None) -> str:
    """Time that is left, in words; an empty text if it is not known.

    Examples
    --------
    >>> as_duration(75.2), as_duration(3700), as_duration(0.2), as_duration(None)
    ('1 min 15 s left', '1 h 01 min left', '1 s left', '')
    """
    if seconds is None:
        return ""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s left"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s left"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min left"


class Expected:
    """How many iterations a fit will take, from how fast the rise of its bound fades.

    The rise fades about as a power of the iteration or faster; a straight line through its logarithm against the
    iteration, over the last few of them, shows when it will pass `tol`.

    Examples
    --------
    >>> expected = Expected(max_iter=100, tol=1e-4)
    >>> [expected(-1000.0 - 100 * 0.5**i) for i in range(1, 6)][-1] < 20
    True
    """

    WINDOW = 6

    def __init__(self, max_iter: int, tol: float):
        self.max_iter = max_iter
        self.tol = tol
        self.previous: float | None = None
        self.changes: list[float] = []

    def __call__(self, bound: float) -> int:
        """The expected number of iterations, after one more of them."""
        if self.previous is not None:
            change = abs(bound - self.previous) / max(abs(self.previous), 1e-300)
            self.changes.append(math.log(max(change, 1e-16)))
        self.previous = bound
        done = len(self.changes) + 1
        recent = self.changes[-self.WINDOW :]
        if len(recent) < 2 or self.tol <= 0:
            return self.max_iter
        fading = (recent[0] - recent[-1]) / (len(recent) - 1)
        if fading <= 0:
            return self.max_iter
        left = (recent[-1] - math.log(self.tol)) / fading
        return min(self.max_iter, done + max(1, math.ceil(left)))


@contextmanager
def fitting(
    session: "Session", task: str, max_iter: int | None, tol: float
) -> Iterator[Callable[[int, Any], bool]]:
    """A bar over the sweeps or iterations of a fit, moved by the model's `callback`."""
    with bar(session, task) as update:
        expected = Expected(max_iter or EM_ITERATIONS, tol)

        def callback(iteration: int, state: Any) -> bool:
            # A chain has a limit, EM ends when its bound hardly rises any more.
            limit = getattr(state, "limit", None)
            update(iteration, expected(state.bound) if limit is None else limit)
            return False

        yield callback


class _LineReader(io.TextIOBase):
    """A stream that passes each line on as it is complete, with how many there were so far."""

    def __init__(self, line: Callable[[str, int], None]):
        self.count = 0
        self.begun = ""
        self.line = line

    def write(self, text: str) -> int:
        *lines, self.begun = (self.begun + text).split("\n")
        for line in lines:
            self.count += 1
            self.line(line, self.count)
        return len(text)


@contextmanager
def counting(session: "Session", task: str, total: int | None = None) -> Iterator[None]:
    """A bar over work that prints one line for each piece; the lines move the bar instead.

    Without a total the lines themselves have to say how much is done, as in "1,200 of 5,000 documents".
    """
    with bar(session, task) as update:

        def line(text: str, count: int) -> None:
            if total is not None:
                update(count, total)
            elif said := _OF.search(text):
                done, whole = (float(number.replace(",", "")) for number in said.groups())
                update(done, whole)

        update(0, total)
        with redirect_stdout(_LineReader(line)):
            yield


@contextmanager
def answering(session: "Session", model: "GPTM", task: str, more: int = 0) -> Iterator[None]:
    """A bar over questions to a fitted model. One without draws runs a chain first, and its sweeps move the bar.

    With `more`, the questions print that many lines themselves, which move it too.
    """
    from gptm.model.answering import SHORT_CHAIN

    chain = SHORT_CHAIN if model.fitted_.draws is None else 0
    if not chain + more:
        with bar(session, task):
            yield
        return
    before = model.verbose
    with counting(session, task if not chain else f"{task}, after a chain of draws", chain + more):
        model.set_params(verbose=2)
        try:
            yield
        finally:
            model.set_params(verbose=before)
