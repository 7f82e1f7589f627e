"""The work: all jobs that are not done yet, in processes, with what is done kept at any time."""

import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from joblib import Parallel, delayed

from experiments.jobs import Job, Settings
from job_store import Result, Store

Say = Callable[[str], None]


def run_jobs(jobs: list[Job], store: Store, settings: Settings, say: Say) -> None:
    """Do the jobs that the store has no result of, and put their results there; Ctrl-C keeps those that are done."""
    left = [job for job in jobs if store.get(job.key) is None]
    if not left:
        say(f"all {len(jobs)} jobs are done already")
        return
    done = len(jobs) - len(left)
    say(f"{len(left)} jobs{f', {done} of {len(jobs)} done already' if done else ''}")
    progress = _Progress(left, say)
    with _interrupts() as interrupted:
        for wave, workers in _waves(left, settings):
            for key, result in _outcomes(wave, workers, store, settings):
                if interrupted:  # a fit that is interrupted ends early, as if it were complete
                    raise KeyboardInterrupt
                store.put(key, result)
                progress.done(key)


def _waves(jobs: list[Job], settings: Settings) -> Iterator[tuple[list[Job], int]]:
    """Jobs that can be done at the same time, with the number of workers; those to be done alone come last."""
    together = [job for job in jobs if not job.alone]
    while together:
        waiting = {job.key for job in together}
        ready = [job for job in together if waiting.isdisjoint(job.needs)]
        yield sorted(ready, key=lambda job: -job.cost), settings.n_jobs
        together = [job for job in together if not waiting.isdisjoint(job.needs)]
    for job in jobs:
        if job.alone:
            yield [job], 1


def _outcomes(
    jobs: list[Job], workers: int, store: Store, settings: Settings
) -> Iterator[tuple[str, Result]]:
    """Keys and results as they come."""
    calls = (
        delayed(_call)(job, {key: store.get(key) for key in job.needs}, settings) for job in jobs
    )
    outcomes = Parallel(
        n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch="3*n_jobs"
    )(calls)
    try:
        yield from outcomes
    finally:
        outcomes.close()


def _call(job: Job, needed: Mapping[str, Any], settings: Settings) -> tuple[str, Result]:
    extra = {"needed": needed} if needed else {}
    own = settings if job.alone else settings._replace(n_jobs=1)
    with warnings.catch_warnings():
        # Results tell of fits that ended early; a worker's warnings would only stand between its lines.
        warnings.simplefilter("ignore")
        try:
            return job.key, job.run(own, **job.arguments, **extra)
        except Exception as error:
            error.add_note(f"(in the job {job.key})")
            raise


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """A list that Ctrl-C fills, besides what else it does: fits take it as a wish to end, and raise nothing."""
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


class _Progress:
    """A line whenever another tenth of the work is done, by expected seconds."""

    def __init__(self, jobs: list[Job], say: Say):
        self.say = say
        self.costs = {job.key: job.cost for job in jobs}
        self.total = sum(self.costs.values())
        self.passed, self.count, self.began = 0.0, 0, time.monotonic()

    def done(self, key: str) -> None:
        tenths = int(10 * self.passed / self.total)
        self.passed += self.costs[key]
        self.count += 1
        if int(10 * self.passed / self.total) > tenths:
            minutes = (time.monotonic() - self.began) / 60
            left = minutes * max(self.total / self.passed - 1, 0.0)
            self.say(
                f"{self.count} of {len(self.costs)} jobs after {minutes:.1f} min, about {left:.1f} min left"
            )
