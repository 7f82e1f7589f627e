"""BERTopic with its defaults (UMAP, HDBSCAN) on vectors of the documents, reduced to K topics and one of outliers."""

import numpy as np
from bertopic import BERTopic
from sklearn.feature_extraction.text import CountVectorizer
from umap import UMAP

from benchmarks.race.task import Outcome, Task

PACKAGE, WARMS_UP = "bertopic", True


def fit(task: Task) -> Outcome:
    assert task.texts is not None
    umap = UMAP(
        n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=task.seed
    )
    words = CountVectorizer(vocabulary=task.vocabulary.tolist())
    model = BERTopic(
        language="multilingual",  # "english" glues words at hyphens, and fails on words that vanish
        umap_model=umap,
        vectorizer_model=words,
        nr_topics=task.K + 1,
    )
    assigned = np.array(model.fit_transform(task.texts, embeddings=task.vectors)[0])
    names = [number for number in sorted(set(assigned)) if number >= 0]
    rows = [sorted(model.get_topics()).index(number) for number in names]
    theta = (assigned[:, None] == np.array(names)).astype(float)
    facts = {"topics": len(names), "assigned": float((assigned >= 0).mean())}
    return Outcome(model.c_tf_idf_.toarray()[rows], theta, facts)
