"""What the words of a document say of its logits, as a Gaussian."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import softmax

from gptm._hot import word_statistics
from gptm._types import Array
from gptm.estep import Posterior, Prior
from gptm.parallel import BLOCK, blocks, ordered_map

_LEAST = 0.15  # of what the words would say if their topics were known
_NODES = 256  # of the spread of proportions: 2 % off over 3 topics, 8 % over 20
_ROUNDING = 1e-12  # of the mean precision
_SEED = 0


class Words(NamedTuple):
    """What the words of D documents say of their logits: log p(words | eta) = r' eta - eta' I eta / 2."""

    information: Array  # (D, K, K) I
    gradient: Array  # (D, K) r


def contrasts(K: int) -> Array:
    """(K, K - 1) orthonormal coordinates of logits up to a shift common to all topics, which no word can see."""
    return np.asarray(np.linalg.svd(np.ones((1, K)))[2][1:].T)


def see_words(
    counts: csr_matrix, beta_T: Array, lam: Array, nu2: Array, n_jobs: int | None
) -> Words:
    """The words' Gaussian observation of the logits, in the coordinates of `contrasts`.

    If the topics of all words were known, their information would be diag(t) - t t' / sum t with t the expected
    numbers of words; not knowing them takes some of it, though never all here, as no Gaussian would be left then.
    """
    n, K = lam.shape
    expected, ambiguous = np.empty((n, K)), np.empty((n, K, K))
    theta, topics = softmax(lam, axis=1), np.ascontiguousarray(beta_T)

    def run(rows: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        word_statistics(
            counts.indptr[rows.start : rows.stop + 1],
            counts.indices,
            counts.data,
            topics,
            theta[rows],
            expected[rows],
            ambiguous[rows],
            np.empty(K),
        )

    ordered_map(run, blocks(0, n, BLOCK), n_jobs)
    Q = contrasts(K)
    total = np.asarray(counts.sum(1)).ravel()[:, None]
    share = softmax(lam + 0.5 * nu2, axis=1)
    t = total * share
    lower = np.tril(ambiguous, -1)
    ambiguous = Q.T @ (ambiguous + lower.transpose(0, 2, 1)) @ Q
    complete = Q.T @ (t[:, :, None] * (np.eye(K) - share[:, None, :])) @ Q
    information = _left_of(0.5 * (complete + complete.transpose(0, 2, 1)), ambiguous)
    gradient = (expected - t) @ Q
    return Words(information, np.einsum("dkl,dl->dk", information, lam @ Q) + gradient)


def _left_of(complete: Array, lost: Array) -> Array:
    """complete - lost, at least `_LEAST` of the complete information in every direction."""
    values, vectors = np.linalg.eigh(complete)
    values = np.maximum(values, 1e-10)
    root = vectors * np.sqrt(values)[:, None, :]
    inverse = vectors / np.sqrt(values)[:, None, :]
    shares, turn = np.linalg.eigh(inverse.transpose(0, 2, 1) @ lost @ inverse)
    left = root @ turn
    kept = np.clip(1.0 - shares, _LEAST, 1.0)
    return np.asarray((left * kept[:, None, :]) @ left.transpose(0, 2, 1))


def theta_spread(
    counts: csr_matrix, prior: Prior, beta_T: Array, posterior: Posterior, n_jobs: int | None
) -> Array:
    """(n, K) standard deviations of the topic proportions, with all covariances between topics.

    Around the posterior's mean, the precision of logits is that of the prior plus the words' information.
    """
    n, K = posterior.lam.shape
    spread = np.empty((n, K))
    Q = contrasts(K)
    nodes = _gaussian_nodes(K)
    shared = prior.weight.ndim == 1
    for rows in blocks(0, n, BLOCK):
        weight = prior.weight[None] if shared else prior.weight[rows]
        precision = (prior.T * weight[:, None, :]) @ prior.T.T
        words = see_words(counts[rows], beta_T, posterior.lam[rows], posterior.nu2[rows], n_jobs)
        precision = precision + Q @ words.information @ Q.T
        # What a linear term says far out is next to nothing, and words see no shift common to all topics.
        least = _ROUNDING * np.trace(precision, axis1=1, axis2=2) / K
        lower = np.linalg.cholesky(precision + least[:, None, None] * np.eye(K))
        away = np.linalg.solve(
            lower.transpose(0, 2, 1), np.broadcast_to(nodes.T, (len(lower), *nodes.T.shape))
        )
        theta = softmax(posterior.lam[rows][:, :, None] + away, axis=1)
        spread[rows] = theta.std(axis=2)
    return spread


def _gaussian_nodes(K: int) -> Array:
    """(n, K) points whose mean is zero and whose covariance is the identity, which plain draws miss by much."""
    half = np.random.default_rng(_SEED).standard_normal((max(_NODES // 2, 2 * K), K))
    lower = np.linalg.cholesky(half.T @ half / len(half))
    half = np.linalg.solve(lower, half.T).T
    return np.vstack([half, -half])
