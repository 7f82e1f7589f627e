"""Expected proportions of documents under a fitted model, and their uncertainty."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm._basics.validation import check_number
from gptm.fitted import Fitted
from gptm.inference.em.document_step import Posterior, Prior, expected_theta
from gptm.prediction.new_documents import (
    infer_new_jointly,
    kernel_cross,
    predicted_prior,
    prior_around,
    theta_of_new,
)
from gptm.prediction.theta import Weighted, theta_by_points, weighted_points

DOC_POINTS = 64  # of error bars where proportions themselves take none


class Effort(NamedTuple):
    """How much work goes into a document."""

    points: int  # 0 takes the quick variational way
    tol: float  # of that, in nats per token
    n_jobs: int | None

    def checked(self) -> "Effort":
        """The same, or an error: users may have changed these settings after the fit."""
        check_number("doc_tol", self.tol, least=0.0)
        check_number("doc_points", self.points, least=0, integer=True)
        return self


def proportions(fitted: Fitted, counts: csr_matrix, new: Any, effort: Effort) -> Array:
    """(n, K) of documents with these words and this input of the kernel."""
    if fitted.origin is not None:
        return fitted.origin.combined(proportions(fitted.origin.fitted, counts, new, effort))
    effort = effort.checked()
    if fitted.joint:
        return expected_theta(_jointly(fitted, counts, new, effort)[0], effort.n_jobs)
    prior = _prior(fitted, counts, new, effort)
    if not effort.points:
        return theta_of_new(counts, prior, fitted.beta_T, effort.tol, effort.n_jobs)
    return theta_by_points(
        counts, prior, fitted.beta_T, n_points=effort.points, n_jobs=effort.n_jobs
    )


def posterior_of_proportions(
    fitted: Fitted, counts: csr_matrix, new: Any, effort: Effort, quantiles: Sequence[float]
) -> Weighted:
    """Means, standard deviations and quantiles, always by points."""
    effort = effort.checked()
    origin = fitted.origin
    if origin is not None:
        fitted = origin.fitted
    prior, n_points = _prior(fitted, counts, new, effort), effort.points or DOC_POINTS
    posterior = weighted_points(
        counts,
        prior,
        fitted.beta_T,
        n_points=n_points,
        quantiles=quantiles,
        n_jobs=effort.n_jobs,
        sums=None if origin is None else origin.sums,
    )
    if origin is None:
        return posterior
    # The same means as without error bars: those of all topics first, then their sums.
    theta = theta_by_points(counts, prior, fitted.beta_T, n_points=n_points, n_jobs=effort.n_jobs)
    return posterior._replace(theta=origin.combined(theta))


def training_proportions(fitted: Fitted, effort: Effort) -> Array:
    """(D, K) of the training documents: means over some draws of the topics.

    The mean of the topics has learnt each document's own words, and would take them for confirmed. A draw has not: it
    varies where these words alone decide.
    """
    if fitted.origin is not None:
        return fitted.origin.combined(training_proportions(fitted.origin.fitted, effort))
    if not (fitted.by_sampling and effort.points):
        return expected_theta(Posterior(fitted.lam, fitted.nu2), effort.n_jobs)
    assert fitted.counts is not None
    prior = prior_around(fitted, np.asarray(fitted.F))
    drawn = fitted.topic_draws
    if drawn is None:
        return theta_by_points(
            fitted.counts, prior, fitted.beta_T, n_points=effort.points, n_jobs=effort.n_jobs
        )
    counts = fitted.counts
    if len(drawn.words) < counts.shape[1]:
        counts = counts[:, drawn.words]
    sums = np.zeros_like(prior.mean)
    for scramble, beta_T in enumerate(drawn.beta_T):
        sums += theta_by_points(
            counts,
            prior,
            beta_T.astype(np.float64),
            n_points=effort.points,
            scramble=scramble,
            n_jobs=effort.n_jobs,
        )
    return sums / len(drawn.beta_T)


def _prior(fitted: Fitted, counts: csr_matrix, new: Any, effort: Effort) -> Prior:
    """The prior of new documents' logits: what the kernel predicts."""
    if fitted.joint:
        return _jointly(fitted, counts, new, effort)[1]
    return predicted_prior(fitted, kernel_cross(fitted, new), counts.shape[0])


def _jointly(
    fitted: Fitted, counts: csr_matrix, new: Any, effort: Effort
) -> tuple[Posterior, Prior]:
    cross = fitted.bound.cross(new, joint=True)
    posterior, F = infer_new_jointly(counts, fitted, cross, effort.n_jobs)
    return posterior, prior_around(fitted, F)
