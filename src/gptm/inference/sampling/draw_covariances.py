"""Covariances of logits: S of the documents' own part, B of the kernel's part.

Both have inverse Wishart priors, which weigh as much as a few documents, and are drawn given all else.
"""

import numpy as np

from gptm._basics.types import Array
from gptm.inference.contrasts import contrast_rows
from gptm.inference.em.lower_bound import LOG_2PI
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.scalars import inverse_wishart
from gptm.inference.sampling.state import ChainState

DEGREES = 2.0  # of the inverse Wishart priors, beyond their size: the mean exists, barely
SCALE = 0.5  # their mean variance


def residuals(state: ChainState) -> Array:
    """(D, p) the documents' own part of the logits."""
    E = contrast_rows(state.eta)
    E -= state.mu
    E -= state.F
    return E


def draw_covariances(
    problem: FitProblem, state: ChainState, rng: np.random.Generator
) -> ChainState:
    """S, then B or its one factor, given logits and means. Before, the density of the draws so far is taken."""
    if not state.draws_matrices:
        return state._replace(log_density=state.fit + state.of_logits)
    E = residuals(state)
    return draw_from_squares(problem, state, E.T @ E, float(len(E)), rng)


def draw_from_squares(
    problem: FitProblem, state: ChainState, squares: Array, n: float, rng: np.random.Generator
) -> ChainState:
    """The same, given the squares (p, p) of the residuals of n documents."""
    p = state.K - 1
    if p == 0:
        return state._replace(log_density=state.fit)
    of_logits = log_density_of(state.S, squares, n)
    state = state._replace(of_logits=of_logits, log_density=state.fit + of_logits)
    kernel = problem.coregionalization != "none"
    shared = kernel and problem.coregionalization == "shared"
    S = state.S
    if problem.learn_covariance:
        if shared:  # the kernel's weights vary as b S, and so inform S as documents do
            squares, n = squares + state.energy / state.strength, n + state.dimension
        S = inverse_wishart(prior_scale(p) + squares, p + DEGREES + n, rng)
    state = state._replace(S=S)
    return _draw_strength(problem, state, rng) if kernel else state


def log_density_of(S: Array, squares: Array, n: float) -> float:
    """log p(logits | means, S) of n documents with such squares of residuals.

    Together with that of the words, it is the trace of a chain. The words' part is that of the logits before the sweep,
    which comes for free.
    """
    distance = float(np.trace(np.linalg.solve(S, squares)))
    return -0.5 * (distance + n * (float(np.linalg.slogdet(S)[1]) + len(S) * LOG_2PI))


def prior_scale(p: int) -> Array:
    return SCALE * (DEGREES - 1.0) * np.eye(p)


def _draw_strength(problem: FitProblem, state: ChainState, rng: np.random.Generator) -> ChainState:
    p = state.K - 1
    if problem.coregionalization == "free" and problem.learn_strength:
        B = inverse_wishart(prior_scale(p) + state.energy, p + DEGREES + state.dimension, rng)
        return state._replace(B=B)
    if problem.coregionalization == "free":
        return state
    shared = problem.coregionalization == "shared"
    shape = state.S if shared else np.eye(p)
    strength = state.strength
    if problem.learn_strength:  # inverse gamma
        along = float(np.trace(np.linalg.solve(shape, state.energy)))
        strength = (SCALE + 0.5 * along) / rng.standard_gamma(1.0 + 0.5 * p * state.dimension)
    return state._replace(strength=float(strength), B=strength * shape)
