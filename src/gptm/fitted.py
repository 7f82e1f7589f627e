"""The result of a fit, in one frozen value. Everything that comes after a fit reads this value, and nothing else.

Inference returns it; prediction, effects, tables, other packages' forms and files take it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm import _hot
from gptm._basics.parallel import blocks
from gptm._basics.types import Array
from gptm.corpus import Words
from gptm.corpus.counts import ExpectedWords
from gptm.kernels import BoundKernel, Kernel
from gptm.kernels.identity import NothingBound

TINY = 1e-300  # no proportion at all
_ROWS = 65_536  # documents that are looked at together

Reason = Literal["converged", "max_iter", "callback", "interrupt"]


class Part(NamedTuple):
    """One term's part of F, as drawn: weights of its features, values of single documents, and values on graphs.

    The last axis are contrasts of topics. What a term does not have is None, or an empty tuple.
    """

    weights: Array | None  # (r, p)
    own: Array | None  # (D, p)
    graphs: tuple[Array, ...] = ()  # (D, p) each


class Draws(NamedTuple):
    """Snapshots of the posterior; the last axes are contrasts of topics."""

    chain: np.ndarray  # (s,) which chain each snapshot comes from
    mu: Array  # (s, p)
    S: Array  # (s, p, p)
    B: Array  # (s, p, p)
    rows: np.ndarray  # (d,) documents whose logits are kept
    logits: np.ndarray  # (s, d, p) half precision
    parts: tuple[Part, ...]  # terms of the kernel, each array with a first axis of s

    @property
    def n(self) -> int:
        return len(self.mu)


class TopicDraws(NamedTuple):
    """Topics of a few sweeps, over the words of the training documents."""

    words: np.ndarray  # (n,) numbers of these words
    beta_T: np.ndarray  # (s, n, K) in single precision


class Whole(NamedTuple):
    """Of a fit to blocks, in which the training documents in memory are a sample: what it knows of all documents."""

    documents: int
    tokens: int
    gram: Array  # (r, r) Phi' Phi of the kernel's features over all documents


class Past(NamedTuple):
    """What a model that goes on learning remembers of documents whose words it has let go: sums over these.

    Documents with the same values in the kernel's columns are one cell. With decay, documents count for less than one.
    """

    tally: Array  # (V, K) tokens of words in topics
    weights: Array  # (C,) documents of each cell
    logits: Array  # (C, K) sums of their logits, each relative to the mean of a document's topics
    spread: Array  # (C, K) sums of the variances of these
    squares: Array  # (K, K) sum of products of logits over all documents
    # (C rows) values of the kernel's columns; None without a kernel, where C is 1
    cells: pd.DataFrame | None

    @property
    def n(self) -> float:
        """Documents, with decay fewer than there were."""
        return float(self.weights.sum())


class Stream(NamedTuple):
    """Of a model that goes on learning: what the next update needs besides the fit."""

    updates: int  # so far, the start included
    documents: int  # seen so far
    tokens: int
    # Documents that the topics were found in; 0 where they stay, as users have seen them.
    started: int
    draws: float  # that the topics are means of
    tau: float  # the topics' common prior: total pseudo-count,
    base: Array  # (V,) shares of words, and
    even: float  # pseudo-count of each word in the prior of these
    past: Past | None  # documents that are not in memory any more


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A fitted model without its settings: K topics over V words, learnt from D documents."""

    # Parameters
    components: Array  # (K, V) topics, rows sum to one
    mu: Array  # (K,) overall mean of the logits
    Sigma: Array  # (K, K) covariance of logits around their means
    B: Array  # (K, K) how the kernel acts across topics; zero without a kernel

    # Training documents
    lam: Array  # (D, K) means of their logits
    nu2: Array  # (D, K) variances of them
    F: Array  # (D, K) what the kernel adds to mu
    alpha: Array  # (D, K) with F = 𝒦 alpha
    lengths: Array  # (D,) numbers of tokens
    counts: csr_matrix | None  # (D, V) of words; a model file leaves them out if nothing needs them

    # The kernel
    bound: BoundKernel  # over the training documents
    joint: bool  # whether new documents of one call are inferred jointly, as the paper does

    # How the fit went
    trace: Array  # one value for each iteration
    reason: Reason  # why it ended
    draws: Draws | None = None  # snapshots, for error bars
    watched: dict[str, Array] | None = None  # (chains, draws, ...) what diagnostics look at
    diagnostics: pd.DataFrame | None = None  # effective draws and R-hat of them
    topic_draws: TopicDraws | None = None  # until `doc_topics` is computed

    whole: Whole | None = None  # where the training documents above are a sample
    stream: Stream | None = None  # of a model that goes on learning
    columns: pd.DataFrame | None = None  # (D rows) what the kernel reads; in files of streams only

    # Computed or given later
    doc_topics: Array | None = None  # (D, K) expected proportions of the training documents
    coherence: Array | None = None  # (K,)
    vocabulary: np.ndarray | None = None  # (V,) words, if they have names
    words: Words | None = None  # how texts become counts
    kinds: Mapping[str, str] = field(default_factory=dict)  # of the columns that the kernel reads
    topic_names: list[str | None] | None = None  # (K,) if some topics have names

    # What users did to the topics
    origin: "Origin | None" = None  # where topics were merged, dropped or reordered
    history: tuple[str, ...] = ()  # sentences, oldest first

    def __post_init__(self) -> None:
        # The loops over documents read topics word by word, and need not copy them every time then.
        components = _hot.padded_rows(self.components.T)[:, : len(self.components)].T
        object.__setattr__(self, "components", components)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __repr__(self) -> str:
        K, V = self.components.shape
        return f"Fitted({K} topics, {V} words, {len(self.lam)} documents)"

    @property
    def beta_T(self) -> Array:
        """(V, K) topics, columns sum to one."""
        return self.components.T

    @property
    def K(self) -> int:
        return len(self.components)

    @property
    def names(self) -> list[str | None]:
        """(K,) names of the topics, None for those without."""
        return list(self.topic_names or [None] * self.K)

    @property
    def kernel(self) -> Kernel | None:
        """The kernel with its parameters as learnt."""
        return None if isinstance(self.bound, NothingBound) else self.bound.kernel

    @property
    def n_documents(self) -> int:
        """Number of the documents that it was fitted to."""
        return len(self.lam) if self.whole is None else self.whole.documents

    @property
    def n_tokens(self) -> float:
        """Number of their tokens."""
        return float(self.lengths.sum()) if self.whole is None else float(self.whole.tokens)

    @property
    def by_sampling(self) -> bool:
        """Whether a sampler made it."""
        return self.watched is not None

    def expects(self, model: str) -> ExpectedWords:
        """The words of new documents, and the name of the model's class for messages."""
        return ExpectedWords(model, self.components.shape[1], self.vocabulary, self.words)

    @cached_property
    def word_rates(self) -> Array:
        """(V,) how often a training document has each word, on average, as the topics say."""
        tokens = np.zeros(self.K)
        for rows in blocks(0, len(self.lam), _ROWS):
            logits = self.lam[rows] - self.lam[rows].max(1, keepdims=True)
            weights = np.exp(logits)
            tokens += (self.lengths[rows, None] * weights / weights.sum(1, keepdims=True)).sum(0)
        per_document = tokens / max(len(self.lam), 1)
        return np.asarray((per_document[:, None] * self.components).sum(0))

    @property
    def proportions(self) -> Array:
        """(D, K) of the training documents; an error if they are not computed yet."""
        if self.doc_topics is None:
            raise ValueError("the proportions of the training documents are not computed yet")
        return self.doc_topics


