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
    """beta given the topics of all tokens.

    Words that no document has are needed nowhere in a sweep: their rows are zero, and the sum of their gammas, which is
    a gamma variable too, is drawn instead of them.
    """
    key = random_key(rng)
    V, columns = state.counts.shape
    beta_T = _hot.padded_zeros(V, state.K, dtype=np.float32)
    seeds, prior = seeds_of(problem, state.K), state.urn.pseudo_counts
    occurs = problem.occurs

    def run(rows: slice, checkpoint: Callable[[], None]) -> Array:
        checkpoint()
        own = seeds[rows] if len(seeds) else seeds
        sums, states = np.zeros(columns), np.zeros(_hot.LANES, dtype=np.uint64)
        room = np.ones((6, _hot.LANES))
        _hot.draw_gammas(
            key,
            rows.start,
            state.counts[rows],
            prior[rows],
            own,
            occurs[rows],
            beta_T[rows],
            sums,
            states,
            room,
        )
        return sums

    pieces = blocks(0, V, ROWS)
    total = np.sum(ordered_map(run, pieces, problem.n_jobs), axis=0)
    absent = prior[~occurs].sum() + (seeds[~occurs].sum(0) if len(seeds) else np.zeros(state.K))
    total[: state.K] += rng.standard_gamma(absent)
    # Topics without a token whose prior is tiny: the inverse of their sum would overflow.
    vanished = np.flatnonzero(total[: state.K] < np.finfo(float).tiny)
    if len(vanished):
        beta_T[:, vanished] = state.urn.base[:, None]
        total[vanished] = 1.0
    scale = np.zeros(columns)
    scale[: state.K] = 1.0 / total[: state.K]

    def normalise(rows: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        _hot.normalise_words(scale, beta_T[rows])

    ordered_map(normalise, pieces, problem.n_jobs)
    return state._replace(beta_T=beta_T)


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
