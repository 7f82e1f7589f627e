"""A start that continues an earlier fit."""

from typing import Any

import numpy as np

from gptm._basics.errors import Argument, InputError
from gptm.fitted import Fitted
from gptm.inference.em import loop as em
from gptm.inference.em.document_step import Posterior
from gptm.inference.problem import FitProblem
from gptm.inference.start_point import Start


def resume(problem: FitProblem, fitted: Fitted, n_components: int) -> Start:
    """The state at the end of the last fit. Documents start again unless their number is the same."""
    if n_components != fitted.K:
        raise InputError(
            f"warm_start continues with {fitted.K} topics, but ",
            Argument("n_components"),
            f" is now {n_components}. Set it back, or fit with ",
            Argument("warm_start", False),
            ".",
        )
    same = len(fitted.lam) == problem.operator.n
    state = em.initial_state(
        problem,
        fitted.beta_T,
        Posterior(fitted.lam, fitted.nu2) if same else None,
        Sigma=fitted.Sigma if problem.learn_covariance else None,
        **_strength(problem, fitted),
    )
    # The first iteration updates the topics from the documents' statistics.
    return Start.at(problem, em.update_documents(problem, state))


def _strength(problem: FitProblem, fitted: Fitted) -> dict[str, Any]:
    """The learnt strength of the kernel in the form that the present choice of B takes."""
    if not problem.learn_strength or fitted.kernel is None:
        return {}
    if problem.coregionalization == "free":
        return {"B": fitted.B}
    identity = problem.coregionalization == "identity"
    reference = np.eye(fitted.K) if identity else fitted.Sigma
    return {"strength": float(np.trace(fitted.B) / np.trace(reference))}
