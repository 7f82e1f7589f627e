"""A short collapsed Gibbs run for LDA: where EM starts decides where it ends."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm import _hot
from gptm._types import Array
from gptm.estep import Posterior
from gptm.parallel import ordered_map, shards
from gptm.seeds import first_topics

SWEEPS = 50
ALPHA = 0.1  # of the documents' Dirichlet prior
ETA = 0.1  # of the topics': the chain mixes much faster than with 0.01 (measured)
CAP = 1000  # tokens per cell: bounds the work for a count of a million
MAX_SHARDS = 8
MIN_SHARD = 20_000  # tokens


class GibbsStart(NamedTuple):
    """Topics and documents after the last complete sweep."""

    word_topic: Array  # (V, K) counts
    posterior: Posterior


def run_gibbs(
    counts: csr_matrix,
    n_components: int,
    rng: np.random.RandomState,
    *,
    n_jobs: int | None = None,
    n_sweeps: int = SWEEPS,
    seeds: Array | None = None,
) -> tuple[GibbsStart, bool]:
    """Counts of a seeded run, and whether it was complete (False after Ctrl-C).

    Documents are cut into shards that depend on the counts alone; each sweeps over its tokens against the topics
    of the last sweep, so the draws are the same for any number of threads. `seeds` are pseudo-counts (V, K) of
    words in topics: counted in every draw, but not returned.
    """
    V, K = counts.shape[1], n_components
    docs, words = _tokens(counts)
    topics = (
        rng.randint(K, size=len(docs)).astype(np.int32)
        if seeds is None
        else first_topics(docs, words, seeds, rng)
    )
    doc_topic = _count(docs, topics, (counts.shape[0], K))
    word_topic = _count(words, topics, (V, K))
    if seeds is not None:
        word_topic += seeds.astype(np.float32)

    lengths = np.bincount(docs, minlength=counts.shape[0])
    n_shards = int(np.clip(len(docs) // MIN_SHARD, 1, MAX_SHARDS))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    pieces = [slice(ends[s.start], ends[s.stop]) for s in shards(lengths, n_shards)]
    states = rng.randint(2**31, size=(len(pieces), 1)).astype(np.uint64)

    def sweep(item: tuple[slice, Array], checkpoint: Callable[[], None]) -> Array:
        checkpoint()
        tokens, state = item
        local = word_topic.copy()
        _hot.gibbs_sweep(
            docs[tokens],
            words[tokens],
            topics[tokens],
            doc_topic,
            local,
            local.sum(0, dtype=np.float64),
            ALPHA,
            ETA,
            state,
        )
        return local

    complete = True
    try:
        for _ in range(n_sweeps):
            parts = ordered_map(sweep, list(zip(pieces, states, strict=True)), n_jobs)
            word_topic = sum(parts[1:], parts[0]) - (len(parts) - 1) * word_topic
    except KeyboardInterrupt:
        complete = False
        doc_topic = _count(docs, topics, doc_topic.shape)
    if seeds is not None or not complete:
        word_topic = _count(words, topics, (V, K))

    in_document = doc_topic.astype(np.float64)
    lam = np.log(in_document + ALPHA)
    posterior = Posterior(lam - lam.mean(1, keepdims=True), 1.0 / (in_document + 1.0))
    return GibbsStart(word_topic.astype(np.float64), posterior), complete


def _tokens(counts: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Document and word of every token; a cell counts at least one token and at most `CAP`."""
    repeats = np.clip(np.rint(counts.data), 1, CAP).astype(np.int64)
    docs = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.repeat(docs, repeats).astype(np.int32), np.repeat(counts.indices, repeats)


def _count(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    flat = np.bincount(rows.astype(np.int64) * shape[1] + columns, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float32)
