"""Arrays that metrics take, checked: topics, counts and proportions."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array


def as_topics(topics: Any) -> Array:
    """(K, V) topics as an array, or an error."""
    try:
        beta = np.asarray(topics, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _not_numbers("topics", topics, "model.components_") from error
    if beta.ndim != 2 or beta.size == 0:
        raise ValueError(
            f"topics must be an array with one row per topic and one column per word; got shape {beta.shape}. "
            "Pass model.components_."
        )
    return beta


def as_counts(counts: Any, beta: Array) -> csr_matrix:
    """(n, V) counts of the words of topics, or an error."""
    try:
        X = csr_matrix(counts)
    except (TypeError, ValueError) as error:
        raise _not_numbers("counts", counts, "corpus.counts") from error
    if X.shape[1] != beta.shape[1]:
        raise ValueError(
            f"counts must have one column for each word of the topics: expected {beta.shape[1]}, got {X.shape[1]}. "
            "Count with the vocabulary of the topics."
        )
    return X


def as_proportions(theta: Any, n: int, K: int) -> Array:
    """(n, K) proportions of n documents, or an error."""
    proportions = np.asarray(theta, dtype=np.float64)
    if proportions.shape != (n, K):
        raise ValueError(
            f"theta must have one row per document and one column per topic: expected shape {(n, K)}, got "
            f"{proportions.shape}. Pass model.transform(X) of the same documents and model.components_."
        )
    return proportions


def _not_numbers(name: str, value: Any, instead: str) -> ValueError:
    kind = type(value).__name__
    return ValueError(
        f"{name} must be an array of numbers; got an object of type {kind}. Pass {instead}."
    )
