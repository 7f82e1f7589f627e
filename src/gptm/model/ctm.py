"""CTM: the estimator without a kernel."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from gptm.model.argument_names import with_known_arguments
from gptm.model.estimator import GPTM
from gptm.model.same_text import with_text_of
from gptm.model.storable import storable


@storable
@with_text_of(GPTM)
class CTM(GPTM):
    """Correlated topic model (Blei & Lafferty, 2006): `GPTM` without a kernel.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    inference : {"sampling", "variational"}, default="sampling"
        "sampling" draws all unknowns, topics included, from the posterior (a Gibbs sampler), so that bands include
        their uncertainty. "variational" approximates the posterior by EM: faster, but topics are point estimates and
        have no bands.
    topic_covariance, fit_mean, init, smoothing, seed_words, seed_weight, n_chains, max_iter, tol, doc_points, doc_tol,
    random_state, n_jobs, verbose, callback, warm_start, memory
        As in `GPTM`.

    Attributes
    ----------
    components_, topic_covariance_, mean_, doc_topics_, doc_logits_, doc_variance_, bound_, n_iter_, converged_,
    stop_reason_, diagnostics_, topic_names_, history_, sample_
        As in `GPTM`.

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

    # What a CTM fixes; on the class too, as pickles of earlier versions have no values of their own.
    kernel = None
    coregionalization = "free"
    learn_kernel = True

    @with_known_arguments
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
        super().__init__(
            n_components,
            kernel=self.kernel,
            inference=inference,
            topic_covariance=topic_covariance,
            fit_mean=fit_mean,
            init=init,
            smoothing=smoothing,
            seed_words=seed_words,
            seed_weight=seed_weight,
            n_chains=n_chains,
            max_iter=max_iter,
            tol=tol,
            doc_points=doc_points,
            doc_tol=doc_tol,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
            warm_start=warm_start,
            memory=memory,
        )
