"""Topics, and the Dirichlet prior that they share: beta_k ~ Dirichlet(tau m), tau and m learnt.

Frequencies of words differ by orders of magnitude, and so should the prior probabilities of words in topics. A
symmetric prior is too flat for that, and one in proportion to the corpus too sharp; both bias the effects of side
information (docs/model.md).
"""

from collections.abc import Callable

import numpy as np

from gptm import _hot
from gptm._basics.parallel import blocks, ordered_map
from gptm._basics.types import Array
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.state import ChainState
from gptm.inference.sampling.topic_prior import ROWS, draw_urn, random_key

EVERY = 2  # sweeps between two looks at the prior


def seeds_of(problem: FitProblem, K: int) -> Array:
    """(V, K) pseudo-counts that users gave, or (0, K)."""
    return np.zeros((0, K)) if problem.seeds is None else problem.seeds


def draw_topics(problem: FitProblem, state: ChainState, rng: np.random.Generator) -> ChainState:
    """beta given the topics of all tokens."""
    key = random_key(rng)
    gammas = _hot.padded_zeros(len(state.counts), state.K)
    seeds, prior = seeds_of(problem, state.K), state.urn.pseudo_counts

    def run(rows: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        own = seeds[rows] if len(seeds) else seeds
        _hot.draw_gammas(
            key, rows.start, state.counts[rows], prior[rows], own, gammas[rows, : state.K]
        )

    ordered_map(run, blocks(0, len(gammas), ROWS), problem.n_jobs)
    total = gammas.sum(0)
    vanished = np.flatnonzero(total[: state.K] == 0.0)  # topics without a token whose prior is tiny
    gammas[:, vanished] = state.urn.base[:, None]
    total[vanished] = 1.0
    total[state.K :] = 1.0
    return state._replace(beta_T=(gammas / total).astype(np.float32))


def draw_prior(problem: FitProblem, state: ChainState, rng: np.random.Generator) -> ChainState:
    """The topics' common prior given the topics of all tokens."""
    if state.sweep % EVERY:
        return state
    counts = state.counts[:, : state.K]
    counts = counts if problem.seeds is None else counts + problem.seeds
    return state._replace(urn=draw_urn(counts, state.urn, rng, problem.n_jobs))


def expected_topics(problem: FitProblem, state: ChainState, out: Array) -> None:
    """Add E[beta] (V, K) given the topics of all tokens to `out`."""
    seeds, prior = seeds_of(problem, state.K), state.urn.pseudo_counts
    total = state.counts[:, : state.K].sum(0) + prior.sum() + seeds.sum(0)
    _hot.expected_words(state.counts, prior, seeds, total, out)
