"""topica's LDA: Gibbs sweeps over threads, then means over five states. It shows no topics before its end."""

from typing import Any, NamedTuple

import numpy as np
import topica
from scipy.sparse import csr_matrix

from benchmarks.peers.measuring import Recorder
from benchmarks.peers.runners.words import as_words

PACKAGE = "topica"
WARM_UP: dict[str, Any] = {"sweeps": 5}
INFERENCE = tuple({"iters": n, "burn_in": n // 2} for n in (10, 20, 50, 100))


class Fitted(NamedTuple):
    model: Any
    n_words: int
    sweeps: int


def fit(
    X: csr_matrix, K: int, seed: int, threads: int, options: dict[str, Any], recorder: Recorder
) -> Fitted:
    model = topica.LDA(num_topics=K, seed=seed)
    documents, sweeps = as_words(X), options["sweeps"]
    recorder.start()
    return Fitted(
        model.fit(documents, iters=sweeps, num_threads=threads) or model, X.shape[1], sweeps
    )


def topics(fitted: Fitted) -> np.ndarray:
    result = np.zeros((fitted.model.num_topics, fitted.n_words))
    result[:, [int(word) for word in fitted.model.vocabulary]] = fitted.model.topic_word
    return result


def facts(fitted: Fitted) -> dict[str, Any]:
    return {"sweeps": fitted.sweeps}


def prepare_new(fitted: Fitted, X: csr_matrix) -> list[list[str]]:
    return as_words(X)


def infer(
    fitted: Fitted, documents: list[list[str]], threads: int, setting: dict[str, Any]
) -> np.ndarray:
    return np.asarray(fitted.model.transform(documents, seed=0, **setting))
