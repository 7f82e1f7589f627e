"""gptm as in `gptm`, with the words of topics in the order of FREX, by which `topics()` can show them."""

from benchmarks.race.libraries import gptm
from benchmarks.race.task import Outcome, Task
from gptm import metrics

PACKAGE, WARMS_UP = "gptm", True


def fit(task: Task) -> Outcome:
    outcome = gptm.fit(task)
    return outcome._replace(topics=metrics.frex(outcome.topics))
