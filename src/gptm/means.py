"""The document means F: diagonalise topic space, solve one shifted system per direction.

With T' Sigma T = I and T' B T = diag(b), the columns of lam^ = (lam - mu) T are independent GP
regressions with kernel b_i 𝒦 and unit noise. Both inferences share the solution: it is the maximum of
the paper (eq. 14, for B = I) and the mean of the optimal q(F), whose covariance C_i is known in closed form too.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from gptm._types import Array
from gptm.operators import Operator


class Basis(NamedTuple):
    """Coordinates of topic space in which Sigma is the identity and B is diag(b)."""

    T: Array  # (K, K); the precision of Sigma is T T'
    T_inv: Array
    b: Array  # (K,) signal to noise in each direction, never negative


class Means(NamedTuple):
    """q(F) and mu at their optimum for the present lam, Sigma and B, in rotated coordinates."""

    mu: Array  # (K,)
    basis: Basis
    lam_hat: Array  # (D, K) (lam - mu) T
    a: Array  # (D, K) column i is (b_i 𝒦 + I)^-1 lam^_i; also the residual lam^ - F^
    trace: Array  # (K,) tr 𝒦 (b_i 𝒦 + I)^-1; times b_i it is tr C_i

    @property
    def F_hat(self) -> Array:
        """(D, K) b_i 𝒦 a_i, which is lam^ - a and needs no product."""
        return self.lam_hat - self.a


def diagonalise(Sigma: Array, B: Array) -> Basis:
    """T and b with T' Sigma T = I and T' B T = diag(b): a generalised eigenproblem of size K."""
    b, T = eigh(B, Sigma)
    return Basis(np.ascontiguousarray(T), T.T @ Sigma, np.maximum(b, 0.0))


def solve_means(
    operator: Operator, rotated_lam: Array, rotated_ones: Array, mu: Array | None, basis: Basis
) -> Means:
    """q(F), and mu with it (generalised least squares) unless a fixed one is given."""
    T, T_inv, b = basis
    lam_T = rotated_lam @ T
    a_ones = operator.solve(b, np.repeat(rotated_ones[:, None], len(b), axis=1))
    if mu is None:
        mu_hat = (a_ones * lam_T).sum(0) / (a_ones * rotated_ones[:, None]).sum(0)
        mu = mu_hat @ T_inv
    else:
        mu_hat = mu @ T
    lam_hat = lam_T - rotated_ones[:, None] * mu_hat
    a = operator.solve(b, lam_T) - a_ones * mu_hat
    return Means(mu, basis, lam_hat, a, operator.trace(b))


def document_means(operator: Operator, means: Means) -> Array:
    """F (D, K) in documents' coordinates, eq. 14."""
    return operator.unrotate(means.F_hat) @ means.basis.T_inv


def dual_coefficients(operator: Operator, means: Means) -> Array:
    """alpha = 𝒦^-1 F (D, K), without the inverse."""
    return operator.unrotate(means.a * means.basis.b) @ means.basis.T_inv


def explained(means: Means) -> Array:
    """G (K, K) = (a b)' 𝒦 (a b), so that alpha' 𝒦 alpha = T^-T G T^-1; symmetric."""
    G = (means.a * means.basis.b).T @ means.F_hat
    return 0.5 * (G + G.T)
