"""LDA in tomotopy, 500 sweeps, with its hyperparameters learnt, as it does by default."""

from typing import Any

import numpy as np
import tomotopy as tp

from benchmarks.race.task import Outcome, Task, in_our_order

PACKAGE, WARMS_UP = "tomotopy", False
SWEEPS = 500
NEW = 100  # sweeps over new documents


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
    new_theta = tuple(
        _new_theta(model, words, task.threads, theta.shape[1]) for words in task.new_documents()
    )
    return Outcome(topics, theta, {"sweeps": SWEEPS}, new_theta=new_theta)


def _new_theta(model: Any, documents: list[list[str]], threads: int, K: int) -> np.ndarray:
    made = [model.make_doc(words) if words else None for words in documents]
    some = [d for d, document in enumerate(made) if document is not None]
    theta = np.full((len(made), K), 1.0 / K)
    theta[some] = model.infer([made[d] for d in some], iterations=NEW, workers=threads)[0]
    return theta
