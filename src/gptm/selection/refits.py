"""The same model fitted again: to other documents, from another seed, or with another number of topics."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gptm.corpus.counts import read_counts
from gptm.model import GPTM
from gptm.model.checked_model import check_trained_on
from gptm.selection.data import Data, read_data
from gptm.selection.resumable import Done, Job, Row, run_all
from gptm.selection.score_store import key_of


class Refit(NamedTuple):
    """A fit that is still to be made."""

    label: str
    model: GPTM
    data: Data


def training_data(model: GPTM, corpus: Any, metadata: Any, y: Any) -> Data:
    """The documents that a model was fitted to; an error if these have other words, or are not as many."""
    read_counts(model.fitted_.expects(type(model).__name__), corpus)  # which checks the words
    data = read_data(corpus, metadata, y)
    check_trained_on(model, data.n)
    return data


def seed_of(model: GPTM, random_state: int) -> int:
    """The model's own seed, or this one for a model without."""
    own = model.random_state
    return int(own) if isinstance(own, int | np.integer) else random_state


def fitted_to(model: GPTM, data: Data) -> bool:
    """Fit, and return whether it ended without Ctrl-C: a fit then keeps what it has and raises nothing."""
    model.fit(data.X, data.y, metadata=data.metadata)
    return model.stop_reason_ != "interrupt"


@contextmanager
def without_warnings() -> Iterator[None]:
    """Inside the block, no fit complains about its length: short chains have topics too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def run_refits(
    refits: Iterator[Refit],
    n_refits: int,
    run: Callable[[Refit], Row | None],
    line: Callable[[str, Row], str],
    *,
    asked: tuple[Any, ...],
    n_jobs: int | None,
    verbose: int | bool,
    checkpoint: str | os.PathLike[str] | None,
) -> Done[str]:
    """Make all refits that the checkpoint does not have; after Ctrl-C return what is done.

    `run` fits and answers, from the top level of a module; `asked` is what its answer depends on besides the fit.
    """
    job = Job(run, partial(_key, asked=asked), _label, line)
    with without_warnings():
        return run_all(job, refits, n_refits, n_jobs, verbose, checkpoint)


def _key(refit: Refit, asked: tuple[Any, ...]) -> str:
    """A key that is the same for the same fit and for what is asked of it, and different for any other."""
    return key_of(refit.model, refit.data, refit.data, asked)


def _label(refit: Refit) -> str:
    return refit.label
