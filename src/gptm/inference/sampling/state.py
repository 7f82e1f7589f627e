"""The state of a chain after a sweep."""

from typing import NamedTuple, Self

import numpy as np

from gptm import _hot
from gptm._basics.types import Array
from gptm.fitted import Part
from gptm.inference.contrasts import centred
from gptm.inference.sampling.topic_prior import Urn
from gptm.kernels.weighted_terms import Terms
from gptm.operators import Operator

MANY_TOPICS = (
    200  # twice as many topics have their covariances drawn in every second sweep, and so on
)


class Precision(NamedTuple):
    """The prior precision of logits, and the covariance whose inverse it is."""

    S: Array  # (p, p)
    P: Array  # (K padded, K padded)


class ChainState(NamedTuple):
    """Everything that a sweep changes. A sweep is a function of this, the data and the seed."""

    counts: Array  # (V, K padded) tokens of words in topics
    urn: Urn  # the topics' common prior
    beta_T: Array  # (V, K padded) topics as drawn, single precision; zero for words of no document
    eta: Array  # (D, K) logits of documents; rows sum to zero
    mu: Array  # (p,) overall mean of the contrasts of logits, p = K - 1
    F: Array  # (D, p) what the kernel adds to it
    parts: tuple[Part, ...]  # F by terms
    energy: Array  # (p, p) squares of the kernel's whitened weights, which B is drawn from
    dimension: int  # number of these weights
    S: Array  # (p, p) covariance of contrasts of logits
    B: Array  # (p, p) coregionalisation of them
    strength: float  # b of B = b S or b I
    terms: Terms | None  # the kernel, where parameters of its own are learnt
    operator: Operator  # how to solve with it
    shares: Array  # (K,) mean proportions of documents
    fit: float  # log-probability of the words given topics and proportions
    of_logits: float = 0.0  # log-density of the logits when S was drawn
    log_density: float = -np.inf
    sweep: int = 0
    limit: int = 0  # sweeps at most
    precision: Precision | None = None  # with many topics S is not drawn in each sweep

    @classmethod
    def before_sweeps(
        cls,
        word_topic: Array,
        urn: Urn,
        *,
        eta: Array,
        mu: Array,
        F: Array,
        S: Array,
        B: Array,
        strength: float,
        terms: Terms | None,
        operator: Operator,
    ) -> Self:
        """Where a chain begins, with tokens of words in topics (V, K); nothing has been drawn yet."""
        V, K = word_topic.shape
        counts = _hot.padded_zeros(V, K)
        counts[:, :K] = word_topic
        return cls(
            counts=counts,
            urn=urn,
            beta_T=np.empty((0, 0), dtype=np.float32),
            eta=np.ascontiguousarray(centred(eta)),
            mu=mu,
            F=F,
            parts=(),
            energy=np.zeros((K - 1, K - 1)),
            dimension=0,
            S=S,
            B=B,
            strength=strength,
            terms=terms,
            operator=operator,
            shares=np.full(K, 1.0 / K),
            fit=0.0,
        )

    @property
    def K(self) -> int:
        return self.eta.shape[1]

    @property
    def draws_matrices(self) -> bool:
        """Whether this sweep draws matrices of topics.

        With many topics they take as long as all documents, and hardly change from one sweep to the next.
        """
        return (self.sweep - 1) % max(self.K // MANY_TOPICS, 1) == 0

    @property
    def bound(self) -> float:
        """The value that traces show, under the same name as in EM, for callbacks."""
        return self.log_density

    @property
    def components(self) -> Array:
        """(K, V) topics as drawn, rows sum to one."""
        return np.asarray(self.beta_T[:, : self.K].T, dtype=np.float64)
