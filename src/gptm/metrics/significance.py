"""How far topics are from topics that say nothing."""

from typing import Any, Literal

import numpy as np
from scipy.special import rel_entr

from gptm._basics.errors import ArgumentError, Message
from gptm._basics.types import Array
from gptm._basics.validation import check_choice
from gptm.metrics.checked_arrays import as_numbers, as_topics, check_known


def topic_significance(
    topics: Any,
    theta: Any = None,
    against: Literal["uniform", "vacuous", "background"] = "uniform",
) -> Array:
    """Kullback-Leibler divergence of each topic from one that says nothing.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    theta : array of shape (n, K), optional
        Each document's proportions of topics; needed for "vacuous" and "background".
    against : {"uniform", "vacuous", "background"}, default="uniform"
        What says nothing: a topic in which all words are equally probable; the words of the corpus, which is the
        mean of the topics weighted by their shares; or a topic that all documents have equally, in which case the
        documents of the topic are compared instead of its words.

    Returns
    -------
    ndarray of shape (K,)
        In nats; 0 for a topic that says nothing, larger is better.

    Notes
    -----
    AlSumait, Barbará, Gentle & Domeniconi (2009). OCTIS has the means over topics as "KL_uniform", "KL_vacuous" and
    "KL_background"; it adds 1e-5 to all probabilities first.

    Examples
    --------
    >>> from gptm.metrics import topic_significance
    >>> topics = [[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]
    >>> topic_significance(topics)
    array([0.69314718, 0.        ])
    >>> topic_significance(topics, [[0.5, 0.5], [0.0, 1.0]], against="background").round(3)
    array([0.693, 0.057])
    """
    check_choice("against", against, ("uniform", "vacuous", "background"))
    beta = _normalised(as_topics(topics))
    if against == "uniform":
        return _divergences(beta, np.full(beta.shape[1], 1.0 / beta.shape[1]))
    proportions = _as_theta(theta, len(beta), against)
    if against == "vacuous":
        return _divergences(beta, (proportions.sum(0) / proportions.sum()) @ beta)
    n = len(proportions)
    return _divergences(_normalised(proportions.T), np.full(n, 1.0 / n))


def _as_theta(theta: Any, K: int, against: str) -> Array:
    if theta is None:
        expected = f"must have the proportions of documents for against={against!r}"
        raise ArgumentError("theta", expected, None, "Pass model.transform(X).")
    proportions = as_numbers("theta", theta)
    if proportions.ndim != 2 or proportions.shape[1] != K or not proportions.sum() > 0:
        expected = f"must have one row per document and {K} columns, one per topic"
        raise ArgumentError("theta", expected, Message(f"shape {proportions.shape}"))
    check_known("theta", proportions)
    return proportions


def _normalised(rows: Array) -> Array:
    """Rows that sum to one; a row of zeros says nothing, and so is uniform."""
    totals = rows.sum(1, keepdims=True)
    return np.where(totals > 0, rows / np.where(totals > 0, totals, 1.0), 1.0 / rows.shape[1])


def _divergences(rows: Array, from_: Array) -> Array:
    return np.asarray(np.maximum(rel_entr(rows, from_).sum(1), 0.0))
