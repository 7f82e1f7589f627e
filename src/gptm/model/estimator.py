"""The estimator: it holds its parameters and one `Fitted`, and asks functions for all answers; no formulas here.

fit, partial_fit         fitting, updating
transform, score, ...    predicting
effects, tables, files   the rooms below, on a fit with what `answering` adds
merge_topics, ...        surgery, and splitting
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gptm import interop, tables
from gptm._basics.parallel import computing
from gptm._basics.types import Array
from gptm._basics.validation import check_choice, check_number, check_seed
from gptm.corpus import Corpus
from gptm.corpus.block_corpus import BlockCorpus
from gptm.corpus.counts import read_counts
from gptm.corpus.metadata import as_frame
from gptm.effects.effect_tables import effects_table, term_labels, variance_table
from gptm.files.collected import collected
from gptm.fitted import Fitted
from gptm.model.answering import with_draws, with_proportions, with_training, with_training_words
from gptm.model.argument_names import with_known_arguments
from gptm.model.fitting import NOT_STORED, Progression, run_fit
from gptm.model.from_fit import FromFit, named_words
from gptm.model.predicting import completion, paper_perplexity, predict
from gptm.model.settings import Settings
from gptm.model.splitting import run_split
from gptm.model.storable import kind_of, storable
from gptm.model.updating import as_stream, check_update, run_update
from gptm.prediction.proportions import proportions
from gptm.prediction.simulate import Latent, checked_lengths, draw_corpus
from gptm.storage import Stored, write_model
from gptm.streaming.updated_model import sample_of
from gptm.summary import MANY_DOCUMENTS, summary_html, summary_text
from gptm.surgery import topic_edits
from gptm.surgery.hierarchy import hierarchy_table
from gptm.surgery.topic_labels import Namer, names_by, own_names, text_phrases

if TYPE_CHECKING:
    from distributed import Client

    from gptm.effects.estimated_effects import EstimatedEffects


def _by_sampling(model: "GPTM") -> bool:
    """An error unless the model is of those that go on learning."""
    if model.inference == "sampling":
        return True
    raise AttributeError(
        f"only models that are fitted by sampling go on learning; this one has inference={model.inference!r}. Pass "
        "inference='sampling'."
    )


@storable
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
        "sampling" draws all unknowns, topics included, from the posterior (a Gibbs sampler), so that bands include
        their uncertainty; only the kernel's length-scales and weights are point estimates. "variational" approximates
        the posterior by EM: faster, but topics are point estimates and have no bands. "map" is EM that also sets the
        document means F to their most probable values, as the paper does.
    coregionalization : {"free", "shared", "identity"}, default="free"
        How the kernel acts across topics: a learnt matrix B, B = b Sigma, or B = b I. If the strength is not
        learnt, b is 1 and a free B is the identity.
    topic_covariance : {"full", "identity"}, default="full"
        Learn the covariance of topics, or keep it at the identity.
    learn_kernel : bool, default=True
        Learn the strength of the kernel, the weights of the terms of a sum, and parameters that were not given,
        such as length-scales. Terms with a factor, such as `2.0 * kernel`, keep their weights relative to each
        other. "map" inference never learns the kernel.
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
        Maximum number of sweeps, or of iterations of EM. None means 200 to 2,000 sweeps (more for small corpora), or
        200 iterations. The sampler ends after a quarter or half of these sweeps if the log-density, the topics' shares
        and the effects have 100 effective draws by then (in the median of each kind).
    tol : float, default=3e-4
        For EM: converged when the bound rises by less than this fraction of its value.
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
        Sigma: how the logits of topics vary together around their means.
    mean_ : ndarray of shape (n_components,)
        Overall mean of the topics' logits.
    kernel_ : Kernel or None
        The kernel with its learnt parameters, scaled to a mean variance of one.
    terms_ : list of str
        Names of the kernel's terms, as `effects` takes them; empty without a kernel.
    coregionalization_ : ndarray of shape (n_components, n_components)
        B: how the kernel acts across topics.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Expected proportions of the training documents.
    doc_logits_, doc_variance_ : ndarray of shape (n_documents, n_components)
        Mean and variance of the training documents' logits, which sum to zero in sampling.
    doc_means_ : ndarray of shape (n_documents, n_components)
        F: the kernel's part of the training documents' logits, relative to `mean_`.
    dual_coef_ : ndarray of shape (n_documents, n_components)
        alpha, with F = kernel @ alpha.
    bound_ : ndarray of shape (n_iter_,)
        Sampling: the log-density of words and logits after each sweep. EM: the lower bound of the log-likelihood
        after each iteration, which never falls; it includes the log-prior of the topics (from `smoothing`) and, in
        "map" inference, the density of F.
    n_iter_ : int
        Number of sweeps or iterations.
    converged_ : bool
        Whether the sampler has drawn enough (see `max_iter`), or the bound of EM has stopped rising.
    stop_reason_ : {"converged", "max_iter", "callback", "interrupt"}
        Why the fit ended: by itself, at `max_iter`, or stopped by the callback or by the user.
    diagnostics_ : DataFrame or None
        Sampling: effective sample size (`ess`) and split R-hat (`rhat`) of the log-density, the topics' shares and
        the effects; the median and the worst of each. None for EM.
    topic_names_ : list of str or None
        Names from `seed_words`, `name_topics` or `label_topics`, None for topics without a name; None if no topic has
        a name.
    history_ : list of str
        What was done to the topics after the fit, oldest first.
    sample_ : Corpus or None
        After a fit to a corpus on disk: the documents that were kept in memory. Attributes of single documents, such as
        `doc_topics_`, describe these.

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
    _corpus: Corpus | None = None  # what it was fitted to, for the texts; stays in this session
    sample_: Corpus | None = None

    @with_known_arguments
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
    feature_names_in_ = FromFit(named_words)

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
        """Learn topics from documents.

        Parameters
        ----------
        X : Corpus, BlockCorpus, texts, or sparse or dense array of shape (n_documents, n_words)
            Counts of words, or texts, which are counted as `Corpus.from_texts` does by default. Documents may be empty.
            A corpus on disk is fitted block by block: then attributes of single documents, such as `doc_topics_`, are
            those of a sample; `transform` takes all documents.
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
        with collected(X, checkpoint, client, self.verbose) as documents:
            self._learn(documents, y, metadata, Progression(checkpoint, every, client))
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
        counts = self._learn(X, y, metadata)
        if isinstance(X, BlockCorpus):
            return self.transform(X)
        with computing(self.n_jobs):
            training = self.fitted_.bound.training
            return proportions(self.fitted_, counts, training, self._settings.effort)

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
        check_update(self._settings, decay, n_new_components)
        if not hasattr(self, "fitted_"):
            self._learn(X, y, metadata)
            self.fitted_ = as_stream(self.fitted_)
            return self
        self.fitted_ = run_update(
            self._settings,
            self.fitted_,
            X,
            y,
            metadata,
            decay=decay,
            n_new_components=n_new_components,
            training=training,
        )
        self.n_components = self.fitted_.K
        self._corpus, self.sample_ = None, sample_of(self.fitted_)
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
        X : Corpus, texts, or sparse or dense array of shape (n_documents, n_words)
            Texts are counted as in training, if the words of the model have names.
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
        choices = (missing_columns, return_std, quantiles)
        return predict(self._settings, self.fitted_, X, metadata, *choices)

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
        X : Corpus, texts, or sparse or dense array of shape (n_documents, n_words)
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
        check_is_fitted(self)
        how = (0.5, missing_columns, sample_weight)
        return completion(self._settings, self.fitted_, X, metadata, *how)

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
        X : Corpus, texts, or sparse or dense array of shape (n_documents, n_words)
        metadata : DataFrame or dict of columns, optional
        kind : {"completion", "conditional", "joint"}, default="completion"
            "completion" predicts the held-out words of each document from the others; this is the honest score.
            "conditional" and "joint" are the paper's eqs 24 and 23, with the bound in place of the likelihood. They
            fit the document means to the words that are scored; "joint" also adds the density of these means.
        observed : float, default=0.5
            For "completion": fraction of each document's words that the model sees.
        missing_columns : {"error", "prior"}, default="error"
            As in `transform`.

        Returns
        -------
        float
        """
        check_choice("kind", kind, ("completion", "conditional", "joint"))
        check_is_fitted(self)
        settings, fitted = self._settings, self.fitted_
        if kind == "completion":
            score = completion(settings, fitted, X, metadata, observed, missing_columns)
            return float(np.exp(-score))
        return paper_perplexity(settings, fitted, X, metadata, kind, missing_columns)

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
        check_seed("random_state", random_state)
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
            Correlated terms divide what they explain between them; a term that works against the others may have a
            negative share.

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
        Values are means over draws of the posterior. Bands are their quantiles, made wider if the draws are worth few
        independent ones. Topics, documents and covariances vary from draw to draw; the kernel's length-scales and
        weights stay at their estimates. For a model that was fitted without draws ("variational", "map"), the first
        call runs a short chain that starts at the fit. The shares of a merged topic are the sums of its parts' shares
        in each draw. Its contrast is the mean of their contrasts, weighted by their shares over all training documents.

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
        from gptm.model.regressing import regress_new, regress_training  # loads formulaic

        choices = {"topic": topic, "cluster": cluster, "errors": errors, "level": level}
        settings = self._settings
        if new is not None:
            check_is_fitted(self)
            return regress_new(settings, self.fitted_, formula, new, metadata, **choices)
        fitted, frame = with_training(self._with_proportions(), settings, metadata)
        if self.fitted_.draws is None:
            self.fitted_ = fitted
        return regress_training(settings, fitted, formula, frame, **choices)

    # Changes to the topics. Each returns a new model; this one stays as it is.

    def name_topics(self, names: Mapping[int | str, str | None]) -> Self:
        """A new model in which topics have names, which all tables, plots, pages and files show.

        Parameters
        ----------
        names : dict
            Topics, by number or present name, and their new names; None removes a name.

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
            and returns a name; None leaves the topic as it is. A second topic with the same name gets a 2 appended. By
            default a topic is named by up to three of its words: frequent ones that other topics rarely use, phrases
            before single words, no word in two names.
        corpus : Corpus, optional
            The training corpus. Without it, or if it has no texts, `texts` is empty. Without a function, its texts show
            which of a topic's words are phrases, such as "health care", even if the model counts them one by one.
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
            own_names(fitted, phrases=text_phrases(fitted, corpus))
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
            Two topics or more, by number or name. The merged topic takes the place of the first of them; later topics
            move up.
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
        return self._edited(
            topic_edits.merge_topics(self._with_training_words(corpus), topics, name)
        )

    def drop_topics(self, topics: int | str | Sequence[int | str]) -> Self:
        """A new model that leaves topics out, such as one of boilerplate words.

        The proportions of the other topics are divided by their sum. The words of the dropped topics do not move to
        other topics: `transform` finds all topics first, and then leaves these out.

        Parameters
        ----------
        topics : int, str or sequence
            By number or name. Topics after them move up.

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
        return self._edited(topic_edits.reduce_to(self._with_training_words(corpus), n))

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
            Number of topics in its place. Later topics move down.
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
        fitted = self._with_training_words(corpus)
        number = tables.one_topic(fitted, topic)
        return self._edited(run_split(self._settings, fitted, number, n))

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
            One row per step, the most similar topics first. The index `topics_left` is the number of topics after the
            step. The columns are left and right, the topics in the two groups that are joined, and left_name and
            right_name if topics have names; distance; and share and words of both together.

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
            The training corpus, to add ids and texts. Not needed in the process that fitted the model to a corpus or to
            texts; a saved or pickled model does not have them. `gptm.load_corpus(path)` reads the corpus that a model's
            file holds.
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
        corpus = self._corpus if corpus is None else corpus
        number = None if topic is None else tables.one_topic(fitted, topic)
        return tables.document_table(fitted, number, n, corpus, text_length)

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
        fitted = self._with_proportions()
        counts = read_counts(fitted.expects(type(self).__name__), X)
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
        self._settings.check()  # with others than `fit` takes, the file could not be loaded
        fitted = self._with_proportions()
        stored = Stored(kind_of(self), self.get_params(deep=False), fitted)
        write_model(path, stored, corpus=corpus, texts=texts, words=words, reading=reading)

    # What the methods above share.

    @property
    def _settings(self) -> Settings:
        return Settings.of(self)

    @property
    def _n_features_out(self) -> int:
        return self.fitted_.K

    def _learn(
        self, X: Any, y: Any, metadata: Any, progression: Progression = NOT_STORED
    ) -> csr_matrix:
        """Fit, or leave the model as it was if anything is wrong; the training counts."""
        earlier: Fitted | None = getattr(self, "fitted_", None)
        result = run_fit(self._settings, X, y, metadata, earlier, progression)
        if result.fitted is not None:
            self.fitted_, self._corpus = result.fitted, result.corpus
            self.__dict__.pop("sample_", None)  # of an earlier fit
            if result.sample is not None:
                self.sample_ = result.sample
        return result.counts

    def _with_proportions(self) -> Fitted:
        """The fit, with proportions of the training documents, computed once."""
        check_is_fitted(self)
        self.fitted_ = with_proportions(self.fitted_, self._settings)
        return self.fitted_

    def _with_draws(self) -> Fitted:
        """The fit, with draws, made once."""
        check_is_fitted(self)
        self.fitted_ = with_draws(self.fitted_, self._settings)
        return self.fitted_

    def _with_training_words(self, corpus: Corpus | None) -> Fitted:
        return with_training_words(self._with_proportions(), self._settings, corpus)

    def _edited(self, fitted: Fitted) -> Self:
        """A model with the same settings and other topics; seed words and given topics were for the old ones."""
        settings = self.get_params(deep=False) | {"n_components": fitted.K}
        if fitted.origin is not None or fitted.K != self.fitted_.K:
            settings["seed_words"] = None
            settings["init"] = self.init if isinstance(self.init, str) else "gibbs"
        model = type(self)(**settings)
        model.fitted_, model._corpus = fitted, self._corpus
        return model

    # What Python, notebooks and scikit-learn ask.

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
