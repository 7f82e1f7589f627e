"""The least that a document step can do: the reads and multiply-adds of its inner iterations, and nothing else."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _least_work(indptr, indices, data, beta_T, P, lam, inner, out):
    """One pass over phi and one product with the (K, K) matrix per inner iteration of each document.

    Same as, `inner[d]` times for each document::

        norm = beta_T[words] @ e
        out[d] += (counts / norm) @ beta_T[words] + P @ e

    No logarithm, exponential, factorisation, step length or stopping test.
    """
    D, K = lam.shape
    for d in range(D):
        e = lam[d]
        total = out[d]
        for _ in range(inner[d]):
            for j in range(indptr[d], indptr[d + 1]):
                w = indices[j]
                norm = 0.0
                for i in range(K):
                    norm += e[i] * beta_T[w, i]
                ratio = data[j] / norm
                for i in range(K):
                    total[i] += ratio * beta_T[w, i]
            for k in range(K):
                r = e[k]
                for i in range(K):
                    total[i] += P[k, i] * r


def least_work(X: csr_matrix, K: int, inner: np.ndarray) -> Callable[..., np.ndarray]:
    """The work on arrays of the right shapes; what is in them does not matter for the time."""
    rng = np.random.default_rng(0)
    D, V = X.shape
    beta_T, P, lam = rng.random((V, K)), rng.random((K, K)), rng.random((D, K))
    data, out = X.data.astype(np.float64), np.zeros((D, K))

    def run(n_threads: int = 1) -> np.ndarray:
        targets = X.indptr[-1] * np.arange(1, n_threads) / n_threads
        cuts = [0, *np.searchsorted(X.indptr, targets), D]

        def part(number: int) -> None:
            rows = slice(cuts[number], cuts[number + 1])
            indptr = X.indptr[rows.start : rows.stop + 1]
            _least_work(indptr, X.indices, data, beta_T, P, lam[rows], inner[rows], out[rows])

        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(part, range(n_threads)))
        return out

    return run
