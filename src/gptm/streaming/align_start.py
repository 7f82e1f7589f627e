"""A start with its topics in the order of earlier ones."""

import numpy as np

from gptm._basics.types import Array
from gptm.inference.em import loop as em
from gptm.inference.em.document_step import Posterior
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.align import alignment
from gptm.inference.start_point import Start

_FLOOR = 1e-9  # of a word's probability, for words that the earlier topics have not seen


def aligned_start(problem: FitProblem, start: Start, beta_T: Array) -> Start:
    """The start in which each topic has the number of the earlier topic (V, K) that is most like it."""
    of_start = np.ascontiguousarray(start.state.beta_T)
    earlier = np.full(of_start.shape, _FLOOR)
    earlier[: len(beta_T)] += beta_T
    order = alignment(earlier, of_start)
    posterior = start.state.posterior
    turned = Posterior(
        np.ascontiguousarray(posterior.lam[:, order]), np.ascontiguousarray(posterior.nu2[:, order])
    )
    state = em.initial_state(problem, np.ascontiguousarray(of_start[:, order]), turned)
    return start._replace(state=state, word_topic=start.word_topic[:, order])
