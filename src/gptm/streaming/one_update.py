"""One update of a model: a short chain over the documents in memory and a batch, given the sums of the past.

    which documents stay -> the kernel over these -> sweeps -> what is remembered of the others

The steps of a sweep are those of a fit. Documents that leave the memory after the update are swept like all others, and
then only sums of their draws are kept. So an update takes as long, and as much memory, after a million documents as
after a thousand.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.fitted import Fitted, Past, Whole
from gptm.inference.blocks.block_documents import BlockDocuments
from gptm.inference.blocks.blocked_sweep import BlockedSweep
from gptm.inference.blocks.run_blocks import with_whole
from gptm.inference.checkpoint import NoCheckpoint
from gptm.inference.contrasts import centred, contrasts, to_contrasts
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.chains import Advance, Chain, run_chains, stages
from gptm.inference.sampling.run_sampler import only_state, summarised
from gptm.inference.sampling.state import ChainState
from gptm.inference.sampling.sweeps import WEAKEST, sweep
from gptm.inference.sampling.topic_prior import Urn
from gptm.kernels import BoundKernel, Documents
from gptm.kernels.identity import NothingBound
from gptm.streaming.passing_documents import PassingDocuments, PastSums
from gptm.streaming.past_documents import of_documents, together

BIRTH_SWEEPS = 100  # of an update in which topics are born, at least


class Known(NamedTuple):
    """What an update begins with: topics over all words, and the documents with old ones first."""

    word_topic: Array  # (V, K) tokens of words in topics
    urn: Urn
    mu: Array  # (K,)
    Sigma: Array  # (K, K)
    B: Array  # (K, K)
    n_old: int  # documents in memory
    eta: Array  # (old + new, K) logits
    counts: csr_matrix  # (old + new, V)
    columns: pd.DataFrame | None  # what the kernel reads of them
    past: Past | None
    tokens: float  # of the past

    @property
    def K(self) -> int:
        return len(self.mu)

    @property
    def share_before(self) -> float:
        """Documents before the batch, of all; with decay, those that are not forgotten."""
        before = self.n_old + (0.0 if self.past is None else self.past.n)
        return before / (before + self.counts.shape[0] - self.n_old)

    @property
    def beta_T(self) -> Array:
        """(V, K) expected topics."""
        smoothed = self.word_topic + self.urn.pseudo_counts[:, None]
        return np.asarray(smoothed / smoothed.sum(0))


class Making(NamedTuple):
    """How an estimator makes what an update needs."""

    bind: Callable[[Documents, bool], BoundKernel]  # the kernel; True to hold what was learnt
    problem: Callable[[csr_matrix, BoundKernel, bool], FitProblem]
    after_sweep: Callable[[int, ChainState], bool]
    n_jobs: int | None


class Updated(NamedTuple):
    """The fit after an update, without names and words."""

    fitted: Fitted
    urn: Urn
    past: Past | None


def run_update(known: Known, stays: np.ndarray, making: Making, seed: int, sweeps: int) -> Updated:
    """The fit to all documents; those that do not stay are remembered as sums."""
    alone = bool(stays.all()) and known.past is None  # then all documents are in memory
    some = np.flatnonzero(stays)
    columns = None if known.columns is None else known.columns.iloc[some]
    counts = known.counts[some]
    bound = making.bind(Documents(len(some), columns, counts, None, making.n_jobs), not alone)
    problem = making.problem(counts, bound, not alone)
    problem.occurs = np.ones(counts.shape[1], dtype=bool)
    state = _first_state(known, stays, problem)
    advance: Advance = sweep
    passing = None
    if not alone:
        passing = _passing(known, stays, problem, sweeps)
        blocked = BlockedSweep(problem, passing)
        state = blocked.begin(problem, state, seed, 0)
        advance = blocked
    result = run_chains(
        problem,
        [Chain(seed, state, None, ())],
        max_iter=sweeps,
        target=np.inf,
        after_sweep=making.after_sweep,
        checkpoint=NoCheckpoint(),
        advance=advance,
    )
    if result.reason == "interrupt":
        raise KeyboardInterrupt
    chain = result.chains[0]
    kept = chain.kept or only_state(problem, chain.state)
    fitted = summarised(problem, chain.state, [kept], list(chain.trace), result.reason)
    if passing is None:
        return Updated(fitted, chain.state.urn, None)
    sums = blocked.regression.sums
    whole = Whole(round(sums.n), round(sums.tokens), sums.gram)
    past = _remembered(known, stays, passing)
    return Updated(with_whole(fitted, whole, chain.state), chain.state.urn, past)


def _first_state(known: Known, stays: np.ndarray, problem: FitProblem) -> ChainState:
    """Where the chain begins."""
    S, B = to_contrasts(known.Sigma), to_contrasts(known.B)
    strength = 0.0
    if problem.coregionalization != "none":
        B = B + WEAKEST * np.diag(np.diagonal(S))
        strength = max(float(np.trace(B) / max(np.trace(S), WEAKEST)), WEAKEST)
    return ChainState.before_sweeps(
        known.word_topic,
        known.urn,
        eta=known.eta[stays],
        mu=known.mu @ contrasts(known.K),
        F=np.zeros((int(stays.sum()), known.K - 1)),
        S=S,
        B=B,
        strength=strength,
        terms=problem.terms,
        operator=problem.operator,
    )


def _passing(known: Known, stays: np.ndarray, problem: FitProblem, sweeps: int) -> PassingDocuments:
    """The documents that leave, and the past, in the features of the kernel over those that stay."""
    rows = np.flatnonzero(~stays)
    counts, n_jobs = known.counts[rows], problem.n_jobs
    kernel = None if isinstance(problem.bound, NothingBound) else problem.bound
    documents = BlockDocuments(int(stays.sum()), counts, None, None)
    past = None if known.past is None else PastSums(known.past, None, known.tokens)
    if kernel is not None and problem.coregionalization != "none":
        assert known.columns is not None
        if len(rows):
            new = Documents(len(rows), known.columns.iloc[rows], counts)
            placed = kernel.place(kernel.read(new))
            own = placed.own_diagonal
            documents = documents._replace(features=placed.features, own=own if own.any() else None)
        if known.past is not None:
            assert known.past.cells is not None
            cells = kernel.place(kernel.read(Documents(len(known.past.cells), known.past.cells)))
            past = PastSums(known.past, cells.features, known.tokens)
    count_from = sweeps - stages(sweeps)[-1] + 1
    return PassingDocuments(documents, centred(known.eta[rows]), past, count_from, n_jobs)


def _remembered(known: Known, stays: np.ndarray, passing: PassingDocuments) -> Past | None:
    """The past after the update."""
    rows = np.flatnonzero(~stays)
    if not len(rows):
        return known.past
    columns = None if known.columns is None else known.columns.iloc[rows]
    recent = of_documents(*passing.leaving(), columns)
    return recent if known.past is None else together(known.past, recent)
