"""The nearest documents, by words, by vectors, among candidates."""

import numpy as np

from gptm._hot.compile_options import inlined, loop


@inlined()
def keep_nearest(distance, position, distances, positions):
    """Insert a neighbour into the k nearest so far, sorted by distance, then position.

    Returns whether it was near enough. The order of the calls does not matter.
    """
    i = distances.shape[0]
    while i > 0 and (
        distance < distances[i - 1]
        or (distance == distances[i - 1] and position < positions[i - 1])
    ):
        i -= 1
        if i + 1 < distances.shape[0]:
            distances[i + 1] = distances[i]
            positions[i + 1] = positions[i]
    if i == distances.shape[0]:
        return False
    distances[i] = distance
    positions[i] = position
    return True


@loop()
def nearest_by_words(
    indptr, indices, data, doc_indptr, docs, doc_data, own, grid, scores, distances, positions
):
    """Fill the k nearest training documents of a block of documents (CSR rows of unit length).

    Training documents come as the columns of the same kind of matrix, word by word. `own` is the position
    that a row may not have as its neighbour, or -1; `scores` (D,) holds zeros before and after. Same as::

        distance = 1 - rows @ training.T      # rounded to multiples of `grid`; neighbours are below one
    """
    for d in range(own.shape[0]):
        near, where = distances[d], positions[d]
        for n in range(indptr[d], indptr[d + 1]):
            w, x = indices[n], data[n]
            for m in range(doc_indptr[w], doc_indptr[w + 1]):
                scores[docs[m]] += x * doc_data[m]
        if own[d] >= 0:
            scores[own[d]] = 0.0
        # The same walk again finds every score, and a score read is a score cleared.
        least = 0.0
        for n in range(indptr[d], indptr[d + 1]):
            w = indices[n]
            for m in range(doc_indptr[w], doc_indptr[w + 1]):
                j = docs[m]
                if scores[j] > least:
                    distance = grid * np.floor((1.0 - scores[j]) / grid + 0.5)
                    if distance < 1.0 and keep_nearest(distance, j, near, where):
                        least = max(0.0, 1.0 - near[-1] - grid)  # less cannot be rounded up to it
                scores[j] = 0.0


@inlined()
def distance_between(a, b, grid):
    """Euclidean distance; with a `grid`, half its square, rounded to multiples of it.

    Half the square is the cosine distance of unit vectors, without the cancellation of 1 - a'b.
    """
    square = 0.0
    for i in range(a.shape[0]):
        square += (a[i] - b[i]) ** 2
    if grid > 0.0:
        return grid * np.floor(0.5 * square / grid + 0.5)
    return np.sqrt(square)


@loop()
def nearest_rows(rows, training, products, square, slack, own, grid, distances, positions):
    """Fill the k nearest rows of `training` (D, p) of a block of `rows` (n, p).

    `products` (n, D), rows @ training.T, and `square` (D,), the squared norms of training, only show which
    rows cannot be near: each squared distance follows from them up to `slack` times both squared norms.
    All others are measured, so that no rounding of the products reaches the result.
    """
    for d in range(rows.shape[0]):
        near, where = distances[d], positions[d]
        norm = 0.0
        for i in range(rows.shape[1]):
            norm += rows[d, i] ** 2
        for j in range(training.shape[0]):
            upper = square[j] - 2.0 * products[d, j] + slack * (norm + square[j])
            if upper < near[-1] and j != own[d]:
                keep_nearest(upper, j, near, where)
        limit = near[-1] + 2.0 * grid
        near[:] = np.inf
        where[:] = -1
        for j in range(training.shape[0]):
            lower = square[j] - 2.0 * products[d, j] - slack * (norm + square[j])
            if lower <= limit and j != own[d]:
                keep_nearest(distance_between(rows[d], training[j], grid), j, near, where)


@loop()
def nearest_members(rows, distinct, candidates, start, members, own, grid, distances, positions):
    """Fill the k nearest training rows of a block of `rows` among those of candidate groups.

    Group g, of equal training rows `distinct[g]`, has the ascending positions
    `members[start[g]:start[g + 1]]`; candidates below zero are none.
    """
    for d in range(rows.shape[0]):
        near, where = distances[d], positions[d]
        for g in candidates[d]:
            if g < 0:
                continue
            distance = distance_between(rows[d], distinct[g], grid)
            for j in members[start[g] : start[g + 1]]:
                if j != own[d] and not keep_nearest(distance, j, near, where):
                    break
