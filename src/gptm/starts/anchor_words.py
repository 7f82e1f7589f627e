"""A start without random numbers: anchor words from the words' co-occurrences.

After Arora et al. (2013): some words occur in one topic only; the rows of the normalised co-occurrence matrix lie
in the hull of those anchors' rows. Find the anchors greedily, write each word as a mixture of them, and Bayes' rule
turns the mixtures into topics.
"""

import numpy as np
from scipy.sparse import csr_matrix, diags

from gptm._basics.types import Array

MAX_CONTEXTS = 2000  # words that others are described by: the most frequent ones
MIN_DOCUMENTS = 5  # an anchor must occur in so many documents, else rare words win
_ITERATIONS = 300


def spectral_topics(counts: csr_matrix, n_components: int) -> Array:
    """(V, K) topics from anchor words; columns sum to one.

    If the corpus has fewer directions than topics, the other topics are the words' overall frequency.
    """
    frequency = np.asarray(counts.sum(0)).ravel()
    rows = _cooccurrence_rows(counts)
    anchors = _find_anchors(rows, counts, n_components)
    V = counts.shape[1]
    overall = (frequency + 1.0 / V) / (frequency.sum() + 1.0)
    beta_T = np.repeat(overall[:, None], n_components, axis=1)
    if anchors:
        mixture = _simplex_regression(rows, rows[anchors])  # p(topic | word)
        joint = mixture * overall[:, None]
        beta_T[:, : len(anchors)] = joint / np.maximum(joint.sum(0), np.finfo(float).tiny)
    return beta_T


def _cooccurrence_rows(counts: csr_matrix) -> Array:
    """(V, C) distribution of a second word of the document given a first one."""
    frequency = np.asarray(counts.sum(0)).ravel()
    contexts = np.sort(np.argsort(-frequency, kind="stable")[:MAX_CONTEXTS])
    lengths = np.asarray(counts.sum(1)).ravel()
    # Each document with two tokens or more has weight one, its pairs of distinct tokens all alike.
    weight = np.where(lengths > 1, 1.0 / np.maximum(lengths * (lengths - 1.0), 1.0), 0.0)
    weighted = csr_matrix(diags(weight) @ counts)
    pairs = (weighted.T @ counts[:, contexts]).toarray()
    pairs[contexts, np.arange(len(contexts))] -= np.asarray(weighted.sum(0)).ravel()[contexts]
    pairs = np.maximum(pairs, 0.0)
    return pairs / np.maximum(pairs.sum(1, keepdims=True), np.finfo(float).tiny)


def _find_anchors(rows: Array, counts: csr_matrix, n_components: int) -> list[int]:
    """Words whose rows are farthest from the span of those found before (stabilised Gram-Schmidt)."""
    in_documents = np.bincount(counts.indices, minlength=counts.shape[1])
    enough = min(MIN_DOCUMENTS, max(1, counts.shape[0] // 10))
    candidates = np.flatnonzero((in_documents >= enough) & (rows.sum(1) > 0))
    if len(candidates) == 0:
        return []
    residual = rows[candidates]
    first = int(np.argmax((residual**2).sum(1)))
    anchors = [int(candidates[first])]
    origin = residual[first].copy()
    residual = residual - origin
    while len(anchors) < n_components:
        distance = (residual**2).sum(1)
        farthest = int(np.argmax(distance))
        if distance[farthest] <= 1e-12:
            break
        anchors.append(int(candidates[farthest]))
        direction = residual[farthest] / np.sqrt(distance[farthest])
        residual = residual - np.outer(residual @ direction, direction)
    return anchors


def _simplex_regression(rows: Array, anchors: Array) -> Array:
    """(V, K) weights on the simplex with rows ~ weights @ anchors, by exponentiated gradient."""
    gram, target = anchors @ anchors.T, rows @ anchors.T
    weights = np.full(target.shape, 1.0 / len(anchors))
    # The curvature of each row's problem is bounded by the largest entry of the Gram matrix.
    step = 1.0 / max(float(gram.max()), np.finfo(float).tiny)
    for _ in range(_ITERATIONS):
        exponent = step * (target - weights @ gram)
        weights = weights * np.exp(exponent - exponent.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
    return weights
