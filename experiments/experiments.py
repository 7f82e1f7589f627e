"""The experiments by name, in the order of the page."""

import importlib
from typing import cast

from experiments.jobs import Experiment

NAMES = ("table2", "table6", "topics", "embeddings", "classification", "timing")


def load(name: str) -> Experiment:
    """The module of an experiment.

    Examples
    --------
    >>> load("table2").jobs.__doc__
    'All folds of all models on all sets.'
    """
    return cast(Experiment, importlib.import_module(f"experiments.{name}"))
