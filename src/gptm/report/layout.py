"""Places in the plane: documents by their topics, topics by their correlations."""

import numpy as np

from gptm._basics.types import Array

N_LANDMARKS = 2000  # documents that t-SNE places; its time grows fast beyond
N_STEPS = 500  # of t-SNE, half of the usual number: the neighbours are the same by then
GRAPH_STEPS = 300  # of stress majorisation
MIN_DOCUMENTS = 50  # below, t-SNE has too few neighbours to look at
N_NEIGHBOURS = 6  # landmarks that place another document
_CHUNK = 4096  # documents whose distances to the landmarks are in memory at once


def document_map(doc_topics: Array) -> Array:
    """(n, 2) places of documents between -1 and 1, close together where their topics are alike.

    t-SNE of a sample of the documents; the others go between the landmarks nearest to them. Documents are compared by
    the square roots of their proportions, the Hellinger distance, which tells mixtures apart where logits would
    mostly show noise of topics that a document does not have. Few documents are projected linearly.
    """
    n, K = doc_topics.shape
    points = np.sqrt(np.maximum(doc_topics, 0.0))
    distinct = len(np.unique(points.round(6), axis=0))
    if distinct < MIN_DOCUMENTS or K < 3:
        return _scaled(_principal_plane(points))
    from sklearn.manifold import TSNE

    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(n, N_LANDMARKS, replace=False)) if n > N_LANDMARKS else np.arange(n)
    start = _principal_plane(points[chosen])
    start = 1e-4 * start / max(start.std(), 1e-12)
    start += 1e-6 * rng.standard_normal(start.shape)  # equal documents must be able to part
    perplexity = min(30.0, (len(chosen) - 1) / 4)
    tsne = TSNE(init=start, perplexity=perplexity, max_iter=N_STEPS, random_state=0)
    placed = np.asarray(tsne.fit_transform(points[chosen]), dtype=np.float64)
    if len(chosen) == n:
        return _scaled(placed)
    result = np.empty((n, 2))
    for first in range(0, n, _CHUNK):
        rows = slice(first, first + _CHUNK)
        result[rows] = _between_landmarks(points[rows], points[chosen], placed)
    spread = 0.004 * np.ptp(placed, axis=0).max()
    result += spread * rng.standard_normal(result.shape)  # or they would hide behind each other
    result[chosen] = placed
    return _scaled(result)


def _between_landmarks(points: Array, landmarks: Array, placed: Array) -> Array:
    """Means of the places of the nearest landmarks, weighted by closeness."""
    # Rows are unit vectors, since proportions sum to one.
    squares = np.maximum(2.0 - 2.0 * points @ landmarks.T, 0.0)
    nearest = np.argpartition(squares, N_NEIGHBOURS, axis=1)[:, :N_NEIGHBOURS]
    weights = 1.0 / (np.take_along_axis(squares, nearest, axis=1) + 1e-9) ** 2
    weights /= weights.sum(1, keepdims=True)
    return np.einsum("nk,nkd->nd", weights, placed[nearest])


def _principal_plane(points: Array) -> Array:
    """(n, 2) the two directions of most variance, with signs that do not hang on the machine."""
    centred = points - points.mean(0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.where(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    plane = np.zeros((len(points), 2))
    plane[:, : axes.shape[1]] = centred @ axes
    return plane


def _scaled(places: Array) -> Array:
    """Centred, the wider direction from -1 to 1."""
    if not len(places):
        return places
    low, high = places.min(0), places.max(0)
    width = float((high - low).max())
    return (places - (low + high) / 2) * (2.0 / width if width > 1e-12 else 0.0)


def graph_layout(correlation: Array) -> Array:
    """(K, 2) places of topics between -1 and 1, close together where topics correlate.

    Stress majorisation (Gansner, Koren & North, 2005) of distances from 0.35 for a perfect correlation to 1.1: near
    enough to see, never one behind the other. The start depends on the correlations alone.
    """
    K = len(correlation)
    if K == 1:
        return np.zeros((1, 2))
    wanted = np.clip(0.9 - 1.1 * correlation, 0.35, 1.1)
    weights = wanted**-2.0
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(1)) - weights
    inverse = np.linalg.pinv(laplacian)
    angle = np.arange(K) * np.pi * (3 - np.sqrt(5))  # a sunflower: no two in one place
    radius = np.sqrt((np.arange(K) + 0.5) / K)
    sunflower = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    places = _scaled(_principal_plane(correlation)) + 0.3 * sunflower
    for _ in range(GRAPH_STEPS):
        apart = places[:, None] - places[None]
        distance = np.sqrt((apart**2).sum(-1))
        ratio = -weights * wanted / np.maximum(distance, 1e-9)
        np.fill_diagonal(ratio, 0.0)
        np.fill_diagonal(ratio, -ratio.sum(1))
        places = inverse @ (ratio @ places)
    low, high = places.min(0), places.max(0)
    return (places - (low + high) / 2) * (2.0 / np.maximum(high - low, 1e-9))
