"""Parameters for error bars: mu, Sigma, B and length-scales of the linear Gaussian model that words leave.

The mean-field fit takes covariances too small and, of few words, curves too smooth; bands around them would be too
narrow. Starting from it, each round moves every parameter by comparing what the data have of it with what data drawn
from the model would have.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._memory import TooLarge
from gptm._types import Array
from gptm.draws import Gaussian, Posterior
from gptm.em import Coregionalization
from gptm.information import contrasts, see_words
from gptm.kernels import BoundKernel
from gptm.kernels.terms import terms_of
from gptm.operators import Operator, Tangent
from gptm.weightspace import Stacked

_STEPS = 25
_TOL = 0.02  # largest relative move of a parameter that ends it
_DRAWS = 16
_ENTRIES = 5 * 10**5  # documents x topics x draws in a round
_NOT_ZERO, _EVEN = 1.0, 2.0  # weights of the prior of B
_FIRST_MOVE = 0.2  # of a logarithm of a length-scale; grows while it keeps its direction


class Fitted(NamedTuple):
    """What a fit has left, in the form that this module starts from."""

    bound: BoundKernel
    counts: csr_matrix
    beta_T: Array
    lam: Array
    nu2: Array
    parameters: Gaussian


def refit(
    fitted: Fitted,
    *,
    fit_mean: bool,
    learn_covariance: bool,
    learn_kernel: bool,
    coregionalization: Coregionalization = "free",
    n_jobs: int | None = None,
) -> tuple[BoundKernel, Posterior]:
    """The kernel, and the posterior of F to draw from, in the coordinates of `contrasts`."""
    bound, counts, beta_T, lam, nu2, (mu, Sigma, B) = fitted
    Q = contrasts(len(mu))
    parameters = Gaussian(mu @ Q, Q.T @ Sigma @ Q, Q.T @ B @ Q)
    if learn_kernel:
        parameters = _lifted(parameters, coregionalization)
    words = see_words(counts, beta_T, lam, nu2, n_jobs)
    operator, terms = bound.operator, _stacked(bound)
    pace = _Pace()
    n_draws = int(np.clip(_ENTRIES // max(lam.size, 1), 2, _DRAWS))
    for _ in range(_STEPS):
        posterior = Posterior(operator, terms, words, parameters)
        F, v = posterior.mean()
        simulated, away = posterior.simulated(n_draws)
        mu, Sigma, B = parameters
        if fit_mean:
            left = posterior.seen - np.einsum("dkl,dl->dk", posterior.precision, F)
            mu = np.linalg.lstsq(posterior.precision.sum(0), left.sum(0), rcond=1e-10)[0]
        if learn_covariance:
            Sigma = _own_covariance(posterior, mu + F, away)
        moved = 0.0
        if learn_kernel:
            B = _strength(posterior, v, simulated, operator, free=coregionalization == "free")
            if coregionalization == "shared":
                B = np.trace(B) / np.trace(parameters.Sigma) * Sigma
            bound, moved = pace.move(bound, v, simulated)
            if moved:
                operator, terms = bound.solver(operator), _stacked(bound)
        after = Gaussian(mu, Sigma, B)
        moved = max(moved, _change(parameters, after))
        parameters = after
        if moved < _TOL:
            break
    return bound, Posterior(operator, terms, words, parameters)


def _stacked(bound: BoundKernel) -> Stacked:
    return Stacked([part.structure for part in terms_of(bound)])


def _change(before: Gaussian, after: Gaussian) -> float:
    """Largest move of Sigma or B, relative to both."""
    scale = (np.trace(after.Sigma) + np.trace(after.B)) / len(after.mu)
    return float(
        max(np.abs(a - b).max() for a, b in zip(after[1:], before[1:], strict=True)) / scale
    )


def _own_covariance(posterior: Posterior, mean: Array, away: Array) -> Array:
    """E[(eta - mu - F)(eta - mu - F)'] over documents, F's uncertainty by draws."""
    spread, information = posterior.spread, posterior.words.information
    pull = posterior.words.gradient - np.einsum("dkl,dl->dk", information, mean)
    own = np.einsum("dkl,dl->dk", spread, pull)
    follow = (away @ information) @ spread
    K = len(posterior.parameters.mu)
    drawn = follow.reshape(-1, K)
    Sigma = own.T @ own + spread.sum(0) + drawn.T @ drawn / away.shape[1]
    return np.asarray(0.5 * (Sigma + Sigma.T) / len(own))


def _lifted(parameters: Gaussian, coregionalization: Coregionalization) -> Gaussian:
    """The same with some of B in every direction: where it is zero it would stay so."""
    mu, Sigma, B = parameters
    K = len(mu)
    shape = Sigma if coregionalization == "shared" else np.eye(K)
    level = 0.1 * np.trace(B) + 0.01 * np.trace(Sigma)
    return Gaussian(mu, Sigma, B + level / max(np.trace(shape), np.finfo(float).tiny) * shape)


def _strength(
    posterior: Posterior, v: Array, simulated: Array, operator: Operator, free: bool
) -> Array:
    """B, or unless it is `free` its size alone, by the step M^-1 # N.

    N is what the data have of the kernel, M what data from the model would.
    A category of few levels says hardly more of B than that it is not zero, and the most likely B has nothing at all
    in most directions, so that bands there would have no width. Hence a prior, whose slopes are added to both: the
    root of |B| keeps it from zero, and an inverse Wishart distribution around its mean variance keeps it round, with
    the weight of `_EVEN` levels. Where the kernel has many, that is little.
    """
    D, n, K = simulated.shape
    back = posterior.back  # from coordinates in which B is the identity
    flat = simulated.reshape(D, n * K)
    image = operator.matmul(flat).reshape(D * n, K)
    M = simulated.reshape(D * n, K).T @ image / n + _EVEN * np.eye(K)
    level = np.trace(posterior.parameters.B) / max(K, 1)
    N = v.T @ operator.matmul(v) + _NOT_ZERO * np.eye(K)
    N += _EVEN * level * np.linalg.inv(back @ back.T)
    if not free:
        return np.asarray(posterior.parameters.B * np.sqrt(np.trace(N) / np.trace(M)))
    values, vectors = np.linalg.eigh(0.5 * (M + M.T))
    root = vectors * np.sqrt(values)
    inner, turn = np.linalg.eigh(root.T @ (0.5 * (N + N.T)) @ root)
    middle = (turn * np.sqrt(np.maximum(inner, 0.0))) @ turn.T
    half = back.T @ (vectors / np.sqrt(values))
    B = half @ middle @ half.T
    return np.asarray(0.5 * (B + B.T))


class _Pace:
    """Length-scales, by the sign of their evidence's slope: steps grow while it stays and shrink where it turns."""

    def __init__(self) -> None:
        self.steps: Array | None = None
        self.signs: Array | None = None

    def move(self, bound: BoundKernel, v: Array, simulated: Array) -> tuple[BoundKernel, float]:
        """The kernel after a step, and the largest relative move."""
        found = bound.learnables()
        tangents = bound.tangents()
        open_ones = np.array([not tangent.graphs for tangent in tangents], dtype=bool)
        if not open_ones.any():
            return bound, 0.0
        signs = np.array(
            [
                _direction(t, v, simulated) if o else 0.0
                for t, o in zip(tangents, open_ones, strict=True)
            ]
        )
        if self.steps is None or self.signs is None:
            self.steps = np.full(len(found), _FIRST_MOVE)
        else:
            same = signs * self.signs
            self.steps = self.steps * np.where(same > 0, 1.2, np.where(same < 0, 0.5, 1.0))
        self.signs = signs
        low, high = np.log([[one.low, one.high] for one in found]).T
        before = np.log([one.value for one in found])
        after = np.clip(before + signs * self.steps, low, high)
        moved = bound.moved(np.exp(after).tolist())
        try:
            _ = moved.structure
        except TooLarge:  # stay where it can be afforded
            return bound, 0.0
        return moved, float(np.abs(after - before).max())


def _direction(tangent: Tangent, v: Array, simulated: Array) -> float:
    """The sign of the evidence's slope: what the data have of the motion, less what data from the model would."""
    D, n, K = simulated.shape
    drawn = tangent.quadratic(simulated.reshape(D, n * K)).sum() / n
    return float(np.sign(tangent.quadratic(v).sum() - drawn))
