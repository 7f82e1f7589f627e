"""What words say of a document's logits: one compiled loop."""

import numba
import numpy as np

from gptm._types import Array


@numba.njit(cache=True, fastmath=False, nogil=True)
def word_statistics(
    indptr: np.ndarray,
    indices: np.ndarray,
    counts: Array,
    beta_T: Array,
    theta: Array,
    expected: Array,
    ambiguous: Array,
) -> None:
    """For each document, sum_w c_w phi_w, and sum_w c_w (diag(phi_w) - phi_w phi_w') below the diagonal and on it.

    phi_w are the topics of word w in the document; the second is what not knowing them takes from the words.
    """
    n, K = theta.shape
    phi = np.empty(K)
    for d in range(n):
        expected[d] = 0.0
        ambiguous[d] = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            w, c = indices[j], counts[j]
            total = 0.0
            for k in range(K):
                phi[k] = theta[d, k] * beta_T[w, k]
                total += phi[k]
            if total <= 0.0:
                continue
            for k in range(K):
                phi[k] /= total
                expected[d, k] += c * phi[k]
                ambiguous[d, k, k] += c * phi[k]
            for k in range(K):
                for other in range(k + 1):
                    ambiguous[d, k, other] -= c * phi[k] * phi[other]
