"""A sweep over one block of documents: a pure function of the block, its state and the values that all blocks share."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.inference.blocks.sums import BlockSums, FeatureSums
from gptm.inference.contrasts import centred, contrasts
from gptm.inference.mean_solve import Basis
from gptm.inference.sampling.draw_documents import precision_of, sweep_documents
from gptm.operators import Features

_OWN, _START = 1, 2  # which random numbers of a block are for what


class BlockDocuments(NamedTuple):
    """Documents of a block, as a sweep reads them."""

    first: int  # number of the first one
    counts: csr_matrix
    features: Features | None  # those of the kernel
    own: (
        Array | None
    )  # (n,) variance that the kernel gives each for itself; None where there is none

    @property
    def n(self) -> int:
        return int(self.counts.shape[0])


class BlockState(NamedTuple):
    """What a chain remembers of the documents of a block, in single precision."""

    eta: np.ndarray  # (n, K) logits
    own: np.ndarray | None  # (n, p) what documents have for themselves of the kernel's part


class Values(NamedTuple):
    """What a sweep over documents is given: the values that all documents share."""

    beta_T: Array  # (V, K padded) topics, single precision
    mu: Array  # (p,)
    weights: Array  # (r, p) of the kernel's features
    S: Array  # (p, p)
    basis: Basis | None  # in which S is the identity and B is diagonal; None without a kernel
    key: int  # of the random numbers

    @property
    def K(self) -> int:
        return len(self.mu) + 1


def feature_sums(documents: BlockDocuments, r: int) -> FeatureSums:
    """Of a block, for the regression on features."""
    n, tokens = float(documents.n), float(documents.counts.sum())
    if documents.features is None:
        return FeatureSums(n, tokens, np.zeros(r), np.zeros((r, r)))
    ones = np.ones((documents.n, 1))
    Phi = documents.features.t_dot(ones)[:, 0]
    return FeatureSums(n, tokens, Phi, np.asarray(documents.features.gram()))


def kernel_part(documents: BlockDocuments, values: Values) -> Array:
    """(n, p) Phi W."""
    if documents.features is None:
        return np.zeros((documents.n, len(values.mu)))
    return np.asarray(documents.features.dot(values.weights))


def begin_block(
    documents: BlockDocuments, values: Values, held: int, n_jobs: int | None
) -> BlockState:
    """Logits to begin with: drawn from their prior, and moved by some sweeps with the values held."""
    K, rng = values.K, _numbers(values.key, documents.first, _START)
    p = K - 1
    root = np.linalg.cholesky(values.S) if p else values.S
    U = values.mu + kernel_part(documents, values)
    U = U + rng.standard_normal((documents.n, p)) @ root.T
    own = None if documents.own is None else np.zeros((documents.n, p), dtype=np.float32)
    state = BlockState(centred(U @ contrasts(K).T).astype(np.float32), own)
    for number in range(held):
        now = values._replace(key=values.key + 1 + number)
        state, _ = sweep_over(documents, state, now, n_jobs)
    return state


def sweep_over(
    documents: BlockDocuments, state: BlockState, values: Values, n_jobs: int | None
) -> tuple[BlockState, BlockSums]:
    """The state of a block after a sweep, and what it adds to the sums."""
    K, H = values.K, contrasts(values.K)
    F = kernel_part(documents, values)
    means = values.mu + (F if state.own is None else F + state.own)
    eta = np.array(state.eta, dtype=np.float64, order="C")  # a copy, which the sweep moves
    swept = sweep_documents(
        documents.counts,
        documents.first,
        np.uint64(values.key),
        np.ascontiguousarray(means @ H.T),
        precision_of(values.S),
        values.beta_T,
        eta,
        n_jobs,
    )
    single = eta.astype(np.float32)
    U = single.astype(np.float64) @ H
    own, squares, n_own = _draw_own(documents, U - values.mu - F, values)
    Y = U if own is None else U - own
    features = documents.features
    sums = BlockSums(
        n=float(documents.n),
        tally=swept.tally,
        shares=swept.shares,
        fit=swept.fit,
        Y=Y.sum(0),
        YY=Y.T @ Y,
        PhiY=np.zeros((0, K - 1)) if features is None else np.asarray(features.t_dot(Y)),
        own=squares,
        n_own=n_own,
    )
    return BlockState(single, own), sums


def _draw_own(
    documents: BlockDocuments, left: Array, values: Values
) -> tuple[np.ndarray | None, Array, float]:
    """What documents have for themselves of the kernel's part, given all else; its squares, whitened; how many have.

    In coordinates in which S is the identity and B is diag(b), each is a regression with one weight of its own.
    """
    p = left.shape[1]
    if documents.own is None or values.basis is None:
        return None, np.zeros((p, p)), 0.0
    basis, rng = values.basis, _numbers(values.key, documents.first, _OWN)
    variance = documents.own[:, None] * basis.b
    gain = variance / (1.0 + variance)
    drawn = gain * (left @ basis.T) + np.sqrt(gain) * rng.standard_normal(left.shape)
    own = (drawn @ basis.T_inv).astype(np.float32)
    some = documents.own > 0
    white = own[some] / np.sqrt(documents.own[some])[:, None]
    return own, white.T @ white, float(some.sum())


def _numbers(key: int, first: int, purpose: int) -> np.random.Generator:
    """Random numbers of a block: the same ones wherever it is."""
    return np.random.default_rng([int(key), first, purpose])
