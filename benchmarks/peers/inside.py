"""gptm alone: how an iteration grows, what a second thread brings, and how far the document step is from its floor.

The document step is replayed: its arguments are caught in a fit under way, so that it runs as it does in practice. What
is compared runs in one process and in turn.
"""

import datetime
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.peers.cases import THREADS
from benchmarks.peers.roofline import least_work
from gptm import CTM, _hot
from gptm._basics.parallel import single_threaded_blas
from gptm.inference.em import document_step as estep
from gptm.inference.em import loop as em

CORPUS = "full5k"
TOPICS = (20, 50, 100)
ROOFLINE_TOPICS = (20, 100)
ITERATIONS = 12
SETTLING = 4  # first iterations, in which documents still move far
ROUNDS = 2  # of each fit
REPEATS = 25  # of each step: single ones differ by a quarter


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Another value for an attribute, for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def iteration_seconds(X: csr_matrix, K: int, seed: int) -> float:
    """Median time of an EM iteration, once documents have settled."""
    ticks: list[float] = []

    def tick(*_: Any) -> None:
        ticks.append(time.perf_counter())

    _few_iterations(X, K, seed, tick)
    return float(np.median(np.diff(ticks)[SETTLING:]))


def _few_iterations(X: csr_matrix, K: int, seed: int, callback: Callable[..., Any] | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not converge, and need not
        CTM(
            K,
            inference="variational",
            random_state=seed,
            n_jobs=THREADS,
            max_iter=ITERATIONS,
            tol=0.0,
            callback=callback,
        ).fit(X)


def growth(X: csr_matrix) -> dict[str, Any]:
    """Seconds per iteration for more topics, and for more documents."""
    _few_iterations(X[:200], 5, 0, None)  # compiles
    documents = [X.shape[0] // 4, X.shape[0] // 2, X.shape[0]]
    topics: dict[int, list[float]] = {K: [] for K in TOPICS}
    tokens: dict[int, list[float]] = {int(X[:n].sum()): [] for n in documents}
    for seed in range(ROUNDS):
        for K, seconds in topics.items():
            seconds.append(iteration_seconds(X, K, seed))
        for n, seconds in zip(documents, tokens.values(), strict=True):
            seconds.append(iteration_seconds(X[:n], TOPICS[0], seed))
    return _dated(
        {
            "by topics": {str(K): round(statistics.median(s), 4) for K, s in topics.items()},
            "by tokens, 20 topics": {
                str(n): round(statistics.median(s), 4) for n, s in tokens.items()
            },
        }
    )


def caught_step(X: csr_matrix, K: int) -> Callable[..., Any]:
    """The last document step of a short fit, to be run again; takes other keywords."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    original = em.infer_documents

    def catching(*args: Any, **kwargs: Any) -> Any:
        calls[:] = [(args, kwargs)]
        return original(*args, **kwargs)

    with replaced(em, "infer_documents", catching):
        _few_iterations(X, K, 0, None)
    ((args, kwargs),) = calls

    def again(**other: Any) -> Any:
        with (
            single_threaded_blas()
        ):  # as in a fit; BLAS's own threads would go on spinning beside the documents'
            return original(*args, **{**kwargs, **other})

    return again


def in_turn(*actions: Callable[[], Any]) -> list[list[float]]:
    """Seconds of each action, turn by turn."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(REPEATS):
        for action, times in zip(actions, seconds, strict=True):
            start = time.perf_counter()
            action()
            times.append(time.perf_counter() - start)
    return seconds


def middle_ratio(some: list[float], others: list[float]) -> float:
    """Median of the ratios within turns: the machine's speed changes from one turn to the next."""
    return round(statistics.median(a / b for a, b in zip(some, others, strict=True)), 3)


def threads(X: csr_matrix) -> dict[str, Any]:
    """The document step with one and with two threads, and its floor: two threads of one core share its arithmetic."""
    result = {}
    for K in TOPICS:
        step = caught_step(X, K)
        least = least_work(X, K, np.full(X.shape[0], em.INNER))
        least()  # compiles
        one, two, floor, floor_of_two = in_turn(
            lambda step=step: step(n_jobs=1),
            lambda step=step: step(n_jobs=2),
            least,
            lambda least=least: least(2),
        )
        result[str(K)] = {
            "one": round(statistics.median(one), 4),
            "two": round(statistics.median(two), 4),
            "ratio": middle_ratio(one, two),
            "floor's ratio": middle_ratio(floor, floor_of_two),
        }
    return _dated({"seconds of the document step by topics": result})


def inner_iterations(step: Callable[..., Any]) -> np.ndarray:
    """How many inner iterations each document takes in a document step."""
    used: list[int] = []
    original = _hot.document_block

    def counting(*args: Any) -> Any:
        used.append(original(*args))
        return used[-1]

    with replaced(_hot, "document_block", counting), replaced(estep, "BLOCK", 1):
        step(n_jobs=1)
    return np.array(used)


def roofline(X: csr_matrix) -> dict[str, Any]:
    """The document step beside compiled loops that do its least work, one thread each."""
    result = {}
    for K in ROOFLINE_TOPICS:
        step = caught_step(X, K)
        inner = inner_iterations(step)
        if len(inner) != X.shape[0]:
            raise RuntimeError(
                f"expected the inner iterations of {X.shape[0]} documents one by one, got {len(inner)} numbers. "
                "Does the document step still call _hot.document_block for blocks of BLOCK documents?"
            )
        least = least_work(X, K, inner)
        least()  # compiles
        ours, floor = in_turn(lambda step=step: step(n_jobs=1), least)
        result[str(K)] = {
            "document step": round(statistics.median(ours), 4),
            "least work": round(statistics.median(floor), 4),
            "ratio": middle_ratio(ours, floor),
            "inner iterations per document": round(float(inner.mean()), 3),
        }
    return _dated({"seconds by topics": result})


def _dated(measured: dict[str, Any]) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return measured | {
        "date": now,
        "load afterwards": [round(value, 2) for value in os.getloadavg()],
    }


MEASUREMENTS: dict[str, Callable[[csr_matrix], dict[str, Any]]] = {
    "growth": growth,
    "threads": threads,
    "roofline": roofline,
}
