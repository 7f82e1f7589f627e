"""scikit-learn's LDA: variational Bayes over the whole corpus in each iteration, documents shared among processes."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.peers.measuring import Recorder

PACKAGE = "scikit-learn"
WARM_UP: dict[str, Any] = {"max_iter": 2}
INFERENCE = tuple({"mean_change_tol": tol} for tol in (0.1, 0.03, 0.01, 0.003, 0.001))


class WatchedLDA(LatentDirichletAllocation):
    """Lets the recorder look after each iteration; there is no callback."""

    def watch(self, recorder: Recorder) -> "WatchedLDA":
        self._recorder = recorder
        return self

    def _em_step(self, *args: Any, **kwargs: Any) -> Any:
        result = super()._em_step(*args, **kwargs)
        self._recorder.note(lambda: self.components_)
        return result


def fit(
    X: csr_matrix, K: int, seed: int, threads: int, options: dict[str, Any], recorder: Recorder
) -> WatchedLDA:
    model = WatchedLDA(
        n_components=K,
        learning_method="batch",
        random_state=seed,
        n_jobs=threads,
        max_iter=options["max_iter"],
    ).watch(recorder)
    recorder.start()
    return model.fit(X)


def topics(model: WatchedLDA) -> np.ndarray:
    return model.components_


def facts(model: WatchedLDA) -> dict[str, Any]:
    return {"iterations": model.n_iter_}


def prepare_new(model: WatchedLDA, X: csr_matrix) -> csr_matrix:
    return X


def infer(
    model: WatchedLDA, documents: csr_matrix, threads: int, setting: dict[str, Any]
) -> np.ndarray:
    return model.set_params(n_jobs=threads, **setting).transform(documents)
