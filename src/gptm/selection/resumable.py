"""A loop over many fits: in processes, with progress, with a file that keeps what is done, and with Ctrl-C."""

import os
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from sklearn.utils.parallel import Parallel, delayed

from gptm._basics.progress import Progress
from gptm._basics.validation import check_n_jobs
from gptm._basics.warnings import warn
from gptm.selection.score_store import ScoreStore

T = TypeVar("T")
L = TypeVar("L")
Row = dict[str, Any]  # that JSON can hold


class Job(NamedTuple, Generic[T, L]):
    """How each piece of work is done, called and told. Labels are kept; tasks, which hold documents, are not."""

    run: Callable[[T], Row | None]  # at the top level of a module; None if Ctrl-C ended it
    key: Callable[[T], str]  # the same for the same work, different for any other
    label: Callable[[T], L]
    line: Callable[[L, Row], str]  # what `verbose` prints


class Done(NamedTuple, Generic[L]):
    """What was done, in order: all of it, unless there is a note."""

    labels: list[L]
    rows: list[Row]
    note: str


def run_all(
    job: Job[T, L],
    tasks: Iterator[T],
    n_tasks: int,
    n_jobs: int | None,
    verbose: int | bool,
    checkpoint: str | os.PathLike[str] | None,
) -> Done[L]:
    """Do all the work that the checkpoint does not have; after Ctrl-C return what is done."""
    check_n_jobs(n_jobs)
    progress = Progress(verbose)
    store = ScoreStore(checkpoint)
    begun: list[L] = []
    keys: list[str] = []
    rows: list[Row] = []
    note = ""

    def calls() -> Iterator[Any]:
        for task in tasks:
            begun.append(job.label(task))
            keys.append("" if store.path is None else job.key(task))
            yield delayed(_stored_or_run)(job.run, task, store.get(keys[-1]))

    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(calls())
    try:
        for row in outcomes:
            if row is None:
                raise KeyboardInterrupt
            position = len(rows)
            rows.append(row)
            store.put(keys[position], row)
            line = job.line(begun[position], row)
            progress.say(f"{len(rows)} of {n_tasks}  {line}")
    except KeyboardInterrupt:
        if not rows:
            raise
        note = f"interrupted: {len(rows)} of {n_tasks} fits are done"
    finally:
        outcomes.close()
    if note:
        warn(f"{note}; their scores are kept.")
    else:
        store.remove()
    return Done(begun[: len(rows)], rows, note)


def _stored_or_run(run: Callable[[Any], Row | None], task: Any, stored: Row | None) -> Row | None:
    return run(task) if stored is None else stored
