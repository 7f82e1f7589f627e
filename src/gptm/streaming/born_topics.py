"""Topics that are born: they start with the words of a batch that the old topics do not explain."""

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.starts.lda import LdaRun
from gptm.streaming.one_update import Known
from gptm.streaming.past_documents import born_map, with_topics

_ROUNDS = 30  # of EM for the proportions of a batch's documents
_SURPRISING = 2.0  # standard deviations above what the old topics expect
_FEWEST = 10  # words to begin with
_SWEEPS = 60  # of LDA over what is left unexplained
_LOW = 2.0  # standard deviations of logits: how far below the mean new topics are in old documents


def with_births(known: Known, n_new: int, rng: np.random.Generator) -> Known:
    """The same with `n_new` topics more, which have the last numbers."""
    if not n_new:
        return known
    batch = known.counts[len(known.eta) :]
    fresh = unexplained_words(batch, known.word_topic + known.urn.pseudo_counts[:, None], n_new, rng)
    K, both = known.K, known.K + n_new
    variance = float(np.diagonal(known.Sigma).mean())
    low = _LOW * np.sqrt(variance)
    A, c = born_map(K, n_new, low)
    own = np.diag(np.r_[np.zeros(K), np.full(n_new, variance)])
    centre = np.eye(both) - 1.0 / both
    past = known.past
    return known._replace(
        word_topic=np.hstack([known.word_topic, fresh]),
        mu=A @ known.mu + c,
        Sigma=A @ known.Sigma @ A.T + centre @ own @ centre + variance / both,
        B=A @ known.B @ A.T,
        eta=known.eta @ A.T + c,
        past=None if past is None else with_topics(past, n_new, low, variance),
    )


def unexplained_words(
    counts: csr_matrix, word_topic: Array, n_new: int, rng: np.random.Generator
) -> Array:
    """(V, n_new) tokens of words that occur more often than the old topics expect, divided among new topics."""
    beta_T = word_topic / word_topic.sum(0)
    expected = _expected_tokens(counts, beta_T)
    tokens = np.asarray(counts.sum(0), dtype=np.float64).ravel()
    surprise = (tokens - expected) / np.sqrt(expected + 1.0)
    n_words = max(int((surprise > _SURPRISING).sum()), min(_FEWEST, len(tokens)))
    chosen = np.sort(np.argsort(-surprise, kind="stable")[:n_words])
    excess = np.clip(1.0 - expected / np.maximum(tokens, 1.0), 0.05, 1.0)
    found = np.zeros((len(tokens), n_new))
    left = csr_matrix(counts[:, chosen])
    if n_new == 1 or not left.nnz:
        found[chosen] = (tokens * excess)[chosen, None] / n_new
        return found
    run = LdaRun(left, n_new, np.random.RandomState(int(rng.integers(2**31))))
    run.sweep_to(_SWEEPS)
    found[chosen] = run.start().word_topic * excess[chosen, None]
    return found


def _expected_tokens(counts: csr_matrix, beta_T: Array) -> Array:
    """(V,) tokens of each word that topics expect in documents, with proportions by maximum likelihood."""
    n, K = counts.shape[0], beta_T.shape[1]
    rows = np.repeat(np.arange(n), np.diff(counts.indptr))
    of_words, theta = beta_T[counts.indices], np.full((n, K), 1.0 / K)
    member = csr_matrix((counts.data, (rows, np.arange(len(rows)))), shape=(n, len(rows)))
    for _ in range(_ROUNDS):
        joint = theta[rows] * of_words
        joint /= joint.sum(1, keepdims=True)
        theta = member @ joint + 1.0 / K
        theta /= theta.sum(1, keepdims=True)
    lengths = np.asarray(counts.sum(1)).ravel()
    return np.asarray(beta_T @ (lengths @ theta))
