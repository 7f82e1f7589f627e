"""New documents: what the kernel expects of them, then what their words say."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._types import Array
from gptm.estep import Posterior, Prior, infer_documents, prior_start
from gptm.means import Basis, diagonalise, document_means, solve_means
from gptm.operators import Cross

MAX_INNER = 500
TOL = 1e-9  # nats per token
_JOINT_ITERATIONS = 1000
_JOINT_TOL = 1e-8


class Parameters(NamedTuple):
    """What prediction needs of a fitted model."""

    beta_T: Array  # (V, K)
    mu: Array  # (K,)
    Sigma: Array  # (K, K)
    B: Array  # (K, K)
    alpha: Array  # (D, K)


def predicted_prior(parameters: Parameters, cross: Cross) -> Prior:
    """Prior of eta for each new document alone, F_* integrated out (maths, section 6)."""
    basis = diagonalise(parameters.Sigma, parameters.B)
    mean = parameters.mu + cross.mean(parameters.alpha)
    return Prior(mean, basis.T, 1.0 / (1.0 + cross.variance(basis.b)))


def infer_new(counts: csr_matrix, prior: Prior, beta_T: Array, n_jobs: int | None) -> Posterior:
    """Posterior of new documents, to convergence, each on its own."""
    posterior, _ = infer_documents(
        counts, prior, beta_T, prior_start(prior), max_inner=MAX_INNER, tol=TOL, n_jobs=n_jobs
    )
    return posterior


def infer_new_jointly(
    counts: csr_matrix, parameters: Parameters, cross: Cross, n_jobs: int | None
) -> tuple[Posterior, Array]:
    """Posterior and F_* of new documents by the corrected eq. 20, alternating until both stand still.

    F_* - F_bar solves the training equation with the conditional kernel and lam - F_bar. The paper's
    procedure: documents of one batch pull on each other.
    """
    n, K = counts.shape[0], len(parameters.mu)
    operator = cross.conditional()
    basis: Basis = diagonalise(parameters.Sigma, parameters.B)
    F_bar = cross.mean(parameters.alpha)
    rotated_ones = operator.rotate(np.ones((n, 1)))[:, 0]
    shared = np.ones((1, K))
    posterior = prior_start(Prior(parameters.mu + F_bar, basis.T, shared))

    def updated(F_new: Array) -> Array:
        nonlocal posterior
        prior = Prior(parameters.mu + F_new, basis.T, shared)
        posterior, _ = infer_documents(
            counts, prior, parameters.beta_T, posterior, max_inner=MAX_INNER, tol=TOL, n_jobs=n_jobs
        )
        rotated = operator.rotate(posterior.lam - F_bar)
        means = solve_means(operator, rotated, rotated_ones, parameters.mu, basis)
        return F_bar + document_means(operator, means)

    F_new = fixed_point(updated, F_bar, tol=_JOINT_TOL, max_iter=_JOINT_ITERATIONS)
    return posterior, F_new


def fixed_point(
    update: Callable[[Array], Array], x: Array, *, tol: float, max_iter: int, memory: int = 8
) -> Array:
    """x with update(x) = x, by Anderson's extrapolation from the last few steps.

    Plain alternation creeps where the kernel is strong: each step moves F by a share of Sigma / (Sigma + kernel) only.
    The result is always the outcome of a plain update.
    """
    points: list[Array] = []
    images: list[Array] = []
    for _ in range(max_iter):
        image = update(x)
        if np.abs(image - x).max(initial=0.0) <= tol * (1.0 + np.abs(image).max(initial=0.0)):
            break
        points, images = [*points, x][-memory:], [*images, image][-memory:]
        residuals = np.stack([(g - p).ravel() for p, g in zip(points, images, strict=True)])
        steps, moves = np.diff(residuals, axis=0), np.diff(np.stack(images), axis=0)
        if np.linalg.norm(residuals[-1]) > 2.0 * np.linalg.norm(residuals, axis=1).min():
            points, images, steps = [], [], steps[:0]  # extrapolated too far: begin again
        weights = np.linalg.lstsq(steps.T, residuals[-1], rcond=None)[0]
        x = image - np.tensordot(weights, moves[: len(weights)], axes=1)
    return image