@dataclass(frozen=True, eq=False)
class Origin:
    """The fit that topics were merged, dropped or reordered from, and which of its topics each topic is the sum of.

    Proportions, shares and effects are those of that fit, added up; so they stay right however topics are grouped.
    """

    fitted: Fitted  # with the topics that inference found
    members: tuple[tuple[int, ...], ...]  # (K,) numbers of those topics, each at most once

    @property
    def kept(self) -> list[int]:
        """The topics of the fit that were not dropped, in their order there."""
        return sorted(number for group in self.members for number in group)

    @property
    def drops(self) -> bool:
        """Whether any topic of the fit was dropped."""
        return len(self.kept) < self.fitted.K

    @cached_property
    def sums(self) -> Array:
        """(topics of the fit, K) of zeros and ones: proportions there times this are those here."""
        G = np.zeros((self.fitted.K, len(self.members)))
        for topic, group in enumerate(self.members):
            G[list(group), topic] = 1.0
        return G

    @cached_property
    def means(self) -> Array:
        """(topics of the fit, K) what part of each topic here comes from which topic there; columns sum to one."""
        weighted = self.sums * np.maximum(self.fitted.proportions.mean(0), TINY)[:, None]
        return np.asarray(weighted / weighted.sum(0))

    def combined(self, proportions: Array) -> Array:
        """(..., K) proportions of the topics here from those of the fit's topics; they sum to one."""
        summed = proportions @ self.sums
        if not self.drops:
            return np.asarray(summed)
        total = summed.sum(-1, keepdims=True)
        return np.where(total > TINY, summed / np.maximum(total, TINY), 1.0 / len(self.members))
