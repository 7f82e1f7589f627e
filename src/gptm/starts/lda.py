"""Collapsed Gibbs runs for LDA: where chains and EM start decides where they end."""

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm import _hot
from gptm._basics.parallel import blocks, ordered_map, shards
from gptm._basics.types import Array
from gptm.inference.checkpoint import Tree
from gptm.inference.em.document_step import Posterior
from gptm.inference.sampling.topic_prior import Urn, draw_concentration, draw_urn, first_urn
from gptm.starts.seed_words import first_topics

ALPHA = 0.1  # of the documents' Dirichlet prior at first; from the first look on it is learnt
ALPHA_RATE = 1.0  # of its exponential prior
EVERY = 5  # sweeps between two looks at the priors, which are learnt
SPREAD = 1.0  # added to the counts of a document's topics before their logarithms are taken
# Tokens that a cell counts, at most: a hundredth of all, so that one document does not have a topic where topics are
# few (measured), within limits; the upper one bounds the work for a count of a million.
CAP = 0.01
CAPS = (1_000, 10_000)
# Tokens of all cells together, at most, and for each cell: so much is enough to start from, however large counts are.
ENOUGH = 400_000
ENOUGH_PER_CELL = 32
MAX_SHARDS = 8
MIN_SHARD = 20_000  # tokens
MIN_PER_WORD = 2  # tokens of a shard for each word of the vocabulary
MANY_TOPICS = 256  # beyond, draws look at the topics of a document only
CELLS = 16  # of a shard's copy of the words' counts, for each token, at most, but for two shards
_TOKENS = 50_000  # looked at together


class GibbsStart(NamedTuple):
    """Topics and documents after the last complete sweep."""

    word_topic: Array  # (V, K) counts
    posterior: Posterior
    urn: Urn  # the topics' common prior


