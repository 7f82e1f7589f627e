"""tomotopy's LDA: Gibbs sweeps over threads, its priors learnt every ten sweeps."""

from typing import Any, NamedTuple

import numpy as np
import tomotopy
from scipy.sparse import csr_matrix

from benchmarks.peers.measuring import Recorder
from benchmarks.peers.runners.words import as_words

PACKAGE = "tomotopy"
WARM_UP: dict[str, Any] = {"sweeps": 5}
INFERENCE = tuple({"iterations": n} for n in (5, 10, 20, 50, 100, 200))
GROWTH = 1.25  # of the sweeps from one look at the topics to the next: a look makes threads wait


class Fitted(NamedTuple):
    model: Any
    n_words: int


def fit(
    X: csr_matrix, K: int, seed: int, threads: int, options: dict[str, Any], recorder: Recorder
) -> Fitted:
    return fit_model(tomotopy.LDAModel(k=K, seed=seed), X, threads, options, recorder)


def fit_model(
    model: Any, X: csr_matrix, threads: int, options: dict[str, Any], recorder: Recorder
) -> Fitted:
    """Any of tomotopy's models, trained for `options["sweeps"]`."""
    for document in as_words(X):
        model.add_doc(document)
    fitted = Fitted(model, X.shape[1])
    recorder.start()
    for step in steps(options["sweeps"]):
        model.train(step, workers=threads)
        recorder.note(lambda: topics(fitted))
    return fitted


def steps(sweeps: int) -> list[int]:
    """Numbers of sweeps that grow by a quarter, and are `sweeps` in all."""
    done, result = 0, []
    while done < sweeps:
        result.append(min(max(5, int(done * (GROWTH - 1.0))), sweeps - done))
        done += result[-1]
    return result


def topics(fitted: Fitted) -> np.ndarray:
    model, n_words = fitted
    result = np.zeros((model.k, n_words))
    used = [int(word) for word in model.used_vocabs]
    result[:, used] = [model.get_topic_word_dist(k) for k in range(model.k)]
    return result


def facts(fitted: Fitted) -> dict[str, Any]:
    return {"sweeps": fitted.model.global_step}


def prepare_new(fitted: Fitted, X: csr_matrix) -> list[Any]:
    return [fitted.model.make_doc(words) for words in as_words(X)]


def infer(
    fitted: Fitted, documents: list[Any], threads: int, setting: dict[str, Any]
) -> np.ndarray:
    theta, _ = fitted.model.infer(documents, iterations=setting["iterations"], workers=threads)
    return np.array(theta)
