"""How well a model predicts held-out words."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.errors import ArgumentError, Message
from gptm._basics.sparse_arrays import row_sums
from gptm._basics.types import Array
from gptm._basics.validation import check_number, is_real
from gptm.metrics.checked_arrays import as_counts, as_matrix, as_numbers, as_proportions, as_topics

_HYPERGEOMETRIC_LIMIT = 10**9  # numpy's
_MOST = 2.0**53  # a count beyond which one more token makes no difference


def split_tokens(
    counts: Any, observed: float = 0.5, random_state: int | None = 0
) -> tuple[csr_matrix, csr_matrix]:
    """Two count matrices that add up to `counts`: a random part of each document's tokens, and the rest.

    Parameters
    ----------
    counts : sparse or dense array of shape (n, V)
        The fractional part of a count moves as one piece.
    observed : float, default=0.5
        Fraction of each document's tokens in the first matrix, rounded up.
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
    if not (is_real(observed) and 0.0 < observed < 1.0):
        raise ArgumentError("observed", "must lie between 0 and 1", observed)
    if random_state is not None:
        check_number("random_state", random_state, least=0, integer=True)
    X = as_matrix(counts)
    if X.nnz and X.data.max() > _MOST:
        got = Message(f"a count of {X.data.max():g}")
        raise ArgumentError("counts", f"must be at most {_MOST:g} each, to be drawn from", got)
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


def log_likelihood(theta: Any, topics: Any, counts: Any) -> Array:
    """Log-probability of each document's words.

    Parameters
    ----------
    theta : array of shape (n, K)
        Each document's proportions of topics, as `model.transform` returns them.
    topics : array of shape (K, V)
        Topics as distributions over words.
    counts : sparse or dense array of shape (n, V)
        The words to score.

    Returns
    -------
    ndarray of shape (n,)
        Zero for a document without words. A word that no topic has counts with probability 1e-300.

    Examples
    --------
    >>> from gptm.metrics import log_likelihood
    >>> log_likelihood([[1.0]], [[0.5, 0.5]], [[1, 1]])
    array([-1.38629436])
    """
    beta = as_topics(topics)
    X = as_counts(counts, beta)
    proportions = as_proportions(theta, X.shape[0], len(beta))
    beta_T = np.ascontiguousarray(beta.T)
    result = np.zeros(X.shape[0])
    for d, (start, stop) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True)):
        probability = beta_T[X.indices[start:stop]] @ proportions[d]
        result[d] = X.data[start:stop] @ np.log(np.maximum(probability, 1e-300))
    return result


def perplexity(theta: Any, topics: Any, counts: Any, sample_weight: Any = None) -> float:
    """exp of minus the mean log-probability per word; lower is better.

    Parameters
    ----------
    theta : array of shape (n, K)
        Each document's proportions of topics, as `model.transform` returns them.
    topics : array of shape (K, V)
        Topics as distributions over words.
    counts : sparse or dense array of shape (n, V)
        The words to score. For an honest score, `theta` should not depend on them.
    sample_weight : array of shape (n,), optional
        How much each document counts; zero or more.

    Returns
    -------
    float
        1 if every word is predicted with certainty, V if all words are equally probable.

    Examples
    --------
    >>> from gptm import CTM
    >>> from gptm.metrics import perplexity, split_tokens
    >>> X = [[3, 2, 0, 0], [0, 0, 3, 3]] * 5
    >>> model = CTM(n_components=2, random_state=0).fit(X)
    >>> seen, rest = split_tokens(X)
    >>> perplexity(model.transform(seen), model.components_, rest) == model.perplexity(X)
    True
    >>> perplexity([[1.0]], [[0.25, 0.25, 0.25, 0.25]], [[1, 2, 0, 1]])
    4.0
    """
    return float(np.exp(-mean_log_likelihood(theta, topics, counts, sample_weight)))


def mean_log_likelihood(theta: Any, topics: Any, counts: Any, sample_weight: Any = None) -> float:
    """Mean log-probability per word, over the words of all documents.

    Parameters
    ----------
    theta : array of shape (n, K)
        Each document's proportions of topics, as `model.transform` returns them.
    topics : array of shape (K, V)
        Topics as distributions over words.
    counts : sparse or dense array of shape (n, V)
        The words to score.
    sample_weight : array of shape (n,), optional
        How much each document counts; zero or more.

    Returns
    -------
    float
        In nats; higher is better.

    Examples
    --------
    >>> from gptm.metrics import mean_log_likelihood
    >>> mean_log_likelihood([[1.0], [1.0]], [[0.5, 0.5]], [[1, 1], [4, 0]])
    -0.6931471805599453
    """
    X = as_matrix(counts)
    given = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    weight = as_numbers("sample_weight", given)
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight must have one number per document: expected shape {(X.shape[0],)}, got {weight.shape}."
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(
            "sample_weight must have finite numbers of zero or more; got values from "
            f"{weight.min()} to {weight.max()}. Give documents that should not count a weight of 0."
        )
    log_probability = log_likelihood(theta, topics, X)
    tokens = float(weight @ row_sums(X))
    if tokens == 0:
        raise ValueError(
            "there are no words to score: no document with a weight above zero has any. Score documents with more "
            "words; a document of one word has none left to hold out."
        )
    return float(weight @ log_probability / tokens)
