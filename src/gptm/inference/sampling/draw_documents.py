"""Documents: the topics of their tokens, then their logits. A pure function of a block of documents and a key."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm import _hot
from gptm._basics.parallel import BLOCK, blocks, ordered_map, shards
from gptm._basics.types import Array
from gptm.inference.contrasts import topic_rows
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.state import ChainState, Precision
from gptm.inference.sampling.topic_prior import random_key

MOST_SHARDS = (
    8  # each counts words in a (V, K) array of its own; the same ones for any number of threads
)
FEW_TOPICS = 200  # with more, such arrays are large, and there are at most
SHARDS_OF_MANY = 4
MIN_SHARD = 8192  # distinct words


def precision_of(S: Array) -> Array:
    """P = H inv(S) H' (K padded, K padded): the prior precision of logits up to a shift."""
    K = len(S) + 1
    P = _hot.padded_zeros(_hot.padded(K), K)
    if K == 1:
        P[0, 0] = 1.0
        return P
    none = np.zeros(K - 1)
    inverse = np.asarray(np.linalg.inv(S), dtype=np.float64)
    half = topic_rows(inverse, none)  # H' from the right, in time linear in its entries
    P[:K, :K] = topic_rows(np.ascontiguousarray(half.T), none)
    return P


def single_precision(P: Array) -> np.ndarray:
    """The same matrix, its rows at cache lines."""
    single = _hot.padded_zeros(*P.shape, dtype=np.float32)
    single[:] = P
    return single


class SweptDocuments(NamedTuple):
    """What a sweep over documents adds up."""

    tally: Array  # (V, K padded) tokens of words in topics, as drawn
    shares: Array  # (K,) sum of the proportions before the sweep
    fit: float  # log-probability of the words under these


def draw_documents(problem: FitProblem, state: ChainState, rng: np.random.Generator) -> ChainState:
    """Topics of tokens given beta and eta, then eta given these; both count towards the rest of the sweep."""
    key, eta = random_key(rng), state.eta.copy()
    mean = topic_rows(state.F, state.mu)
    precision = state.precision
    if precision is None or precision.S is not state.S:
        precision = Precision(state.S, precision_of(state.S))
    swept = sweep_documents(
        problem.counts,
        0,
        key,
        mean,
        precision.P,
        state.beta_T,
        eta,
        problem.n_jobs,
    )
    shares = swept.shares / max(len(eta), 1)
    return state._replace(
        counts=swept.tally, eta=eta, shares=shares, fit=swept.fit, precision=precision
    )


def sweep_documents(
    counts: csr_matrix,
    first: int,
    key: np.uint64,
    mean: Array,
    P: Array,
    beta_T: Array,
    eta: Array,
    n_jobs: int | None,
) -> SweptDocuments:
    """Move eta (n, K) in place; `first` is the number of the first document, by which it gets its random numbers."""
    D, V = counts.shape
    K, fits = eta.shape[1], np.empty(D)
    # With many words, adding up the shards' counts would cost more than tokens do.
    most = MOST_SHARDS if K <= FEW_TOPICS else SHARDS_OF_MANY
    n_shards = int(np.clip(min(counts.nnz // MIN_SHARD, counts.nnz // V), 1, most))
    pieces = shards(np.diff(counts.indptr) + K, n_shards)
    precision = single_precision(P)

    def run(shard: slice, checkpoint: Callable[[], None]) -> tuple[Array, Array]:
        tally = _hot.padded_zeros(V, K, dtype=np.float32)
        shares, scratch = np.zeros(K), _hot.SweepScratch(K)
        for rows in blocks(shard.start, shard.stop, BLOCK):
            checkpoint()
            _hot.sweep_block(
                counts.indptr[rows.start : rows.stop + 1],
                counts.indices,
                counts.data,
                first + rows.start,
                key,
                mean[rows],
                precision,
                beta_T,
                eta[rows],
                tally,
                fits[rows],
                shares,
                *scratch,
            )
        return tally, shares

    parts = ordered_map(run, pieces, n_jobs)
    total = np.zeros((V, _hot.padded(K)))
    for tally, _ in parts:
        total += tally
    shares = np.sum([summed for _, summed in parts], axis=0)
    return SweptDocuments(total, shares, float(fits.sum()))
