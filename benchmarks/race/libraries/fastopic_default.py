"""FASTopic with its defaults, on the same vectors and words."""

import numpy as np
import torch
from fastopic import FASTopic
from topmost import Preprocess

from benchmarks.race.task import Outcome, Task

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
    column = {word: number for number, word in enumerate(task.vocabulary)}
    topics = np.zeros((task.K, len(task.vocabulary)))
    topics[:, [column[word] for word in model.vocab]] = model.get_beta()
    return Outcome(topics, theta)
