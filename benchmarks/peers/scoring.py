"""The score that is the same for every library: completion of held-out documents, and coherence of the topics.

Topics are smoothed a little, theta of the seen half is found by EM with some pseudo-counts, and the hidden half is
predicted. The pseudo-counts are the best of a few, for every library: libraries are told apart by their topics alone.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from benchmarks.peers.corpora import Split

UNIGRAM = 0.01  # share of the training corpus' word frequencies in every topic
PSEUDO_COUNTS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # of the prior of theta, in all
TOP_WORDS = 10
_ITERATIONS, _TOLERANCE = 200, 1e-4
_CHUNK = 200_000  # cells at once, to bound memory
_BLOCK = 64  # documents at once, in each thread


def smoothed(topics: np.ndarray, train: csr_matrix) -> np.ndarray:
    """(V, K) topics that give every word some probability."""
    frequency = np.asarray(train.sum(axis=0), dtype=float).ravel() + 0.5
    topics = np.maximum(np.asarray(topics, dtype=float), 0.0)
    topics /= topics.sum(axis=1, keepdims=True)
    mixed = (1.0 - UNIGRAM) * topics + UNIGRAM * frequency / frequency.sum()
    return np.ascontiguousarray(mixed.T)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _fill_modes(indptr, indices, data, beta_T, pseudo_count, iterations, tolerance, result):
    """Fill (D, K) theta of each document by EM from the uniform one, given topics.

    Same as, for each document, until theta moves by less than `tolerance`::

        phi = theta * beta_T[words]
        theta = pseudo_count / K + counts @ (phi / phi.sum(1, keepdims=True))
        theta /= theta.sum()
    """
    n_documents, K = result.shape
    new = np.empty(K)
    for d in range(n_documents):
        theta = result[d]
        theta[:] = 1.0 / K
        for _ in range(iterations):
            new[:] = 0.0
            for j in range(indptr[d], indptr[d + 1]):
                w = indices[j]
                norm = 1e-300
                for k in range(K):
                    norm += theta[k] * beta_T[w, k]
                ratio = data[j] / norm
                for k in range(K):
                    new[k] += ratio * beta_T[w, k]
            total = 0.0
            for k in range(K):
                new[k] = new[k] * theta[k] + pseudo_count / K
                total += new[k]
            change = 0.0
            for k in range(K):
                new[k] /= total
                change += abs(new[k] - theta[k])
                theta[k] = new[k]
            if change < tolerance:
                break


def common_theta(seen: csr_matrix, beta_T: np.ndarray, pseudo_count: float) -> np.ndarray:
    """(M, K) mixtures of the seen halves, by the estimator that all libraries share."""
    theta = np.empty((seen.shape[0], beta_T.shape[1]))
    data = seen.data.astype(float)

    def run(start: int) -> None:
        rows = slice(start, start + _BLOCK)
        indptr = seen.indptr[start : start + _BLOCK + 1]
        arrays = (indptr, seen.indices, data, beta_T)
        _fill_modes(*arrays, pseudo_count, _ITERATIONS, _TOLERANCE, theta[rows])

    with ThreadPoolExecutor() as pool:
        list(pool.map(run, range(0, len(theta), _BLOCK)))
    return theta


def perplexity(hidden: csr_matrix, beta_T: np.ndarray, theta: np.ndarray) -> float:
    """exp of minus the mean log-probability of the hidden tokens."""
    theta = np.maximum(np.asarray(theta, dtype=float), 1e-12)
    theta /= theta.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(hidden.shape[0]), np.diff(hidden.indptr))
    total = 0.0
    for start in range(0, hidden.nnz, _CHUNK):
        cells = slice(start, start + _CHUNK)
        joint = theta[rows[cells]] * beta_T[hidden.indices[cells]]
        total += hidden.data[cells] @ np.log(joint.sum(axis=1))
    return float(np.exp(-total / hidden.data.sum()))


def coherence(topics: np.ndarray, train: csr_matrix) -> float:
    """Mean NPMI over the pairs of each topic's top words, by documents of the training corpus."""
    present = (train > 0).astype(float).tocsc()
    n_documents = train.shape[0]
    frequency = np.asarray(present.sum(axis=0)).ravel() / n_documents
    means = []
    for topic in topics:
        words = np.argsort(-topic)[:TOP_WORDS]
        together = (present[:, words].T @ present[:, words]).toarray() / n_documents
        first, second = np.tril_indices(len(words), -1)
        joint = together[first, second]
        apart = frequency[words[first]] * frequency[words[second]]
        value = np.full(len(joint), -1.0)  # never together
        some = (joint > 0) & (joint < 1)
        value[some] = np.log(joint[some] / apart[some]) / -np.log(joint[some])
        value[joint == 1] = 0.0  # in every document: tells nothing
        means.append(value.mean())
    return float(np.mean(means))


def completion(split: Split, topics: np.ndarray) -> tuple[float, float]:
    """Perplexity of the hidden halves with the common theta, and the pseudo-count that served best."""
    beta_T = smoothed(topics, split.train)
    return min(
        (perplexity(split.hidden, beta_T, common_theta(split.seen, beta_T, count)), count)
        for count in PSEUDO_COUNTS
    )


def own_completion(split: Split, topics: np.ndarray, theta: np.ndarray) -> float:
    """Perplexity of the hidden halves with a library's own theta of the seen ones."""
    return perplexity(split.hidden, smoothed(topics, split.train), theta)
