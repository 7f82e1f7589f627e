"""Topics of a model that goes on learning: means over draws of this update and of those before it.

The chain of one update is short, and a mean over its few draws is a rough one. Draws of the updates before are nearly
as good as its own while they saw nearly as many documents.
"""

from typing import NamedTuple

from gptm._basics.types import Array
from gptm.fitted import Fitted

FADING = 4  # a draw counts by this power of the share of the documents that it saw


class MeanTopics(NamedTuple):
    """Means over draws."""

    beta_T: Array  # (V, K)
    draws: float  # how many


def topics_of(fitted: Fitted) -> MeanTopics:
    """The topics of a chain, each of whose snapshots counts as a draw."""
    return MeanTopics(fitted.beta_T, 1.0 if fitted.draws is None else float(fitted.draws.n))


def with_draws(before: MeanTopics, share: float, own: MeanTopics) -> MeanTopics:
    """Means over draws of an update and those before it, which saw a `share` of the documents.

    The update may know more words than those, and these keep the probabilities that it gives them.

    >>> import numpy as np
    >>> earlier = MeanTopics(np.array([[0.75], [0.25]]), 10.0)
    >>> mean = with_draws(earlier, 1.0, MeanTopics(np.array([[0.2], [0.2], [0.6]]), 10.0))
    >>> mean.beta_T.round(2).tolist(), mean.draws
    ([[0.25], [0.15], [0.6]], 20.0)
    """
    n_old, (_, K) = len(before.beta_T), own.beta_T.shape
    weight = before.draws * share**FADING
    if weight <= 0.0 or before.beta_T.shape[1] != K:
        return own
    old = own.beta_T.copy()
    old[:n_old] = before.beta_T * (own.beta_T[:n_old].sum(0) / before.beta_T.sum(0))
    total = weight + own.draws
    return MeanTopics((weight * old + own.draws * own.beta_T) / total, total)
