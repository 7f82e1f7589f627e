"""Threads that change nothing but the time: fixed pieces of work, results in a fixed order."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import joblib
import numpy as np
import threadpoolctl
from threadpoolctl import ThreadpoolController

from gptm._basics.types import Array

Item = TypeVar("Item")
Result = TypeVar("Result")

BLOCK = 256  # documents per call of a compiled loop: short enough to answer Ctrl-C at once
SHARES = 16  # of fewer documents than make so many blocks: threads that share them end at about the same time
LEAST = 1600  # documents times topics in a share: fewer take less time than a thread needs to start


def n_threads(n_jobs: int | None) -> int:
    """Number of threads that scikit-learn's `n_jobs` convention means here."""
    return int(joblib.effective_n_jobs(n_jobs))


def blocks(start: int, stop: int, size: int = BLOCK) -> list[slice]:
    """Consecutive slices of at most `size` that cover start to stop."""
    return [slice(a, min(a + size, stop)) for a in range(start, stop, size)]


def even_blocks(n: int, K: int) -> list[slice]:
    """Consecutive slices of n documents for threads to share, neither long (`BLOCK`) nor short (`LEAST`)."""
    return blocks(0, n, min(BLOCK, max(-(-n // SHARES), -(-LEAST // K))))


def shards(weights: np.ndarray, n_shards: int) -> list[slice]:
    """At most `n_shards` consecutive slices of about equal weight that cover all the items."""
    cumulative = np.concatenate([[0], np.cumsum(weights)])
    targets = cumulative[-1] * np.arange(1, n_shards) / n_shards
    cuts = np.unique(np.concatenate([[0], np.searchsorted(cumulative, targets), [len(weights)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(cuts)]


class Cancelled(Exception):
    """Raised inside a worker thread when the work was interrupted elsewhere."""


def ordered_map(
    function: Callable[[Item, Callable[[], None]], Result],
    items: Sequence[Item],
    n_jobs: int | None,
    tell: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Results of `function(item, checkpoint)` in the order of the items, run by `n_jobs` threads.

    Long functions call `checkpoint()` now and then: it ends the worker early after an
    interrupt, so that Ctrl-C is answered at once and no thread is left working. `tell` gets the
    number of items that are done, and of all.
    """
    threads = min(n_threads(n_jobs), len(items))
    if threads <= 1:
        return _one_by_one(function, items, tell)
    results: dict[int, Result] = {}
    errors: list[BaseException] = []
    numbers, turn, stop = iter(range(len(items))), threading.Lock(), threading.Event()

    def checkpoint() -> None:
        if stop.is_set():
            raise Cancelled

    def work() -> None:
        try:
            while not stop.is_set():
                with turn:
                    number = next(numbers, None)
                    if tell is not None:
                        tell(len(results), len(items))
                if number is None:
                    return
                results[number] = function(items[number], checkpoint)
        except Cancelled:
            return
        except BaseException as error:
            errors.append(error)
            stop.set()

    # The caller works too: a thread less to start, which takes as long as some hundred documents.
    others = [threading.Thread(target=work, daemon=True) for _ in range(threads - 1)]
    try:
        for thread in others:
            thread.start()
        work()
        for thread in others:
            thread.join()
    except BaseException:
        stop.set()
        for thread in others:
            if thread.is_alive():  # one that has not begun yet will find nothing to do
                thread.join()
        raise
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(items))]


def _one_by_one(
    function: Callable[[Item, Callable[[], None]], Result],
    items: Sequence[Item],
    tell: Callable[[int, int], None] | None,
) -> list[Result]:
    results = []
    for item in items:
        results.append(function(item, lambda: None))
        if tell is not None:
            tell(len(results), len(items))
    return results


_helpers: ContextVar[int | None] = ContextVar("helpers", default=None)
PIECES = 8  # of linear algebra over documents, whatever the number of threads
FEW_ROWS = 2000  # below, threads cost more than they bring


@contextmanager
def helpers(n_jobs: int | None) -> Iterator[None]:
    """Inside the block, `by_rows` uses that many threads."""
    token = _helpers.set(n_jobs)
    try:
        yield
    finally:
        _helpers.reset(token)


def by_rows(function: Callable[[slice], None], n: int) -> None:
    """Call `function` with slices that cover n rows; the same slices for any number of threads."""
    size = n if n < FEW_ROWS else -(-n // PIECES)
    pieces = blocks(0, n, max(size, 1))
    ordered_map(lambda piece, _: function(piece), pieces, _helpers.get())


PATIENCE = 0.2  # seconds: on Windows Ctrl-C goes unnoticed while a thread is waited for


def interruptible(function: Callable[[], Result]) -> Result:
    """The result of `function()`, run aside so that Ctrl-C need not wait for a long library call."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    # `helpers` holds there too. The interpreter does not wait for a daemon when it ends, as it would for a pool.
    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(PATIENCE)
    if errors:
        raise errors.pop()
    return results[0]


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limits: Any = None


@cache
def _blas() -> ThreadpoolController:
    """The BLAS of NumPy and SciPy; to look for it takes some milliseconds, as long as some calls in all."""
    return ThreadpoolController()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One BLAS thread inside the block: the number of threads would change the last bits.

    The limit belongs to the whole process, so the first of several concurrent users sets it and the
    last one lifts it.
    """
    global _blas_users, _blas_limits
    with _blas_lock:
        if _blas_users == 0:
            _blas_limits = _blas().limit(limits=1, user_api="blas")
            _let_go_of_blas()
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0 and _blas_limits is not None:
                _blas_limits.restore_original_limits()
                _let_go_of_blas()
                _blas_limits = None


def _let_go_of_blas() -> None:
    """Let any thread lift the limit: newer threadpoolctl reserves that to the one that set it."""
    let_go = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if let_go is not None:
        let_go()


def _forget_blas_users() -> None:
    """A forked child inherits the counter but none of the threads that would count it down."""
    global _blas_users, _blas_limits, _blas_lock
    _blas_lock = threading.Lock()
    _blas_users = 0
    _blas_limits = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_blas_users)


@contextmanager
def computing(n_jobs: int | None) -> Iterator[None]:
    """Inside the block, our own threads share the work, `n_jobs` of them, and BLAS starts none."""
    with single_threaded_blas(), helpers(n_jobs):
        yield


def row_product(A: Array, X: Array) -> Array:
    """A X, some rows at a time, for A of many columns."""
    result = np.empty((len(A), X.shape[1]))

    def run(rows: slice) -> None:
        # The product of the transposes takes less time, little more than half where A is one itself.
        result[rows] = (X.T @ A[rows].T).T

    by_rows(run, len(A))
    return result


DIRECT = 500_000  # multiplications: so few, OpenBLAS does without copying the matrices first


def thin_product(A: Array, X: Array) -> Array:
    """A X, some rows at a time, for A of few columns."""
    result = np.empty((len(A), X.shape[1]))
    for rows in _short_blocks(A, X):
        np.matmul(A[rows], X, out=result[rows])
    return result


def inner_product(A: Array, X: Array) -> Array:
    """A' X, some rows at a time, for few columns; added up in their order."""
    result = np.zeros((A.shape[1], X.shape[1]))
    for rows in _short_blocks(A, X):
        result += A[rows].T @ X[rows]
    return result


def _short_blocks(A: Array, X: Array) -> list[slice]:
    return blocks(0, len(A), max(DIRECT // max(A.shape[1] * X.shape[1], 1), 1))
