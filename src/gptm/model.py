"""The estimators: GPTM, and CTM as the case without a kernel. No formulas here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import clone

from gptm._basics.parallel import computing
from gptm._basics.types import Array
from gptm._basics.validation import check_choice, check_truth
from gptm._basics.warnings import warn
from gptm.base import TopicModel
from gptm.corpus.metadata import with_columns
from gptm.effects.explaining import Explaining
from gptm.inference.em import loop as em
from gptm.inference.em.document_step import Posterior, Prior, expected_theta
from gptm.inference.outcome import Outcome
from gptm.inference.sampling.kept import Draws
from gptm.inference.sampling.run import run_sampler
from gptm.kernels import BoundKernel, Documents, Kernel, resolve_kernel
from gptm.kernels.bound import check_memory
from gptm.kernels.identity import NothingBound
from gptm.kernels.weighted_terms import Terms
from gptm.prediction import new_documents as predict
from gptm.starts.start import Start

SHORT_CHAIN = 400  # sweeps that error bars of a fit without draws get


class CTM(TopicModel):
    """Correlated topic model (Blei & Lafferty, 2006): `GPTM` without a kernel.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    inference : {"sampling", "variational"}, default="sampling"
        Draw from the posterior by Gibbs sampling, topics included, so that error bars are honest; or approximate it
        by variational EM, which takes less time, has its topics as point estimates and no error bars of its own.
    topic_covariance : {"full", "identity"}, default="full"
        Learn the covariance of topics, or keep it at the identity.
    fit_mean : bool, default=True
        Learn the overall mean of the topics' logits, or keep it at zero.
    init : {"gibbs", "spectral", "random"} or array of shape (n_components, n_words), default="gibbs"
        Where the fit starts: a few short seeded Gibbs runs for LDA (one where there are many tokens), anchor
        words, random handfuls of documents, or given topics.
    smoothing : float, default=0.01
        For EM: added to every expected count of a word in a topic. The sampler learns the topics' prior.
    seed_words : dict, optional
        Words that belong to topics, such as `{0: ["tax", "budget"], "war": ["army", "navy"]}`. A topic is a number from
        0 to n_components - 1, or a name, which takes the next free number and is shown in `topics()` and plots. Words
        are those of a corpus or a DataFrame, or numbers of columns. They steer; the documents have the last word.
    seed_weight : float, default=2.0
        How strongly: a seed word is taken as seen in its topic this many times as often as it occurs. A frequent one
        counts for this as if it were 2 % of the words of an average topic.
    n_chains : int, default=1
        Chains of the sampler, each from a start of its own, run side by side; their topics are aligned and their
        draws put together. Two or more tell, by R-hat, whether they found the same topics.
    max_iter : int or None, default=None
        Maximum number of sweeps, or of iterations of EM. None takes 200 to 2,000 sweeps, more where they are
        cheap, and 200 iterations. The sampler ends sooner where the log-density, the topics' shares and the effects
        have 100 effective draws (in the median of each kind), after a quarter or half of that.
    tol : float, default=3e-4
        For EM: converged when the bound rises by less than this share of its value.
    doc_points : int, default=64
        Points by which `transform` takes the mean over a document's posterior, each weighted by its density. More are
        more accurate and take longer; 0 takes a quick variational approximation instead.
    doc_tol : float, default=1e-7
        For that approximation: a document is done after a step that promised less than this, in nats per token. 0.01
        takes a quarter of the steps and predicts words as well, 0.5 an eighth and nearly as well. Of no effect in
        "map" inference.
    random_state : int, RandomState or None
        The same seed gives the same model, bit by bit, for any `n_jobs`.
    n_jobs : int or None
        Threads; None means 1, -1 all cores.
    verbose : int or bool, default=False
    callback : callable, optional
        `callback(number, state)` after each sweep or iteration; fitting stops when it returns True.
    warm_start : bool, default=False
        Go on from the last fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_words)
        Topics as distributions over words; rows sum to one.
    topic_covariance_ : ndarray of shape (n_components, n_components)
    mean_ : ndarray of shape (n_components,)
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Expected proportions of the training documents.
    doc_logits_, doc_variance_ : ndarray of shape (n_documents, n_components)
        Mean and variance of the training documents' logits, which sum to zero in sampling.
    bound_ : ndarray of shape (n_iter_,)
        After each sweep the log-density of words and logits given all else; or after each iteration of EM the lower
        bound of the log-likelihood, with the log-prior of the topics that `smoothing` means and in "map" inference the
        density of F, which never falls.
    n_iter_ : int
        Sweeps or iterations.
    converged_ : bool
        Whether the sampler has drawn enough (see `max_iter`), or EM's bound has come to rest.
    stop_reason_ : {"converged", "max_iter", "callback", "interrupt"}
    diagnostics_ : DataFrame or None
        Of the sampler: effective sample size `ess` and split R-hat `rhat` of the log-density, of the topics' shares
        and of effects, the median one and the worst of each. None for EM.
    topic_names_ : list of str or None
        Names of the topics that `seed_words` named, None for others; None where it named none.

    Examples
    --------
    >>> import numpy as np
    >>> from gptm import CTM
    >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
    >>> theta = CTM(n_components=2, random_state=0).fit_transform(X)
    >>> theta.shape
    (20, 2)
    >>> bool((theta[0].argmax() == theta[1].argmax()) and (theta[0].argmax() != theta[2].argmax()))
    True

    Topics can be steered by some of their words:

    >>> from gptm import Corpus
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
    >>> CTM(2, seed_words={1: ["beans"]}, random_state=0).fit(corpus).topic_words(2)
    [['tea', 'green'], ['coffee', 'beans']]
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        inference: Literal["sampling", "variational"] = "sampling",
        topic_covariance: Literal["full", "identity"] = "full",
        fit_mean: bool = True,
        init: Any = "gibbs",
        smoothing: float = 0.01,
        seed_words: Mapping[int | str, Sequence[str | int]] | None = None,
        seed_weight: float = 2.0,
        n_chains: int = 1,
        max_iter: int | None = None,
        tol: float = 3e-4,
        doc_points: int = 64,
        doc_tol: float = 1e-7,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
        callback: Callable[[int, Any], Any] | None = None,
        warm_start: bool = False,
    ):
        self.n_components = n_components
        self.inference = inference
        self.topic_covariance = topic_covariance
        self.fit_mean = fit_mean
        self.init = init
        self.smoothing = smoothing
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.n_chains = n_chains
        self.max_iter = max_iter
        self.tol = tol
        self.doc_points = doc_points
        self.doc_tol = doc_tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.warm_start = warm_start


