"""New documents: the prior that the kernel predicts, then the posterior given their words."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

from gptm._basics.errors import Argument, Message
from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.fitted import Fitted
from gptm.inference.contrasts import contrasts
from gptm.inference.em.document_step import (
    Posterior,
    Prior,
    infer_documents,
    infer_theta,
    prior_start,
)
from gptm.inference.em.lower_bound import LOG_2PI
from gptm.inference.mean_solve import (
    Basis,
    diagonalise,
    document_means,
    dual_coefficients,
    residuals,
    solve_means,
    view_logits,
)
from gptm.operators import Cross, FeatureCross, Spectral

MAX_INNER = 500
_HELD_OUT_TOL = 1e-7  # nats per token
_JOINT_ITERATIONS = 1000
_JOINT_TOL = 1e-8
_JOINT_INNER_TOL = 1e-15  # a strong kernel amplifies what the documents leave undone
_MEMORY = 8
_NOISE = 1e-12  # of a value: near the top, rounding must not pass for a fall
_ROUNDING = 1e-10  # of the largest eigenvalue of B: what is less than that is none


_bases: WeakKeyDictionary[Fitted, Basis] = WeakKeyDictionary()


def basis_of(fitted: Fitted) -> Basis:
    """Directions in which the topics' covariances are diagonal; computed once for each fit."""
    basis = _bases.get(fitted)
    if basis is None:
        basis = _bases[fitted] = diagonalise(fitted.Sigma, fitted.B)
    return basis


def kernel_cross(fitted: Fitted, new: Any) -> Cross:
    """What the kernel predicts of new documents, each alone, as `bound.read` returns them."""
    if fitted.whole is None or fitted.kernel is None:
        return fitted.bound.cross(new)
    assert fitted.draws is not None
    weights = [part.weights for part in fitted.draws.parts if part.weights is not None]
    means = [drawn.mean(0, dtype=np.float64) for drawn in weights]
    W = np.concatenate(means) if means else np.zeros((0, fitted.K - 1))
    return FeatureCross(fitted.bound.place(new), W @ contrasts(fitted.K).T, fitted.whole.gram)


def predicted_prior(fitted: Fitted, cross: Cross, n: int) -> Prior:
    """Prior of eta for each of n new documents alone, F_* integrated out."""
    basis = basis_of(fitted)
    if not basis.b.any():  # no kernel, or one without strength
        mean = np.broadcast_to(fitted.mu, (n, len(fitted.mu)))
        return Prior(mean, basis.T, np.ones_like(basis.b))
    mean = fitted.mu + cross.mean(fitted.alpha, fitted.F)
    return Prior(mean, basis.T, 1.0 / (1.0 + cross.variance(basis.b)))


def prior_around(fitted: Fitted, F: Array) -> Prior:
    """Prior of eta for documents whose F is given."""
    basis = basis_of(fitted)
    return Prior(fitted.mu + F, basis.T, np.ones_like(fitted.mu))


def theta_of_new(
    counts: csr_matrix, prior: Prior, beta_T: Array, tol: float, n_jobs: int | None
) -> Array:
    """Proportions of new documents, each on its own, until a step promises less than `tol` nats per token."""
    return infer_theta(counts, prior, beta_T, max_inner=MAX_INNER, tol=tol, n_jobs=n_jobs)


def infer_new_jointly(
    counts: csr_matrix, fitted: Fitted, cross: Cross, n_jobs: int | None
) -> tuple[Posterior, Array]:
    """Posterior and F_* of new documents by the corrected eq. 20, until both stand still.

    F_* - F_bar solves the training equation with the conditional kernel and lam - F_bar. The paper's
    procedure: documents of one batch pull on each other.
    """
    n, K = counts.shape[0], len(fitted.mu)
    operator = cross.conditional()
    basis = basis_of(fitted)
    F_bar = cross.mean(fitted.alpha, fitted.F)
    shared = np.ones(K)
    posterior = prior_start(Prior(fitted.mu + F_bar, basis.T, shared))

    def update(x: Array) -> tuple[Array, float]:
        """F_* - F_bar and its dual for the documents' optimum under those in x, and the bound at x."""
        nonlocal posterior
        G, alpha = x
        prior = Prior(fitted.mu + F_bar + G, basis.T, shared)
        posterior, statistics = infer_documents(
            counts,
            prior,
            fitted.beta_T,
            posterior,
            max_inner=MAX_INNER,
            tol=_JOINT_INNER_TOL,
            n_jobs=n_jobs,
        )
        value = float(statistics.terms.sum()) + _log_joint(posterior, prior, G, alpha, basis)
        above = posterior.lam - F_bar
        view = view_logits(operator, above)
        means = solve_means(operator, view, fitted.mu, basis)
        alpha = dual_coefficients(residuals(view, means), means)
        image = np.stack([document_means(view, means), alpha])
        return image, value

    x, converged = climb(update, np.zeros((2, n, K)), tol=_JOINT_TOL, max_iter=_JOINT_ITERATIONS)
    if not converged:
        message = Message(
            f"the joint inference of {n} documents did not converge in {_JOINT_ITERATIONS} rounds: the kernel is "
            "very strong relative to the topic covariance. Use ",
            Argument("inference", "variational"),
            ", or a weaker kernel.",
        )
        warn(message, ConvergenceWarning)
    return posterior, F_bar + x[0]


