"""The data and settings of a fit, which stay fixed while it runs."""

from copy import copy
from functools import cached_property
from typing import Literal, Self

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.inference.em.document_step import Tally
from gptm.kernels import BoundKernel, Kernel
from gptm.kernels.identity import NothingBound
from gptm.kernels.weighted_terms import Terms
from gptm.operators import Operator

Coregionalization = Literal["identity", "shared", "free", "none"]


class FitProblem:
    """Counts of words, a kernel over the documents, and which parameters to learn."""

    seeds: Array | None = None  # (V, K) pseudo-counts of words that users gave topics
    bound: BoundKernel  # the kernel over the documents
    absent: int = 0  # words that no document has, for which the last column stands; 0 if there is no such column

    def __init__(
        self,
        counts: csr_matrix,
        operator: Operator,
        *,
        inference: Literal["variational", "map"],
        coregionalization: Coregionalization,
        learn_covariance: bool,
        learn_strength: bool,
        fit_mean: bool,
        smoothing: float,
        n_jobs: int | None,
        terms: Terms | None = None,
    ):
        self.counts = counts
        self.operator = operator  # of the kernel as it is at first
        self.terms = terms
        self.inference = inference
        self.coregionalization = coregionalization
        self.learn_covariance = learn_covariance
        self.learn_strength = learn_strength
        self.fit_mean = fit_mean
        self.smoothing = smoothing
        self.n_jobs = n_jobs
        self.tally = Tally()

    def with_jobs(self, n_jobs: int | None) -> "FitProblem":
        """The same problem for another number of threads."""
        problem = copy(self)
        problem.n_jobs = n_jobs
        return problem

    @property
    def prior(self) -> float | Array:
        """Pseudo-counts of words in topics, all the same or (V, K)."""
        return self.smoothing if self.seeds is None else self.smoothing + self.seeds

    @property
    def lengths(self) -> Array:
        """(D,) numbers of tokens."""
        return np.asarray(self.counts.sum(1), dtype=np.float64).ravel()

    @cached_property
    def occurs(self) -> np.ndarray:
        """(V,) whether any document has a word."""
        return np.bincount(self.counts.indices, minlength=self.counts.shape[1]) > 0

    @cached_property
    def rank(self) -> int:
        return self.operator.log_pseudo_determinant()[1]

    @cached_property
    def origin(self) -> Array:
        """Logarithms of the kernel's learnable parameters at first; empty if nothing can be learnt."""
        if self.terms is None or not self.operator.learnable:
            return np.log([])
        return np.log([parameter.value for parameter in self.terms.learnables()])

    @classmethod
    def of(
        cls,
        counts: csr_matrix,
        bound: BoundKernel,
        *,
        inference: Literal["sampling", "variational", "map"],
        coregionalization: Literal["free", "shared", "identity"],
        topic_covariance: str,
        learn_kernel: bool,
        fit_mean: bool,
        smoothing: float,
        n_jobs: int | None,
        resumed: Kernel | None = None,
        hold_kernel: bool = False,
    ) -> Self:
        """The problem for an estimator's settings.

        `resumed` is a kernel learnt before, to continue from. With `hold_kernel` its parameters stay fixed, but its
        strength is learnt.
        """
        nothing = isinstance(bound, NothingBound) or not bound.mean_diagonal() > 0
        learns = learn_kernel and inference != "map" and not nothing
        terms = Terms.of(bound) if learns and not hold_kernel else None
        if terms is not None and resumed is not None:
            terms = terms.resumed(resumed) or terms
        problem = cls(
            counts,
            bound.operator if terms is None else terms.bound.operator,
            inference="map" if inference == "map" and not nothing else "variational",
            coregionalization="none" if nothing else coregionalization,
            learn_covariance=topic_covariance == "full",
            learn_strength=learns,
            fit_mean=fit_mean,
            smoothing=smoothing,
            n_jobs=n_jobs,
            terms=terms,
        )
        problem.bound = bound
        return problem

    @property
    def joint(self) -> bool:
        """Whether it is the paper's, in which new documents are inferred jointly."""
        return self.inference == "map" and self.coregionalization != "none"
