"""The tracks: what libraries are given, who takes part, and how they are scored."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from benchmarks.peers.corpora import Split
from benchmarks.peers.scoring import completion, own_completion
from benchmarks.race.corpora import Completed, Labelled, poliblog
from benchmarks.race.task import Task
from benchmarks.simulated import simulator
from gptm import metrics

THREADS = 2
TOP_WORDS = 10


class Case(NamedTuple):
    """A corpus, a number of topics, and the seed of the fit and of the split."""

    corpus: str
    K: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.corpus}-{self.K}"


class Track(ABC):
    """Cases, and how a fit to one of them is scored."""

    libraries: ClassVar[tuple[str, ...]]
    seeds: ClassVar[int]

    def __init__(self, data: Path | None):
        self.data = data

    @abstractmethod
    def cases(self, seeds: int) -> Iterator[Case]:
        """All cases, in the order in which they run."""

    @abstractmethod
    def task(self, case: Case, library: str) -> Task:
        """What a library is given."""

    @abstractmethod
    def scores(
        self, case: Case, topics: np.ndarray, theta: np.ndarray, result: dict[str, Any]
    ) -> dict[str, float]:
        """How well it did."""

    def folder(self) -> Path:
        if self.data is None:
            raise ValueError("this track needs --data, the folder with the corpora.")
        return self.data


class Words(Track):
    """Held-out words by stm's protocol: a tenth of the documents lose half of their tokens, all else is training."""

    libraries = ("gptm", "topica_stm", "topica_lda", "tomotopy_lda", "stm")
    seeds = 5

    def cases(self, seeds: int) -> Iterator[Case]:
        return (Case("poliblog5k", K, seed) for K in (20, 50, 100) for seed in range(seeds))

    @cache  # noqa: B019  a track lives as long as the run
    def split(self, seed: int) -> tuple[Any, ...]:
        counts, vocabulary, frame = poliblog(self.folder())
        train, held = split_words(counts, seed)
        used = np.asarray(train.sum(0)).ravel() > 0
        return train, held, vocabulary, frame, used

    def task(self, case: Case, library: str) -> Task:
        train, _, vocabulary, frame, _ = self.split(case.seed)
        formula = "~ rating + s(day)"
        return Task(train, vocabulary, case.K, case.seed, THREADS, metadata=frame, formula=formula)

    def scores(
        self, case: Case, topics: np.ndarray, theta: np.ndarray, result: dict[str, Any]
    ) -> dict[str, float]:
        train, held, _, _, used = self.split(case.seed)
        topics = topics / topics.sum(1, keepdims=True)
        logs = []
        for d, words in held.items():
            known = words[
                used[words]
            ]  # a word that lost all its tokens has no topic in any library
            logs.append(np.log(np.maximum(theta[d] @ topics[:, known], 1e-300)))
        return {
            "log_likelihood": float(np.mean([values.mean() for values in logs if len(values)])),
            "perplexity": float(np.exp(-np.concatenate(logs).mean())),
            "npmi": float(metrics.npmi_coherence(topics, train, n_words=TOP_WORDS).mean()),
        }


