"""Documents beside those in memory: some that pass by and leave, and sums of those that have left.

They take the place of blocks in `inference.blocks`: a sweep over all documents is one over those in memory, one over
those that pass by, and the sums of the past.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gptm import _hot
from gptm._basics.types import Array
from gptm.fitted import Past
from gptm.inference.blocks.block_documents import (
    BlockDocuments,
    BlockState,
    Values,
    feature_sums,
    sweep_over,
)
from gptm.inference.blocks.sums import BlockSums, FeatureSums
from gptm.inference.contrasts import contrasts
from gptm.operators import Features

_PAST = 3  # which random numbers are for what
_ENTRIES = 10**7  # of features that are written out at a time


class PastSums:
    """Sums of the past in the features of the present kernel."""

    def __init__(self, past: Past, features: Features | None, tokens: float):
        self.past, self.features, self.tokens = past, features, tokens
        K = past.logits.shape[1]
        self.H = contrasts(K)
        self.tally = _hot.padded_zeros(len(past.tally), K)
        self.tally[:, :K] = past.tally
        inverse = 1.0 / np.maximum(past.weights, np.finfo(float).tiny)
        self.inverse = inverse[:, None]
        # What the cells' own variances add to the squares is drawn anew in every sweep.
        self.squares = past.squares - np.diag((self.inverse * past.spread).sum(0))

    def feature_sums(self, r: int) -> FeatureSums:
        """Of the regression on features."""
        past, features = self.past, self.features
        if features is None:
            return FeatureSums(past.n, self.tokens, np.zeros(r), np.zeros((r, r)))
        gram = np.zeros((r, r))
        for rows in np.array_split(np.arange(features.n), 1 + features.n * r // _ENTRIES):
            Phi = features.take(rows).to_dense()
            gram += Phi.T @ (past.weights[rows, None] * Phi)
        Phi_sum = np.asarray(features.t_dot(past.weights[:, None]))[:, 0]
        return FeatureSums(past.n, self.tokens, Phi_sum, gram)

    def draw(self, key: int) -> BlockSums:
        """The sums with logits drawn anew: they are known up to their variances only."""
        past, H, K = self.past, self.H, self.past.logits.shape[1]
        rng = np.random.default_rng([int(key), 0, _PAST])
        moved = np.sqrt(past.spread) * rng.standard_normal(past.spread.shape)
        cross = past.logits.T @ (self.inverse * moved)
        squares = self.squares + cross + cross.T + moved.T @ (self.inverse * moved)
        Y = (past.logits + moved) @ H
        PhiY = np.zeros((0, K - 1)) if self.features is None else self.features.t_dot(Y)
        return BlockSums(
            n=past.n,
            tally=self.tally,
            shares=np.zeros(K),
            fit=0.0,
            Y=Y.sum(0),
            YY=H.T @ squares @ H,
            PhiY=np.asarray(PhiY),
            own=np.zeros((K - 1, K - 1)),
            n_own=0.0,
        )


class Leaving(NamedTuple):
    """What is remembered of documents that pass by: means over sweeps."""

    tally: Array  # (V, K)
    means: Array  # (n, K) of logits
    spread: Array  # (n, K) variances of them
    squares: Array  # (K, K)


class PassingDocuments:
    """Documents that pass by, and the past. From the sweep `count_from` on their sums are kept, to be remembered."""

    def __init__(
        self,
        documents: BlockDocuments,
        eta: Array,
        past: PastSums | None,
        count_from: int,
        n_jobs: int | None,
    ):
        self.documents, self.eta, self.past = documents, eta, past
        self.count_from, self.n_jobs = count_from, n_jobs
        self._state: BlockState | None = None
        self._sweeps = self._counted = 0

    def begin(self, values: Values, held: int, r: int) -> FeatureSums | None:
        """Give the documents their first state; the sums of features of all."""
        K, (_, V) = values.K, self.documents.counts.shape
        self._tally = np.zeros((V, _hot.padded(K)))
        self._eta, self._squared = np.zeros((2, self.documents.n, K))
        self._YY = np.zeros((K - 1, K - 1))
        sums = [] if self.past is None else [self.past.feature_sums(r)]
        if self.documents.n:
            own = None if self.documents.own is None else np.zeros((self.documents.n, K - 1))
            self._state = BlockState(self.eta, own)
            sums.append(feature_sums(self.documents, r))
        return None if not sums else sums[0] if len(sums) == 1 else sums[0].plus(sums[1])

    def sweep(self, values: Values, number: int) -> Callable[[], BlockSums | None]:
        """Sweep over the documents, and add the past."""
        total = self._swept(values)
        return lambda: total

    def _swept(self, values: Values) -> BlockSums | None:
        sums = [] if self.past is None else [self.past.draw(values.key)]
        self._sweeps += 1
        if self._state is not None:
            self._state, swept = sweep_over(self.documents, self._state, values, self.n_jobs)
            if self._sweeps >= self.count_from:
                self._count(self._state, swept)
            sums.append(swept)
        return None if not sums else sums[0] if len(sums) == 1 else sums[0].plus(sums[1])

    def _count(self, state: BlockState, swept: BlockSums) -> None:
        eta = state.eta.astype(np.float64)
        if state.own is not None:
            eta -= state.own @ contrasts(eta.shape[1]).T
        self._tally += swept.tally
        self._eta += eta
        self._squared += eta**2
        self._YY += swept.YY
        self._counted += 1

    def leaving(self) -> Leaving:
        """What to remember of the documents."""
        n, K = max(self._counted, 1), self._eta.shape[1]
        means, H = self._eta / n, contrasts(K)
        spread = np.maximum(self._squared / n - means**2, 0.0)
        return Leaving(self._tally[:, :K] / n, means, spread, H @ (self._YY / n) @ H.T)

    # There are no checkpoints of updates, which are short.

    def keep(self, number: int) -> None:
        """Nothing to keep."""

    def forget(self, but: int | None) -> None:
        """Nothing to forget."""

    def take_up(self, number: int) -> None:
        """Nothing to take up."""

    def close(self) -> None:
        """Nothing to end."""
