"""gptm with vectors of the documents' sentences as side information."""

from benchmarks.race.libraries import gptm
from benchmarks.race.task import Outcome, Task
from gptm import kernels

PACKAGE, WARMS_UP = "gptm", True


def fit(task: Task) -> Outcome:
    return gptm.fit(task, kernels.Embedding("vector"))
