"""KeyNMF of Turftopic, the model that its documentation recommends first, on the same vectors."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from turftopic import KeyNMF

from benchmarks.race.embed import encoder
from benchmarks.race.task import Outcome, Task, in_our_order

PACKAGE, WARMS_UP = "turftopic", False


def fit(task: Task) -> Outcome:
    assert task.texts is not None
    words = CountVectorizer(vocabulary=task.vocabulary.tolist())
    model = KeyNMF(task.K, encoder=encoder(), vectorizer=words, random_state=task.seed)
    theta = model.fit_transform(task.texts, embeddings=task.vectors)
    topics = in_our_order(np.asarray(model.components_), list(model.get_vocab()), task.vocabulary)
    return Outcome(topics, np.asarray(theta))
