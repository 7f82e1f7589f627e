"""Where an inference begins."""

from typing import NamedTuple

import numpy as np

from gptm._basics.types import Array
from gptm.inference.em.loop import EmState
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.topic_prior import Urn, first_urn


class Start(NamedTuple):
    """Where an inference begins."""

    state: EmState
    word_topic: Array  # (V, K) tokens of words in topics
    urn: Urn  # the topics' common prior
    complete: bool = True  # False when it was interrupted

    @classmethod
    def at(cls, problem: FitProblem, state: EmState, complete: bool = True) -> "Start":
        """A start with topics only; all topics get the same number of tokens."""
        totals = np.asarray(problem.counts.sum(0)).ravel()
        size = totals.sum() / state.beta_T.shape[1]
        return cls(state, size * state.beta_T, first_urn(totals, problem.absent), complete)