def held_out_bounds(
    counts: csr_matrix, fitted: Fitted, cross: Cross, n_jobs: int | None
) -> tuple[float, float]:
    """Bound of log p(w | F_*), and log p(F_* | F), with F_* adapted to the words (eqs 24 and 23).

    The second is a density: it depends on the scale of the kernel. A singular one has it on its own range, and so has
    a singular B.
    """
    n, K = counts.shape[0], len(fitted.mu)
    posterior, F_new = infer_new_jointly(counts, fitted, cross, n_jobs)
    basis = basis_of(fitted)
    prior = prior_around(fitted, F_new)
    posterior, statistics = infer_documents(
        counts,
        prior,
        fitted.beta_T,
        posterior,
        max_inner=MAX_INNER,
        tol=_HELD_OUT_TOL,
        n_jobs=n_jobs,
    )
    operator = cross.conditional()
    G = F_new - cross.mean(fitted.alpha, fitted.F)
    log_eta = _log_joint(posterior, prior, np.zeros_like(G), np.zeros_like(G), basis)
    constants = n * (np.linalg.slogdet(basis.T)[1] + 0.5 * K)
    conditional = float(statistics.terms.sum()) + log_eta + float(constants)

    log_det_kernel, rank = operator.log_pseudo_determinant()
    if rank == 0:  # no kernel, or nothing left open: F_* is F_bar
        return conditional, 0.0
    values = np.linalg.eigvalsh(fitted.B)
    values = values[values > _ROUNDING * values[-1]]
    log_det_B, rank_B = np.log(values).sum(), len(values)
    log_prior = -0.5 * (rank_B * log_det_kernel + rank * (log_det_B + rank_B * LOG_2PI))
    return conditional, float(log_prior) - 0.5 * _penalty(operator, G, basis)


def _penalty(operator: Spectral, G: Array, basis: Basis) -> float:
    """tr(B^-1 G' 𝒦^-1 G), on the ranges of 𝒦 and B where these are singular."""
    values, b = (
        operator.values[:, None],
        np.where(basis.b > _ROUNDING * basis.b.max(), basis.b, 0.0),
    )
    rotated = operator.rotate(G @ basis.T)
    scale = values * b
    return float(np.divide(rotated**2, scale, out=np.zeros_like(rotated), where=scale > 0).sum())


def _log_joint(posterior: Posterior, prior: Prior, G: Array, alpha: Array, basis: Basis) -> float:
    """The parts of the bound besides the words, up to constants: eta given F_*, q's entropy, F_*."""
    residual = (posterior.lam - prior.mean) @ basis.T
    precision_diagonal = (basis.T**2).sum(1)
    b = np.where(basis.b > 0, basis.b, np.inf)
    penalty = ((G @ basis.T) * (alpha @ basis.T) / b).sum()  # tr B^-1 G' 𝒦_bar^-1 G
    spread = (precision_diagonal * posterior.nu2 - np.log(posterior.nu2)).sum()
    return -0.5 * float((residual**2).sum() + spread + penalty)


def climb(
    update: Callable[[Array], tuple[Array, float]], x: Array, *, tol: float, max_iter: int
) -> tuple[Array, bool]:
    """The fixed point of a monotone update (its image, and the value at x), and whether it was reached.

    Plain updates creep where the kernel is strong: each moves F by a share of Sigma / (Sigma + kernel) only.
    So the next point is extrapolated from the last few (Anderson); one that lowers the value is dropped
    for the plain image.
    """
    points, images = [x], []
    image, value = update(x)
    for _ in range(max_iter):
        if np.abs(image - x).max(initial=0.0) <= tol * (1.0 + np.abs(image).max(initial=0.0)):
            return image, True
        images.append(image)
        points, images = points[-_MEMORY:], images[-_MEMORY:]
        trial = _extrapolated(points, images)
        trial_image, trial_value = update(trial)
        if not trial_value >= value - _NOISE * abs(value):
            points, images, trial = [], [], image
            trial_image, trial_value = update(trial)
        x, image, value = trial, trial_image, trial_value
        points.append(x)
    return image, False


def _extrapolated(points: list[Array], images: list[Array]) -> Array:
    """The combination of images whose combined residual is least (Anderson's method, type II)."""
    residuals = np.stack([(g - p).ravel() for p, g in zip(points, images, strict=True)])
    steps, moves = np.diff(residuals, axis=0), np.diff(np.stack(images), axis=0)
    weights = np.linalg.lstsq(steps.T, residuals[-1], rcond=None)[0]
    return images[-1] - np.tensordot(weights, moves, axes=1)
