"""The parameters: topics, covariance of topics, strength of the kernel. One function, one update."""

import numpy as np
from scipy.linalg.lapack import dsyevd

from gptm._basics.types import Array
from gptm._hot import padded_zeros
from gptm.inference.mean_solve import Means, explained


def update_beta(expected: Array, prior: float | Array) -> Array:
    """Topics (V, K) from expected word-topic counts, eq. 8, and pseudo-counts; columns sum to one.

    A topic without any count keeps no shape of its own and becomes uniform.
    """
    V, K = expected.shape
    beta_T = padded_zeros(V, K)[:, :K]  # as the document step reads it
    np.add(expected, prior, out=beta_T)
    totals = beta_T.sum(0)
    beta_T[:, totals == 0] = 1.0
    beta_T /= np.where(totals > 0, totals, V)
    return beta_T


def _from_basis(inner: Array, means: Means) -> Array:
    """T^-T inner T^-1, symmetric to the last bit."""
    T_inv = means.basis.T_inv
    outer = T_inv.T @ inner @ T_inv
    return 0.5 * (outer + outer.T)


def _spread(nu2: Array) -> Array:
    """diag(sum_d nu2_d); over many short rows a product is several times as quick as a sum."""
    return np.diag(np.ones(len(nu2)) @ nu2)


def update_Sigma(means: Means, nu2: Array) -> Array:
    """Sigma with q(F) held, its uncertainty included (identity and free B)."""
    inner = means.residual + np.diag(means.basis.b * means.trace)
    return (_from_basis(inner, means) + _spread(nu2)) / len(nu2)


def update_Sigma_shared(means: Means, nu2: Array) -> Array:
    """Sigma with q(F) integrated out, for B = b Sigma."""
    return (_from_basis(means.fit, means) + _spread(nu2)) / len(nu2)


def update_Sigma_map(means: Means, nu2: Array) -> Array:
    """Sigma with F held at its maximum, eq. 12."""
    return (_from_basis(means.residual, means) + _spread(nu2)) / len(nu2)


def update_Sigma_map_shared(means: Means, nu2: Array, rank: int) -> Array:
    """Sigma with F held at its maximum, for B = b Sigma and a kernel of that rank."""
    b = means.basis.b  # one value, K times
    inner = means.residual + explained(means) / b
    return (_from_basis(inner, means) + _spread(nu2)) / (len(nu2) + rank)


def update_B(means: Means) -> Array:
    """Free B by the monotone step B = M^-1 # N, a geometric mean of matrices.

    In the basis M is diag(trace) and N is G, so the step needs one square root of size K.
    """
    root = np.sqrt(np.maximum(means.trace, np.finfo(float).tiny))
    # Without the checks of `eigh`; to diagonalise B is to check it.
    values, vectors, _ = dsyevd(root[:, None] * explained(means) * root)
    middle = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return _from_basis(middle / np.outer(root, root), means)


def strength_ratio(means: Means) -> float:
    """Factor by which b of B = b I or B = b Sigma moves, in both cases."""
    signal = float(np.trace(means.fit - means.residual))
    expected = (means.basis.b * means.trace).sum()
    return float(np.sqrt(max(signal, 0.0) / expected)) if expected > 0 else 1.0
