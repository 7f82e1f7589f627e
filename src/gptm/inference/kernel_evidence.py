"""The kernel's own parameters, by the evidence of the documents' logits.

    sum_i log N(lam^_i; 0, b_i 𝒦 + I)

with mu at its optimum, and with analytic gradients. Parameters are logarithms here, kept within bounds and, softly,
near where they started. A step that does not raise the evidence is not taken, so it never lowers EM's bound.
"""

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from gptm._basics.memory import TooLarge
from gptm._basics.types import Array
from gptm.inference.mean_solve import Basis, Means, solve_means
from gptm.kernels.weighted_terms import Terms
from gptm.operators import Operator, View

SPREAD = 2.0  # standard deviation of a logarithm around its start, of the prior that keeps it from running away
MAX_TRIALS = 12  # evaluations of the evidence in one step
REACH = 0.7  # of a logarithm in one step; with a length-scale that is far too short, all documents would differ
_WORTH = 1e-7  # rise of the evidence, relative to its value, below which a step ends


class Learnt(NamedTuple):
    """A kernel, and the logits as its operator sees them."""

    terms: Terms
    operator: Operator
    view: View
    means: Means


def evidence(operator: Operator, means: Means) -> float:
    """The evidence of the logits, up to terms that do not depend on the kernel's parameters."""
    return -0.5 * float(np.trace(means.fit) + operator.logdet(means.basis.b).sum())


def evidence_slopes(terms: Terms, operator: Operator, view: View, means: Means) -> Array:
    """The gradient of the evidence in the logarithms of the learnables."""
    b = means.basis.b
    tangents = terms.tangents()
    explained = view.slopes(tangents, b, means.directions)
    return np.asarray(0.5 * (explained - operator.slopes(tangents, b)) @ b)


def learn_parameters(
    terms: Terms, operator: Operator, view: View, mu: Array | None, basis: Basis, origin: Array
) -> Learnt:
    """A kernel with higher evidence, or the same kernel if none was found.

    `origin` holds the logarithms that the prior is centred on; `mu` is None where it is fitted.
    """
    learnables = terms.learnables()
    start = np.log([parameter.value for parameter in learnables])
    lows, highs = np.log([(parameter.low, parameter.high) for parameter in learnables]).T
    centre = np.clip(start, lows, highs)  # rounding may take it beyond
    limits = list(
        zip(np.maximum(lows, centre - REACH), np.minimum(highs, centre + REACH), strict=True)
    )
    present = Learnt(terms, operator, view, solve_means(operator, view, mu, basis))
    least = evidence(operator, present.means)
    best, best_score = present, -np.inf

    def objective(x: Array) -> tuple[float, Array]:
        nonlocal best, best_score
        trial = present if np.array_equal(x, start) else _moved(present, x, mu, basis)
        value = evidence(trial.operator, trial.means)
        away = (x - origin) / SPREAD
        score = value - 0.5 * float(away @ away)
        if score > best_score and value >= least:
            best, best_score = trial, score
        return -score, away / SPREAD - evidence_slopes(*trial)

    with suppress(TooLarge):  # a trial that cannot be afforded ends the search
        minimize(
            objective,
            centre,
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            options={"maxfun": MAX_TRIALS, "ftol": _WORTH},
        )
    return best


def _moved(present: Learnt, x: Array, mu: Array | None, basis: Basis) -> Learnt:
    terms = present.terms.moved(np.exp(x).tolist())
    operator = terms.operator(present.operator)
    view = operator.view(present.view.Y, present.view)
    return Learnt(terms, operator, view, solve_means(operator, view, mu, basis))
