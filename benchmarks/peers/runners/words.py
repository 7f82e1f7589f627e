"""Counts as lists of words, for libraries that count for themselves."""

import numpy as np
from scipy.sparse import csr_matrix


def as_words(X: csr_matrix) -> list[list[str]]:
    """Documents as lists of words, named by their columns."""
    words = np.array([str(w) for w in range(X.shape[1])])
    rows = [slice(X.indptr[d], X.indptr[d + 1]) for d in range(X.shape[0])]
    return [np.repeat(words[X.indices[row]], X.data[row]).tolist() for row in rows]
