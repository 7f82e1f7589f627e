"""A sweep over all blocks, with the steps of `sampling.sweeps`.

    topics -> documents, block by block -> the topics' prior -> means -> covariances

A chain has the documents of a sample in memory, in its `ChainState`. All others are in blocks, wherever these are.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from gptm._basics.eigenvectors import symmetric_root
from gptm._basics.types import Array
from gptm.fitted import Part
from gptm.inference.blocks.block_documents import (
    BlockDocuments,
    BlockState,
    Values,
    feature_sums,
    sweep_over,
)
from gptm.inference.blocks.draw_weights import Regression
from gptm.inference.blocks.sums import BlockSums, FeatureSums
from gptm.inference.mean_solve import diagonalise
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.draw_covariances import draw_from_squares
from gptm.inference.sampling.draw_topics import draw_prior, draw_topics
from gptm.inference.sampling.state import ChainState
from gptm.inference.sampling.topic_prior import random_key
from gptm.kernels.weighted_terms import terms_of
from gptm.operators import Structure


class Workers(Protocol):
    """Who has the blocks, and sweeps over them."""

    def begin(self, values: Values, held: int, r: int) -> FeatureSums | None:
        """Give all blocks their first state; the sums of their features. None if there are no blocks."""

    def sweep(self, values: Values, number: int) -> Callable[[], BlockSums | None]:
        """Start the sweep with this number over all blocks; what it returns waits for the sums.

        Until the next sweep starts, the states before this one are there too: an interrupt may come in between.
        """

    def keep(self, number: int) -> None:
        """Put the states of blocks after a sweep beside the checkpoint."""

    def forget(self, but: int | None) -> None:
        """Remove the states of all checkpoints but that of one sweep."""

    def take_up(self, number: int) -> None:
        """Continue from the states of a checkpoint."""

    def close(self) -> None:
        """End the work."""


class SampleTerms(NamedTuple):
    """The kernel's terms over the documents of the sample."""

    structures: list[Structure]

    @classmethod
    def of(cls, problem: FitProblem) -> "SampleTerms":
        if problem.coregionalization == "none":
            return cls([])
        return cls([part.structure for part in terms_of(problem.bound)])

    def split(
        self, weights: Array, own: Array | None, B: Array, rng: np.random.Generator
    ) -> tuple[Part, ...]:
        """The kernel's part by terms: their weights, and their shares of what documents have for themselves."""
        parts, start = [], 0
        owns = self._own_parts(own, B, rng)
        for structure, of_term in zip(self.structures, owns, strict=True):
            width = 0 if structure.features is None else structure.features.width
            own_weights = weights[start : start + width] if structure.features is not None else None
            parts.append(Part(own_weights, of_term))
            start += width
        return tuple(parts)

    def _own_parts(
        self, own: Array | None, B: Array, rng: np.random.Generator
    ) -> list[Array | None]:
        """Draws of each term's part given their sum."""
        variances = [s.own if s.own.any() else None for s in self.structures]
        if own is None:
            return [None] * len(variances)
        there = [v for v in variances if v is not None]
        if len(there) == 1:
            return [None if v is None else own for v in variances]
        total = np.sum(there, axis=0)
        root = symmetric_root(B)
        free = [
            None if v is None else np.sqrt(v)[:, None] * rng.standard_normal(own.shape) @ root
            for v in variances
        ]
        left = own - np.sum([x for x in free if x is not None], axis=0)
        share = [
            None if v is None else np.divide(v, total, out=np.zeros_like(v), where=total > 0)
            for v in variances
        ]
        return [
            None if f is None or s is None else f + s[:, None] * left
            for f, s in zip(free, share, strict=True)
        ]


class BlockedSweep:
    """Sweeps over a sample in memory and over all other documents in blocks."""

    def __init__(self, problem: FitProblem, workers: Workers):
        structure = problem.bound.structure if problem.coregionalization != "none" else None
        own = None if structure is None or not structure.own.any() else structure.own
        features = None if structure is None else structure.features
        self.sample = BlockDocuments(0, problem.counts, features, own)
        self.workers, self.terms = workers, SampleTerms.of(problem)
        self.r = 0 if features is None else features.width
        self.regression = Regression(feature_sums(self.sample, self.r))

    def begin(self, problem: FitProblem, state: ChainState, seed: int, held: int) -> ChainState:
        """Start all blocks where the chain of the sample is; the counts become those of all documents."""
        rng = np.random.default_rng([seed, 0])
        state = draw_topics(problem, state, rng)
        values = self.values(problem, state, int(random_key(rng)))
        others = self.workers.begin(values, held, self.r)
        if others is not None:
            self.regression = Regression(self.regression.sums.plus(others))
            scale = self.regression.sums.tokens / max(state.counts.sum(), 1.0)
            state = state._replace(counts=state.counts * scale)
        return state

    def values(self, problem: FitProblem, state: ChainState, key: int) -> Values:
        """What a sweep over documents is given."""
        kernel = problem.coregionalization != "none" and state.K > 1
        basis = diagonalise(state.S, state.B) if kernel else None
        return Values(state.beta_T, state.mu, self._weights(state), state.S, basis, key)

    def _weights(self, state: ChainState) -> Array:
        parts = [part.weights for part in state.parts if part.weights is not None]
        return np.concatenate(parts) if parts else np.zeros((self.r, state.K - 1))

    def _own(self, state: ChainState) -> Array | None:
        if self.sample.own is None:
            return None
        owns = [part.own for part in state.parts if part.own is not None]
        return np.sum(owns, axis=0) if owns else np.zeros((self.sample.n, state.K - 1))

    def __call__(self, problem: FitProblem, state: ChainState, seed: int) -> ChainState:
        """The state after a sweep; the seed and the number of the sweep determine its random numbers."""
        state = state._replace(sweep=state.sweep + 1)
        rng = np.random.default_rng([seed, state.sweep])
        state = draw_topics(problem, state, rng)
        values = self.values(problem, state, int(random_key(rng)))
        sums_of_others = self.workers.sweep(values, state.sweep)
        own = self._own(state)
        before = BlockState(state.eta, own)
        block, sums = sweep_over(self.sample, before, values, problem.n_jobs)
        others = sums_of_others()
        if others is not None:
            sums = sums.plus(others)
        state = state._replace(
            counts=sums.tally,
            eta=block.eta.astype(np.float64),
            shares=sums.shares / sums.n,
            fit=sums.fit,
        )
        state = draw_prior(problem, state, rng)
        return self._draw_global(problem, state, block, values, sums, rng)

    def _draw_global(
        self,
        problem: FitProblem,
        state: ChainState,
        block: BlockState,
        values: Values,
        sums: BlockSums,
        rng: np.random.Generator,
    ) -> ChainState:
        if state.K < 2:
            return draw_from_squares(problem, state, state.S, sums.n, rng)
        basis = values.basis or diagonalise(state.S, np.zeros_like(state.S))
        mu, weights = self.regression.draw(sums, basis, problem.fit_mean, rng)
        state = state._replace(mu=mu)
        if values.basis is not None:
            own = None if block.own is None else block.own.astype(np.float64)
            F = np.zeros_like(state.F) if own is None else own
            if self.sample.features is not None:
                F = F + self.sample.features.dot(weights)
            state = state._replace(
                F=F,
                parts=self.terms.split(weights, own, state.B, rng),
                energy=weights.T @ weights + sums.own,
                dimension=self.r + int(sums.n_own),
            )
        squares = self.regression.squares(sums, mu, weights)
        return draw_from_squares(problem, state, squares, sums.n, rng)
