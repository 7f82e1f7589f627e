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
# as take no more memory than the posterior does.
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
    """Arrays for the shards' sums, kept from one document step to the next: new memory is slow."""

    def __init__(self) -> None:
        self._arrays: list[Array] = []

    def arrays(self, n: int, shape: tuple[int, int]) -> list[Array]:
        """As many arrays of that shape; what is in them is of no use."""
        if self._arrays and self._arrays[0].shape != shape:
            self._arrays = []
        self._arrays += [np.empty(shape) for _ in range(n - len(self._arrays))]
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
    assert counts.shape == (n, len(beta_T))  # the compiled loops do not look
    begin = prior_start(prior) if start is None else start
    lam, nu2 = np.empty((2, n, K))
    terms = np.empty(n if with_terms else 0)
    longest = int(np.diff(counts.indptr).max(initial=0))
    shared = prior.weight.ndim == 1
    P, resolvents = _shared_precision(prior) if shared else (np.empty((0, 0)), np.empty((0, 0, 0)))
    weight = np.empty((0, K)) if shared else prior.weight

    def run(item: tuple[slice, Array], checkpoint: Callable[[], None]) -> None:
        shard, expected = item
        expected[:] = 0.0
        scratch = _hot.Scratch.of(K, longest)
        for rows in blocks(shard.start, shard.stop, BLOCK):
            checkpoint()
            lam[rows], nu2[rows] = begin.lam[rows], begin.nu2[rows]
            indptr = counts.indptr[rows.start : rows.stop + 1]
            if start is None:
                _hot.guess_block(
                    indptr, counts.indices, counts.data, beta_T, lam[rows], nu2[rows], scratch
                )
            _hot.document_block(
                indptr,
                counts.indices,
                counts.data,
                np.ascontiguousarray(prior.mean[rows]),
                prior.T,
                weight[rows],
                P,
                resolvents,
                beta_T,
                lam[rows],
                nu2[rows],
                max_inner,
                tol,
                terms[rows],
                expected,
                scratch,
            )

    if tally is None:
        tally, pieces, shape = Tally(), even_blocks(n), (0, K)
    else:
        pieces = shards(np.diff(counts.indptr) + K, _n_shards(counts))
        shape = (counts.shape[1], K)
    sums = tally.arrays(len(pieces), shape)
    ordered_map(run, list(zip(pieces, sums, strict=True)), n_jobs)
    return Posterior(lam, nu2), Statistics(terms, _expected_counts(sums, shape, beta_T, n_jobs))


def _n_shards(counts: csr_matrix) -> int:
    D, V = counts.shape
    most = np.clip(2 * D // max(V, 1), FEW_SHARDS, MANY_SHARDS)
    return int(np.clip(counts.nnz // MIN_SHARD, 1, most))


def _expected_counts(
    sums: list[Array], shape: tuple[int, int], beta_T: Array, n_jobs: int | None
) -> Array:
    """beta_T times the sum of the shards' sums, always in the same order."""
    total = np.zeros(shape)

    def add(rows: slice, _: Callable[[], None]) -> None:
        for part in sums:
            total[rows] += part[rows]
        total[rows] *= beta_T[rows]

    ordered_map(add, blocks(0, len(total), max(len(total) // FEW_SHARDS, 1)), n_jobs)
    return total


def _shared_precision(prior: Prior) -> tuple[Array, Array]:
    """The one precision P, and (n_levels, K + 2, K) inverses of P + level I, row sums and diagonals below."""
    P = (prior.T * prior.weight) @ prior.T.T
    P = 0.5 * (P + P.T)
    levels = _hot.LEVELS * np.trace(P) / len(P)
    inverses = np.linalg.inv(P + levels[:, None, None] * np.eye(len(P)))
    diagonals = np.diagonal(inverses, axis1=1, axis2=2)[:, None]
    return P, np.concatenate([inverses, inverses.sum(1, keepdims=True), diagonals], axis=1)


def expected_theta(posterior: Posterior, n_jobs: int | None) -> Array:
    """(n, K) E_q[softmax(eta)], not softmax(lam); rows sum to one."""
    theta = np.empty_like(posterior.lam)

    def run(rows: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        work = np.empty((5 + 2 * RULES.nodes.shape[1], theta.shape[1]))
        bits = work[0].view(np.int64)
        _hot.expected_softmax(
            posterior.lam[rows], posterior.nu2[rows], RULES, theta[rows], work, bits
        )

    ordered_map(run, even_blocks(len(theta)), n_jobs)
    return theta
