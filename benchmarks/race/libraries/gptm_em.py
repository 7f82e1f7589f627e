"""gptm as in `gptm`, by variational EM."""

from benchmarks.race.libraries import gptm
from benchmarks.race.task import Outcome, Task

PACKAGE, WARMS_UP = "gptm", True


def fit(task: Task) -> Outcome:
    return gptm.fit(task, inference="variational")
