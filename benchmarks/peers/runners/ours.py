"""gptm's CTM: the model without side information, as the peers have none."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.peers.measuring import Recorder
from gptm import CTM

PACKAGE = "gptm"
WARM_UP: dict[str, Any] = {"max_iter": 3}
# The quick way to proportions; points take longer and predict better, see benchmarks/README.md.
INFERENCE = tuple(
    {"doc_points": 0, "doc_tol": tol} for tol in (5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.01, 1e-3, 1e-7)
)


def fit(
    X: csr_matrix, K: int, seed: int, threads: int, options: dict[str, Any], recorder: Recorder
) -> CTM:
    def note(_: int, state: Any) -> None:
        recorder.note(lambda: state.components)

    recorder.start()
    chosen = {"inference": "variational"} | options  # topics after every iteration make the curves
    return CTM(K, random_state=seed, n_jobs=threads, callback=note, **chosen).fit(X)


def topics(model: CTM) -> np.ndarray:
    return model.components_


def facts(model: CTM) -> dict[str, Any]:
    return {"iterations": model.n_iter_, "converged": bool(model.converged_)}


def prepare_new(model: CTM, X: csr_matrix) -> csr_matrix:
    return X


def infer(model: CTM, documents: csr_matrix, threads: int, setting: dict[str, Any]) -> np.ndarray:
    return model.set_params(n_jobs=threads, **setting).transform(documents)
