"""The document step: each document's posterior of eta given its prior, eqs 9-10 and section 3.2.

A pure function from (counts, prior, topics, start) to (posterior, sufficient statistics). One thread or several run it
over blocks of documents, and the result does not depend on how many.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import csr_matrix

from gptm import _hot
from gptm._basics.errors import Argument, InputError, PythonOnly
from gptm._basics.parallel import BLOCK, blocks, even_blocks, ordered_map, shards
from gptm._basics.types import Array
from gptm.inference.quadrature import RULES

# Each shard sums expected counts in a (V, K) array of its own. Within these limits there are as many, whatever n_jobs,
# as take about the memory of the posterior.
FEW_SHARDS, MANY_SHARDS = 8, 32
MIN_SHARD = 8192  # distinct words
LONGEST = 1e11  # tokens of a document (measured: some of ten times as many never settle)


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
    """Statistics of the words that the other steps of EM use."""

    terms: Array  # (n,) words and normaliser terms of each document's bound; may be empty
    expected: Array  # (V, K) expected word-topic counts; may be empty


class Tally:
    """Padded arrays for the shards' sums, kept from one document step to the next: new memory is slow."""

    def __init__(self) -> None:
        self._shape = (0, 0)
        self._arrays: list[Array] = []

    def arrays(self, n: int, V: int, K: int) -> list[Array]:
        """n padded arrays of shape (V, K); their contents are arbitrary, the padding is (nearly) zero."""
        if self._shape != (V, K):
            self._shape, self._arrays = (V, K), []
        self._arrays += [_hot.padded_zeros(V, K) for _ in range(n - len(self._arrays))]
        return self._arrays[:n]


def prior_start(prior: Prior) -> Posterior:
    """The posterior of documents without words: the start when nothing better is available. Do not write to it."""
    precision_diagonal = prior.weight @ (prior.T**2).T
    return Posterior(prior.mean, np.broadcast_to(1.0 / precision_diagonal, prior.mean.shape))


class Batch(NamedTuple):
    """Documents, their priors, and what all of them share, as the compiled loop takes them."""

    indptr: np.ndarray
    indices: np.ndarray
    data: Array
    longest: int  # distinct words of a document
    mean: Array
    T: Array
    weight: Array  # of each document, or nothing
    P: Array  # the one precision of all, or nothing
    resolvents: Array  # likewise
    topics: Array
    begin: Posterior
    guess: bool
    max_inner: int
    tol: float

    @classmethod
    def of(
        cls,
        counts: csr_matrix,
        prior: Prior,
        beta_T: Array,
        start: Posterior | None,
        max_inner: int,
        tol: float,
    ) -> "Batch":
        n, K = prior.mean.shape
        assert counts.shape == (n, len(beta_T))  # the compiled loops do not look
        _check_lengths(counts)
        if prior.weight.ndim == 1:
            weight, (P, resolvents) = np.empty((0, K)), _shared_precision(prior)
        else:
            weight, P = prior.weight, _hot.padded_zeros(0, K)
            resolvents = _hot.padded_zeros(0, 0, K)
        return cls(
            counts.indptr,
            counts.indices,
            counts.data,
            int(np.diff(counts.indptr).max(initial=0)),
            prior.mean,
            prior.T,
            weight,
            P,
            resolvents,
            _hot.padded_rows(beta_T),
            prior_start(prior) if start is None else start,
            start is None,
            max_inner,
            tol,
        )

    def scratch(self) -> _hot.Scratch:
        """Memory for one thread."""
        return _hot.Scratch.of(len(self.T), self.longest, shared=len(self.P) > 0)

    def settle(
        self,
        rows: slice,
        lam: Array,
        nu2: Array,
        terms: Array,
        expected: Array,
        scratch: _hot.Scratch,
    ) -> None:
        """Fill `lam`, `nu2` and `terms` of some documents, and add to `expected`: see `_hot.document_block`."""
        lam[:], nu2[:] = self.begin.lam[rows], self.begin.nu2[rows]
        _hot.document_block(
            self.indptr[rows.start : rows.stop + 1],
            self.indices,
            self.data,
            np.ascontiguousarray(self.mean[rows]),
            self.T,
            np.ascontiguousarray(self.weight[rows]),
            self.P,
            self.resolvents,
            self.topics,
            lam,
            nu2,
            self.guess,
            self.max_inner,
            self.tol,
            terms,
            expected,
            scratch,
        )


def _check_lengths(counts: csr_matrix) -> None:
    """An error for documents so long that rounding hides where their optimum is."""
    if counts.data.sum() <= LONGEST:  # of all together, which is quick
        return
    lengths = np.asarray(counts.sum(1)).ravel()
    if lengths.max() > LONGEST:
        raise InputError(
            f"variational inference takes documents of at most {LONGEST:g} tokens; document {lengths.argmax()} has "
            f"{lengths.max():.3g}. Divide all counts by the same number, or fit with ",
            Argument("inference", "sampling"),
            " and ",
            Argument("init", "gibbs"),
            PythonOnly(", and transform with doc_points above 0"),
            ".",
        )


