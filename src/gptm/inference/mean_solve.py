"""The document means F: diagonalise topic space, solve one shifted system per direction.

With T' Sigma T = I and T' B T = diag(b), the columns of lam^ = (lam - mu) T are independent GP
regressions with kernel b_i 𝒦 and unit noise. Both inferences share the solution: it is the maximum of
the paper (eq. 14, for B = I) and the mean of the optimal q(F), whose covariance C_i is known in closed form too.

All that the parameters need of D documents are K x K forms of the residuals a_i = (b_i 𝒦 + I)^-1 lam^_i.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dsygvd, dtrtri

from gptm._basics.eigenvectors import steady_signs
from gptm._basics.errors import Argument, InputError
from gptm._basics.types import Array
from gptm.operators import Operator, View


class Basis(NamedTuple):
    """Coordinates of topic space in which Sigma is the identity and B is diag(b)."""

    T: Array  # (K, K); the precision of Sigma is T T'
    T_inv: Array
    b: Array  # (K,) signal to noise in each direction, never negative


class Means(NamedTuple):
    """q(F) and mu at their optimum for the present lam, Sigma and B."""

    mu: Array  # (K,)
    basis: Basis
    directions: Array  # (K + 1, K), lam^ = [lam, 1] @ directions
    fit: Array  # (K, K) lam^' a
    residual: Array  # (K, K) a' a
    trace: Array  # (K,) tr 𝒦 (b_i 𝒦 + I)^-1; times b_i it is tr C_i


def diagonalise(Sigma: Array, B: Array) -> Basis:
    """T and b with T' Sigma T = I and T' B T = diag(b): a generalised eigenproblem of size K.

    Without a kernel any root of the precision does.
    """
    # Without the checks of `eigh` and `cholesky`, which take as long again.
    if B.any():
        b, T, failed = dsygvd(B, Sigma)
    else:
        L, failed = dpotrf(Sigma, lower=True)
        b, T = np.zeros(len(B)), dtrtri(L, lower=True)[0].T
    if failed or not np.isfinite(B + Sigma).all():
        raise InputError(
            "the topic covariance must stay positive definite, but it became singular: topics vary far less in some "
            "directions than in others, as where documents have very many tokens or are all alike. Pass ",
            Argument("inference", "sampling"),
            " or ",
            Argument("topic_covariance", "identity"),
            ", fit fewer topics, or divide all counts by the same number.",
        )
    T = np.multiply(T, steady_signs(T), order="C")
    return Basis(T, T.T @ Sigma, np.maximum(b, 0.0))


def view_logits(operator: Operator, lam: Array) -> View:
    """The documents' logits, and a constant beside them for mu, as the kernel sees them."""
    return operator.view(_with_ones(lam))


def _with_ones(lam: Array) -> Array:
    Y = np.empty((len(lam), lam.shape[1] + 1))
    Y[:, :-1], Y[:, -1] = lam, 1.0
    return Y


def solve_means(operator: Operator, view: View, mu: Array | None, basis: Basis) -> Means:
    """q(F), and mu with it (generalised least squares) unless a fixed one is given."""
    T, T_inv, b = basis
    if mu is None:
        of_ones = view.against(-1, b)  # row i is 1' (b_i 𝒦 + I)^-1 [lam, 1]
        mu_hat = np.einsum("ij,ji->i", of_ones[:, :-1], T) / of_ones[:, -1]
        mu = mu_hat @ T_inv
    else:
        mu_hat = mu @ T
    directions = np.vstack([T, -mu_hat])
    fit, residual = view.forms(b, directions)
    return Means(mu, basis, directions, fit, residual, operator.trace(b))


def residuals(view: View, means: Means) -> Array:
    """a (D, K), in the basis of `means`; lam^ - a is F^."""
    return view.residuals(means.basis.b, means.directions)


def document_means(view: View, means: Means) -> Array:
    """F (D, K), eq. 14: what the residuals leave of lam - mu."""
    if not means.basis.b.any():  # there is no kernel, or its strength is zero
        return np.zeros((len(view.Y), len(means.mu)))
    return view.fitted(means.basis.b, means.directions, means.basis.T_inv)


def dual_coefficients(a: Array, means: Means) -> Array:
    """alpha = 𝒦^-1 F (D, K), without the inverse."""
    return (a * means.basis.b) @ means.basis.T_inv


def explained(means: Means) -> Array:
    """G (K, K) = (a b)' 𝒦 (a b), so that alpha' 𝒦 alpha = T^-T G T^-1; symmetric."""
    G = means.basis.b[:, None] * (means.fit.T - means.residual)
    return 0.5 * (G + G.T)
