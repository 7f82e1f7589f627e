"""Documents that have left the memory, as sums that can be added, weakened, and carried over to more words."""

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm.fitted import Past
from gptm.streaming.batch_order import row_keys


def of_documents(
    tally: Array, means: Array, spread: Array, squares: Array, frame: pd.DataFrame | None
) -> Past:
    """The sums of documents with these means (n, K) and variances of logits."""
    if frame is None:
        weights = np.array([float(len(means))])
        return Past(tally, weights, means.sum(0)[None], spread.sum(0)[None], squares, None)
    code, first = _cells(row_keys(frame))
    n_cells = len(first)
    weights = np.bincount(code, minlength=n_cells).astype(np.float64)
    logits, variances = np.zeros((2, n_cells, means.shape[1]))
    np.add.at(logits, code, means)
    np.add.at(variances, code, spread)
    return Past(tally, weights, logits, variances, squares, frame.iloc[first])


def _cells(keys: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's cell, and the first row of each cell."""
    numbers: dict[bytes, int] = {}
    code = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    first = np.unique(code, return_index=True)[1] if len(code) else np.zeros(0, dtype=np.int64)
    return code, first


def together(one: Past, other: Past) -> Past:
    """Both, cells with the same values as one."""
    tally, squares = one.tally + other.tally, one.squares + other.squares
    if one.cells is None or other.cells is None:
        weights, logits, spread = (a + b for a, b in zip(one[1:4], other[1:4], strict=True))
        return Past(tally, weights, logits, spread, squares, None)
    cells = pd.concat([one.cells, other.cells])
    code, first = _cells(row_keys(cells))

    def summed(name: str) -> Array:
        values = np.concatenate([getattr(one, name), getattr(other, name)])
        total = np.zeros((len(first), *values.shape[1:]))
        np.add.at(total, code, values)
        return total

    return Past(
        tally,
        summed("weights"),
        summed("logits"),
        summed("spread"),
        squares,
        cells.iloc[first],
    )


def weakened(past: Past, factor: float) -> Past:
    """The same documents, each of which counts `factor` times as much."""
    tally, weights, logits, spread, squares = (factor * values for values in past[:5])
    return Past(tally, weights, logits, spread, squares, past.cells)


def with_words(past: Past, V: int) -> Past:
    """The same with more words, which none of these documents has."""
    tally = np.zeros((V, past.tally.shape[1]))
    tally[: len(past.tally)] = past.tally
    return past._replace(tally=tally)


def with_topics(past: Past, n_new: int, low: float, variance: float) -> Past:
    """The same with new topics, whose logits are `low` below the mean of the old ones and vary as much as these."""
    K = past.logits.shape[1]
    A, c = born_map(K, n_new, low)
    n, total = past.n, past.logits.sum(0)
    cross = A @ np.outer(total, c)
    squares = A @ past.squares @ A.T + cross + cross.T + n * np.outer(c, c)
    D = np.eye(K + n_new) - 1.0 / (K + n_new)
    fresh = np.r_[np.zeros(K), np.full(n_new, variance)]
    return past._replace(
        tally=np.hstack([past.tally, np.zeros((len(past.tally), n_new))]),
        logits=past.logits @ A.T + past.weights[:, None] * c,
        spread=np.hstack([past.spread, np.outer(past.weights, fresh[K:])]),
        squares=squares + n * (D * fresh) @ D,
    )


def born_map(K: int, n_new: int, low: float) -> tuple[Array, Array]:
    """A (K + n_new, K) and c, by which logits eta of a document become A eta + c with those of new topics."""
    both = K + n_new
    wide = np.vstack([np.eye(K), np.full((n_new, K), 1.0 / K)])
    centre = np.eye(both) - 1.0 / both
    return centre @ wide, centre @ np.r_[np.zeros(K), np.full(n_new, -low)]
