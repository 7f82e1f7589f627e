"""Arrays that metrics take, checked: topics, counts and proportions."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.errors import ArgumentError, Message
from gptm._basics.types import Array


def as_numbers(name: str, value: Any, remedy: str = "") -> Array:
    """Any array of numbers, or an error."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, "must be an array of numbers", value, remedy) from None


def check_known(name: str, numbers: Array) -> None:
    """An error for NaN, with which all results would be NaN, or wrong."""
    n = int(np.isnan(numbers).sum())
    if n:
        raise ArgumentError(name, "must be numbers without NaN", Message(f"{n:,} NaN"))


def as_topics(topics: Any) -> Array:
    """(K, V) topics as an array without NaN, or an error."""
    beta = as_weights(topics)
    check_known("topics", beta)
    return beta


def as_weights(topics: Any) -> Array:
    """(K, V) any weights of words in topics as an array, or an error."""
    beta = as_numbers("topics", topics, "Pass model.components_.")
    if beta.ndim != 2 or beta.size == 0:
        raise ArgumentError(
            "topics",
            "must be an array with one row per topic and one column per word",
            Message(f"shape {beta.shape}"),
            "Pass model.components_.",
        )
    return beta


def as_matrix(counts: Any) -> csr_matrix:
    """(n, V) counts, finite and none below zero, or an error."""
    try:
        X = csr_matrix(counts)
        if np.iscomplexobj(X):
            raise TypeError
        X = X.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        expected = "must be an array of numbers with one row per document and one column per word"
        raise ArgumentError("counts", expected, counts, "Pass corpus.counts.") from None
    if not np.isfinite(X.data).all() or (X.data < 0).any():
        got = Message(f"values from {X.data.min()} to {X.data.max()}")
        raise ArgumentError("counts", "must be finite numbers of zero or more", got)
    return X


def as_counts(counts: Any, beta: Array) -> csr_matrix:
    """(n, V) counts of the words of topics, or an error."""
    X = as_matrix(counts)
    if X.shape[1] != beta.shape[1]:
        raise ValueError(
            f"counts must have one column for each word of the topics: expected {beta.shape[1]}, got {X.shape[1]}. "
            "Count with the vocabulary of the topics."
        )
    return X


def as_proportions(theta: Any, n: int, K: int) -> Array:
    """(n, K) proportions of n documents, or an error."""
    proportions = as_numbers("theta", theta)
    if proportions.shape != (n, K):
        raise ValueError(
            f"theta must have one row per document and one column per topic: expected shape {(n, K)}, got "
            f"{proportions.shape}. Pass model.transform(X) of the same documents and model.components_."
        )
    check_known("theta", proportions)
    return proportions
