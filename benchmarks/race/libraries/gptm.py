"""gptm with its defaults: a kernel of the side information where there is some, else the correlated topic model."""

from typing import Any

from benchmarks.race.task import Outcome, Task
from gptm import GPTM, kernels
from gptm.tables import shown_weights

PACKAGE, WARMS_UP = "gptm", True


def kernel_of(task: Task) -> kernels.Kernel | None:
    """One term for each column that the formula names: smooth where the formula says s(column)."""
    terms: list[kernels.Kernel] = []
    for part in filter(None, (part.strip() for part in task.formula.strip("~ ").split("+"))):
        smooth = part.startswith("s(")
        terms.append(kernels.Matern(part[2:-1]) if smooth else kernels.Categorical(part))
    return sum(terms[1:], terms[0]) if terms else None


def fit(task: Task, kernel: kernels.Kernel | None = None, **settings: Any) -> Outcome:
    """The topics are weights of words as `topics()` orders them where texts are given, and else probabilities."""
    model = fitted_model(task, kernel, **settings)
    topics = model.components_ if task.texts is None else shown_weights(model.fitted_)
    new_theta = tuple(model.transform(counts) for counts in task.new)
    return Outcome(topics, model.doc_topics_, facts_of(model), _effect(model, task), new_theta)


def fitted_model(task: Task, kernel: kernels.Kernel | None = None, **settings: Any) -> GPTM:
    metadata = task.metadata
    if task.vectors is not None and kernel is not None:
        metadata = {"vector": list(task.vectors)}
    kernel = kernel or kernel_of(task)
    model = GPTM(task.K, kernel=kernel, random_state=task.seed, n_jobs=task.threads, **settings)
    return model.fit(task.counts, metadata=metadata)


def facts_of(model: GPTM) -> dict[str, Any]:
    return {"sweeps": model.n_iter_, "converged": bool(model.converged_)}


def _effect(model: GPTM, task: Task) -> dict[str, list[float]] | None:
    if task.effect is None:
        return None
    column, base, other = task.effect
    table = model.effects(column, at=other, versus=base, level=0.9)
    columns = {"estimate": "share", "low": "share_low", "high": "share_high"}
    return {name: table[column].tolist() for name, column in columns.items()}
