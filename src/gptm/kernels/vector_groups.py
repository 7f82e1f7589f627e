"""Groups of documents with similar vectors."""

import numpy as np

from gptm._basics.parallel import blocks
from gptm._basics.types import Array

# Each vector is replaced by the mean of its nearest ones first. That takes away what is peculiar to single documents:
# with vectors of a language model, groups agree better with what people call the documents (measured on two corpora).
NEIGHBOURS = 15
SAMPLE = 5000  # documents among which neighbours are looked for, and which groups are made of
STARTS = 3  # of which the tightest groups are taken
ROUNDS = 50  # in which groups may move, at most
_ROWS = 1000  # compared with the sample at a time


def vector_groups(rows: Array, n_groups: int, rng: np.random.RandomState) -> np.ndarray | None:
    """(n,) number of the group of each document, by k-means; None where documents are too few.

    Parameters
    ----------
    rows : (n, r) vectors of unit length

    Examples
    --------
    >>> import numpy as np
    >>> angles = np.r_[np.linspace(0.0, 0.1, 30), np.linspace(2.0, 2.1, 30)]
    >>> rows = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> codes = vector_groups(rows, 2, np.random.RandomState(0))
    >>> len(set(codes[:30])), len(set(codes[30:])), len(set(codes))
    (1, 1, 2)
    """
    if n_groups < 2 or len(rows) < 2 * n_groups:
        return None
    chosen = np.arange(len(rows))
    if len(rows) > SAMPLE:
        chosen = np.sort(rng.choice(len(rows), SAMPLE, replace=False))
    sample = rows[chosen]
    among = _with_neighbours(sample, sample)
    tries = [_moved(among, _spread(among, n_groups, rng)) for _ in range(STARTS)]
    centres = min(tries, key=lambda centres: float(_nearest(among, centres)[1].sum()))
    return np.concatenate(
        [
            _nearest(_with_neighbours(rows[some], sample), centres)[0]
            for some in blocks(0, len(rows), _ROWS)
        ]
    )


def _with_neighbours(rows: Array, sample: Array) -> Array:
    """The mean of the nearest vectors of the sample for each row, at unit length."""
    n = min(NEIGHBOURS, len(sample))
    means = np.empty_like(rows)
    for some in blocks(0, len(rows), _ROWS):
        nearest = np.argsort(-(rows[some] @ sample.T), axis=1, kind="stable")[:, :n]
        means[some] = sample[nearest].mean(1)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.where(lengths == 0, 1.0, lengths))


def _nearest(rows: Array, centres: Array) -> tuple[np.ndarray, Array]:
    """(n,) number of the nearest centre, and the squared distance to it."""
    squares = (rows**2).sum(1)[:, None] - 2.0 * rows @ centres.T + (centres**2).sum(1)
    return squares.argmin(1), np.maximum(squares.min(1), 0.0)


def _spread(rows: Array, n_groups: int, rng: np.random.RandomState) -> Array:
    """(n_groups, r) rows that are far from each other: each is drawn by its squared distance to those before it."""
    centres = rows[[rng.randint(len(rows))]]
    while len(centres) < n_groups:
        distance = np.cumsum(_nearest(rows, centres)[1])
        place = np.searchsorted(distance, rng.random_sample() * distance[-1], side="right")
        centres = np.vstack([centres, rows[min(int(place), len(rows) - 1)]])
    return centres


def _moved(rows: Array, centres: Array) -> Array:
    """Centres after each has gone to the mean of its group, until groups stay as they are."""
    codes = np.full(len(rows), -1)
    for _ in range(ROUNDS):
        before, codes = codes, _nearest(rows, centres)[0]
        if np.array_equal(before, codes):
            break
        sizes = np.bincount(codes, minlength=len(centres))
        sums = np.zeros_like(centres)
        np.add.at(sums, codes, rows)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return centres
