"""Linear algebra of a few topics."""

import numpy as np
from numba import njit

from gptm._hot.settings import FAST


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def cholesky(A, L):
    """Fill the lower triangle of `L` with the Cholesky factor of A (its lower triangle is read)."""
    K = A.shape[0]
    for i in range(K):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def weighted_precision(T, weight, P):
    """Fill P with T diag(weight) T', the prior precision of a new document."""
    K = T.shape[0]
    for i in range(K):
        for j in range(i + 1):
            s = 0.0
            for k in range(K):
                s += T[i, k] * weight[k] * T[j, k]
            P[i, j] = s
            P[j, i] = s


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def inverse(A, L, out):
    """Fill `out` with the inverse of the positive definite A; `L` is scratch of the same size."""
    K = A.shape[0]
    cholesky(A, L)
    for j in range(K):  # column j of L^-1, in row j
        for i in range(j):
            out[j, i] = 0.0
        for i in range(j, K):
            s = 1.0 if i == j else 0.0
            for k in range(j, i):
                s -= L[i, k] * out[j, k]
            out[j, i] = s / L[i, i]
    for i in range(K):  # its rows' products: what is overwritten is not needed again
        for j in range(i + 1):
            s = 0.0
            for k in range(i, K):
                s += out[i, k] * out[j, k]
            L[i, j] = s
    for i in range(K):
        for j in range(i + 1):
            out[i, j] = L[i, j]
            out[j, i] = L[i, j]
