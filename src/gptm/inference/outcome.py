"""What an inference hands to the estimator, whichever it was."""

from typing import Any, Literal, NamedTuple

from gptm._basics.types import Array
from gptm.inference.em import loop as em
from gptm.inference.mean_solve import dual_coefficients, residuals
from gptm.inference.sampling.kept import Draws
from gptm.kernels.weighted_terms import Terms

Reason = Literal["converged", "max_iter", "callback", "interrupt"]


class Outcome(NamedTuple):
    """Parameters, documents, and how it went."""

    beta_T: Array  # (V, K) topics, columns sum to one
    Sigma: Array  # (K, K)
    B: Array  # (K, K)
    mu: Array  # (K,)
    lam: Array  # (D, K) mean of the documents' logits
    nu2: Array  # (D, K) their variance
    F: Array  # (D, K) document means
    alpha: Array  # (D, K) with F = 𝒦 alpha
    terms: Terms | None  # the kernel as learnt
    trace: list[float]  # a value of every iteration
    reason: Reason
    draws: Draws | None = None  # snapshots, where it drew any
    watched: dict[str, Array] | None = None  # (chains, draws, ...) what chains are judged by


def run_em(problem: em.Problem, state: em.State, **choices: Any) -> Outcome:
    """Variational EM, or the paper's, from a start."""
    result = em.run(problem, state, **choices)
    state = em.normalised(problem, result.state)
    return Outcome(
        state.beta_T,
        state.Sigma,
        state.B,
        state.means.mu,
        *state.posterior,
        state.F,
        dual_coefficients(residuals(state.view, state.means), state.means),
        state.terms,
        result.bounds,
        result.reason,
    )
