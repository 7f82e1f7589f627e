"""Variational EM, or the paper's, from a start to a fitted model."""

from collections.abc import Callable

import numpy as np

from gptm.fitted import Fitted
from gptm.inference.checkpoint import Checkpoint
from gptm.inference.em import loop
from gptm.inference.mean_solve import dual_coefficients, residuals
from gptm.inference.problem import FitProblem


def run_em(
    problem: FitProblem,
    state: loop.EmState | None,
    *,
    max_iter: int,
    tol: float,
    after_iteration: Callable[[int, loop.EmState], bool],
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """The model that EM finds, from a state or a checkpoint; its topics are point estimates, and there are no draws."""
    result = loop.run(
        problem,
        state,
        max_iter=max_iter,
        tol=tol,
        after_iteration=after_iteration,
        checkpoint=checkpoint,
    )
    state = loop.normalised(problem, result.state)
    return Fitted(
        components=state.beta_T.T,
        mu=state.means.mu,
        Sigma=state.Sigma,
        B=state.B,
        lam=state.posterior.lam,
        nu2=state.posterior.nu2,
        F=state.F,
        alpha=dual_coefficients(residuals(state.view, state.means), state.means),
        lengths=problem.lengths,
        counts=problem.counts,
        bound=problem.bound if state.terms is None else state.terms.bound,
        joint=problem.joint,
        trace=np.array(result.bounds),
        reason=result.reason,
    )