class LdaRun:
    """One seeded run, as far as it has come.

    Documents are cut into shards that depend on the counts alone; each sweeps over its tokens against the topics
    of the last sweep, so the draws are the same for any number of threads. `seeds` are pseudo-counts (V, K) of
    words in topics: counted in every draw, but not in the result. So is the topics' common prior, which is learnt.
    `tokens` are those of the counts, see `tokens_of`: several runs may share them, which no run changes.
    """

    def __init__(
        self,
        counts: csr_matrix,
        n_components: int,
        rng: np.random.RandomState,
        seeds: Array | None = None,
        absent: int = 0,
        tokens: tuple[np.ndarray, np.ndarray] | None = None,
    ):
        self._shape = (*counts.shape, n_components)
        self._columns = _hot.padded(n_components)  # of counts; loops read so many
        self._docs, self._words = tokens_of(counts) if tokens is None else tokens
        n_tokens = len(self._docs)
        self._topics = (
            rng.randint(n_components, size=n_tokens).astype(np.int32)
            if seeds is None
            else first_topics(self._docs, self._words, seeds, rng)
        )
        self._seeds = np.zeros((0, n_components)) if seeds is None else seeds
        self.urn = first_urn(np.asarray(counts.sum(0)).ravel(), absent)
        self._rng = np.random.default_rng(rng.randint(2**31))
        self._sweeps, self._alpha = 0, ALPHA
        lengths = np.bincount(self._docs, minlength=counts.shape[0])
        # Each shard has a copy of the counts of words: with many words, copies would cost more than tokens do.
        most = min(n_tokens // MIN_SHARD, n_tokens // (MIN_PER_WORD * counts.shape[1]))
        most = min(most, max(CELLS * n_tokens // (counts.shape[1] * n_components), 2))
        n_shards = int(np.clip(most, 1, MAX_SHARDS))
        ends = np.concatenate([[0], np.cumsum(lengths)])
        self._pieces = [slice(ends[s.start], ends[s.stop]) for s in shards(lengths, n_shards)]
        self._states = rng.randint(2**31, size=(len(self._pieces), 1)).astype(np.uint64)
        self._few = n_components > MANY_TOPICS
        if self._few:
            self._sort_by_words()
        self._count_tokens()

    def _sort_by_words(self) -> None:
        """Order the tokens of each shard as `word_sweep` takes them."""
        order = [
            piece.start + np.argsort(self._words[piece], kind="stable") for piece in self._pieces
        ]
        together = np.concatenate(order) if order else np.empty(0, dtype=np.int64)
        self._docs, self._words, self._topics = (
            values[together] for values in (self._docs, self._words, self._topics)
        )

    def _count_tokens(self) -> None:
        D, V, _ = self._shape
        self._doc_topic = _count(self._docs, self._topics, (D, self._columns))
        self._word_topic = _count(self._words, self._topics, (V, self._columns))
        if self._few:
            self._lists = _listed(self._docs, self._topics, D)

    def _seeded(self) -> Array:
        """(V, columns) counts of words in topics, with those of seed words."""
        if not len(self._seeds):
            return self._word_topic
        counts = self._word_topic.copy()
        counts[:, : self._shape[2]] += self._seeds
        return counts

    def _sizes(self, prior: np.ndarray) -> Array:
        """(K,) tokens of topics and all their pseudo-counts."""
        sizes = np.bincount(self._topics, minlength=self._shape[2]) + prior.sum(dtype=np.float64)
        return np.asarray(sizes + self._seeds.sum(0))

    @property
    def sweeps(self) -> int:
        """Done so far."""
        return self._sweeps

    def tree(self) -> Tree:
        """What a run with the same arguments needs to continue from here."""
        return {
            "topics": self._topics,
            "urn": self.urn._asdict(),
            "sweeps": self._sweeps,
            "alpha": float(self._alpha),
            "states": self._states,
            "rng": json.dumps(self._rng.bit_generator.state),
        }

    def go_on_from(self, tree: Tree) -> None:
        """Be where another run was."""
        self._topics, self.urn = tree["topics"], Urn(**tree["urn"])
        self._sweeps, self._alpha, self._states = tree["sweeps"], tree["alpha"], tree["states"]
        self._rng.bit_generator.state = json.loads(tree["rng"])
        self._count_tokens()

    def sweep_to(
        self,
        n_sweeps: int,
        n_jobs: int | None = None,
        after_sweep: Callable[[], None] | None = None,
    ) -> bool:
        """Go on until so many sweeps are done; False after Ctrl-C, which leaves every token with a topic."""
        alone = len(self._pieces) == 1  # then counts are brought up to date in place
        before, prior = self._seeded(), self.urn.pseudo_counts.astype(np.float32)
        sizes = self._sizes(prior)

        def run(item: tuple[slice, Array], checkpoint: Callable[[], None]) -> None:
            checkpoint()
            tokens, state = item
            local = before if alone else before.copy()
            if self._few:
                self._sweep_words(tokens, local, sizes.copy(), prior, state)
                return
            _hot.gibbs_sweep(
                self._docs[tokens],
                self._words[tokens],
                self._topics[tokens],
                self._doc_topic,
                local,
                sizes.copy(),
                np.zeros(self._columns, dtype=np.float32),
                self._alpha,
                prior,
                state,
                np.empty((2, 2, self._columns), dtype=np.float32),
            )

        work = list(zip(self._pieces, self._states, strict=True))
        try:
            while self._sweeps < n_sweeps:
                ordered_map(run, work, n_jobs)
                if not alone or len(self._seeds):
                    self._word_topic = _count(self._words, self._topics, before.shape)
                self._sweeps += 1
                if self._few and (self._sweeps % EVERY == 0 or self._sweeps == n_sweeps):
                    D, columns = self._doc_topic.shape
                    self._doc_topic = _count(self._docs, self._topics, (D, columns))
                if self._sweeps % EVERY == 0:
                    self._learn_priors(n_jobs)
                    prior = self.urn.pseudo_counts.astype(np.float32)
                before, sizes = self._seeded(), self._sizes(prior)
                if after_sweep is not None:
                    after_sweep()
        except KeyboardInterrupt:
            self._count_tokens()
            return False
        return True

    def _sweep_words(
        self, tokens: slice, local: Array, sizes: Array, prior: np.ndarray, state: np.ndarray
    ) -> None:
        """A sweep over a shard, word after word."""
        inverse = np.zeros(self._columns, dtype=np.float32)
        inverse[: len(sizes)] = 1.0 / sizes
        _hot.word_sweep(
            self._docs[tokens],
            self._words[tokens],
            self._topics[tokens],
            *self._lists,
            local,
            sizes,
            inverse,
            self._alpha,
            prior,
            state,
            np.empty((3, self._columns), dtype=np.float32),
        )

    def _learn_priors(self, n_jobs: int | None) -> None:
        """A step for the topics' prior, and one for the documents': with one that is too sparse, EM or a chain of
        logistic-normal topics would start with documents that are much too far apart."""
        K = self._shape[2]
        self.urn = draw_urn(self._seeded()[:, :K], self.urn, self._rng, n_jobs)
        in_document = self._doc_topic[:, :K]
        self._alpha = draw_concentration(self._alpha, in_document, K, self._rng, ALPHA_RATE)

    def fit(self, n_jobs: int | None = None) -> float:
        """log p(words | topics, proportions), topics of the tokens summed out: how well a run explains the words."""
        prior = self.urn.pseudo_counts
        inverse = 1.0 / self._sizes(prior)
        of_docs = np.bincount(self._docs, minlength=self._shape[0]) + self._shape[2] * self._alpha
        seeded = self._seeded()

        def run(some: slice, checkpoint: Callable[[], None]) -> float:
            checkpoint()
            docs, words = self._docs[some], self._words[some]
            together = (docs, words, self._doc_topic, seeded, self._alpha, prior, inverse)
            return float(_hot.explained(*together)) - float(np.log(of_docs[docs]).sum())

        return sum(ordered_map(run, blocks(0, len(self._docs), _TOKENS), n_jobs))

    def start(self) -> GibbsStart:
        """Topics and documents so far."""
        in_document = self._doc_topic[:, : self._shape[2]].astype(np.float64)
        word_topic = self._word_topic[:, : self._shape[2]].astype(np.float64)
        return GibbsStart(word_topic, posterior_of(in_document), self.urn)


def posterior_of(in_document: Array) -> Posterior:
    """Logits of documents with so many tokens of each topic (D, K)."""
    lam = np.log(in_document + SPREAD)
    return Posterior(lam - lam.mean(1, keepdims=True), 1.0 / (in_document + 1.0))


def tokens_of(counts: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Document and word of every token; a cell counts at least one token and at most `CAP` of all.

    Where counts are large, all of them are made smaller alike: time follows the number of cells, not of tokens.
    """
    most = np.clip(CAP * counts.sum(), *CAPS)
    sizes = np.minimum(np.rint(counts.data), np.floor(most))
    enough = max(ENOUGH, ENOUGH_PER_CELL * counts.nnz)
    if sizes.sum() > enough:
        sizes *= enough / sizes.sum()
    repeats = np.maximum(np.rint(sizes), 1).astype(np.int64)
    docs = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.repeat(docs, repeats).astype(np.int32), np.repeat(counts.indices, repeats)


class Lists(NamedTuple):
    """The topics of each document, as `_hot.word_sweep` takes them."""

    starts: np.ndarray
    sizes: np.ndarray
    listed: np.ndarray
    held: np.ndarray


def _listed(docs: np.ndarray, topics: np.ndarray, D: int) -> Lists:
    """Lists with room for one topic more than a document has tokens: it may enter before another leaves."""
    ends = np.cumsum(np.bincount(docs, minlength=D) + 1)
    n = int(ends[-1]) if D else 0
    starts = np.concatenate([[0], ends[:-1]])
    lists = Lists(
        starts, np.zeros(D, dtype=np.int64), np.zeros(n, np.int32), np.zeros(n, np.float32)
    )
    _hot.list_topics(docs, topics, *lists)
    return lists


def _count(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    out = np.zeros(shape, dtype=np.float32)
    _hot.count_pairs(rows, columns, out)
    return out