def split_words(counts: Any, seed: int) -> tuple[Any, dict[int, np.ndarray]]:
    """Training counts, and the tokens taken out of a tenth of the documents."""
    rng = np.random.default_rng(2138 + seed)
    train, held = counts.tolil(copy=True), {}
    for d in rng.choice(counts.shape[0], counts.shape[0] // 10, replace=False):
        row = counts[d]
        words = rng.permutation(np.repeat(row.indices, row.data))
        n = len(words) // 2
        if 0 < n < len(words):
            train[d] = np.bincount(words[n:], minlength=counts.shape[1])
            held[int(d)] = words[:n]
    return train.tocsr(), held


class Completion(Track):
    """Held-out words of new documents, of which a part is seen; no side information.

    *own* takes each library's own proportions, *common* one estimator for all, given the topics.
    """

    libraries = ("gptm", "gptm_em", "topica_lda", "topica_stm", "tomotopy_lda", "sklearn_lda")
    seeds = 2
    seen = (0.5, 0.2, 0.05)

    def cases(self, seeds: int) -> Iterator[Case]:
        names = ("20news_stripped", "nips", "sotu", "m10")
        return (Case(name, K, seed) for name in names for K in (20, 50) for seed in range(seeds))

    @cache  # noqa: B019
    def corpus(self, name: str, seed: int) -> Completed:
        return Completed(self.folder(), name, seed, self.seen)

    def task(self, case: Case, library: str) -> Task:
        corpus = self.corpus(case.corpus, case.seed)
        new = tuple(seen for seen, _ in corpus.parts)
        return Task(corpus.counts, corpus.vocabulary, case.K, case.seed, THREADS, new=new)

    def scores(
        self, case: Case, topics: np.ndarray, theta: np.ndarray, result: dict[str, Any]
    ) -> dict[str, float]:
        corpus, scores = self.corpus(case.corpus, case.seed), {}
        for share, (seen, hidden), own in zip(
            self.seen, corpus.parts, result["new_theta"], strict=True
        ):
            split, percent = Split(corpus.counts, seen, hidden), f"{100 * share:.0f}"
            scores[f"own_{percent}"] = own_completion(split, topics, own)
            scores[f"common_{percent}"] = completion(split, topics)[0]
        scores["npmi"] = float(
            metrics.npmi_coherence(topics, corpus.counts, n_words=TOP_WORDS).mean()
        )
        return scores


class Effects(Track):
    """A group's effect on the shares of all topics, on simulated corpora where the truth is known."""

    libraries = ("gptm", "topica_stm", "stm")
    seeds = 5
    first = 60  # corpora on which no choice was made

    def cases(self, seeds: int) -> Iterator[Case]:
        sizes = (120, 40)
        return (Case(f"{n} words", 10, self.first + i) for n in sizes for i in range(seeds))

    @cache  # noqa: B019
    def truth(self, case: Case) -> dict[str, Any]:
        return dict(simulator().draw(case.seed, int(case.corpus.split()[0])))

    def task(self, case: Case, library: str) -> Task:
        truth = self.truth(case)
        vocabulary = np.array([f"w{i}" for i in range(truth["X"].shape[1])])
        return Task(
            truth["X"],
            vocabulary,
            case.K,
            case.seed,
            THREADS,
            metadata=truth["metadata"],
            formula="~ group + s(t) + null",
            effect=("group", "a", "b"),
        )

    def scores(
        self, case: Case, topics: np.ndarray, theta: np.ndarray, result: dict[str, Any]
    ) -> dict[str, float]:
        truth, effect = self.truth(case), result["effect"]
        order, overlap = simulator().align(topics / topics.sum(1, keepdims=True), truth["beta"])
        estimate, low, high = (
            np.array(effect[name])[order] for name in ("estimate", "low", "high")
        )
        true = truth["share"]
        return {
            "slope": float(estimate @ true / (true @ true)),
            "error": float(np.sqrt(np.mean((estimate - true) ** 2))),
            "bands_hold": float(np.mean((low <= true) & (true <= high))),
            "least_overlap": float(overlap.min()),
        }


class Topics(Track):
    """Do topics read well, and do they sort documents as people did?"""

    libraries = (
        "gptm",
        "gptm_vectors",
        "gptm_frex",
        "tomotopy_lda",
        "topica_lda",
        "sklearn_lda",
        "bertopic_default",
        "fastopic_default",
        "turftopic_keynmf",
    )
    without_vectors = ("gptm", "gptm_frex", "tomotopy_lda", "topica_lda", "sklearn_lda")
    seeds = 3

    def cases(self, seeds: int) -> Iterator[Case]:
        names = ("20news_stripped", "m10", "debian_sources")
        return (Case(name, K, seed) for name in names for K in (20, 50) for seed in range(seeds))

    @cache  # noqa: B019
    def corpus(self, name: str) -> Labelled:
        return Labelled(self.folder(), name)

    def task(self, case: Case, library: str) -> Task:
        corpus = self.corpus(case.corpus)
        needs_vectors = library not in self.without_vectors
        return Task(
            corpus.counts,
            corpus.vocabulary,
            case.K,
            case.seed,
            THREADS,
            texts=corpus.texts,
            vectors=corpus.vectors()[0] if needs_vectors else None,
        )

    def scores(
        self, case: Case, topics: np.ndarray, theta: np.ndarray, result: dict[str, Any]
    ) -> dict[str, float]:
        corpus = self.corpus(case.corpus)
        assigned = theta.sum(1) > 0
        clusters = np.where(assigned, theta.argmax(1), -1)
        return {
            "npmi": float(metrics.npmi_coherence(topics, corpus.counts, n_words=TOP_WORDS).mean()),
            "c_v": float(np.mean(metrics.c_v(topics, corpus.tokens, corpus.vocabulary))),
            "diversity": float(metrics.topic_diversity(topics, n_words=TOP_WORDS)),
            "purity": metrics.purity(clusters, corpus.labels),
            "nmi": metrics.nmi(clusters, corpus.labels),
            "assigned": float(assigned.mean()),
        }


TRACKS: dict[str, type[Track]] = {
    "words": Words,
    "new_words": Completion,
    "effects": Effects,
    "topics": Topics,
}
