"""LDA in topica, 1,000 sweeps."""

import numpy as np
import topica

from benchmarks.race.task import Outcome, Task, in_our_order

PACKAGE, WARMS_UP = "topica", False
SWEEPS = 1000
NEW = {"iters": 100, "burn_in": 50}  # sweeps over new documents


def fit(task: Task) -> Outcome:
    model = topica.LDA(num_topics=task.K, seed=task.seed)
    fitted = model.fit(task.documents(), iters=SWEEPS, num_threads=task.threads) or model
    topics = in_our_order(np.asarray(fitted.topic_word), list(fitted.vocabulary), task.vocabulary)
    new_theta = tuple(
        np.asarray(fitted.transform(words, seed=task.seed, **NEW)) for words in task.new_documents()
    )
    facts = {"sweeps": SWEEPS}
    return Outcome(topics, np.asarray(fitted.doc_topic), facts, new_theta=new_theta)
