"""The same model fitted again: to other documents, from another seed, or with another number of topics."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from gptm.model import GPTM
from gptm.selection.folds import Data
from gptm.selection.score_store import key_of


class Refit(NamedTuple):
    """A fit that is still to be made."""

    label: str
    model: GPTM
    data: Data


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
