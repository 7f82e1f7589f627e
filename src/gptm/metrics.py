"""Honest scores on plain arrays: how well words that were held out are predicted."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm._types import Array

_HYPERGEOMETRIC_LIMIT = 10**9  # numpy's


def split_tokens(
    counts: Any, observed: float = 0.5, random_state: int | None = 0
) -> tuple[csr_matrix, csr_matrix]:
    """Two count matrices that add up to `counts`: a random part of each document's tokens, and the rest.

    Parameters
    ----------
    counts : sparse or dense array of shape (n, V)
        The fractional part of a count moves as one piece.
    observed : float, default=0.5
        Share of each document's tokens in the first matrix, rounded up.
    random_state : int or None, default=0

    Returns
    -------
    observed, held_out : csr_matrix

    Examples
    --------
    >>> from gptm.metrics import split_tokens
    >>> seen, rest = split_tokens([[4, 2, 0]], observed=0.5)
    >>> seen.sum(), rest.sum()
    (np.float64(3.0), np.float64(3.0))
    """
    if not 0.0 < observed < 1.0:
        raise ValueError(f"observed must lie between 0 and 1; got {observed!r}.")
    X = csr_matrix(counts, dtype=np.float64)
    rng = np.random.default_rng(random_state)
    part = np.zeros_like(X.data)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        if start == stop:
            continue
        whole = np.floor(X.data[start:stop])
        fraction = X.data[start:stop] - whole
        tokens = whole.astype(np.int64)
        if tokens.sum() < _HYPERGEOMETRIC_LIMIT:
            drawn = rng.multivariate_hypergeometric(
                tokens, int(np.ceil(observed * tokens.sum())), method="marginals"
            )
        else:
            drawn = rng.binomial(tokens, observed)  # the share is exact enough with so many
        part[start:stop] = drawn + fraction * (rng.random(stop - start) < observed)
    return _with_data(X, part), _with_data(X, X.data - part)


def _with_data(X: csr_matrix, data: Array) -> csr_matrix:
    result = csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=True)
    result.eliminate_zeros()  # in place, hence the copy of everything
    return result


def log_likelihood(theta: Array, beta: Array, counts: Any) -> Array:
    """Log-probability (n,) of each document's words under theta (n, K) and topics beta (K, V).

    Examples
    --------
    >>> import numpy as np
    >>> from gptm.metrics import log_likelihood
    >>> log_likelihood(np.array([[1.0]]), np.array([[0.5, 0.5]]), [[1, 1]])
    array([-1.38629436])
    """
    X = csr_matrix(counts)
    beta_T = np.ascontiguousarray(np.asarray(beta).T)
    result = np.zeros(X.shape[0])
    for d, (start, stop) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True)):
        probability = beta_T[X.indices[start:stop]] @ theta[d]
        result[d] = X.data[start:stop] @ np.log(np.maximum(probability, 1e-300))
    return result


def perplexity(theta: Array, beta: Array, counts: Any) -> float:
    """exp of minus the mean log-probability per token; lower is better.

    Examples
    --------
    >>> import numpy as np
    >>> from gptm.metrics import perplexity
    >>> perplexity(np.array([[1.0]]), np.full((1, 4), 0.25), [[1, 2, 0, 1]])
    4.0
    """
    return float(np.exp(-mean_log_likelihood(theta, beta, counts)))


def mean_log_likelihood(
    theta: Array, beta: Array, counts: Any, document_weight: Any = None
) -> float:
    """Log-probability per token over all documents, each with its weight."""
    X = csr_matrix(counts)
    weight = np.ones(X.shape[0]) if document_weight is None else np.asarray(document_weight, float)
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"there must be one weight per document: expected {X.shape[0]}, got shape {weight.shape}."
        )
    tokens = float(weight @ np.asarray(X.sum(1)).ravel())
    if tokens == 0:
        raise ValueError(
            "there is no held-out token to score: every document has fewer than two tokens. "
            "Score documents with more words."
        )
    return float(weight @ log_likelihood(theta, beta, X) / tokens)
