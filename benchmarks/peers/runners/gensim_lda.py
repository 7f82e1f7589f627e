"""gensim's LdaMulticore: online variational Bayes, chunks of documents shared among processes."""

from typing import Any

import numpy as np
from gensim.matutils import Sparse2Corpus
from gensim.models import LdaMulticore
from scipy.sparse import csr_matrix

from benchmarks.peers.measuring import Recorder

PACKAGE = "gensim"
WARM_UP: dict[str, Any] = {"passes": 1}
INFERENCE = tuple({"gamma_threshold": tol} for tol in (0.1, 0.01, 0.001))
CHUNKS = 8  # per pass at least, so that small corpora are not learnt in one or two chunks
LARGEST_CHUNK = 2000  # gensim's own


class WatchedLDA(LdaMulticore):
    """Lets the recorder look after each chunk or so; there is no callback for several processes."""

    def watch(self, recorder: Recorder) -> "WatchedLDA":
        self._recorder = recorder
        return self

    def do_mstep(self, *args: Any, **kwargs: Any) -> None:
        super().do_mstep(*args, **kwargs)
        self._recorder.note(self.get_topics)


def as_bags(X: csr_matrix) -> list[list[tuple[int, int]]]:
    return [list(bag) for bag in Sparse2Corpus(X, documents_columns=False)]


def fit(
    X: csr_matrix, K: int, seed: int, threads: int, options: dict[str, Any], recorder: Recorder
) -> WatchedLDA:
    bags = as_bags(X)
    model = WatchedLDA(
        num_topics=K,
        id2word={w: str(w) for w in range(X.shape[1])},
        workers=threads,
        random_state=seed,
        eval_every=None,
        chunksize=max(1, min(LARGEST_CHUNK, len(bags) // CHUNKS)),
        passes=options["passes"],
    ).watch(recorder)
    recorder.start()
    model.update(bags)
    return model


def topics(model: WatchedLDA) -> np.ndarray:
    return model.get_topics()


def facts(model: WatchedLDA) -> dict[str, Any]:
    return {"passes": model.passes}


def prepare_new(model: WatchedLDA, X: csr_matrix) -> list[list[tuple[int, int]]]:
    return as_bags(X)


def infer(
    model: WatchedLDA, documents: list[Any], threads: int, setting: dict[str, Any]
) -> np.ndarray:
    model.gamma_threshold = setting["gamma_threshold"]  # gensim infers in one process
    gamma, _ = model.inference(documents)
    return gamma / gamma.sum(axis=1, keepdims=True)
