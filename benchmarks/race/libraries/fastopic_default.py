"""FASTopic with its defaults, on the same vectors and words."""

import numpy as np
import torch
from fastopic import FASTopic
from topmost import Preprocess

from benchmarks.race.task import Outcome, Task, in_our_order

PACKAGE, WARMS_UP = "fastopic", False


class Given:
    """Vectors that are there already, under the name that FASTopic calls."""

    def __init__(self, vectors: np.ndarray):
        self.vectors = vectors

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        return self.vectors


def fit(task: Task) -> Outcome:
    assert task.vectors is not None
    torch.manual_seed(task.seed)
    torch.set_num_threads(task.threads)
    words = Preprocess(vocab_size=None, tokenizer=str.split, min_term=0, verbose=False)
    model = FASTopic(task.K, words, doc_embed_model=Given(task.vectors))
    texts = [" ".join(document) or task.vocabulary[0] for document in task.documents()]
    theta = model.fit_transform(texts, preset_doc_embeddings=task.vectors)[1]
    topics = in_our_order(model.get_beta(), list(model.vocab), task.vocabulary)
    return Outcome(topics, theta)
