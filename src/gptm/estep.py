"""The document step: each document's posterior of eta given its prior, eqs 9-10 and section 3.2.

A pure function of (counts, prior, topics, start) to (posterior, sufficient statistics): one
thread, many threads and many machines run the same function over blocks of documents.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm import _hot
from gptm._types import Array
from gptm.parallel import BLOCK, blocks, even_blocks, ordered_map, shards
from gptm.quadrature import RULES

# Each shard sums expected counts in a (V, K) array of its own. Within these limits there are as many, whatever n_jobs,
# as take about the memory of the posterior.
FEW_SHARDS, MANY_SHARDS = 8, 32
MIN_SHARD = 8192  # distinct words


class Prior(NamedTuple):
    """Gaussian prior of eta for n documents: precision T diag(weight[d]) T' around mean[d].

    Where all documents share one precision, its weight has no row for each.
    """

    mean: Array  # (n, K)
    T: Array  # (K, K)
    weight: Array  # (n, K) or (K,)


class Posterior(NamedTuple):
    """Independent Gaussians q(eta) = N(lam, diag nu2) of n documents."""

    lam: Array  # (n, K)
    nu2: Array  # (n, K)


class Statistics(NamedTuple):
    """What the rest of EM needs of the words."""

    terms: Array  # (n,) words and normaliser terms of each document's bound; empty if not asked for
    expected: Array  # (V, K) expected word-topic counts; empty if not asked for


class Tally:
    """Padded arrays for topics and the shards' sums, kept from one document step to the next: new memory is slow."""

    def __init__(self) -> None:
        self._shape = (0, 0)
        self._arrays: list[Array] = []

    def arrays(self, n: int, V: int, K: int) -> list[Array]:
        """As many (V, K) arrays, padded with (next to) nothing; what else is in them is of no use."""
        if self._shape != (V, K):
            self._shape, self._arrays = (V, K), []
        self._arrays += [_hot.padded_zeros(V, K) for _ in range(n - len(self._arrays))]
        return self._arrays[:n]


def prior_start(prior: Prior) -> Posterior:
    """The posterior of documents without words: the start when nothing better is known. Not to be written to."""
    precision_diagonal = prior.weight @ (prior.T**2).T
    return Posterior(prior.mean, np.broadcast_to(1.0 / precision_diagonal, prior.mean.shape))


def infer_documents(
    counts: csr_matrix,
    prior: Prior,
    beta_T: Array,
    start: Posterior | None,
    *,
    max_inner: int,
    tol: float,
    n_jobs: int | None,
    tally: Tally | None = None,
    with_terms: bool = True,
) -> tuple[Posterior, Statistics]:
    """Posterior of every document from `start`, at most `max_inner` inner iterations each.

    Without a start each document begins with one look at its words from its prior. That stands for the first and
    longest of the steps, and leads to higher bounds: steps from afar tend to end in the wrong one of several optima.
    From the start on no document's bound is ever lowered. Expected word-topic counts are summed where there is a
    `tally` for it. The result does not depend on `n_jobs`.
    """
    n, K = prior.mean.shape
    V = len(beta_T)
    assert counts.shape == (n, V)  # the compiled loops do not look
    begin = prior_start(prior) if start is None else start
    lam, nu2 = np.empty((2, n, K))
    terms = np.empty(n if with_terms else 0)
    longest = int(np.diff(counts.indptr).max(initial=0))
    shared = prior.weight.ndim == 1
    P, resolvents = (
        _shared_precision(prior)
        if shared
        else (_hot.padded_zeros(0, K), _hot.padded_zeros(0, K + 2, K))
    )
    weight = np.empty((0, K)) if shared else prior.weight
    if tally is None:
        pieces = even_blocks(n)
        sums = [_hot.padded_zeros(0, K)] * len(pieces)
        indices, topics = _topics_of(counts.indices, beta_T)
    else:
        pieces = shards(np.diff(counts.indptr) + K, _n_shards(counts))
        indices = counts.indices
        topics, *sums = tally.arrays(1 + len(pieces), V, K)
        topics[:, :K] = beta_T

    def run(item: tuple[slice, Array], checkpoint: Callable[[], None]) -> None:
        shard, expected = item
        expected[:] = 0.0
        scratch = _hot.Scratch.of(K, longest)
        for rows in blocks(shard.start, shard.stop, BLOCK):
            checkpoint()
            lam[rows], nu2[rows] = begin.lam[rows], begin.nu2[rows]
            _hot.document_block(
                counts.indptr[rows.start : rows.stop + 1],
                indices,
                counts.data,
                np.ascontiguousarray(prior.mean[rows]),
                prior.T,
                np.ascontiguousarray(weight[rows]),
                P,
                resolvents,
                topics,
                lam[rows],
                nu2[rows],
                start is None,
                max_inner,
                tol,
                terms[rows],
                expected,
                scratch,
            )

    ordered_map(run, list(zip(pieces, sums, strict=True)), n_jobs)
    expected = _expected_counts(sums, beta_T[:0] if tally is None else beta_T, n_jobs)
    return Posterior(lam, nu2), Statistics(terms, expected)


