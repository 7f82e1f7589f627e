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

from gptm import metrics
from gptm._basics.errors import Argument, Message, PythonOnly
from gptm._basics.warnings import warn
from gptm.corpus import BlockCorpus
from gptm.corpus.counts import columns_of
from gptm.model import GPTM
from gptm.selection.data import Data
from gptm.selection.named_models import name_of
from gptm.selection.refits import fitted_to
from gptm.selection.resumable import Job, Row, run_all
from gptm.selection.score_store import key_of
from gptm.selection.score_tables import perplexity_column

_SHORT = "out_of_iterations"


class Task(NamedTuple):
    name: Hashable
    fold: int
    model: GPTM
    train: Data
    test: Data
    shares: tuple[float, ...]


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

    def line(label: tuple[Hashable, int], row: Row) -> str:
        scores = [value for name, value in row.items() if name.startswith("perplexity")]
        return (
            f"{label[0]}{unit}, fold {label[1]}: perplexity {', '.join(f'{score:.1f}' for score in scores)}  "
            f"{row['iterations']} iterations  {row['seconds']:.1f} s"
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one warning for all, below
        job = Job(_evaluate, _key, _label, line)
        done = run_all(job, tasks, n_tasks, n_jobs, verbose, checkpoint)
    n_short = sum(row[_SHORT] for row in done.rows)
    if n_short:
        message = Message(
            f"{n_short} of {len(done.rows)} fits did not converge",
            PythonOnly("; see the column `converged`"),
            ". Increase ",
            Argument("max_iter"),
            ", or ",
            Argument("tol"),
            " if this is close enough.",
        )
        warn(message, ConvergenceWarning)
    index = pd.MultiIndex.from_tuples(done.labels, names=["model", "fold"])
    return _Fits(pd.DataFrame(done.rows, index=index).drop(columns=_SHORT), done.note)


def _key(task: Task) -> str:
    return key_of(task.model, task.train, task.test, task.shares)


def _label(task: Task) -> tuple[Hashable, int]:
    return task.name, task.fold


def _evaluate(task: Task) -> Row | None:
    """The scores of one fit; None if Ctrl-C ended it."""
    _, fold, model, train, test, shares = task
    try:
        seconds = np.nan
        if not hasattr(model, "components_"):
            started = time.perf_counter()
            if not fitted_to(model, train):
                return None
            seconds = time.perf_counter() - started
        row: dict[str, Any] = {
            perplexity_column(share): model.perplexity(
                test.X, metadata=test.metadata, observed=share
            )
            for share in shares
        }
        in_blocks = isinstance(train.X, BlockCorpus)  # then the words of a sample tell
        counts = model.fitted_.counts if in_blocks else train.counts
        coherence = metrics.npmi_coherence(model.components_, counts)
    except Exception as error:
        error.add_note(f"(while scoring {name_of(model)} on fold {fold})")
        raise
    row["bound"] = float(model.bound_[-1] / model.fitted_.n_tokens)
    row["coherence"] = float(coherence.mean())
    row["exclusivity"] = float(metrics.exclusivity(model.components_).mean())
    row["seconds"] = seconds
    row["iterations"] = model.n_iter_
    row["converged"] = bool(model.converged_)
    # A chain that is short predicts well all the same; EM that has not converged may not.
    row[_SHORT] = model.stop_reason_ == "max_iter" and model.inference != "sampling"
    return row