class Desks(threading.local):
    """Memory that each thread has of its own, from one block of documents to the next."""

    def __init__(self, batch: Batch, pieces: list[slice]) -> None:
        K = len(batch.T)
        longest = max((rows.stop - rows.start for rows in pieces), default=0)
        self.scratch = batch.scratch()
        self.posterior = np.empty((2, longest, K))
        self.softmax = _hot.SoftmaxScratch.of(K, RULES)


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
) -> tuple[Posterior, Statistics]:
    """Posterior of every document from `start`, at most `max_inner` inner iterations each.

    Without a start each document begins with a first guess from its prior and its words. This replaces the first and
    longest step and leads to higher bounds: steps from far away tend to end in the wrong optimum. No later step lowers
    a document's bound. Expected word-topic counts are summed if there is a `tally`. The result does not depend on
    `n_jobs`.
    """
    n, K = prior.mean.shape
    lam, nu2 = np.empty((2, n, K))
    terms = np.empty(n)
    if tally is None:
        pieces = even_blocks(n, K)
        sums = [_hot.padded_zeros(0, K)] * len(pieces)
    else:
        pieces = shards(np.diff(counts.indptr) + K, _n_shards(counts))
        sums = tally.arrays(len(pieces), len(beta_T), K)
    batch = Batch.of(counts, prior, beta_T, start, max_inner, tol)

    def run(item: tuple[slice, Array], checkpoint: Callable[[], None]) -> None:
        shard, expected = item
        expected[:] = 0.0
        scratch = batch.scratch()
        for rows in blocks(shard.start, shard.stop, BLOCK):
            checkpoint()
            batch.settle(rows, lam[rows], nu2[rows], terms[rows], expected, scratch)

    ordered_map(run, list(zip(pieces, sums, strict=True)), n_jobs)
    if tally is None:
        return Posterior(lam, nu2), Statistics(terms, np.empty((0, K)))
    expected = _expected_counts(sums, batch.topics, n_jobs)[:, :K]
    return Posterior(lam, nu2), Statistics(terms, expected)


def infer_theta(
    counts: csr_matrix,
    prior: Prior,
    beta_T: Array,
    *,
    max_inner: int,
    tol: float,
    n_jobs: int | None,
) -> Array:
    """`expected_theta` of the posterior that `infer_documents` finds without a start, which is not kept."""
    n, K = prior.mean.shape
    theta = np.empty((n, K))
    batch = Batch.of(counts, prior, beta_T, None, max_inner, tol)
    pieces = even_blocks(n, K)
    desks = Desks(batch, pieces)
    terms, expected = np.empty(0), _hot.padded_zeros(0, K)

    def run(rows: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        lam, nu2 = desks.posterior[:, : rows.stop - rows.start]
        batch.settle(rows, lam, nu2, terms, expected, desks.scratch)
        _hot.expected_softmax(lam, nu2, RULES, theta[rows], desks.softmax)

    ordered_map(run, pieces, n_jobs)
    return theta


def _n_shards(counts: csr_matrix) -> int:
    D, V = counts.shape
    most = np.clip(2 * D // max(V, 1), FEW_SHARDS, MANY_SHARDS)
    return int(np.clip(counts.nnz // MIN_SHARD, 1, most))


def _expected_counts(sums: list[Array], topics: Array, n_jobs: int | None) -> Array:
    """The topics times the sum of the shards' sums, always in the same order; all are padded."""
    total = np.zeros_like(topics)

    def add(rows: slice, _: Callable[[], None]) -> None:
        for part in sums:
            total[rows] += part[rows]
        total[rows] *= topics[rows]

    ordered_map(add, blocks(0, len(total), max(len(total) // FEW_SHARDS, 1)), n_jobs)
    return total


def _shared_precision(prior: Prior) -> tuple[Array, Array]:
    """The one precision P, and the inverses of P + level I, row sums and diagonals below; padded, below as well."""
    K, rows = len(prior.T), _hot.padded(len(prior.T))
    precision = (prior.T * prior.weight) @ prior.T.T
    precision = 0.5 * (precision + precision.T)
    P, resolvents = _hot.padded_zeros(rows, K), _hot.padded_zeros(len(_hot.LEVELS), rows + 2, K)
    P[:K, :K] = precision
    levels = _hot.LEVELS * np.trace(precision) / K
    inverses = resolvents[:, :K, :K]
    for inverse, shifted in zip(
        inverses, precision + levels[:, None, None] * np.eye(K), strict=True
    ):
        inverse[:] = _inverse(shifted)
    resolvents[:, -2, :K] = inverses.sum(1)
    resolvents[:, -1, :K] = np.diagonal(inverses, axis1=1, axis2=2)
    return P, resolvents


def _inverse(A: Array) -> Array:
    """Of a positive definite matrix, in half the time that `numpy.linalg.inv` takes."""
    factor, failed = dpotrf(A, lower=True)
    if failed:  # not positive definite, by rounding
        return np.asarray(np.linalg.inv(A))
    half = dpotri(factor, lower=True)[0]
    inverse = half + half.T
    np.einsum("ii->i", inverse)[:] *= 0.5
    return inverse


def expected_theta(posterior: Posterior, n_jobs: int | None) -> Array:
    """(n, K) E_q[softmax(eta)], not softmax(lam); rows sum to one."""
    theta = np.empty_like(posterior.lam)

    def run(rows: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        scratch = _hot.SoftmaxScratch.of(theta.shape[1], RULES)
        _hot.expected_softmax(posterior.lam[rows], posterior.nu2[rows], RULES, theta[rows], scratch)

    ordered_map(run, even_blocks(*theta.shape), n_jobs)
    return theta
