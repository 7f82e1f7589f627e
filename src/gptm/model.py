"""The estimators: GPTM, and CTM as the case without a kernel. They check, run, hold one `Fitted`; no formulas here."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, overload

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gptm import interop, metrics, tables
from gptm._basics.errors import Argument, InputError, Message, PythonOnly
from gptm._basics.memory import memory_bytes
from gptm._basics.parallel import computing, interruptible
from gptm._basics.progress import Progress
from gptm._basics.prose import listed
from gptm._basics.types import Array
from gptm._basics.validation import (
    check_callback,
    check_choice,
    check_init,
    check_n_jobs,
    check_number,
    check_seed,
    check_truth,
    checked_quantiles,
)
from gptm._basics.warnings import warn
from gptm.corpus import Corpus
from gptm.corpus.block_corpus import BlockCorpus
from gptm.corpus.counts import (
    columns_of,
    frame_of,
    read_counts,
    read_training_counts,
    training_texts_counted,
)
from gptm.corpus.kinds import kinds_of
from gptm.corpus.metadata import as_frame, with_columns
from gptm.effects.effect_tables import (
    check_explainable,
    effects_table,
    term_labels,
    variance_table,
)
from gptm.files.collected import collected
from gptm.fitted import Fitted
from gptm.inference.blocks.block_fit import (
    BlockFit,
    check_block_metadata,
    check_block_settings,
    check_has_all,
    check_in_blocks,
    in_blocks,
    mean_over_blocks,
)
from gptm.inference.checkpoint import Checkpoint
from gptm.inference.em.run_em import run_em
from gptm.inference.present_words import PresentWords
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.convergence import short_of_draws
from gptm.inference.sampling.run_sampler import run_sampler
from gptm.inference.start_point import Start
from gptm.inference.topic_memory import check_topics_fit
from gptm.kernels import BoundKernel, Documents, Kernel, resolve_kernel
from gptm.kernels.identity import NothingBound
from gptm.prediction.new_documents import held_out_bounds
from gptm.prediction.proportions import (
    Effort,
    posterior_of_proportions,
    proportions,
    training_proportions,
)
from gptm.prediction.simulate import Latent, checked_lengths, draw_corpus
from gptm.prediction.theta import Weighted
from gptm.starts.leading import Lead, lead_of
from gptm.starts.resume import resume
from gptm.starts.seed_words import read_seeds
from gptm.starts.start import make_starts
from gptm.storage import Stored, load_attached, read_model, write_model
from gptm.storage.checkpoint_file import CheckpointFile, Work, seconds
from gptm.streaming.align_start import aligned_start
from gptm.streaming.fitted_so_far import stream_of
from gptm.streaming.going_on import check_goes_on, go_on
from gptm.streaming.one_update import Making
from gptm.streaming.read_batch import kernel_columns, read_batch
from gptm.streaming.updated_model import sample_of, with_names
from gptm.summary import MANY_DOCUMENTS, summary_html, summary_text
from gptm.surgery import topic_edits
from gptm.surgery.hierarchy import hierarchy_table
from gptm.surgery.regroup import regroup, with_counts
from gptm.surgery.split import divide, divided
from gptm.surgery.topic_labels import Namer, names_by, own_names

if TYPE_CHECKING:
    from distributed import Client

    from gptm.effects.estimated_effects import EstimatedEffects

SCORE_SEED = 0  # of the split into observed and held-out words
EM_ITERATIONS = 200  # of EM where `max_iter` is None
REFIT_SWEEPS = 200  # of a stream that finds its topics again
SHORT_CHAIN = 400  # sweeps that error bars of a fit without draws get

T = TypeVar("T")


class FromFit(Generic[T]):
    """An attribute of a fitted model, read from its `Fitted`; before a fit there is none."""

    def __init__(self, read: Callable[[Fitted], T]):
        self.read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...
    @overload
    def __get__(self, model: "GPTM", owner: type) -> T: ...
    def __get__(self, model: "GPTM | None", owner: type) -> T | Self:
        if model is None:
            return self
        fitted = model.__dict__.get("fitted_")
        if fitted is None:
            raise AttributeError(f"{owner.__name__} has no {self.name} before it is fitted")
        return self.read(fitted)

    def __set__(self, model: "GPTM", value: object) -> None:
        raise AttributeError(f"{self.name} is read from fitted_ and cannot be set")


def _by_sampling(model: "GPTM") -> bool:
    """An error unless the model is of those that go on learning."""
    if model.inference == "sampling":
        return True
    raise AttributeError(
        f"only models that are fitted by sampling go on learning; this one has inference={model.inference!r}. Pass "
        "inference='sampling'."
    )


def _vocabulary(fitted: Fitted) -> np.ndarray:
    if fitted.vocabulary is None:
        raise AttributeError("the words of this model have no names")
    return fitted.vocabulary


class GPTM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Gaussian process topic model (Agovic & Banerjee, 2010): side information as a kernel.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    kernel : Kernel, array, "auto", "auto+" or None, default="auto"
        How similar documents are: a kernel from `gptm.kernels`, or a precomputed array. "auto" has a term for each of
        a few columns of the metadata that stand out, and logs its choice; "auto+" has one for every usable column.
        Without metadata, or with None, there is no kernel and the model is a `CTM`.
    inference : {"sampling", "variational", "map"}, default="sampling"
        As in `CTM`. "map" sets the document means F to their most probable values, as the paper does.
    coregionalization : {"free", "shared", "identity"}, default="free"
        How the kernel acts across topics: a learnt matrix B, B = b Sigma, or B = b I. If the strength is not
        learnt, b is 1 and a free B is the identity.
    topic_covariance : {"full", "identity"}, default="full"
        Learn the covariance of topics, or keep it at the identity.
    learn_kernel : bool, default=True
        Learn the strength of the kernel, the weights of the terms of a sum, and parameters that were not given,
        such as length-scales. Terms with a factor, such as `2.0 * kernel`, keep their weights relative to each
        other. "map" inference never learns the kernel.
    fit_mean, init, smoothing, seed_words, seed_weight, n_chains, max_iter, tol, doc_points, doc_tol, random_state,
    n_jobs, verbose, callback, warm_start, memory
        As in `CTM`.

    Attributes
    ----------
    components_, topic_covariance_, mean_, doc_topics_, doc_logits_, doc_variance_, bound_, n_iter_, converged_,
    stop_reason_, diagnostics_, topic_names_, history_
        As in `CTM`.
    kernel_ : Kernel or None
        The kernel with its learnt parameters, scaled to a mean variance of one.
    coregionalization_ : ndarray of shape (n_components, n_components)
        B: how the kernel acts across topics.
    doc_means_ : ndarray of shape (n_documents, n_components)
        F: the kernel's part of the training documents' logits, relative to `mean_`.
    dual_coef_ : ndarray of shape (n_documents, n_components)
        alpha, with F = kernel @ alpha.

    Notes
    -----
    The paper's own model is `GPTM(kernel=..., inference="map", coregionalization="identity", fit_mean=False)`. Of its
    variants, SI adds `topic_covariance="identity"`, KI uses `kernel=kernels.Identity()`, and SI-KI does both.

    Examples
    --------
    >>> import numpy as np
    >>> from gptm import GPTM, kernels as k
    >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
    >>> years = {"year": [1990, 1991, 2010, 2011] * 5}
    >>> model = GPTM(n_components=2, kernel=k.RBF("year", length_scale=5.0), random_state=0)
    >>> theta = model.fit(X, metadata=years).transform(np.zeros((2, 4)), metadata={"year": [1990, 2011]})
    >>> theta.shape  # documents without words: predicted from the year alone
    (2, 2)
    """

    # Metadata travels with the documents wherever scikit-learn's metadata routing is switched on.
    __metadata_request__fit: ClassVar = {"metadata": True}
    __metadata_request__transform: ClassVar = {"metadata": True}
    __metadata_request__score: ClassVar = {"metadata": True}

    fitted_: Fitted
    _corpus: Corpus | None  # what it was fitted to, for the texts; stays in this session
    sample_: Corpus | None = None

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
        memory: str | int | None = None,
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
        self.memory = memory

    # What a fit has learnt.

    components_ = FromFit(lambda fitted: fitted.components)
    topic_covariance_ = FromFit(lambda fitted: fitted.Sigma)
    coregionalization_ = FromFit(lambda fitted: fitted.B)
    mean_ = FromFit(lambda fitted: fitted.mu)
    kernel_ = FromFit(lambda fitted: fitted.kernel)
    terms_ = FromFit(lambda fitted: [] if fitted.kernel is None else term_labels(fitted.kernel))
    doc_logits_ = FromFit(lambda fitted: fitted.lam)
    doc_variance_ = FromFit(lambda fitted: fitted.nu2)
    doc_means_ = FromFit(lambda fitted: fitted.F)
    dual_coef_ = FromFit(lambda fitted: fitted.alpha)
    doc_lengths_ = FromFit(lambda fitted: fitted.lengths)
    bound_ = FromFit(lambda fitted: fitted.trace)
    n_iter_ = FromFit(lambda fitted: len(fitted.trace))
    stop_reason_ = FromFit(lambda fitted: fitted.reason)
    converged_ = FromFit(lambda fitted: fitted.reason == "converged")
    diagnostics_ = FromFit(lambda fitted: fitted.diagnostics)
    topic_names_ = FromFit(lambda fitted: fitted.topic_names)
    history_ = FromFit(lambda fitted: list(fitted.history))
    n_features_in_ = FromFit(lambda fitted: fitted.components.shape[1])
    feature_names_in_ = FromFit(_vocabulary)

    @property
    def doc_topics_(self) -> Array:
        """Expected proportions of the training documents, computed on first use."""
        return self._with_proportions().proportions

    # Fitting.

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        metadata: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: str | float = "60s",
        client: "Client | None" = None,
    ) -> Self:
        """Learn topics from counts, or from a corpus.

        Parameters
        ----------
        X : Corpus, BlockCorpus, or sparse or dense array of shape (n_documents, n_words)
            Counts of words. Documents may be empty. A corpus on disk is fitted block by block: then attributes of
            single documents, such as `doc_topics_`, are those of a sample; `transform` takes all documents.
        y : array of shape (n_documents,), optional
            Labels, for kernels that read them (`MustLink()`); otherwise ignored.
        metadata : DataFrame or dict of columns, optional
            One row per document, for kernels that read columns. Default: the metadata of the corpus.
        checkpoint : path, optional
            A file that stores the progress of the fit. After a crash, the same call continues from there and gives
            the same bits as a fit without a crash. It refuses another corpus, other settings or another version of
            gptm. The file is removed when the fit is done.
        every : str or float, default="60s"
            How often to write it: a duration such as "30s" or "5min", or a number of seconds.
        client : dask.distributed.Client, optional
            A cluster that sweeps over the blocks of a corpus on disk; see docs/scale.md. The result has the same bits
            as without it, for any number of workers. `X` may then also be a dask dataframe or bag of texts.

        Returns
        -------
        self
        """
        with collected(X, checkpoint, client) as documents:
            self._fit(documents, y, metadata, checkpoint, every, client)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, metadata: Any = None) -> Any:
        """Fit the model and return the topic proportions of the same documents.

        Labels in `y` and pairs of documents are used for the fit only. `Precomputed` and `Graph(adjacency=...)`
        without `id` recognise the documents by their positions here. `transform` cannot: it falls back to the prior.

        Parameters
        ----------
        X, y, metadata : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        counts = self._fit(X, y, metadata)
        if isinstance(X, BlockCorpus):
            return self.transform(X)
        with computing(self.n_jobs):
            return proportions(self.fitted_, counts, self.fitted_.bound.training, self._effort)

    @available_if(_by_sampling)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        metadata: Any = None,
        decay: float = 1.0,
        n_new_components: int = 0,
        training: Corpus | None = None,
    ) -> Self:
        """Go on learning: update the model with more documents, or start it with the first ones.

        Words that the model has not seen join its vocabulary, new levels and links join its kernel. The model keeps
        some documents in memory, about a million tokens, and sums over the others. After an update, attributes of
        single documents, such as `doc_topics_`, are of those in memory, which are in `sample_`.

        Parameters
        ----------
        X : Corpus, texts, or sparse or dense array of shape (n_documents, n_words)
            A batch of documents; their order does not matter. Texts are counted by the word rules of the model.
        y : ignored
        metadata : DataFrame or dict of columns, optional
            One row per document, if the kernel reads columns. Default: the metadata of the corpus.
        decay : float, default=1.0
            How much all documents before this batch still count: at 0.9, each update forgets a tenth of them.
        n_new_components : int, default=0
            Number of topics to add, for words of this batch that the old topics do not explain. The old topics keep
            their numbers and names; `n_components` grows.
        training : Corpus, optional
            The documents that the model was fitted to. Needed once for a loaded model with a kernel.

        Returns
        -------
        self

        Examples
        --------
        >>> import warnings
        >>> from gptm import CTM, Corpus
        >>> first = Corpus.from_texts(["green tea, black tea", "coffee beans, coffee"] * 20)
        >>> model = CTM(n_components=2, random_state=0).partial_fit(first)
        >>> model = model.partial_fit(["espresso coffee, espresso beans", "white tea, tea"] * 10)
        >>> "espresso" in model.feature_names_in_, model.fitted_.n_documents
        (True, 60)
        """
        self._check_parameters()
        check_number("decay", decay, least=0.0, most=1.0)
        check_number("n_new_components", n_new_components, least=0, integer=True)
        if not hasattr(self, "fitted_"):
            self._start_stream(X, y, metadata)
            return self
        check_goes_on(self.fitted_)
        fitted = self.fitted_ if training is None else self._with_training_columns(training)
        self._check_labels(y, metadata)
        self._update(fitted, X, metadata, decay, n_new_components)
        return self

    # New documents.

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

        Each document is predicted on its own: from its words and its metadata. Without words the metadata decide;
        without metadata the words and the prior do. In "map" inference the documents of one call are solved jointly.

        Parameters
        ----------
        X : Corpus, or sparse or dense array of shape (n_documents, n_words)
        metadata : DataFrame or dict of columns, optional
        missing_columns : {"error", "prior"}, default="error"
            What to do if the metadata lack a column that the kernel reads: raise an error, or treat all its values
            as missing, so that this term of the kernel falls back to the prior.
        return_std : bool, default=False
            Also return the standard deviation of each proportion, given the topics.
        quantiles : sequence of float, optional
            Also return quantiles of each proportion, such as `(0.05, 0.95)` for 90 % intervals, as the last array, of
            shape (n_quantiles, n_documents, n_components).

        Returns
        -------
        ndarray of shape (n_documents, n_components), or a tuple of arrays
            Proportions, and what else was requested. The proportions of a document sum to one.
        """
        check_is_fitted(self)
        wanted = [] if quantiles is None else checked_quantiles(quantiles)
        if isinstance(X, BlockCorpus):
            check_block_metadata(metadata)
            more: Any = {"return_std": return_std, "quantiles": quantiles}
            return in_blocks(
                X, lambda block: self.transform(block, missing_columns=missing_columns, **more)
            )
        counts = read_counts(self, X)
        new = self._read_new(X, metadata, counts, missing_columns)
        with computing(self.n_jobs):
            if not return_std and quantiles is None:
                return proportions(self.fitted_, counts, new, self._effort)
            posterior = posterior_of_proportions(self.fitted_, counts, new, self._effort, wanted)
        arrays = [posterior.theta]
        if return_std:
            arrays.append(posterior.std)
        if wanted:
            arrays.append(posterior.quantiles)
        return tuple(arrays)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        metadata: Any = None,
        missing_columns: Literal["error", "prior"] = "error",
    ) -> float:
        """Mean log-probability per held-out word, with half of each document's words observed.

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
            "completion" predicts the held-out words of each document from the others; this is the honest score.
            "conditional" and "joint" are the paper's eqs 24 and 23, with the bound in place of the likelihood. They
            fit the document means to the words that are scored; "joint" also adds the density of these means.
        observed : float, default=0.5
            For "completion": share of each document's words that the model sees.
        missing_columns : {"error", "prior"}, default="error"
            As in `transform`.

        Returns
        -------
        float
        """
        check_choice("kind", kind, ("completion", "conditional", "joint"))
        check_is_fitted(self)
        if kind == "completion":
            score = self._completion(X, metadata, observed, missing_columns=missing_columns)
            return float(np.exp(-score))
        counts = read_counts(self, X)
        check_has_all(self.fitted_, kind)
        if counts.sum() == 0:
            raise ValueError("there are no words to score: every document is empty.")
        new = self._read_new(X, metadata, counts, missing_columns)
        with computing(self.n_jobs):
            cross = self.fitted_.bound.cross(new, joint=True)
            words, means = held_out_bounds(counts, self.fitted_, cross, self.n_jobs)
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
            Metadata of the documents to draw; needed if the kernel reads columns.
        n_words : int or sequence of int, default=100
            Words per document.
        random_state : int, RandomState or None
        return_latent : bool, default=False
            Return (corpus, latent) with latent.F, latent.eta and latent.theta.

        Returns
        -------
        Corpus, or (Corpus, Latent)
        """
        check_is_fitted(self)
        check_number("n_documents", n_documents, least=1, integer=True)
        with computing(self.n_jobs):
            corpus, latent = draw_corpus(
                self.fitted_,
                checked_lengths(n_words, n_documents),
                as_frame(metadata, n_documents),
                check_random_state(random_state),
            )
        return (corpus, latent) if return_latent else corpus

    # What side information does.

    def variance_explained(self, *, level: float = 0.9) -> pd.DataFrame:
        """The share of the variance of the topics' logits over documents that each term of the kernel explains.

        This describes the fit; it is not a test. Even an irrelevant column has a small share. To find out whether a
        column matters, see whether the bands of `effects` contain zero, or use `gptm.compare`.

        Parameters
        ----------
        level : float, default=0.9
            Credible level of the interval.

        Returns
        -------
        DataFrame
            Columns term, topic ("all", or a topic's number), topic_name if topics have names, share, low, high. The
            last term is "unexplained": the documents' own variation. A share is the posterior mean of
            Cov(term, kernel) / Var(logits), low and high are the ends of its band. The shares of one topic sum to one.
            Correlated terms divide what they explain between
            them; a term that works against the others may have a negative share.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import GPTM, kernels as k
        >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
        >>> years = {"year": [1990, 1991, 2010, 2011] * 5}
        >>> model = GPTM(2, kernel=k.RBF("year"), random_state=0).fit(X, metadata=years)
        >>> table = model.variance_explained()
        >>> table.loc[table["topic"] == "all", "term"].tolist()
        ['year', 'unexplained']
        """
        fitted = self._with_draws()
        with computing(self.n_jobs):
            return variance_table(fitted, level)

    def effects(
        self,
        term: str | int | None = None,
        topic: int | str | Sequence[int | str] | None = None,
        *,
        at: Any = None,
        versus: Any = None,
        level: float = 0.9,
        n_points: int = 50,
    ) -> pd.DataFrame:
        """The effect of a term of the kernel on the topics: along a column, by level of a category, or by document.

        Parameters
        ----------
        term : str or int, optional
            One of `terms_`, its number, or a column that it reads. Not needed if there is only one term.
        topic : int, str or sequence, optional
            Topics to show, by number or by name; all by default.
        at : value, sequence, dict or DataFrame, optional
            Settings of the term's columns, seen in training or not. Default: `n_points` evenly spaced values of a
            number or date, all levels of a category, otherwise the training documents.
        versus : value, sequence, dict or DataFrame, optional
            A setting to compare with, or one for each setting in `at`. All values are then differences from it.
            Columns that it leaves out are as in `at`: `versus={"party": "Whig"}` compares parties at each date.
        level : float, default=0.9
            Credible level of the bands, for each value on its own.
        n_points : int, default=50
            Number of values along a number or date, without `at`.

        Returns
        -------
        DataFrame
            One row per topic and setting, with the columns

            - term, topic, and topic_name if topics have names;
            - the columns of the setting (a name that is already in use gets "_at" appended), or `document`, the
              position of a training document;
            - contrast, contrast_low, contrast_high: the term's part of the topic's logit, relative to the mean of all
              topics and to the average training document;
            - share, share_low, share_high: the mean proportion of the topic among documents at this setting, all
              other columns distributed as in training. The shares of all topics at a setting sum to one.

        Notes
        -----
        Values are means over draws of the posterior. Bands are their quantiles, made wider where the draws are worth
        few independent ones. Topics, documents and covariances vary from draw to draw; the kernel's length-scales and
        weights stay at their estimates. For a model that was fitted
        without draws ("variational", "map"), the first call runs a short chain that starts at the fit.
        The shares of a merged topic are the sums of its parts' shares in each draw. Its contrast is the mean of their
        contrasts, weighted by their shares over all training documents.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import GPTM, kernels as k
        >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
        >>> years = {"year": [1990, 1991, 2010, 2011] * 5}
        >>> model = GPTM(2, kernel=k.RBF("year"), random_state=0).fit(X, metadata=years)
        >>> model.effects("year", at=[1990, 2010]).columns.tolist()[:6]
        ['term', 'topic', 'year', 'contrast', 'contrast_low', 'contrast_high']
        """
        fitted = self._with_draws()
        with computing(self.n_jobs):
            return effects_table(
                fitted, term, topic, at=at, versus=versus, level=level, n_points=n_points
            )

    def estimate_effects(
        self,
        formula: str,
        metadata: Any = None,
        *,
        new: Any = None,
        topic: int | str | Sequence[int | str] | None = None,
        cluster: str | None = None,
        errors: Literal["robust", "classical"] = "robust",
        level: float = 0.9,
    ) -> "EstimatedEffects":
        """Regress the topics' shares on columns that need not be in the kernel, after the fit.

        For each draw of the documents' proportions, least squares give coefficients and their sampling covariance.
        These are pooled over the draws, so the errors include what is uncertain about proportions and topics (the
        method of composition, as in `estimateEffect` of R's stm).

        Parameters
        ----------
        formula : str
            Such as "~ party * s(year)". `s(x)` is a smooth curve: cubic B-splines with 10 columns, `s(x, df=5)` with
            5. `*` adds an interaction, `C(x)` takes numbers as categories, and functions such as `log(x)` work.
            Columns of text are categories, whose first level in alphabetical order is the reference. Dates are days.
        metadata : DataFrame, dict of columns or Corpus
            One row per training document, in their order, or the training corpus with its metadata. With `new`, that
            of the new documents; by default the metadata of the corpus `new`.
        new : Corpus, or sparse or dense array of shape (n_documents, n_words), optional
            Use these documents instead of the training documents. Their proportions come from their words, with the
            topics fixed as they are. Where the kernel reads columns of the formula, these count as missing, so that
            they cannot decide the outcome. See `gptm.split_sample_effects`.
        topic : int, str or sequence, optional
            Topics by number or name; all by default.
        cluster : str, optional
            Column whose values name groups of documents that depend on each other, such as an author's. Errors then
            allow any dependence within a group (CR1).
        errors : {"robust", "classical"}, default="robust"
            "robust" lets the spread of documents depend on the columns (HC2), as that of shares does: it is small for
            shares near zero. "classical" takes it to be the same everywhere. Not used with `cluster`.
        level : float, default=0.9
            Level of the bands.

        Returns
        -------
        EstimatedEffects
            `table` has one row per topic and coefficient. `predict` gives shares with bands at settings of the
            columns, `marginal_effects` average marginal effects; `gptm.plots.plot_estimates` draws them.

        Notes
        -----
        Rows with missing values are left out, with a warning that counts them. If the fit keeps draws of a sample of
        documents only, as it does for large corpora, the regression uses these documents and says so. For a model that
        was fitted without draws ("variational", "map"), the first call runs a short chain that starts at the fit.

        The model does not know columns outside of its kernel, so it pulls the proportions of documents towards what is
        common to all of them, and effects become too small: on simulated corpora 0.86 times the true ones with 120
        words a document, 0.67 times with 40. With the column in the kernel it was 0.98 and 0.97 times.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import CTM
        >>> rng = np.random.default_rng(0)
        >>> party = np.repeat(["left", "right"], 30)
        >>> X = rng.poisson(np.where((party == "left")[:, None], [4, 4, 1, 1], [1, 1, 4, 4]))
        >>> model = CTM(2, random_state=0).fit(X)
        >>> effects = model.estimate_effects("~ party", metadata={"party": party})
        >>> effects.table["term"].tolist()
        ['Intercept', 'party[T.right]', 'Intercept', 'party[T.right]']
        >>> bool((effects.marginal_effects()["p_value"] < 0.05).all())
        True
        """
        from gptm.effects.estimation import estimate  # loads formulaic
        from gptm.effects.proportion_draws import NewDraws, TrainingDraws

        draws: TrainingDraws | NewDraws
        if new is None:
            fitted, frame = self._with_training(metadata)
            draws = TrainingDraws(fitted)
        else:
            check_is_fitted(self)
            fitted, counts = self.fitted_, read_counts(self, new)
            frame = frame_of(new, metadata, counts.shape[0])
            with computing(self.n_jobs):
                draws = NewDraws(self._posterior_without(formula, new, frame, counts))
        with computing(self.n_jobs):
            return estimate(
                fitted,
                draws,
                formula,
                frame,
                topic=topic,
                cluster=cluster,
                errors=errors,
                level=level,
            )

    # Changes to the topics. Each returns a new model; this one stays as it is.

    def name_topics(self, names: Mapping[int | str, str | None]) -> Self:
        """A new model in which topics have names, which all tables, plots, pages and files show.

        Parameters
        ----------
        names : dict
            From topics, by number or by the name that they have, to new names; None takes a name away.

        Returns
        -------
        GPTM or CTM
            This model stays as it is.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> model = CTM(2, seed_words={0: ["tea"]}, random_state=0).fit(corpus)
        >>> named = model.name_topics({0: "leaves", 1: "beans"})
        >>> named.topics()["name"].tolist(), named.history_
        (['leaves', 'beans'], ["Named topic 0 'leaves' and topic 1 'beans'."])
        """
        return self._edited(topic_edits.name_topics(self._with_proportions(), names))

    def label_topics(
        self,
        function: Namer | None = None,
        *,
        corpus: Corpus | None = None,
        n_words: int = 10,
        n_documents: int = 5,
    ) -> Self:
        """A new model with names from a function, such as a language model, or from the topics' own words.

        Parameters
        ----------
        function : callable, optional
            `function(words, texts)` gets a topic's most prominent words and the texts of its most typical documents,
            and returns a name; None leaves the topic as it is. A second topic with the same name gets a 2 behind it.
            By default a topic is named by up to three of its words: frequent ones that other topics rarely use,
            phrases before single words, no word in two names.
        corpus : Corpus, optional
            The training corpus. Without it, or if it has no texts, `texts` is empty.
        n_words, n_documents : int, default=10 and 5
            How many words and texts the function gets.

        Returns
        -------
        GPTM or CTM
            This model stays as it is.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> model = CTM(2, seed_words={0: ["tea"]}, random_state=0).fit(corpus)
        >>> model.label_topics().topic_names_
        ['tea, green', 'coffee, beans']
        >>> model.label_topics(lambda words, texts: words[0].upper(), corpus=corpus).topic_names_
        ['TEA', 'COFFEE']
        """
        check_number("n_words", n_words, least=1, integer=True)
        check_number("n_documents", n_documents, least=1, integer=True)
        fitted = self._with_proportions()
        names = (
            own_names(fitted)
            if function is None
            else names_by(fitted, function, corpus, n_words, n_documents)
        )
        return self._edited(topic_edits.name_topics(fitted, names))

    def merge_topics(
        self, topics: Sequence[int | str], name: str | None = None, *, corpus: Corpus | None = None
    ) -> Self:
        """A new model in which some topics are one.

        Proportions, shares and effects of the merged topic are the sums of its parts, draw by draw, also in
        `transform`. Its words are the mean of theirs, weighted by share.

        Parameters
        ----------
        topics : sequence of int or str
            Two topics or more, by number or name. The merged topic is at the place of the first of them; topics
            behind it move up.
        name : str, optional
            By default the names of the parts, if they have any, joined by " + ".
        corpus : Corpus, optional
            The training corpus, for the coherence of the merged topic. Only a model from a file needs it.

        Returns
        -------
        GPTM or CTM
            This model stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import CTM
        >>> X = np.random.default_rng(0).poisson(2.0, size=(30, 6))
        >>> model = CTM(3, random_state=0).fit(X)
        >>> merged = model.merge_topics([0, 2])
        >>> merged.n_components
        2
        >>> theta = model.transform(X)
        >>> bool(np.allclose(merged.transform(X), theta[:, [0, 1]] + [[1, 0]] * theta[:, [2]]))
        True
        """
        return self._edited(topic_edits.merge_topics(self._with_counts(corpus), topics, name))

    def drop_topics(self, topics: int | str | Sequence[int | str]) -> Self:
        """A new model that leaves topics out, such as one of boilerplate words.

        The proportions of the other topics are divided by their sum. The words of the dropped topics do not move to
        other topics: `transform` finds all topics first, and then leaves these out.

        Parameters
        ----------
        topics : int, str or sequence
            By number or name. Topics behind them move up.

        Returns
        -------
        GPTM or CTM
            This model stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import CTM
        >>> X = np.random.default_rng(0).poisson(2.0, size=(30, 6))
        >>> model = CTM(3, random_state=0).fit(X)
        >>> rest = model.transform(X)[:, [0, 2]]
        >>> bool(np.allclose(model.drop_topics(1).transform(X), rest / rest.sum(1, keepdims=True)))
        True
        """
        return self._edited(topic_edits.drop_topics(self._with_proportions(), topics))

    def reorder_topics(
        self,
        order: Sequence[int | str] | None = None,
        *,
        by: Literal["share"] | None = None,
    ) -> Self:
        """A new model with the same topics in another order.

        Parameters
        ----------
        order : sequence of int or str, optional
            All topics, by number or name; the first becomes topic 0.
        by : {"share"}, optional
            In place of `order`: the largest topic first.

        Returns
        -------
        GPTM or CTM
            This model stays as it is.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> model = CTM(2, seed_words={"tea": ["green"], "coffee": ["beans"]}, random_state=0).fit(corpus)
        >>> model.reorder_topics(["coffee", "tea"]).topic_names_
        ['coffee', 'tea']
        """
        return self._edited(topic_edits.reorder_topics(self._with_proportions(), order, by))

    def reduce_to(self, n: int, *, corpus: Corpus | None = None) -> Self:
        """A new model with fewer topics: those most alike are merged, along the tree of `topic_hierarchy`.

        Parameters
        ----------
        n : int
            Number of topics to keep.
        corpus : Corpus, optional
            As in `merge_topics`.

        Returns
        -------
        GPTM or CTM
            This model stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import CTM
        >>> X = np.random.default_rng(0).poisson(2.0, size=(30, 6))
        >>> CTM(4, random_state=0).fit(X).reduce_to(2).components_.shape
        (2, 6)
        """
        return self._edited(topic_edits.reduce_to(self._with_counts(corpus), n))

    def split_topic(self, topic: int | str, n: int = 2, *, corpus: Corpus | None = None) -> Self:
        """A new model in which a topic is cut into several, and which is fitted again from there.

        Short Gibbs runs for LDA on the words that belong to the topic find its subtopics. From these and all other
        topics a fit of the whole model begins, with the settings of this model and its kernel as learnt. So effects
        and bands are those of a fit with more topics. The other topics may change a little too.

        Parameters
        ----------
        topic : int or str
            By number or name.
        n : int, default=2
            Number of topics in its place. Topics behind it move down.
        corpus : Corpus, optional
            The training corpus. Only a model from a file needs it.

        Returns
        -------
        GPTM or CTM
            This model stays as it is.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee", "army, navy"] * 20)
        >>> model = CTM(2, seed_words={"drinks": ["tea", "coffee"], "war": ["army"]}, random_state=0)
        >>> split = model.fit(corpus).split_topic("drinks")
        >>> split.topic_names_
        ['drinks 1', 'drinks 2', 'war']
        """
        fitted = self._with_counts(corpus)
        number = tables.one_topic(fitted, topic)
        progress = Progress(self.verbose)
        with computing(self.n_jobs):
            division = divide(fitted, number, n, check_random_state(self.random_state))
            start = division.start
            assert start.counts is not None
            problem = self._problem(start.counts, start.bound, None, hold_kernel=True)
            starts = [resume(problem, start, start.K)]
            refitted = self._edited(start)._infer(
                problem, starts, progress, self.random_state, None
            )
            theta = training_proportions(refitted, self._effort)
            fitted = divided(fitted, division, replace(refitted, doc_topics=theta))
        model = self._edited(fitted)
        model._conclude(fitted, progress, None)
        return model

    def restore_topics(self) -> Self:
        """A new model with the topics of the fit: what was merged, dropped or reordered since then is undone.

        Topics that were not merged keep their names. After `split_topic` these are the topics of the new fit.

        Returns
        -------
        GPTM or CTM
            This model stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import CTM
        >>> X = np.random.default_rng(0).poisson(2.0, size=(30, 6))
        >>> model = CTM(4, random_state=0).fit(X)
        >>> bool((model.reduce_to(2).restore_topics().components_ == model.components_).all())
        True
        """
        return self._edited(topic_edits.restore_topics(self._with_proportions()))

    def topic_hierarchy(
        self, n_words: int = 5, *, feature_names: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Which topics are alike, and which groups of topics: the tree that `reduce_to` follows.

        Topics are compared by Hellinger's distance between their words: 0 for the same words, 1 for none in common.
        Groups are as far apart as their topics are on average. `plots.plot_hierarchy` draws the tree.

        Parameters
        ----------
        n_words : int, default=5
            Words of each group.
        feature_names : sequence of str, optional
            The words of the columns of X, for a model that was fitted to a bare array.

        Returns
        -------
        DataFrame
            One row per step, the most similar topics first. The index `topics_left` is the number of topics after
            the step. The columns are left and right, the topics in the two groups that are joined; distance; and of
            both together share and words.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> tree = CTM(2, random_state=0).fit(corpus).topic_hierarchy()
        >>> tree.columns.tolist()
        ['left', 'right', 'distance', 'share', 'words']
        """
        check_number("n_words", n_words, least=1, integer=True)
        return hierarchy_table(self._with_proportions(), n_words, feature_names)

    # Tables, and other packages' forms.

    def topics(
        self, n_words: int = 10, *, feature_names: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """The topics as a table: their words, their quality and their shares.

        Parameters
        ----------
        n_words : int, default=10
            Number of words in each column of words.
        feature_names : sequence of str, optional
            The words of the columns of X. Not needed if the model was fitted to a corpus or a DataFrame.

        Returns
        -------
        DataFrame
            One row per topic, with the columns

            - words: the most prominent ones: probable in the topic, and not in every document
              (`gptm.metrics.prominence`);
            - probable: the most probable ones;
            - frex: those that are frequent and exclusive (`gptm.metrics.frex`);
            - lift: those that are most probable relative to the whole corpus (`gptm.metrics.lift`);
            - score: those that distinguish the topic from the others (`gptm.metrics.word_scores`);
            - coherence: whether the ten most probable words occur in the same training documents
              (`gptm.metrics.npmi_coherence`);
            - exclusivity: how little the other topics use these ten words (`gptm.metrics.exclusivity`);
            - share: mean proportion over the training documents;
            - name: the first column, if topics have names.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> texts = ["hot tea, hot tea, green tea", "hot coffee, hot coffee, coffee beans"] * 20
        >>> corpus = Corpus.from_texts(texts, max_df=1.0)
        >>> table = CTM(n_components=2, random_state=0).fit(corpus).topics(n_words=2)
        >>> sorted(table["words"])
        ['coffee, beans', 'tea, green']
        >>> sorted(table["probable"])
        ['coffee, hot', 'tea, hot']
        """
        check_number("n_words", n_words, least=1, integer=True)
        return tables.topic_table(self._with_proportions(), n_words, feature_names)

    def summary(self) -> str:
        """The model in a few lines: its kernel, how the fit went, and its topics.

        `print(model)` shows the same, and so does a notebook.

        Returns
        -------
        str
            Lines of at most 100 characters.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> model = CTM(2, seed_words={"tea": ["tea"]}, random_state=0).fit(corpus)
        >>> print(model.summary())  # doctest: +ELLIPSIS
        CTM: 2 topics from 40 documents, 4 words, 120 tokens
        kernel  none
        fit     sampling, ...
        <BLANKLINE>
        topic  share  coherence  name  words
            0   50 % ...  tea   tea, green, ...
            1   50 % ...coffee, beans, ...
        """
        check_is_fitted(self)
        return summary_text(type(self).__name__, self._shown(), self.inference)

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "fitted_") else repr(self)

    def _repr_html_(self) -> str:
        if not hasattr(self, "fitted_"):
            return str(estimator_html_repr(self))
        return summary_html(type(self).__name__, self._shown(), self.inference)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What a notebook shows; only plain text with sklearn.set_config(display="text")."""
        html = {"text/html": self._repr_html_()} if get_config()["display"] == "diagram" else {}
        return {"text/plain": str(self)} | html

    def _shown(self) -> Fitted:
        """The fit with proportions, unless these take long to compute."""
        large = len(self.fitted_.lam) > MANY_DOCUMENTS
        return self.fitted_ if large else self._with_proportions()

    def __getstate__(self) -> dict[str, Any]:
        """Without the training texts, which a pickle should not carry along."""
        return {name: value for name, value in super().__getstate__().items() if name != "_corpus"}

    def representative_documents(
        self,
        topic: int | str | None = None,
        n: int = 5,
        *,
        corpus: Corpus | None = None,
        text_length: int | None = tables.TEXT_LENGTH,
    ) -> pd.DataFrame:
        """The training documents with the largest proportions of a topic, or of each topic.

        Parameters
        ----------
        topic : int or str, optional
            A number from 0 to n_components - 1, or a name; by default all topics.
        n : int, default=5
            Number of documents of a topic.
        corpus : Corpus, optional
            The training corpus, to add ids and texts. Not needed in the session that fitted the model to a corpus or
            to texts; a saved or pickled model does not have them. `gptm.load_corpus(path)` reads the corpus that a
            model's file holds.
        text_length : int or None, default=200
            Number of characters of a text; None for all.

        Returns
        -------
        DataFrame
            Largest proportion first. Columns: position in the training data; share, the proportion of the topic; with
            a corpus also id, and the beginning of its text; topic_name if the topic has one. For all topics also
            topic.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> model = CTM(n_components=2, random_state=0).fit(corpus)
        >>> tea = model.topics()["words"].str.startswith("tea").idxmax()
        >>> model.representative_documents(tea, 2)["text"].tolist()
        ['green tea, tea', 'green tea, tea']
        """
        fitted = self._with_proportions()
        known = getattr(self, "_corpus", None) if corpus is None else corpus
        number = None if topic is None else tables.one_topic(fitted, topic)
        return tables.document_table(fitted, number, n, known, text_length)

    def topic_correlations(self, of: Literal["residual", "prior"] = "residual") -> pd.DataFrame:
        """Which topics go together in documents: correlations of their logits.

        A shift common to all logits of a document does not change its proportions and is removed first. So two topics
        always have correlation -1, and K topics that vary alike have -1 / (K - 1) on average.

        Parameters
        ----------
        of : {"residual", "prior"}, default="residual"
            "residual" is the variation that the kernel does not explain, from `topic_covariance_`. "prior" is all
            variation: `topic_covariance_` + `coregionalization_`, the latter times the mean variance of the kernel,
            which is one if its strength is learnt. Without a kernel both are the same.

        Returns
        -------
        DataFrame
            Of shape (n_components, n_components), with ones on the diagonal.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import CTM
        >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
        >>> CTM(n_components=2, random_state=0).fit(X).topic_correlations().to_numpy().round(6)
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        check_is_fitted(self)
        with computing(self.n_jobs):
            return tables.correlations(self.fitted_, of)

    def topic_graph(
        self,
        threshold: float = 0.1,
        *,
        of: Literal["residual", "prior"] = "residual",
        n_words: int = 3,
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Topics as a graph, with an edge between correlated topics; needs networkx.

        Parameters
        ----------
        threshold : float, default=0.1
            Smallest correlation that joins two topics. A negative threshold also joins topics that avoid each other;
            -1 joins all.
        of : {"residual", "prior"}, default="residual"
            As in `topic_correlations`.
        n_words : int, default=3
            Number of words in a topic's label.
        feature_names : sequence of str, optional
            The words of the columns of X, for a model that was fitted to an array without names.

        Returns
        -------
        networkx.Graph
            Nodes are the numbers of the topics, with the attributes label (the name or the most prominent words) and
            share. Edges have the correlation as weight. `networkx.write_graphml` saves it for Gephi, Cytoscape or
            igraph.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> graph = CTM(n_components=2, random_state=0).fit(corpus).topic_graph(n_words=1)
        >>> sorted(label for _, label in graph.nodes(data="label"))
        ['coffee', 'tea']
        """
        with computing(self.n_jobs):
            return interop.topic_graph(
                self._with_proportions(),
                threshold,
                of=of,
                n_words=n_words,
                feature_names=feature_names,
            )

    def topic_words(
        self,
        n_words: int = 10,
        *,
        order: Literal["prominent", "probable"] = "prominent",
        feature_names: Sequence[str] | None = None,
    ) -> list[list[str]]:
        """The words of each topic as lists, in the form that gensim and OCTIS take.

        Parameters
        ----------
        n_words : int, default=10
        order : {"prominent", "probable"}, default="prominent"
            Which words, and in which order: those that `topics` shows (`gptm.metrics.prominence`), or the most
            probable ones.
        feature_names : sequence of str, optional
            The words of the columns of X, for a model that was fitted to an array without names.

        Returns
        -------
        list of lists of str
            One list per topic; gensim's `CoherenceModel(topics=...)` takes them.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> sorted(CTM(n_components=2, random_state=0).fit(corpus).topic_words(2))
        [['coffee', 'beans'], ['tea', 'green']]
        """
        check_is_fitted(self)
        return interop.topic_words(self.fitted_, n_words, order=order, feature_names=feature_names)

    def to_frame(
        self,
        of: Literal["documents", "words"] = "documents",
        *,
        feature_names: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Topics of the training documents, or words of the topics, as a long table.

        Parameters
        ----------
        of : {"documents", "words"}, default="documents"
        feature_names : sequence of str, optional
            The words of the columns of X, for a model that was fitted to an array without names.

        Returns
        -------
        DataFrame
            Columns document (the position in the training data), topic and share (the document's proportion); or
            topic, word and probability; topic_name if topics have names. Ready for `groupby`, `pivot`, seaborn or
            ggplot.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
        >>> CTM(n_components=2, random_state=0).fit(corpus).to_frame().shape
        (20, 3)
        """
        return interop.to_frame(self._with_proportions(), of, feature_names=feature_names)

    def to_octis(
        self, n_words: int = 10, *, feature_names: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """The model as the dictionary that the measures of OCTIS take.

        Parameters
        ----------
        n_words : int, default=10
            Number of words of each topic in the list of topics.
        feature_names : sequence of str, optional
            The words of the columns of X, for a model that was fitted to an array without names.

        Returns
        -------
        dict
            "topics": lists of words; "topic-word-matrix": ndarray of shape (n_components, n_words of the vocabulary);
            "topic-document-matrix": ndarray of shape (n_components, n_documents).

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
        >>> list(CTM(n_components=2, random_state=0).fit(corpus).to_octis())
        ['topics', 'topic-word-matrix', 'topic-document-matrix']
        """
        return interop.to_octis(self._with_proportions(), n_words, feature_names=feature_names)

    def to_arviz(self) -> Any:
        """The draws of the sampler, in the form that the diagnostics and plots of ArviZ take; needs arviz.

        Returns
        -------
        arviz.InferenceData
            Group `posterior`: `share` (chain, draw, topic), the mean proportions of the topics, and with a kernel
            `effect` (chain, draw, document, topic): what the kernel adds to the logits of some documents, relative to
            the mean of topics and documents. Group `sample_stats`: `lp`, the log-density.
        """
        check_is_fitted(self)
        return interop.to_arviz(self.fitted_)

    def to_pyldavis(
        self, X: Any, *, feature_names: Sequence[str] | None = None, **options: Any
    ) -> Any:
        """The model prepared for pyLDAvis, an interactive map of topics and their words; needs pyLDAvis.

        Parameters
        ----------
        X : Corpus, or sparse or dense array of shape (n_documents, n_words)
            The training documents.
        feature_names : sequence of str, optional
            The words of the columns of X, for a model that was fitted to an array without names.
        **options
            Options of `pyLDAvis.prepare`, such as `mds="mmds"` or `R=20`. By default topics keep their order
            (`sort_topics=False`) and one process does the work (`n_jobs=1`).

        Returns
        -------
        pyLDAvis.PreparedData
            For `pyLDAvis.display` and `pyLDAvis.save_html`. pyLDAvis counts from one: its topic 1 is our topic 0.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
        >>> prepared = CTM(n_components=2, random_state=0).fit(corpus).to_pyldavis(corpus)
        >>> prepared.topic_coordinates.shape
        (2, 5)
        """
        fitted, counts = self._with_proportions(), read_counts(self, X)
        return interop.to_pyldavis(fitted, counts, feature_names=feature_names, **options)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        corpus: Corpus | None = None,
        texts: Sequence[str] | None = None,
        words: Mapping[str, Any] | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the fitted model to one file, which `gptm.load` reads.

        The file holds the parameters, the fitted arrays, snapshots of the draws and, with a kernel, what it needs of
        the training metadata; after EM with a kernel also the counts of words. It holds no texts unless you pass them,
        no code, and no `callback`.

        Parameters
        ----------
        path : str or path
        corpus : Corpus, optional
            The training documents, to store with the model; `gptm.load_corpus` reads them.
        texts : sequence of str, optional
            One text per document of the corpus. Texts inside the corpus are stored only if you pass them here.
        words, reading : dict, optional
            How texts become words and how files were read, as values that JSON can store.
        """
        self._check_parameters()  # with others than `fit` takes, the file could not be loaded
        fitted = self._with_proportions()
        kind = type(self).__name__
        if _KINDS.get(kind) is not type(self):
            raise ValueError(
                f"a {kind} cannot be saved: load would not know the class. Save a GPTM or CTM."
            )
        stored = Stored(kind, self.get_params(deep=False), fitted)
        write_model(path, stored, corpus=corpus, texts=texts, words=words, reading=reading)

    # How a fit goes.

    def _fit(
        self,
        X: Any,
        y: Any,
        metadata: Any,
        path: str | os.PathLike[str] | None = None,
        every: str | float = "60s",
        client: "Client | None" = None,
    ) -> csr_matrix:
        """Fit, or leave the model as it was if anything is wrong; the training counts."""
        self._check_parameters()
        check_in_blocks(X, client)
        blocks = self._blocks(X, y, metadata, path, client) if isinstance(X, BlockCorpus) else None
        X = X if blocks is None else blocks.sample
        self._check_labels(y, metadata)
        pause = seconds(every)
        earlier: Fitted | None = getattr(self, "fitted_", None)
        previous = earlier if self.warm_start else None
        if previous is None:
            X = training_texts_counted(X)
            counts, vocabulary = read_training_counts(type(self).__name__, X)
        else:
            counts, vocabulary = read_counts(self, X, own=True), previous.vocabulary
        check_topics_fit(self.n_components, counts.shape[1])
        init = check_init(self.init, self.n_components, counts.shape[1])
        seeds = read_seeds(self.seed_words, self.seed_weight, self.n_components, counts, vocabulary)
        frame = frame_of(X, metadata, counts.shape[0], only=columns_of(self.kernel))
        progress = Progress(self.verbose)
        with computing(self.n_jobs):
            bound = self._bind_kernel(Documents(counts.shape[0], frame, counts, y, self.n_jobs))
            checkpoint = None
            if path is not None:
                work = Work.of(self.get_params(deep=False), counts, bound, previous)
                if blocks is not None:
                    work = work._replace(documents=blocks.corpus.digest)
                checkpoint = CheckpointFile(path, pause, work)
                progress.say(checkpoint.found())
            problem = interruptible(lambda: self._problem(counts, bound, previous))
            problem.seeds = seeds.counts
            sampled = self.inference == "sampling" and previous is None and blocks is None
            present = PresentWords(problem, all_of_them=not sampled)
            problem, init = present.narrowed(problem), present.topics(init)
            if problem.coregionalization != "none":
                progress.say(f"kernel ready  {progress.elapsed()}")
            seed = self.random_state if checkpoint is None else checkpoint.seed(self.random_state)
            lead = self._lead(problem, init, previous, seed)
            starts = self._starts(problem, init, previous, seed, checkpoint, lead)
            progress.say(f"start found  {progress.elapsed()}")
            fitted = self._infer(problem, starts, progress, seed, checkpoint, blocks)
            fitted = present.widened(fitted)
            if fitted.reason == "interrupt" and not len(fitted.trace) and earlier is not None:
                warn("fit was interrupted before its first iteration; the earlier fit is kept.")
                return counts
            fitted = replace(fitted, coherence=tables.topic_coherence(fitted))
        self._conclude(fitted, progress, None if path is None else os.fspath(path))
        read = columns_of(fitted.kernel) or ()
        self.fitted_ = replace(
            fitted,
            vocabulary=vocabulary,
            topic_names=seeds.names,
            words=getattr(X, "words", None) if previous is None else previous.words,
            kinds={name: kind for name, kind in kinds_of(frame).items() if name in read},
            columns=kernel_columns(fitted.kernel, frame, counts.shape[0]),
        )
        self._corpus = X if isinstance(X, Corpus) else None
        self.__dict__.pop("sample_", None)  # of an earlier fit
        if blocks is not None:
            self.sample_ = blocks.sample
        if checkpoint is not None and fitted.reason != "interrupt":
            checkpoint.remove()
        return counts

    def _start_stream(self, X: Any, y: Any, metadata: Any) -> None:
        """The first fit of a stream."""
        self._fit(X, y, metadata)
        stream = stream_of(self.fitted_, started=len(self.fitted_.lam))
        self.fitted_ = replace(self.fitted_, stream=stream)

    def _with_training_columns(self, corpus: Corpus) -> Fitted:
        """The fit with the words of its training documents, and with what the kernel reads of them."""
        fitted = with_counts(self.fitted_, read_counts(self, corpus))
        frame = frame_of(corpus, None, len(corpus), fitted.kinds, only=fitted.kinds)
        return replace(fitted, columns=kernel_columns(fitted.kernel, frame, len(corpus)))

    def _update(
        self, fitted: Fitted, X: Any, metadata: Any, decay: float, n_new_components: int
    ) -> None:
        stream = fitted.stream or stream_of(fitted)
        batch = read_batch(self, fitted, X, metadata, stream.documents)
        progress, K = Progress(self.verbose), fitted.K + n_new_components
        seed = int(check_random_state(self.random_state).randint(2**31))

        def bind(documents: Documents, hold: bool) -> BoundKernel:
            if fitted.kernel is None:
                return NothingBound(documents.n)
            own = self.kernel if isinstance(self.kernel, Kernel) and not hold else fitted.kernel
            return clone(own).bind(documents)

        def problem(counts: csr_matrix, bound: BoundKernel, hold: bool) -> FitProblem:
            made = self._problem(counts, bound, fitted, hold_kernel=hold)
            seeds = read_seeds(self.seed_words, self.seed_weight, K, counts, batch.vocabulary)
            made.seeds = seeds.counts
            return made

        def refit(problem: FitProblem, before: Fitted) -> Fitted:
            starts = self._starts(problem, "gibbs", None, seed, None)
            starts = [aligned_start(problem, start, before.beta_T) for start in starts]
            return run_sampler(
                problem,
                starts,
                [seed],
                n_components=K,
                max_iter=self.max_iter or REFIT_SWEEPS,
                after_iteration=after_sweep,
            )

        def after_sweep(number: int, state: Any) -> bool:
            progress.iteration(number, state.bound, None)
            return self.callback is not None and bool(self.callback(number, state))

        with computing(self.n_jobs):
            updated = go_on(
                fitted,
                stream,
                batch,
                Making(bind, problem, after_sweep, self.n_jobs),
                refit,
                decay=decay,
                n_new=n_new_components,
                sweeps=self.max_iter,
                seed=seed,
            )
            updated = replace(updated, coherence=tables.topic_coherence(updated))
        self.fitted_ = with_names(updated, fitted, batch.vocabulary)
        self.n_components = K
        self._corpus = None
        self.sample_ = sample_of(self.fitted_)

    def _blocks(
        self,
        corpus: BlockCorpus,
        y: Any,
        metadata: Any,
        path: str | os.PathLike[str] | None,
        client: "Client | None",
    ) -> BlockFit:
        """A fit to a corpus on disk, with a sample of its documents in memory."""
        check_block_settings(self.inference, self.n_chains, metadata, y)
        file = None if path is None else Path(path)
        return BlockFit(
            corpus, self.n_components, self.memory, columns_of(self.kernel), file, client
        )

    def _check_parameters(self) -> None:
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
        check_number("smoothing", self.smoothing, least=0.0)
        check_seed("random_state", self.random_state)
        check_choice("topic_covariance", self.topic_covariance, ("full", "identity"))
        check_truth("fit_mean", self.fit_mean)
        check_truth("warm_start", self.warm_start)
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool | np.bool_):
            check_number("verbose", self.verbose, least=0, integer=True)
        check_callback(self.callback)
        memory_bytes(self.memory)

    def _check_labels(self, y: Any, metadata: Any) -> None:
        """Warn of a table in the place of labels."""
        reads_labels = isinstance(self.kernel, Kernel) and self.kernel.reads_labels
        if metadata is None and isinstance(y, pd.DataFrame | Mapping) and not reads_labels:
            warn(
                "a table was passed as y, which is ignored; side information goes into metadata=, as in "
                "fit(X, metadata=table)."
            )

    def _bind_kernel(self, documents: Documents) -> BoundKernel:
        kernel = resolve_kernel(self.kernel, documents.frame)
        if kernel is None:
            return NothingBound(documents.n)
        return clone(kernel).bind(documents)  # kernel_ must not change with kernel

    def _problem(
        self,
        counts: csr_matrix,
        bound: BoundKernel,
        previous: Fitted | None,
        hold_kernel: bool = False,
    ) -> FitProblem:
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
            resumed=None if previous is None else previous.kernel,
            hold_kernel=hold_kernel,
        )

    def _starts(
        self,
        problem: FitProblem,
        init: Any,
        previous: Fitted | None,
        seed: Any,
        checkpoint: Checkpoint | None,
        lead: Lead | None = None,
    ) -> list[Start]:
        """One start, or one for each chain; after an interrupt those that there are."""
        if previous is not None:
            return [resume(problem, previous, self.n_components)]
        n_starts = self.n_chains if self.inference == "sampling" else 1
        return make_starts(
            init, problem, self.n_components, check_random_state(seed), n_starts, checkpoint, lead
        )

    def _lead(
        self, problem: FitProblem, init: Any, previous: Fitted | None, seed: Any
    ) -> Lead | None:
        """Where the kernel leads the topics, in whose prior it counts; seed words and other starts go before it."""
        by_default = isinstance(init, str) and init == "gibbs" and previous is None
        if self.inference != "sampling" or not by_default or problem.seeds is not None:
            return None
        if not problem.learn_strength:
            return None
        groups = problem.bound.groups(self.n_components, check_random_state(seed))
        lead = lead_of(problem.counts, groups, self.n_components)
        if lead is not None:
            problem.seeds = lead.pseudo_counts
        return lead

    def _infer(
        self,
        problem: FitProblem,
        starts: list[Start],
        progress: Progress,
        seed: Any,
        checkpoint: Checkpoint | None,
        blocks: BlockFit | None = None,
    ) -> Fitted:
        complete = all(start.complete for start in starts)

        def after_iteration(number: int, state: Any) -> bool:
            progress.iteration(number, state.bound, getattr(state, "limit", None))
            return self.callback is not None and bool(self.callback(number, state))

        if blocks is not None:
            fitted = blocks.infer(
                problem,
                starts,
                int(check_random_state(seed).randint(2**31)),
                max_iter=self.max_iter if complete else 0,
                after_iteration=after_iteration,
                say=progress.say,
                checkpoint=checkpoint,
            )
        elif self.inference == "sampling":
            rng = check_random_state(seed)
            fitted = run_sampler(
                problem,
                starts,
                rng.randint(2**31, size=max(len(starts), 1)).tolist(),
                n_components=self.n_components,
                max_iter=self.max_iter if complete else 0,
                after_iteration=after_iteration,
                checkpoint=checkpoint,
            )
        else:
            states = [start.state for start in starts]
            starts.clear()  # EM alone holds on to the start's documents, which are as large as its own
            fitted = run_em(
                problem,
                states.pop() if states else None,
                max_iter=(self.max_iter or EM_ITERATIONS) if complete else 0,
                tol=self.tol,
                after_iteration=after_iteration,
                checkpoint=checkpoint,
            )
        return fitted if complete else replace(fitted, reason="interrupt")

    def _conclude(self, fitted: Fitted, progress: Progress, checkpoint: str | None) -> None:
        """Say how the fit ended, and warn if it ended too early."""
        n_iter = len(fitted.trace)
        progress.say(f"{fitted.reason} after {n_iter} iterations  {progress.elapsed()}")
        if fitted.reason == "interrupt":
            again = "Fit again with warm_start=True to continue from it."
            if checkpoint is not None:
                again = "The same call with the same checkpoint continues from here."
            message = Message(
                f"fit was interrupted after {n_iter} iterations; the model so far is kept.",
                PythonOnly(f" {again}"),
            )
            warn(message, ConvergenceWarning)
        elif fitted.reason == "max_iter" and not fitted.by_sampling:
            message = Message(
                f"fit did not converge in {n_iter} iterations: the bound still rises by more than "
                f"{self.tol:g} of its value. Increase ",
                Argument("max_iter"),
                ", or ",
                Argument("tol"),
                " if this is close enough.",
            )
            warn(message, ConvergenceWarning)
        elif fitted.reason == "max_iter" and (shortage := short_of_draws(fitted.diagnostics)):
            message = Message(
                f"the chain is short for bands: after {n_iter} sweeps a typical effect has {shortage}",
                PythonOnly(" (see diagnostics_)"),
                ". You can use topics and predictions; bands of effects may be too narrow. For better bands pass ",
                Argument("max_iter", 4 * n_iter),
                ".",
            )
            warn(message, ConvergenceWarning)

    # Computed from a fitted model on first use.

    @property
    def _effort(self) -> Effort:
        return Effort(self.doc_points, self.doc_tol, self.n_jobs)

    @property
    def _n_features_out(self) -> int:
        return self.fitted_.K

    def _with_proportions(self) -> Fitted:
        """The fit, with proportions of the training documents."""
        check_is_fitted(self)
        if self.fitted_.doc_topics is None:
            with computing(self.n_jobs):
                theta = training_proportions(self.fitted_, self._effort)
            self.fitted_ = replace(self.fitted_, doc_topics=theta)
        return self.fitted_

    def _with_draws(self) -> Fitted:
        """The fit, with draws: those of EM come from a short chain that starts where it ended, its kernel held."""
        check_is_fitted(self)
        check_explainable(self.fitted_)
        if self.fitted_.draws is None:
            self.fitted_ = self._drawn(self.fitted_)
        return self.fitted_

    def _with_training(self, metadata: Any) -> tuple[Fitted, pd.DataFrame | None]:
        """The fit with draws, and the metadata of its training documents, which a corpus may bring along."""
        fitted = self._with_proportions()
        is_corpus = isinstance(metadata, Corpus)
        frame = frame_of(
            metadata if is_corpus else None, None if is_corpus else metadata, len(fitted.lengths)
        )
        if is_corpus:
            fitted = with_counts(fitted, read_counts(self, metadata))
        if fitted.draws is None:
            needs_words = (fitted.origin.fitted if fitted.origin else fitted).counts is None
            if needs_words:
                raise InputError(
                    "this model has no draws, and its file does not hold the words of the training documents to make "
                    "some. Pass the training corpus: ",
                    Argument("metadata", ...),
                    "corpus.",
                )
            fitted = self.fitted_ = self._drawn(fitted)
        return fitted, frame

    def _posterior_without(
        self, formula: Any, new: Any, frame: pd.DataFrame | None, counts: csr_matrix
    ) -> Weighted:
        """The posterior of new documents' proportions, as if the columns of a formula were missing."""
        from gptm.effects.formula_language import formula_columns

        hidden = dict.fromkeys(formula_columns(formula, frame))
        seen = None if frame is None else frame.assign(**hidden)
        read = self._read_new(new, seen, counts)
        return posterior_of_proportions(self.fitted_, counts, read, self._effort, [])

    def _drawn(self, fitted: Fitted) -> Fitted:
        if fitted.origin is not None:
            grouped = regroup(self._drawn(fitted.origin.fitted), fitted.origin.members)
            return replace(fitted, origin=grouped.origin, draws=grouped.draws)
        assert fitted.counts is not None
        with computing(self.n_jobs):
            problem = self._problem(fitted.counts, fitted.bound, None, hold_kernel=True)
            start = resume(problem, fitted, fitted.K)
            chain = run_sampler(
                problem,
                [start],
                [0],
                n_components=fitted.K,
                max_iter=SHORT_CHAIN,
                after_iteration=lambda *_: False,
            )
        return replace(fitted, draws=chain.draws)

    def _with_counts(self, corpus: Corpus | None) -> Fitted:
        """The fit with proportions, and with the words of the training documents if they are given."""
        fitted = self._with_proportions()
        return fitted if corpus is None else with_counts(fitted, read_counts(self, corpus))

    def _edited(self, fitted: Fitted) -> Self:
        """A model with the same settings and other topics; seed words and given topics were for the old ones."""
        settings = self.get_params(deep=False) | {"n_components": fitted.K}
        if fitted.origin is not None or fitted.K != self.fitted_.K:
            settings["seed_words"] = None
            settings["init"] = self.init if isinstance(self.init, str) else "gibbs"
        model = type(self)(**settings)
        model.fitted_ = fitted
        model._corpus = getattr(self, "_corpus", None)
        return model

    def _read_new(
        self,
        X: Any,
        metadata: Any,
        counts: csr_matrix,
        missing_columns: str = "error",
    ) -> Any:
        """What the kernel needs of new documents; of their words, those that may be seen."""
        check_choice("missing_columns", missing_columns, ("error", "prior"))
        bound, kernel, n_documents = self.fitted_.bound, self.fitted_.kernel, counts.shape[0]
        kinds = self.fitted_.kinds
        frame = frame_of(X, metadata, n_documents, kinds, only=kinds)
        if frame is not None and kernel is not None:
            frame = with_columns(frame, kernel.column_names(), fill=missing_columns == "prior")
        elif bound.reads_metadata and missing_columns == "error":
            columns = [] if kernel is None else [repr(name) for name in kernel.column_names()]
            over = f" over {listed(columns)}" if columns else ""
            these = "this document" if n_documents == 1 else f"these {n_documents} documents"
            message = Message(
                f"the kernel{over} reads metadata, but {these} came without any; the kernel "
                "falls back to the prior. Pass ",
                Argument("metadata", ...),
                ", a table with its columns.",
                PythonOnly(
                    " Inside scikit-learn's cross-validation, switch on "
                    "sklearn.set_config(enable_metadata_routing=True)."
                ),
            )
            warn(message)
        return bound.read(Documents(n_documents, frame, counts, None, self.n_jobs))

    def _completion(
        self,
        X: Any,
        metadata: Any,
        observed: float,
        sample_weight: Any = None,
        missing_columns: str = "error",
    ) -> float:
        check_is_fitted(self)
        if isinstance(X, BlockCorpus):
            check_block_metadata(metadata)
            return mean_over_blocks(
                X, lambda block: self._completion(block, None, observed, None, missing_columns)
            )
        counts = read_counts(self, X)
        observed_counts, held_out = metrics.split_tokens(counts, observed, SCORE_SEED)
        new = self._read_new(X, metadata, observed_counts, missing_columns)
        with computing(self.n_jobs):
            theta = proportions(self.fitted_, observed_counts, new, self._effort)
        return metrics.mean_log_likelihood(theta, self.components_, held_out, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


class CTM(GPTM):
    """Correlated topic model (Blei & Lafferty, 2006): `GPTM` without a kernel.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    inference : {"sampling", "variational"}, default="sampling"
        "sampling" draws all unknowns, topics included, from the posterior (a Gibbs sampler), so that bands are honest.
        "variational" approximates the posterior by EM: faster, but topics are point estimates and have no bands.
    topic_covariance : {"full", "identity"}, default="full"
        Learn the covariance of topics, or keep it at the identity.
    fit_mean : bool, default=True
        Learn the overall mean of the topics' logits, or keep it at zero.
    init : {"gibbs", "spectral", "random"} or array of shape (n_components, n_words), default="gibbs"
        Where the fit starts: the best of a few short Gibbs runs of LDA (with more than 400,000 tokens there is one
        run), anchor words, random groups of documents, or the topics in an array.
    smoothing : float, default=0.01
        For EM: added to every expected count of a word in a topic. The sampler learns the topics' prior.
    seed_words : dict, optional
        Words that belong to topics, such as `{0: ["tax", "budget"], "war": ["army", "navy"]}`. A topic is a number from
        0 to n_components - 1, or a name, which takes the next free number and is shown in `topics()` and plots. Words
        are those of a corpus or a DataFrame, or numbers of columns. They guide the topics; the documents can overrule
        them.
    seed_weight : float, default=2.0
        How strongly seed words guide: a seed word gets this many pseudo-counts in its topic for each of its
        occurrences. Occurrences beyond 2 % of the tokens of an average topic do not count.
    n_chains : int, default=1
        Number of chains of the sampler, each with its own start, run side by side. Their topics are matched and their
        draws pooled. With two or more, R-hat shows whether the chains found the same topics.
    max_iter : int or None, default=None
        Maximum number of sweeps, or of iterations of EM. None means 200 to 2,000 sweeps (more if they are cheap), or
        200 iterations. The sampler ends after a quarter or half of these sweeps if the log-density, the topics'
        shares and the effects have 100 effective draws by then (in the median of each kind).
    tol : float, default=3e-4
        For EM: converged when the bound rises by less than this share of its value.
    doc_points : int, default=64
        Number of weighted points with which `transform` averages over a document's posterior. More points are more
        accurate and take longer; 0 means a quick variational approximation.
    doc_tol : float, default=1e-7
        For that approximation: a document is done when a step promises to gain less than this, in nats per token.
        0.01 takes a quarter of the steps and predicts words as well; 0.5 takes an eighth and predicts nearly as well.
        Not used in "map" inference.
    random_state : int, RandomState or None
        The same seed gives the same model, bit by bit, for any `n_jobs`.
    n_jobs : int or None
        Threads; None means 1, -1 all cores.
    verbose : int or bool, default=False
        Print progress: True or 1 for a line a second, 2 for a line after each sweep or iteration.
    callback : callable, optional
        `callback(number, state)` after each sweep or iteration; fitting stops when it returns True.
    warm_start : bool, default=False
        Continue from the last fit.
    memory : str, int or None, default=None
        For a corpus on disk: limit of the memory that a fit takes, such as "4GB". It decides how many documents are
        kept in memory; the others are read block by block. None means half of the machine's memory.

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
        Sampling: the log-density of words and logits after each sweep. EM: the lower bound of the log-likelihood
        after each iteration, which never falls; it includes the log-prior of the topics (from `smoothing`) and, in
        "map" inference, the density of F.
    n_iter_ : int
        Number of sweeps or iterations.
    converged_ : bool
        Whether the sampler has drawn enough (see `max_iter`), or the bound of EM has stopped rising.
    stop_reason_ : {"converged", "max_iter", "callback", "interrupt"}
    diagnostics_ : DataFrame or None
        Sampling: effective sample size (`ess`) and split R-hat (`rhat`) of the log-density, the topics' shares and
        the effects; the median and the worst of each. None for EM.
    topic_names_ : list of str or None
        Names from `seed_words`, `name_topics` or `label_topics`, None for topics without a name; None if no topic has
        a name.
    history_ : list of str
        What was done to the topics after the fit, oldest first.
    sample_ : Corpus or None
        After a fit to a corpus on disk: the documents that were kept in memory, which all attributes of single
        documents are of.

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

    Seed words guide topics:

    >>> from gptm import Corpus
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
    >>> CTM(2, seed_words={1: ["beans"]}, random_state=0).fit(corpus).topic_words(2)
    [['tea', 'green'], ['coffee', 'beans']]
    """

    kernel = None
    coregionalization = "free"
    learn_kernel = True

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
        memory: str | int | None = None,
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
        self.memory = memory


def load_corpus(path: str | os.PathLike[str]) -> Corpus:
    """The documents that a model's file holds beside the model.

    `gptm fit` keeps them with the model; `model.save` does if it gets `corpus=`, and texts if it gets `texts=`. Pass
    them where a loaded model asks for its training corpus.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Corpus

    Raises
    ------
    ValueError
        If the file holds no documents, or is damaged.

    Examples
    --------
    >>> import tempfile, pathlib, gptm
    >>> corpus = gptm.Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.gptm"
    >>> gptm.CTM(2, random_state=0).fit(corpus).save(path, corpus=corpus, texts=corpus.texts)
    >>> corpus = gptm.load_corpus(path)
    >>> gptm.load(path).representative_documents(0, 1, corpus=corpus)["text"][0] in corpus.texts
    True
    """
    corpus = load_attached(path).corpus
    if corpus is None:
        raise ValueError(
            f"{os.fspath(path)} holds a model without its documents. Save it with model.save(path, corpus=corpus), "
            "or fit it on the command line without --no-corpus."
        )
    return corpus


_KINDS: dict[str, type[GPTM]] = {"GPTM": GPTM, "CTM": CTM}


def load(path: str | os.PathLike[str]) -> GPTM:
    """Read a model that `save` wrote; its `transform` gives the same bits.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    GPTM or CTM

    Raises
    ------
    ValueError
        If the file is damaged, not a gptm model, or written by a newer version.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, gptm
    >>> X = np.array([[3, 2, 0, 0], [0, 0, 3, 3]] * 5)
    >>> model = gptm.CTM(n_components=2, random_state=0).fit(X)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.gptm"
    >>> model.save(path)
    >>> bool((gptm.load(path).transform(X) == model.transform(X)).all())
    True
    """
    stored = read_model(path)
    if stored.kind not in _KINDS:
        raise ValueError(
            f"{os.fspath(path)} contains a {stored.kind!r}, which this version does not know. Upgrade gptm."
        )
    try:
        model = _KINDS[stored.kind](**stored.parameters)
        model._check_parameters()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{os.fspath(path)} is not a complete gptm model ({error}). Save the model again."
        ) from error
    model.fitted_ = stored.fitted
    return model
