"""What users choose: the parameters of an estimator as one frozen value, which a fit reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

from scipy.sparse import csr_matrix

from gptm._basics.memory import memory_bytes
from gptm._basics.validation import (
    check_callback,
    check_choice,
    check_n_jobs,
    check_number,
    check_seed,
    check_truth,
    check_verbose,
)
from gptm.inference.problem import FitProblem
from gptm.kernels import BoundKernel, Kernel
from gptm.prediction.proportions import Effort

MOST_SMOOTHING = 1e12  # pseudo-counts of a word; beyond, all topics are the same


class Estimator(Protocol):
    """An object with parameters in the manner of scikit-learn."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of `GPTM`, under the same names. Nothing is checked before `check`."""

    n_components: int
    kernel: Any
    inference: Any
    coregionalization: Any
    topic_covariance: str
    learn_kernel: bool
    fit_mean: bool
    init: Any
    smoothing: float
    seed_words: Any
    seed_weight: float
    n_chains: int
    max_iter: int | None
    tol: float
    doc_points: int
    doc_tol: float
    random_state: Any
    n_jobs: int | None
    verbose: int | bool
    callback: Callable[[int, Any], Any] | None
    warm_start: bool
    memory: str | int | None

    model: str  # name of the estimator's class, for messages
    given: Mapping[str, Any]  # the estimator's own parameters, without those that a CTM fixes

    @classmethod
    def of(cls, estimator: Estimator) -> Self:
        names = [field.name for field in fields(cls) if field.name not in ("model", "given")]
        return cls(
            **{name: getattr(estimator, name) for name in names},
            model=type(estimator).__name__,
            given=estimator.get_params(deep=False),
        )

    def check(self) -> None:
        """An error that names the first parameter that is wrong."""
        check_number("n_components", self.n_components, least=1, integer=True)
        check_choice("inference", self.inference, ("sampling", "variational", "map"))
        check_choice("coregionalization", self.coregionalization, ("free", "shared", "identity"))
        check_truth("learn_kernel", self.learn_kernel)
        check_number("n_chains", self.n_chains, least=1, integer=True)
        if self.max_iter is not None:
            check_number("max_iter", self.max_iter, least=1, integer=True)
        check_number("tol", self.tol, least=0.0)
        check_number("doc_points", self.doc_points, least=0, integer=True)
        check_number("doc_tol", self.doc_tol, least=0.0)
        check_number("smoothing", self.smoothing, least=0.0, most=MOST_SMOOTHING)
        check_seed("random_state", self.random_state)
        check_choice("topic_covariance", self.topic_covariance, ("full", "identity"))
        check_truth("fit_mean", self.fit_mean)
        check_truth("warm_start", self.warm_start)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        check_callback(self.callback)
        memory_bytes(self.memory)

    @property
    def effort(self) -> Effort:
        """How much work goes into the proportions of a document."""
        return Effort(self.doc_points, self.doc_tol, self.n_jobs)

    def problem(
        self,
        counts: csr_matrix,
        bound: BoundKernel,
        *,
        resumed: Kernel | None = None,
        hold_kernel: bool = False,
    ) -> FitProblem:
        """What a fit of these documents is to learn; `resumed` and `hold_kernel` as in `FitProblem.of`."""
        return FitProblem.of(
            counts,
            bound,
            inference=self.inference,
            coregionalization=self.coregionalization,
            topic_covariance=self.topic_covariance,
            learn_kernel=self.learn_kernel,
            fit_mean=self.fit_mean,
            smoothing=self.smoothing,
            n_jobs=self.n_jobs,
            resumed=resumed,
            hold_kernel=hold_kernel,
        )
