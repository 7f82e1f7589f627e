"""tomotopy's correlated topic model: the same kind of model as ours. It is slow, so its sweeps are few."""

from typing import Any

import tomotopy
from scipy.sparse import csr_matrix

from benchmarks.peers.measuring import Recorder
from benchmarks.peers.runners.tomotopy_lda import (
    PACKAGE,
    WARM_UP,
    Fitted,
    facts,
    fit_model,
    infer,
    prepare_new,
    topics,
)

__all__ = ["INFERENCE", "PACKAGE", "WARM_UP", "facts", "fit", "infer", "prepare_new", "topics"]

INFERENCE = ({"iterations": 20},)


def fit(
    X: csr_matrix, K: int, seed: int, threads: int, options: dict[str, Any], recorder: Recorder
) -> Fitted:
    return fit_model(tomotopy.CTModel(k=K, seed=seed), X, threads, options, recorder)
