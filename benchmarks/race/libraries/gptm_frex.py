"""gptm as in `gptm`, with the words of topics in the order of FREX, by which `topics()` can show them."""

from benchmarks.race.libraries import gptm
from benchmarks.race.task import Outcome, Task
from gptm import metrics

PACKAGE, WARMS_UP = "gptm", True


def fit(task: Task) -> Outcome:
    model = gptm.fitted_model(task)
    return Outcome(metrics.frex(model.components_), model.doc_topics_, gptm.facts_of(model))
