"""Topics as clusters of documents, against labels that are known."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from gptm._basics.errors import ArgumentError, Message
from gptm._basics.validation import as_items
from gptm.metrics.checked_arrays import as_numbers, check_known


def purity(theta: Any, labels: Any) -> float:
    """Fraction of documents that have the most frequent label of their topic.

    Parameters
    ----------
    theta : array of shape (n, K) or (n,)
        Each document's proportions of topics, of which the largest counts; or the number of its topic.
    labels : sequence of n labels
        Documents with a missing label (None or NaN) do not count.

    Returns
    -------
    float
        Between the fraction of the most frequent label and 1. It rises with the number of topics; `nmi` does so less.

    Notes
    -----
    Manning, Raghavan & Schütze (2008), section 16.3.

    Examples
    --------
    >>> from gptm.metrics import purity
    >>> purity([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]], ["tea", "tea", "war", "war"])
    0.75
    """
    clusters, label_codes = _clusters_and_labels(theta, labels)
    table = contingency_matrix(label_codes, clusters)
    return float(table.max(0).sum() / table.sum())


def nmi(theta: Any, labels: Any) -> float:
    """Normalised mutual information between the topics of documents and their labels.

    Parameters
    ----------
    theta : array of shape (n, K) or (n,)
        Each document's proportions of topics, of which the largest counts; or the number of its topic.
    labels : sequence of n labels
        Documents with a missing label (None or NaN) do not count.

    Returns
    -------
    float
        Between 0, if topics say nothing about labels, and 1, if they are the same except for their names. The mutual
        information is divided by the mean of the two entropies.

    Examples
    --------
    >>> from gptm.metrics import nmi
    >>> nmi([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["tea", "tea", "war"])
    1.0
    """
    clusters, label_codes = _clusters_and_labels(theta, labels)
    return float(normalized_mutual_info_score(label_codes, clusters))


def _clusters_and_labels(theta: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """The topic and the number of the label of each document that has one."""
    proportions = np.asarray(theta)
    if proportions.ndim not in (1, 2) or proportions.size == 0:
        expected = "must have one row of proportions, or the number of a topic, for each document"
        raise ArgumentError("theta", expected, Message(f"shape {proportions.shape}"))
    if proportions.ndim == 2:
        check_known("theta", as_numbers("theta", proportions))
    clusters = proportions if proportions.ndim == 1 else proportions.argmax(1)
    expected = f"must have one label for each of {len(clusters)} documents"
    listed = as_items("labels", labels, expected)
    if not all(isinstance(label, Hashable) for label in listed):
        raise ArgumentError("labels", "must be names or numbers", labels)
    codes, _ = pd.factorize(pd.Series(listed, dtype=object))
    if len(codes) != len(clusters):
        raise ArgumentError("labels", expected, Message(f"{len(codes)} labels"))
    there = codes >= 0
    if not there.any():
        raise ArgumentError("labels", "must have at least one label that is not missing")
    return clusters[there], codes[there]
