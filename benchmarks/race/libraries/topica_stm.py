"""The structural topic model in topica, with its defaults: spectral start, up to 500 iterations."""

from typing import Any

import numpy as np
import topica

from benchmarks.race.task import Outcome, Task, in_our_order

PACKAGE, WARMS_UP = "topica", False
DRAWS = 50  # of the proportions, for errors by composition


def fit(task: Task) -> Outcome:
    model = topica.STM(num_topics=task.K, seed=task.seed)
    side = {"formula": task.formula, "data": task.metadata} if task.formula else {}
    fitted = model.fit(task.documents(), num_threads=task.threads, **side) or model
    topics = in_our_order(np.asarray(fitted.topic_word), list(fitted.vocabulary), task.vocabulary)
    facts = {"converged": bool(fitted.converged)}
    new_theta = tuple(np.asarray(fitted.transform(words)) for words in task.new_documents())
    return Outcome(topics, np.asarray(fitted.doc_topic), facts, _effect(fitted, task), new_theta)


def _effect(model: topica.STM, task: Task) -> dict[str, list[float]] | None:
    """Regression of the shares on the formula, with the proportions' own uncertainty, 90 % intervals."""
    if task.effect is None:
        return None
    column, _, other = task.effect
    tables = topica.estimate_effect(
        model, data=task.metadata, formula=task.formula, nsims=DRAWS, ci=0.9, seed=task.seed
    )
    rows = [_row(table, column, other) for table in tables]
    return {name: [row[name] for row in rows] for name in ("estimate", "low", "high")}


def _row(table: Any, column: str, level: str) -> dict[str, float]:
    """The coefficient of one level of a column."""
    place = list(table.feature_names).index(f"{column}[T.{level}]")
    ends = {"estimate": table.coef, "low": table.ci_low, "high": table.ci_high}
    return {name: float(values[place]) for name, values in ends.items()}