class GPTM(Explaining, TopicModel):
    """Gaussian process topic model (Agovic & Banerjee, 2010): side information as a kernel.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    kernel : Kernel, array, "auto" or None, default="auto"
        Similarity between documents, from `gptm.kernels`; an array is a precomputed one. "auto" takes
        one term per usable column of the metadata and says so; without metadata, and with None, there
        is no kernel and the model is `CTM`.
    inference : {"sampling", "variational", "map"}, default="sampling"
        As in `CTM`; "map" takes the document means F at their maximum, as the paper does.
    coregionalization : {"free", "shared", "identity"}, default="free"
        How the kernel acts across topics: a learnt matrix B, B = b Sigma, or B = b I. Where the strength is
        not learnt, b is 1 and a free B is the identity.
    topic_covariance : {"full", "identity"}, default="full"
        Learn the covariance of topics, or keep it at the identity.
    learn_kernel : bool, default=True
        Learn how strong the kernel is, the weights of the terms of a sum, and length-scales and the like that were
        not given. A term that carries a number, as in `2.0 * kernel` beside others, keeps its weight relative to
        other such terms. In "map" inference the kernel is always taken as given.
    fit_mean, init, smoothing, seed_words, seed_weight, n_chains, max_iter, tol, doc_points, doc_tol, random_state,
    n_jobs, verbose, callback, warm_start
        As in `CTM`.

    Attributes
    ----------
    components_, topic_covariance_, mean_, doc_topics_, doc_logits_, doc_variance_, bound_, n_iter_, converged_,
    stop_reason_, diagnostics_, topic_names_
        As in `CTM`.
    kernel_ : Kernel or None
        The kernel with its parameters as learnt, at a mean variance of one.
    coregionalization_ : ndarray of shape (n_components, n_components)
        B: how the kernel acts across topics.
    doc_means_ : ndarray of shape (n_documents, n_components)
        F: what the kernel says of the training documents' logits, relative to `mean_`.
    dual_coef_ : ndarray of shape (n_documents, n_components)
        alpha, with F = kernel @ alpha.

    Notes
    -----
    The paper's own model is `GPTM(kernel=..., inference="map", coregionalization="identity", fit_mean=False)`; its
    variants: SI adds `topic_covariance="identity"`, KI takes `kernel=kernels.Identity()`, SI-KI does both.

    Examples
    --------
    >>> import numpy as np
    >>> from gptm import GPTM, kernels as k
    >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
    >>> years = {"year": [1990, 1991, 2010, 2011] * 5}
    >>> model = GPTM(n_components=2, kernel=k.RBF("year", length_scale=5.0), random_state=0)
    >>> theta = model.fit(X, metadata=years).transform(np.zeros((2, 4)), metadata={"year": [1990, 2011]})
    >>> theta.shape  # documents without a word: what their year says
    (2, 2)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        kernel: Any = "auto",
        inference: Literal["sampling", "variational", "map"] = "sampling",
        coregionalization: Literal["free", "shared", "identity"] = "free",
        topic_covariance: Literal["full", "identity"] = "full",
        learn_kernel: bool = True,
        fit_mean: bool = True,
        init: Any = "gibbs",
        smoothing: float = 0.01,
        seed_words: Mapping[int | str, Sequence[str | int]] | None = None,
        seed_weight: float = 2.0,
        n_chains: int = 1,
        max_iter: int | None = None,
        tol: float = 3e-4,
        doc_points: int = 64,
        doc_tol: float = 1e-7,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
        callback: Callable[[int, Any], Any] | None = None,
        warm_start: bool = False,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.inference = inference
        self.coregionalization = coregionalization
        self.topic_covariance = topic_covariance
        self.learn_kernel = learn_kernel
        self.fit_mean = fit_mean
        self.init = init
        self.smoothing = smoothing
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.n_chains = n_chains
        self.max_iter = max_iter
        self.tol = tol
        self.doc_points = doc_points
        self.doc_tol = doc_tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("coregionalization", self.coregionalization, ("free", "shared", "identity"))
        check_truth("learn_kernel", self.learn_kernel)

    @property
    def _reads_labels(self) -> bool:
        return isinstance(self.kernel, Kernel) and self.kernel.reads_labels

    @property
    def _learns_kernel(self) -> bool:
        return self.learn_kernel and self.inference != "map"

    def _bind_kernel(self, documents: Documents) -> BoundKernel:
        kernel = resolve_kernel(self.kernel, documents.frame)
        if kernel is None:
            return NothingBound(documents.n)
        return clone(kernel).bind(documents)  # kernel_ must not change with kernel

    def _problem(self, counts: csr_matrix, bound_kernel: BoundKernel, **choices: Any) -> em.Problem:
        if isinstance(bound_kernel, NothingBound) or not bound_kernel.mean_diagonal() > 0:
            return super()._problem(
                counts, bound_kernel
            )  # no kernel, or one that is zero throughout
        terms = self._terms(bound_kernel) if self._learns_kernel else None
        operator = bound_kernel.operator if terms is None else terms.bound.operator
        return super()._problem(
            counts, bound_kernel, operator=operator, terms=terms, **self._kernel_choices()
        )

    def _kernel_choices(self) -> dict[str, Any]:
        return {
            "inference": "map" if self.inference == "map" else "variational",
            "coregionalization": self.coregionalization,
            "learn_strength": self._learns_kernel,
        }

    def _terms(self, bound_kernel: BoundKernel) -> Terms:
        """What is learnt of the kernel, from where the last fit left it if it is to go on."""
        terms = Terms.of(bound_kernel)
        learnt = getattr(self, "kernel_", None) if self.warm_start else None
        resumed = None if learnt is None else terms.resumed(learnt)
        return terms if resumed is None else resumed

    def _resumed_kernel(self, problem: em.Problem) -> dict[str, Any]:
        """The learnt strength in the form that the present choice of B takes."""
        if not problem.learn_strength or self.kernel_ is None:
            return {}
        if problem.coregionalization == "free":
            return {"B": self.coregionalization_}
        identity = problem.coregionalization == "identity"
        reference = np.eye(self.n_components) if identity else self.topic_covariance_
        return {"strength": float(np.trace(self.coregionalization_) / np.trace(reference))}

    def _store(self, bound_kernel: BoundKernel, problem: em.Problem, result: Outcome) -> None:
        super()._store(bound_kernel, problem, result)
        self.kernel_: Kernel | None = (
            None if isinstance(bound_kernel, NothingBound) else self._bound_kernel.kernel
        )
        self._explained = None
        self.coregionalization_ = result.B
        self.doc_means_ = result.F
        self.dual_coef_ = result.alpha

    def _draw(self) -> Draws:
        """Draws of the posterior from a short chain that starts where this fit has ended, its kernel held."""
        with computing(self.n_jobs):
            problem = super()._problem(self._counts, self._bound_kernel, **self._kernel_choices())
            start = Start.at(problem, self._resume(problem))
            found = run_sampler(
                problem, [start], [0], max_iter=SHORT_CHAIN, after_iteration=lambda *_: False
            )
        assert found.draws is not None
        return found.draws

    def _kernel_parameters(self) -> tuple[Array, Array, Array]:
        return self.coregionalization_, self.dual_coef_, self.doc_means_

    def _read_new(
        self, X: Any, metadata: Any, counts: csr_matrix, missing_columns: str = "error"
    ) -> Any:
        n_documents = counts.shape[0]
        frame = self._frame(X, metadata, n_documents)
        if frame is not None and self.kernel_ is not None:
            columns = self.kernel_.column_names()
            frame = with_columns(frame, columns, fill=missing_columns == "prior")
        elif self._bound_kernel.reads_metadata and missing_columns == "error":
            warn(
                f"the kernel {self.kernel_!r} reads metadata, but none arrived with these {n_documents} "
                "documents; they fall back to the prior. Pass metadata=, or inside scikit-learn's "
                "cross-validation switch on sklearn.set_config(enable_metadata_routing=True).",
            )
        return self._bound_kernel.read(Documents(n_documents, frame, counts, None, self.n_jobs))

    def _prior_of(self, counts: csr_matrix, new: Any) -> Prior:
        return (
            self._inferred_jointly(counts, new)[1]
            if self._joint
            else super()._prior_of(counts, new)
        )

    def _inferred_jointly(self, counts: csr_matrix, new: Any) -> tuple[Posterior, Prior]:
        cross = self._bound_kernel.cross(new, joint=True)
        parameters = self._parameters()
        posterior, F = predict.infer_new_jointly(counts, parameters, cross, self.n_jobs)
        return posterior, predict.prior_around(parameters, F)

    def _theta(self, counts: csr_matrix, new: Any) -> Array:
        if not self._joint:
            return super()._theta(counts, new)
        with computing(self.n_jobs):
            return expected_theta(self._inferred_jointly(counts, new)[0], self.n_jobs)

    def _prior_kernel(self, frame: pd.DataFrame | None, n_documents: int) -> Array | None:
        if self.kernel_ is None:
            return None
        if frame is None and self._bound_kernel.reads_metadata:
            raise ValueError(
                f"sampling needs the metadata that the kernel {self.kernel_!r} reads; pass metadata= with "
                f"{n_documents} rows."
            )
        check_memory(n_documents, self.kernel_)
        new = self._bound_kernel.read(Documents(n_documents, frame))
        return self._bound_kernel.own_gram(new, joint=True)
