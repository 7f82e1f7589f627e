"""LDA in tomotopy, 500 sweeps, with its hyperparameters learnt, as it does by default."""

import numpy as np
import tomotopy as tp

from benchmarks.race.task import Outcome, Task, in_our_order

PACKAGE, WARMS_UP = "tomotopy", False
SWEEPS = 500


def fit(task: Task) -> Outcome:
    model = tp.LDAModel(k=task.K, seed=task.seed)
    kept = [
        d for d, words in enumerate(task.documents()) if words and model.add_doc(words) is not None
    ]
    model.train(SWEEPS, workers=task.threads)
    found = np.array([model.get_topic_word_dist(k) for k in range(task.K)])
    topics = in_our_order(found, list(model.used_vocabs), task.vocabulary)
    theta = np.full((task.counts.shape[0], task.K), 1.0 / task.K)
    theta[kept] = [document.get_topic_dist() for document in model.docs]
    return Outcome(topics, theta, {"sweeps": SWEEPS})
