"""What the estimators share: validate, loop, store, answer. No formulas here."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gptm import metrics
from gptm._basics.parallel import computing, interruptible
from gptm._basics.progress import Progress
from gptm._basics.types import Array
from gptm._basics.validation import (
    check_callback,
    check_choice,
    check_init,
    check_n_jobs,
    check_number,
    check_truth,
    checked_quantiles,
    read_counts,
)
from gptm._basics.warnings import warn
from gptm.corpus import Corpus
from gptm.corpus.metadata import as_frame
from gptm.inference import outcome
from gptm.inference.em import loop as em
from gptm.inference.em.document_step import Posterior, Prior, expected_theta, word_by_word
from gptm.inference.outcome import Outcome
from gptm.inference.sampling.convergence import diagnostics_table
from gptm.inference.sampling.kept import Draws
from gptm.inference.sampling.run import run_sampler
from gptm.kernels import BoundKernel, Documents
from gptm.kernels.identity import NothingBound
from gptm.prediction import new_documents as predict
from gptm.prediction.simulate import Latent, checked_lengths, sample_documents
from gptm.prediction.theta import Weighted, theta_by_points, weighted_points
from gptm.reading import Reading
from gptm.starts.seed_words import read_seeds
from gptm.starts.start import Start, make_start
from gptm.tables import N_SCORED

SCORE_SEED = 0  # of the split into observed and held-out words
EM_ITERATIONS = 200  # of EM where `max_iter` is None
DOC_POINTS = 64  # of error bars where proportions themselves take none
FEWEST_DRAWS, FARTHEST_RHAT = 10.0, 1.2  # of a typical effect, beyond which a fit warns


class TopicModel(Reading, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What GPTM and CTM share; CTM is the case without a kernel."""

    # Metadata travels with the documents wherever scikit-learn's metadata routing is switched on.
    __metadata_request__fit: ClassVar = {"metadata": True}
    __metadata_request__transform: ClassVar = {"metadata": True}
    __metadata_request__score: ClassVar = {"metadata": True}

    # Parameters that the subclasses' constructors store.
    n_components: int
    topic_covariance: str
    fit_mean: bool
    init: Any
    smoothing: float
    inference: Literal["sampling", "variational", "map"]
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
    _draws: Draws | None

    def fit(self, X: Any, y: Any = None, *, metadata: Any = None) -> Self:
        """Learn topics from counts, or from a corpus.

        Parameters
        ----------
        X : Corpus, or sparse or dense array of shape (n_documents, n_words)
            Counts of words. Empty documents are welcome.
        y : array of shape (n_documents,), optional
            Labels for a kernel that asks for them, `MustLink()`; otherwise ignored.
        metadata : DataFrame or dict of columns, optional
            One row per document, for kernels that read columns; by default a corpus brings its own.

        Returns
        -------
        self
        """
        self._fit(X, y, metadata)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, metadata: Any = None) -> Any:
        """Fit, then transform the same documents; takes the same metadata for both.

        Labels in `y` and pairs of documents are for the fit alone. `Precomputed` and `Graph(adjacency=...)` without
        `id` still know the documents by their places here; `transform` cannot, and leaves them to the prior.

        Parameters
        ----------
        X, y, metadata : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        counts = self._fit(X, y, metadata)
        return self._theta(counts, self._bound_kernel.training)

    def transform(
        self,
        X: Any,
        *,
        metadata: Any = None,
        missing_columns: Literal["error", "prior"] = "error",
        return_std: bool = False,
        quantiles: Sequence[float] | None = None,
    ) -> Any:
        """Expected topic proportions of documents.

        Each document on its own: without words by what the kernel predicts from the metadata, without metadata by
        what the words say under the prior. In "map" inference the documents of one call are solved jointly.

        Parameters
        ----------
        X : Corpus, or sparse or dense array of shape (n_documents, n_words)
        metadata : DataFrame or dict of columns, optional
        missing_columns : {"error", "prior"}, default="error"
            What to do where the metadata lack a column that the kernel reads: say so, or take it as missing for
            all documents, so that this term of the kernel falls back to the prior.
        return_std : bool, default=False
            Return (proportions, standard deviations): how far each may be off, given the topics.
        quantiles : sequence of float, optional
            Return also quantiles of each proportion, such as `(0.05, 0.95)` for 90 % intervals, as an array of shape
            (n_quantiles, n_documents, n_components), behind everything else.

        Returns
        -------
        ndarray of shape (n_documents, n_components), or a tuple of arrays
            Rows of the first sum to one.
        """
        check_is_fitted(self)
        check_choice("missing_columns", missing_columns, ("error", "prior"))
        wanted = [] if quantiles is None else checked_quantiles(quantiles)
        counts = read_counts(self, X, reset=False)
        new = self._read_new(X, metadata, counts, missing_columns)
        if not return_std and quantiles is None:
            return self._theta(counts, new)
        found = self._weighted(counts, new, wanted)
        parts = [
            found.theta,
            found.std if return_std else None,
            found.quantiles if wanted else None,
        ]
        return tuple(part for part in parts if part is not None)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        metadata: Any = None,
        missing_columns: Literal["error", "prior"] = "error",
    ) -> float:
        """Mean log-probability per held-out word, half of each document's words observed.

        Parameters
        ----------
        X : Corpus, or sparse or dense array of shape (n_documents, n_words)
        y : ignored
        sample_weight : array of shape (n_documents,), optional
            Weight of each document's words in the mean.
        metadata : DataFrame or dict of columns, optional
        missing_columns : {"error", "prior"}, default="error"
            As in `transform`.

        Returns
        -------
        float
            Higher is better. The split is seeded: the same documents give the same score.
        """
        return self._completion(X, metadata, 0.5, sample_weight, missing_columns)

    def perplexity(
        self,
        X: Any,
        *,
        metadata: Any = None,
        kind: Literal["completion", "conditional", "joint"] = "completion",
        observed: float = 0.5,
        missing_columns: Literal["error", "prior"] = "error",
    ) -> float:
        """How surprising the words of documents are; lower is better.

        Parameters
        ----------
        X : Corpus, or sparse or dense array of shape (n_documents, n_words)
        metadata : DataFrame or dict of columns, optional
        kind : {"completion", "conditional", "joint"}, default="completion"
            "completion" predicts each document's other words from some of them, which is the honest score.
            "conditional" and "joint" are the paper's eqs 24 and 23, with the bound in place of the likelihood: the
            document means are adapted to the very words that are scored, and "joint" adds their density.
        observed : float, default=0.5
            For "completion": share of each document's words that the model sees.
        missing_columns : {"error", "prior"}, default="error"
            As in `transform`.

        Returns
        -------
        float
        """
        check_choice("kind", kind, ("completion", "conditional", "joint"))
        check_choice("missing_columns", missing_columns, ("error", "prior"))
        if kind == "completion":
            score = self._completion(X, metadata, observed, missing_columns=missing_columns)
            return float(np.exp(-score))
        check_is_fitted(self)
        counts = read_counts(self, X, reset=False)
        if counts.sum() == 0:
            raise ValueError("there is no word to score: every document is empty.")
        new = self._read_new(X, metadata, counts, missing_columns)
        with computing(self.n_jobs):
            cross = self._bound_kernel.cross(new, joint=True)
            words, means = predict.held_out_bounds(counts, self._parameters(), cross, self.n_jobs)
        total = words + means if kind == "joint" else words
        return float(np.exp(-total / counts.sum()))

    def sample(
        self,
        n_documents: int,
        *,
        metadata: Any = None,
        n_words: int | Sequence[int] = 100,
        random_state: Any = None,
        return_latent: bool = False,
    ) -> Corpus | tuple[Corpus, Latent]:
        """Draw a corpus from the fitted model: means F from the kernel, then topics, then words.

        Parameters
        ----------
        n_documents : int
        metadata : DataFrame or dict of columns, optional
            Of the documents to draw; a kernel on columns needs it.
        n_words : int or sequence of int, default=100
            Words per document.
        random_state : int, RandomState or None
        return_latent : bool, default=False
            Return (corpus, latent) with latent.F, latent.eta and latent.theta.

        Returns
        -------
        Corpus
        """
        check_is_fitted(self)
        check_number("n_documents", n_documents, least=1, integer=True)
        lengths = checked_lengths(n_words, n_documents)
        frame = as_frame(metadata, n_documents)
        with computing(self.n_jobs):
            counts, latent = sample_documents(
                self.components_,
                self.mean_,
                self.topic_covariance_,
                lengths=lengths,
                B=self._kernel_parameters()[0],
                Kxx=self._prior_kernel(frame, n_documents),
                rng=check_random_state(random_state),
            )
        corpus = Corpus(counts, getattr(self, "feature_names_in_", None), metadata=frame)
        return (corpus, latent) if return_latent else corpus

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, replaced as a whole; `gptm.load` reads it.

        The file holds the parameters, the fitted arrays, snapshots of the draws and, with a kernel, what it needs of
        the training metadata; after EM with a kernel also the counts of words. It holds no texts and no code, and no
        `callback`.
        """
        from gptm.storage.model_file import save_model

        check_is_fitted(self)
        save_model(self, path)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "components_"):
            self.components_ = word_by_word(self.components_)

    # How a fit goes.

    def _fit(self, X: Any, y: Any, metadata: Any) -> csr_matrix:
        """Fit, or leave the model as it was if anything is wrong."""
        before = self.__dict__.copy()
        try:
            return self._fit_checked(X, y, metadata)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit_checked(self, X: Any, y: Any, metadata: Any) -> csr_matrix:
        self._check_parameters()
        table = isinstance(y, pd.DataFrame | Mapping)
        if metadata is None and table and not self._reads_labels:
            warn(
                "a table was passed as y, which is ignored; side information goes into metadata=, as in "
                "fit(X, metadata=table)."
            )
        previous = self if self.warm_start and hasattr(self, "components_") else None
        counts = read_counts(self, X, reset=previous is None)
        init = check_init(self.init, self.n_components, counts.shape[1])
        seeds = read_seeds(self, counts)
        frame = self._frame(X, metadata, counts.shape[0])
        progress = Progress(self.verbose)
        with computing(self.n_jobs):
            bound_kernel = self._bind_kernel(
                Documents(counts.shape[0], frame, counts, y, self.n_jobs)
            )
            problem = interruptible(lambda: self._problem(counts, bound_kernel))
            problem.seeds = seeds.counts
            if problem.coregionalization != "none":
                progress.say(f"kernel ready  {progress.elapsed()}")
            starts = self._starts(problem, init, previous is not None)
            progress.say(f"start found  {progress.elapsed()}")
            result = self._infer_parameters(problem, starts, progress)
            self._store(bound_kernel, problem, result)
        self.topic_names_ = seeds.names
        self.bound_ = np.array(result.trace)
        self.n_iter_ = len(result.trace)
        self._watched = result.watched
        self.diagnostics_ = None if result.watched is None else diagnostics_table(result.watched)
        self.stop_reason_ = result.reason
        self.converged_ = result.reason == "converged"
        self._conclude(result.reason, progress)
        return counts

    def _starts(self, problem: em.Problem, init: Any, resume: bool) -> list[Start]:
        """One start, or one for each chain; after an interrupt those that there are."""
        if resume:
            return [Start.at(problem, self._resume(problem))]
        rng, found = check_random_state(self.random_state), []
        for _ in range(self.n_chains if self.inference == "sampling" else 1):
            found.append(make_start(init, problem, self.n_components, rng))
            if not found[-1].complete:
                break
        return found

    def _infer_parameters(
        self, problem: em.Problem, starts: list[Start], progress: Progress
    ) -> Outcome:
        complete = starts[-1].complete
        if self.inference == "sampling":
            rng = check_random_state(self.random_state)
            result = run_sampler(
                problem,
                starts,
                rng.randint(2**31, size=len(starts)).tolist(),
                max_iter=self.max_iter if complete else 0,
                after_iteration=lambda number, now: self._after_iteration(
                    progress, number, now.log_density, now
                ),
            )
        else:
            states = [one.state for one in starts]
            starts.clear()  # EM alone holds on to the start's documents, which are as large as its own
            result = outcome.run_em(
                problem,
                states.pop(),
                max_iter=(self.max_iter or EM_ITERATIONS) if complete else 0,
                tol=self.tol,
                after_iteration=lambda number, now: self._after_iteration(
                    progress, number, now.bound, now
                ),
            )
        return result if complete else result._replace(reason="interrupt")

    def _check_parameters(self) -> None:
        check_number("n_components", self.n_components, least=1, integer=True)
        check_choice("inference", self.inference, ("sampling", "variational", "map"))
        check_number("n_chains", self.n_chains, least=1, integer=True)
        if self.max_iter is not None:
            check_number("max_iter", self.max_iter, least=1, integer=True)
        check_number("tol", self.tol, least=0.0)
        check_number("doc_points", self.doc_points, least=0, integer=True)
        check_number("doc_tol", self.doc_tol, least=0.0)
        check_number("smoothing", self.smoothing, least=0.0)
        check_choice("topic_covariance", self.topic_covariance, ("full", "identity"))
        check_truth("fit_mean", self.fit_mean)
        check_truth("warm_start", self.warm_start)
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool | np.bool_):
            check_number("verbose", self.verbose, least=0, integer=True)
        check_callback(self.callback)

    @property
    def _reads_labels(self) -> bool:
        """Whether `y` is read at all."""
        return False

    def _frame(self, X: Any, metadata: Any, n_documents: int) -> pd.DataFrame | None:
        """Side information by rows; the ids of a corpus name them."""
        if not isinstance(X, Corpus):
            return as_frame(metadata, n_documents)
        frame = X.metadata if metadata is None else as_frame(metadata, n_documents)
        return frame if frame is None or X.ids is None else frame.set_axis(pd.Index(X.ids))

    def _bind_kernel(self, documents: Documents) -> BoundKernel:
        return NothingBound(documents.n)

    def _problem(self, counts: csr_matrix, bound_kernel: BoundKernel, **choices: Any) -> em.Problem:
        without_kernel = {
            "inference": "variational",
            "coregionalization": "none",
            "learn_strength": False,
        }
        problem = em.Problem(
            counts,
            choices.pop("operator", None) or bound_kernel.operator,
            learn_covariance=self.topic_covariance == "full",
            fit_mean=self.fit_mean,
            smoothing=self.smoothing,
            n_jobs=self.n_jobs,
            **(choices or without_kernel),
        )
        problem.bound = bound_kernel
        return problem

    def _resume(self, problem: em.Problem) -> em.State:
        """The state that the last fit left; documents start anew unless they are as many as then."""
        if len(self.components_) != self.n_components:
            raise ValueError(
                f"warm_start goes on from {len(self.components_)} topics, but n_components is now "
                f"{self.n_components}. Set it back, or fit with warm_start=False."
            )
        same = len(self.doc_logits_) == problem.operator.n
        state = em.initial_state(
            problem,
            self.components_.T,
            Posterior(self.doc_logits_, self.doc_variance_) if same else None,
            Sigma=self.topic_covariance_ if problem.learn_covariance else None,
            **self._resumed_kernel(problem),
        )
        return em.update_documents(problem, state)  # the first iteration moves the topics then

    def _resumed_kernel(self, problem: em.Problem) -> dict[str, Any]:
        return {}

    def _after_iteration(self, progress: Progress, number: int, value: float, state: Any) -> bool:
        progress.iteration(number, value, getattr(state, "limit", None))
        return self.callback is not None and bool(self.callback(number, state))

    def _store(self, bound_kernel: BoundKernel, problem: em.Problem, result: Outcome) -> None:
        self.components_ = word_by_word(result.beta_T.T)
        self.topic_covariance_ = result.Sigma
        self.mean_ = result.mu
        self.doc_logits_, self.doc_variance_ = result.lam, result.nu2
        self._doc_topics = None
        self._draws = result.draws
        self._bound_kernel = bound_kernel if result.terms is None else result.terms.bound
        self._joint = problem.inference == "map" and problem.coregionalization != "none"
        self._counts = problem.counts  # of which proportions are computed when they are asked for
        self.doc_lengths_ = np.asarray(problem.counts.sum(1), dtype=np.float64).ravel()
        self._coherence = metrics.npmi_coherence(self.components_, problem.counts, N_SCORED)

    def _conclude(self, reason: str, progress: Progress) -> None:
        progress.say(f"{reason} after {self.n_iter_} iterations  {progress.elapsed()}")
        if reason == "interrupt":
            warn(
                f"fit was interrupted after {self.n_iter_} iterations; the model so far is kept. Fit again with "
                "warm_start=True to go on from it.",
                ConvergenceWarning,
            )
        elif reason == "max_iter" and self.inference != "sampling":
            warn(
                f"fit did not converge in max_iter={self.n_iter_} iterations: the bound still rises by more than "
                f"tol={self.tol:g} of its value. Increase max_iter, or tol if this is close enough.",
                ConvergenceWarning,
            )
        elif reason == "max_iter" and self.diagnostics_ is not None:
            self._tell_of_chains(self.diagnostics_)

    def _tell_of_chains(self, table: pd.DataFrame) -> None:
        """Warn where the draws are too few, or still on their way, for the error bars to be trusted."""
        told = table.loc[table["quantity"] == "effect"]
        if not len(told):
            return
        ess, rhat = float(told["ess"].min()), float(told["rhat"].max())
        if not (ess >= FEWEST_DRAWS and rhat <= FARTHEST_RHAT):
            known = (
                f"{ess:.0f} effective draws and R-hat {rhat:.2f}" if ess == ess else "too few draws"
            )
            warn(
                f"the chain is short for error bars: after {self.n_iter_} sweeps a typical effect has {known} "
                "(diagnostics_ has all). Topics and predictions are usable; "
                f"bands of effects may be too narrow. Increase max_iter to {4 * self.n_iter_} for them.",
                ConvergenceWarning,
            )

    # What a fitted model answers with.

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _parameters(self) -> predict.Parameters:
        return predict.Parameters(
            self.components_.T, self.mean_, self.topic_covariance_, *self._kernel_parameters()
        )

    def _kernel_parameters(self) -> tuple[Array, Array, Array]:
        """B, alpha and F of a model without a kernel: zero."""
        K = len(self.mean_)
        return np.zeros((K, K)), np.zeros((0, K)), np.zeros((0, K))

    def _read_new(
        self, X: Any, metadata: Any, counts: csr_matrix, missing_columns: str = "error"
    ) -> Any:
        """What the kernel needs of new documents; of their words, those that may be seen."""
        frame = self._frame(X, metadata, counts.shape[0])
        return self._bound_kernel.read(Documents(counts.shape[0], frame, counts, None, self.n_jobs))

    def _prior_of(self, counts: csr_matrix, new: Any) -> Prior:
        """The prior of new documents' logits: what the kernel predicts."""
        check_number("doc_tol", self.doc_tol, least=0.0)  # they may have been set after the fit
        check_number("doc_points", self.doc_points, least=0, integer=True)
        return predict.predicted_prior(
            self._parameters(), self._bound_kernel.cross(new), counts.shape[0]
        )

    def _theta(self, counts: csr_matrix, new: Any) -> Array:
        """Expected proportions of documents, by points around the mode, or quickly by a variational posterior."""
        with computing(self.n_jobs):
            prior, beta_T = self._prior_of(counts, new), self.components_.T
            if not self.doc_points:
                return predict.theta_of_new(counts, prior, beta_T, self.doc_tol, self.n_jobs)
            return theta_by_points(
                counts, prior, beta_T, n_points=self.doc_points, n_jobs=self.n_jobs
            )

    def _weighted(self, counts: csr_matrix, new: Any, quantiles: Sequence[float]) -> Weighted:
        """The whole posterior of proportions, by points."""
        with computing(self.n_jobs):
            return weighted_points(
                counts,
                self._prior_of(counts, new),
                self.components_.T,
                n_points=self.doc_points or DOC_POINTS,
                quantiles=quantiles,
                n_jobs=self.n_jobs,
            )

    def _training_theta(self) -> Array:
        """Expected proportions of the training documents."""
        with computing(self.n_jobs):
            if self.inference != "sampling" or not self.doc_points:
                return expected_theta(Posterior(self.doc_logits_, self.doc_variance_), self.n_jobs)
            parameters = self._parameters()
            F = parameters.F if len(parameters.F) else np.zeros_like(self.doc_logits_)
            return theta_by_points(
                self._counts,
                predict.prior_around(parameters, F),
                parameters.beta_T,
                n_points=self.doc_points,
                n_jobs=self.n_jobs,
            )

    def _prior_kernel(self, frame: pd.DataFrame | None, n_documents: int) -> Array | None:
        return None

    def _completion(
        self,
        X: Any,
        metadata: Any,
        observed: float,
        sample_weight: Any = None,
        missing_columns: str = "error",
    ) -> float:
        check_is_fitted(self)
        counts = read_counts(self, X, reset=False)
        seen, held_out = metrics.split_tokens(counts, observed, SCORE_SEED)
        theta = self._theta(seen, self._read_new(X, metadata, seen, missing_columns))
        return metrics.mean_log_likelihood(theta, self.components_, held_out, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