def _topics_of(words: np.ndarray, beta_T: Array) -> tuple[np.ndarray, Array]:
    """Words by their rows in padded topics, and these; where words are few, the topics are of them alone."""
    if len(words) < len(beta_T):
        few, rows = np.unique(words, return_inverse=True)
        words, beta_T = rows.astype(words.dtype), beta_T[few]
    topics = _hot.padded_zeros(*beta_T.shape)
    topics[:, : beta_T.shape[1]] = beta_T
    return words, topics


def _n_shards(counts: csr_matrix) -> int:
    D, V = counts.shape
    most = np.clip(2 * D // max(V, 1), FEW_SHARDS, MANY_SHARDS)
    return int(np.clip(counts.nnz // MIN_SHARD, 1, most))


def _expected_counts(sums: list[Array], beta_T: Array, n_jobs: int | None) -> Array:
    """beta_T times the sum of the shards' sums, always in the same order."""
    K = beta_T.shape[1]
    total = np.zeros(beta_T.shape)

    def add(rows: slice, _: Callable[[], None]) -> None:
        for part in sums:
            total[rows] += part[rows, :K]
        total[rows] *= beta_T[rows]

    ordered_map(add, blocks(0, len(total), max(len(total) // FEW_SHARDS, 1)), n_jobs)
    return total


def _shared_precision(prior: Prior) -> tuple[Array, Array]:
    """The one precision P, and (n_levels, K + 2, K) inverses of P + level I, row sums and diagonals below; padded."""
    K = len(prior.T)
    precision = (prior.T * prior.weight) @ prior.T.T
    P, resolvents = _hot.padded_zeros(K, K), _hot.padded_zeros(len(_hot.LEVELS), K + 2, K)
    P[:, :K] = 0.5 * (precision + precision.T)
    levels = _hot.LEVELS * np.trace(P) / K
    inverses = np.linalg.inv(P[:, :K] + levels[:, None, None] * np.eye(K))
    resolvents[:, :K, :K] = inverses
    resolvents[:, K, :K] = inverses.sum(1)
    resolvents[:, K + 1, :K] = np.diagonal(inverses, axis1=1, axis2=2)
    return P, resolvents


def expected_theta(posterior: Posterior, n_jobs: int | None) -> Array:
    """(n, K) E_q[softmax(eta)], not softmax(lam); rows sum to one."""
    theta = np.empty_like(posterior.lam)

    def run(rows: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        work = _hot.padded_zeros(4 + 2 * RULES.nodes.shape[1], theta.shape[1])
        _hot.expected_softmax(posterior.lam[rows], posterior.nu2[rows], RULES, theta[rows], work)

    ordered_map(run, even_blocks(len(theta)), n_jobs)
    return theta
