"""KeyNMF of Turftopic, the model that its documentation recommends first, on the same vectors."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from turftopic import KeyNMF

from benchmarks.race.embed import encoder
from benchmarks.race.task import Outcome, Task

PACKAGE, WARMS_UP = "turftopic", False


def fit(task: Task) -> Outcome:
    assert task.texts is not None
    words = CountVectorizer(vocabulary=task.vocabulary.tolist())
    model = KeyNMF(task.K, encoder=encoder(), vectorizer=words, random_state=task.seed)
    theta = model.fit_transform(task.texts, embeddings=task.vectors)
    return Outcome(np.asarray(model.components_), np.asarray(theta))
