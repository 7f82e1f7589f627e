"""The same model fitted again: to other documents, from another seed, or with another number of topics."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gptm.corpus.counts import read_counts
from gptm.model import GPTM
from gptm.model.checked_model import check_trained_on
from gptm.selection.folds import Data, read_data
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


def key_of_refit(task: Refit, also: tuple[Any, ...]) -> str:
    """A key that is the same for the same fit and for what is `also` asked of it, and different for any other."""
    return key_of(task.model, task.data, task.data, also)


def label_of(task: Refit) -> str:
    """The name of a fit."""
    return task.label


@contextmanager
def without_warnings() -> Iterator[None]:
    """Inside the block, no fit complains about its length: short chains have topics too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
