"""The experiments by name, in the order of the page."""

import importlib
from importlib.util import find_spec
from typing import cast

from gptm.reproduce.jobs import Experiment

_ALL = ("table2", "table6", "topics", "embeddings", "classification", "timing")
NAMES = tuple(name for name in _ALL if find_spec(f"gptm.reproduce.{name}") is not None)


def load(name: str) -> Experiment:
    """The module of an experiment."""
    return cast(Experiment, importlib.import_module(f"gptm.reproduce.{name}"))
