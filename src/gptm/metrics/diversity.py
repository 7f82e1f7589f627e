"""How different topics are from each other, by their most probable words."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gptm._basics.errors import ArgumentError
from gptm._basics.validation import check_number, is_real
from gptm.metrics.topic_words import top_words
from gptm.metrics.word_lists import word_lists


def topic_diversity(topics: Any, n_words: int = 25) -> float:
    """Fraction of different words among the most probable words of all topics.

    Parameters
    ----------
    topics : array of shape (K, V)
        Topics as distributions over words.
    n_words : int, default=25
        Number of words of each topic.

    Returns
    -------
    float
        1 if no two topics share a top word, 1 / K if all topics have the same top words.

    Notes
    -----
    Dieng, Ruiz & Blei (2020).

    Examples
    --------
    >>> from gptm.metrics import topic_diversity
    >>> topic_diversity([[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], n_words=2)
    0.75
    """
    top = top_words(topics, n_words)
    return len(np.unique(top)) / top.size


def inverted_rbo(topics: Any, n_words: int = 10, weight: float = 0.9) -> float:
    """One minus the mean rank-biased overlap of the most probable words, over all pairs of topics.

    Parameters
    ----------
    topics : array of shape (K, V), or sequence of sequences of words
        Topics as distributions over words, or the words of each topic, most probable first.
    n_words : int, default=10
        Number of words of each topic.
    weight : float, default=0.9
        How much deeper ranks count, between 0 and 1: with small values, only the first words count.

    Returns
    -------
    float
        1 if no two topics share a word, 0 if all topics have the same words in the same order. NaN for one topic.

    Notes
    -----
    Webber, Moffat & Zobel (2010), extrapolated from the agreement at `n_words` (their eq. 32); Bianchi, Terragni & Hovy
    (2021). This is "InvertedRBO" in OCTIS. Unlike `topic_diversity` it looks at ranks.

    Examples
    --------
    >>> from gptm.metrics import inverted_rbo
    >>> inverted_rbo([["tea", "milk"], ["tea", "milk"]]), inverted_rbo([["tea", "milk"], ["war", "army"]])
    (0.0, 1.0)
    >>> round(inverted_rbo([["tea", "milk"], ["milk", "tea"]]), 3)
    0.1
    """
    check_number("n_words", n_words, least=1, integer=True)
    if not (is_real(weight) and 0.0 < weight < 1.0):
        raise ArgumentError("weight", "must lie between 0 and 1", weight)
    lists = word_lists(topics, n_words)
    overlaps = [_overlap(a, b, weight) for a, b in combinations(lists, 2)]
    return 1.0 - float(np.mean(overlaps)) if overlaps else float("nan")


def _overlap(a: Sequence[Any], b: Sequence[Any], p: float) -> float:
    """Extrapolated rank-biased overlap of two lists, cut to the same length."""
    depth = min(len(a), len(b))
    agreement = np.array([len({*a[:d]} & {*b[:d]}) / d for d in range(1, depth + 1)])
    if depth == 0:
        return 0.0
    powers = p ** np.arange(1, depth + 1)
    return float(agreement[-1] * powers[-1] + (1 - p) / p * (agreement @ powers))
