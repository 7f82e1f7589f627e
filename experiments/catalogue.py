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


def parse_names(text: str) -> list[str]:
    """Names of experiments from a text with commas between them.

    Examples
    --------
    >>> parse_names("table2, timing")
    ['table2', 'timing']
    """
    names = [name.strip() for name in text.split(",")]
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise ValueError(
            f"expected names of experiments, {', '.join(NAMES)}; got {', '.join(unknown)}"
        )
    return names
