"""Draws of documents' proportions, for questions that are asked after the fit."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from gptm._basics.types import Array
from gptm.fitted import Fitted
from gptm.inference.contrasts import contrasts
from gptm.prediction.theta import Weighted

N_DRAWS = 100  # of new documents, as many as a fit keeps snapshots


class TrainingDraws(NamedTuple):
    """Proportions of training documents in the snapshots of a fit."""

    fitted: Fitted

    @property
    def rows(self) -> np.ndarray:
        """The documents that have draws."""
        return _snapshots(self.fitted).draws.rows  # type: ignore[union-attr]

    @property
    def n_documents(self) -> int:
        return len(self.fitted.lengths)

    def of(self, positions: np.ndarray, topics: list[int]) -> Iterator[Array]:
        """(n, topics) for each draw, of some of `rows`, by their positions among these."""
        fitted, origin = _snapshots(self.fitted), self.fitted.origin
        assert fitted.draws is not None
        H = contrasts(fitted.K)
        for logits in fitted.draws.logits:
            theta = softmax(logits[positions].astype(np.float64) @ H.T, axis=1)
            yield (theta if origin is None else origin.combined(theta))[:, topics]


class NewDraws(NamedTuple):
    """Proportions of new documents as their posterior has them, with the topics as they are.

    Least squares are linear in the proportions, so all that counts of a posterior are its means and variances: draws
    are normal ones with these.
    """

    posterior: Weighted
    seed: int = 0

    @property
    def rows(self) -> np.ndarray:
        return np.arange(self.n_documents)

    @property
    def n_documents(self) -> int:
        return len(self.posterior.theta)

    def of(self, positions: np.ndarray, topics: list[int]) -> Iterator[Array]:
        """As those of training documents."""
        rng = np.random.default_rng(self.seed)
        mean = self.posterior.theta[positions][:, topics]
        std = self.posterior.std[positions][:, topics]
        for _ in range(N_DRAWS // 2):
            noise = std * rng.standard_normal(mean.shape)
            yield mean + noise
            yield mean - noise  # so that the mean over all draws is the posterior's


def _snapshots(fitted: Fitted) -> Fitted:
    """The fit that has the draws: that of the topics as inference found them."""
    return fitted if fitted.origin is None else fitted.origin.fitted
