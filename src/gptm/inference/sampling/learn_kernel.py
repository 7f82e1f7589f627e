"""The kernel's own parameters: weights of terms, length-scales and the like, by the evidence of the logits."""

import numpy as np

from gptm.inference.contrasts import contrasts
from gptm.inference.kernel_evidence import learn_parameters
from gptm.inference.mean_solve import diagonalise, view_logits
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.state import ChainState


def learn_kernel(problem: FitProblem, state: ChainState) -> ChainState:
    """The kernel under which the present logits are most probable, F integrated out, at a mean variance of one.

    It is a point estimate: draws that are kept all have the same kernel.
    """
    if state.terms is None or len(problem.origin) == 0 or state.K < 2 or not state.B.any():
        return state
    view = view_logits(state.operator, state.eta @ contrasts(state.K))
    mu = None if problem.fit_mean else np.zeros(state.K - 1)
    basis = diagonalise(state.S, state.B)
    learnt = learn_parameters(state.terms, state.operator, view, mu, basis, problem.origin)
    terms, factor = learnt.terms.normalised()
    strength, B = state.strength * factor, state.B * factor
    # Made from the terms alone: a chain that is taken up again from a checkpoint has no other.
    return state._replace(terms=terms, operator=terms.operator(), B=B, strength=strength)
