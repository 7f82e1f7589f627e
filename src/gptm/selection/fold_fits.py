"""One fit and its scores, and the loop over all fits, which Ctrl-C may end."""

import os
import time
import warnings
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from gptm import metrics
from gptm._basics.errors import Argument, Message, PythonOnly
from gptm._basics.progress import Progress
from gptm._basics.warnings import warn
from gptm.corpus.counts import columns_of
from gptm.model import GPTM
from gptm.selection.folds import Data
from gptm.selection.named_models import name_of
from gptm.selection.score_store import ScoreStore, key_of
from gptm.selection.score_tables import perplexity_column


class Task(NamedTuple):
    name: Hashable
    fold: int
    model: GPTM
    train: Data
    test: Data
    shares: tuple[float, ...]


class _Outcome(NamedTuple):
    row: dict[str, Any]
    out_of_iterations: bool

    def line(self) -> str:
        """The line that `verbose` prints."""
        scores = [value for name, value in self.row.items() if name.startswith("perplexity")]
        return (
            f"perplexity {', '.join(f'{score:.1f}' for score in scores)}  {self.row['iterations']} iterations  "
            f"{self.row['seconds']:.1f} s"
        )


class _Fits(NamedTuple):
    table: pd.DataFrame  # by model and fold
    note: str  # empty if all are there


def make_tasks(
    models: dict[Any, GPTM],
    data: Data,
    folds: list[tuple[np.ndarray, np.ndarray]],
    shares: tuple[float, ...],
) -> Iterator[Task]:
    """All models on one fold before the next fold, so that models can be compared after Ctrl-C."""
    kernels = [model.kernel for model in models.values()]
    data = data.with_kinds_of({name for kernel in kernels for name in columns_of(kernel) or ()})
    for number, (train, test) in enumerate(folds):
        parts = data.select(train), data.select(test)
        for name, model in models.items():
            yield Task(name, number, clone(model), *parts, shares)


def run_tasks(
    tasks: Iterator[Task],
    n_tasks: int,
    n_jobs: int | None,
    verbose: int | bool,
    unit: str = "",
    checkpoint: str | os.PathLike[str] | None = None,
) -> _Fits:
    """Run all fits that the checkpoint does not have; after Ctrl-C return those that are done."""
    progress = Progress(verbose)
    store = ScoreStore(checkpoint)
    keys: list[tuple[Any, int]] = []
    stored: list[str] = []
    done: list[_Outcome] = []
    note = ""

    def calls() -> Iterator[Any]:
        for task in tasks:
            keys.append((task.name, task.fold))
            stored.append("" if store.path is None else _key(task))
            yield delayed(_evaluated)(task, store.get(stored[-1]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one warning for all, below
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(calls())
        try:
            for outcome in outcomes:
                if outcome is None:
                    raise KeyboardInterrupt
                done.append(outcome)
                store.put(stored[len(done) - 1], outcome._asdict())
                name, fold = keys[len(done) - 1]
                position = f"{len(done)} of {n_tasks}"
                progress.say(f"{position}  {name}{unit}, fold {fold}: {outcome.line()}")
        except KeyboardInterrupt:
            if not done:
                raise
            note = f"interrupted: {len(done)} of {n_tasks} fits are done"
        finally:
            outcomes.close()
    if note:
        warn(f"{note}; their scores are kept.")
    else:
        store.remove()
    n_short = sum(outcome.out_of_iterations for outcome in done)
    if n_short:
        message = Message(
            f"{n_short} of {len(done)} fits did not converge",
            PythonOnly("; see the column `converged`"),
            ". Increase ",
            Argument("max_iter"),
            ", or ",
            Argument("tol"),
            " if this is close enough.",
        )
        warn(message, ConvergenceWarning)
    index = pd.MultiIndex.from_tuples(keys[: len(done)], names=["model", "fold"])
    return _Fits(pd.DataFrame([outcome.row for outcome in done], index=index), note)


def _key(task: Task) -> str:
    return key_of(task.model, task.train, task.test, task.shares)


def _evaluated(task: Task, stored: dict[str, Any] | None) -> _Outcome | None:
    """The scores that were kept, or those of a fit."""
    return _evaluate(task) if stored is None else _Outcome(**stored)


def _evaluate(task: Task) -> _Outcome | None:
    """The scores of one fit; None if Ctrl-C ended it."""
    _, fold, model, train, test, shares = task
    try:
        seconds = np.nan
        if not hasattr(model, "components_"):
            started = time.perf_counter()
            if not _fit(model, train):
                return None
            seconds = time.perf_counter() - started
        row: dict[str, Any] = {
            perplexity_column(share): model.perplexity(
                test.X, metadata=test.metadata, observed=share
            )
            for share in shares
        }
        coherence = metrics.npmi_coherence(model.components_, train.counts)
    except Exception as error:
        error.add_note(f"(while scoring {name_of(model)} on fold {fold})")
        raise
    row["bound"] = float(model.bound_[-1] / model.doc_lengths_.sum())
    row["coherence"] = float(coherence.mean())
    row["exclusivity"] = float(metrics.exclusivity(model.components_).mean())
    row["seconds"] = seconds
    row["iterations"] = model.n_iter_
    row["converged"] = bool(model.converged_)
    # A chain that is short predicts well all the same; EM that has not converged may not.
    short = model.stop_reason_ == "max_iter" and model.inference != "sampling"
    return _Outcome(row, short)


def _fit(model: GPTM, train: Data) -> bool:
    """Fit, and return whether it ended without Ctrl-C: a fit then keeps what it has and raises nothing."""
    model.fit(train.X, train.y, metadata=train.metadata)
    return model.stop_reason_ != "interrupt"
