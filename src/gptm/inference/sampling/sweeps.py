"""A Gibbs sampler for the logistic-normal topic model, as a list of named steps.

    topics -> documents -> the topics' prior -> means -> covariances

Each step draws something given all else. With the topics drawn, not summed out, tokens are independent of each
other: a sweep over a block of documents depends on nothing but that block, and is exact however documents are divided.
"""

from collections.abc import Callable

import numpy as np

from gptm.inference.contrasts import contrast_rows, contrasts, to_contrasts
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.draw_covariances import draw_covariances
from gptm.inference.sampling.draw_documents import draw_documents
from gptm.inference.sampling.draw_means import draw_means
from gptm.inference.sampling.draw_topics import draw_prior, draw_topics
from gptm.inference.sampling.state import ChainState
from gptm.inference.start_point import Start

WEAKEST = 1e-3  # strength of a kernel beside the documents' own variance, where a chain starts
Step = Callable[[FitProblem, ChainState, np.random.Generator], ChainState]


STEPS: tuple[Step, ...] = (
    draw_topics,
    draw_documents,
    draw_prior,
    draw_means,
    draw_covariances,
)


def sweep(problem: FitProblem, state: ChainState, seed: int) -> ChainState:
    """The state after one pass over the steps; the seed and the number of the sweep determine its random numbers."""
    state = state._replace(sweep=state.sweep + 1)
    rng = np.random.default_rng([seed, state.sweep])
    for step in STEPS:
        state = step(problem, state, rng)
    return state


def first_state(problem: FitProblem, start: Start) -> ChainState:
    """Where a chain starts: topics' counts, and documents and covariances as EM would begin with."""
    begin, K = start.state, start.state.beta_T.shape[1]
    S, B, strength = to_contrasts(begin.Sigma), to_contrasts(begin.B), begin.strength
    if problem.learn_strength:  # from nothing at all a chain would not start
        B, strength = B + WEAKEST * np.diag(np.diagonal(S)), max(strength, WEAKEST)
    return ChainState.before_sweeps(
        start.word_topic,
        start.urn,
        eta=begin.posterior.lam,
        mu=begin.means.mu @ contrasts(K),
        F=contrast_rows(np.ascontiguousarray(begin.F)),
        S=S,
        B=B,
        strength=strength,
        terms=begin.terms,
        operator=begin.operator,
    )
