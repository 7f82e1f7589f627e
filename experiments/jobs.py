"""The pieces that experiments are made of: settings, jobs, claims and sections."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

Verdict = Literal["yes", "partly", "within noise", "no"]


class Settings(NamedTuple):
    """All that an experiment needs to list its jobs and to do them.

    Examples
    --------
    >>> Settings(seed=1).quick
    False
    """

    data: str | None = (
        None  # folder with the documents; None: from scikit-learn, where there is a network
    )
    seed: int = 0
    quick: bool = False
    n_jobs: int = 1  # for jobs that run alone; others have one thread each


class Job(NamedTuple):
    """One piece of work, done by `run(settings, **arguments)`.

    A job that `needs` others is done after them, and is called with `needed=`, their results by key. `run` is a
    function of a module, so that other processes find it. It loads the documents by itself, with `data.load_set`;
    their name is the argument `corpus`, so that other documents under that name make the job run again. The result
    must be the same for any number of workers.

    Examples
    --------
    >>> def double(settings, number):
    ...     return {"twice": 2 * number}
    >>> job = Job("double/3", double, {"number": 3})
    >>> job.run(Settings(), **job.arguments)
    {'twice': 6}
    """

    key: str  # "table2/dif100/map/nn/fold0": unique and stable; names the file of its result
    run: Callable[..., dict[str, Any]]  # returns what JSON can hold
    arguments: dict[str, Any]  # names and numbers, no arrays
    needs: tuple[str, ...] = ()
    cost: float = 1.0  # seconds, about: what takes long begins early
    alone: bool = False  # with nothing beside it, as timings must


class Claim(NamedTuple):
    """What the paper says, whether it is so, and by which numbers."""

    text: str
    holds: Verdict
    numbers: str
    under: str = ""  # which inference and score, where the same is judged by several
    tally: str = ""  # on how many sets it holds, as in "3 of 5"


class Section(NamedTuple):
    """A part of the page: Markdown with its tables and figures, and what became of the claims."""

    title: str
    text: str
    claims: tuple[Claim, ...] = ()
    summary: str = ""  # a few sentences for the top of the page


class Experiment(Protocol):
    """What a module of an experiment offers."""

    def jobs(self, settings: Settings) -> list[Job]: ...

    def present(
        self, results: Mapping[str, dict[str, Any]], out: Path, settings: Settings
    ) -> Section: ...
