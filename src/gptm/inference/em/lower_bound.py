"""The lower bounds that EM raises, with every constant."""

import numpy as np
from scipy.special import xlogy

from gptm._basics.parallel import blocks
from gptm._basics.types import Array
from gptm.inference.em.document_step import Posterior
from gptm.inference.mean_solve import Means, explained
from gptm.operators import Operator

LOG_2PI = float(np.log(2 * np.pi))
_ROWS = 4096


def log_prior_of_topics(beta_T: Array, prior: float | Array) -> float:
    """What pseudo-counts add to the bound: the log-density, up to a constant, of a Dirichlet prior.

    Pseudo-counts near the smallest float leave words a probability that rounds to zero; they count for next to nothing.
    """
    return float(xlogy(prior, np.maximum(beta_T, np.finfo(float).tiny)).sum())


def _documents(means: Means, posterior: Posterior) -> float:
    """The parts of sum_d l_d that hold no words and no lam: Sigma's determinant, nu2, constants."""
    D, K = posterior.lam.shape
    T = means.basis.T
    log_det_Sigma = -2.0 * np.linalg.slogdet(T)[1]
    precision_diagonal = (T**2).sum(1)
    return float(
        -0.5 * D * log_det_Sigma
        - 0.5 * (posterior.nu2 @ precision_diagonal).sum()
        + 0.5 * _sum_of_logs(posterior.nu2)
        + 0.5 * D * K
    )


def _sum_of_logs(nu2: Array) -> float:
    """Some rows at a time: logarithms of all documents at once would take as much memory as the variances."""
    return float(sum(np.log(nu2[rows]).sum() for rows in blocks(0, len(nu2), _ROWS)))


def variational_bound(
    operator: Operator, means: Means, posterior: Posterior, words: float
) -> float:
    """L*: the bound with q(F) at its optimum. `words` holds words and normaliser."""
    fit = np.trace(means.fit) + operator.logdet(means.basis.b).sum()
    return words - 0.5 * float(fit) + _documents(means, posterior)


def map_bound(
    operator: Operator, means: Means, posterior: Posterior, words: float, B: Array
) -> float:
    """L_map: Table 1 with F at its maximum. A singular 𝒦 has its density on its own range."""
    K = len(means.mu)
    log_det_kernel, rank = operator.log_pseudo_determinant()
    log_det_B = np.linalg.slogdet(B)[1]
    b = means.basis.b
    inverse_b = np.divide(1.0, b, out=np.zeros_like(b), where=b > 0)
    penalty = (np.diagonal(explained(means)) * inverse_b).sum()  # tr(B^-1 F' 𝒦^-1 F)
    log_prior_F = -0.5 * (K * log_det_kernel + rank * (log_det_B + K * LOG_2PI) + penalty)
    return (
        words
        - 0.5 * float(np.trace(means.residual))
        + _documents(means, posterior)
        + float(log_prior_F)
    )
