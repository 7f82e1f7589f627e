"""Topics that are born: they start with the words of a batch that the old topics do not explain."""

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.starts.lda import LdaRun
from gptm.streaming.fold_in import first_logits, folded_in
from gptm.streaming.one_update import Known
from gptm.streaming.past_documents import born_map, with_topics

_SURPRISING = 2.0  # standard deviations above what the old topics expect
_FEWEST = 10  # words to begin with
_SWEEPS = 60  # of LDA over what is left unexplained
_LOW = 2.0  # standard deviations of logits: how far below the mean new topics are in old documents


def with_births(known: Known, n_new: int, rng: np.random.Generator) -> Known:
    """The same with `n_new` topics more, which have the last numbers."""
    if not n_new:
        return known
    batch = known.counts[known.n_old :]
    fresh = unexplained_words(batch, known.beta_T, n_new, rng)
    K, both = known.K, known.K + n_new
    variance = float(np.diagonal(known.Sigma).mean())
    low = _LOW * np.sqrt(variance)
    A, c = born_map(K, n_new, low)
    own = np.diag(np.r_[np.zeros(K), np.full(n_new, variance)])
    centre = np.eye(both) - 1.0 / both
    past = known.past
    born = known._replace(
        word_topic=np.hstack([known.word_topic, fresh]),
        mu=A @ known.mu + c,
        Sigma=A @ known.Sigma @ A.T + centre @ own @ centre + variance / both,
        B=A @ known.B @ A.T,
        past=None if past is None else with_topics(past, n_new, low, variance),
    )
    old = known.eta[: known.n_old] @ A.T + c
    return born._replace(eta=np.vstack([old, first_logits(batch, born.beta_T)]))


def unexplained_words(
    counts: csr_matrix, beta_T: Array, n_new: int, rng: np.random.Generator
) -> Array:
    """(V, n_new) tokens of words that occur more often than the old topics expect, divided among new topics."""
    expected = beta_T @ folded_in(counts, beta_T).sum(0)
    tokens = np.asarray(counts.sum(0), dtype=np.float64).ravel()
    surprise = (tokens - expected) / np.sqrt(expected + 1.0)
    n_words = max(int((surprise > _SURPRISING).sum()), min(_FEWEST, len(tokens)))
    chosen = np.sort(np.argsort(-surprise, kind="stable")[:n_words])
    excess = np.clip(1.0 - expected / np.maximum(tokens, 1.0), 0.05, 1.0)
    fresh = np.zeros((len(tokens), n_new))
    left = csr_matrix(counts[:, chosen])
    if n_new == 1 or not left.nnz:
        fresh[chosen] = (tokens * excess)[chosen, None] / n_new
        return fresh
    run = LdaRun(left, n_new, np.random.RandomState(int(rng.integers(2**31))))
    run.sweep_to(_SWEEPS)
    fresh[chosen] = run.start().word_topic * excess[chosen, None]
    return fresh
