"""The course of an update: a model that was fitted by sampling goes on learning from more documents."""

from dataclasses import replace
from typing import Any

from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils import check_random_state

from gptm import tables
from gptm._basics.parallel import computing
from gptm._basics.progress import Progress
from gptm._basics.validation import check_number
from gptm.corpus import Corpus
from gptm.corpus.counts import frame_of, read_counts
from gptm.fitted import Fitted
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.run_sampler import run_sampler
from gptm.kernels import BoundKernel, Documents, Kernel
from gptm.kernels.identity import NothingBound
from gptm.model.settings import Settings
from gptm.model.starting import find_starts
from gptm.model.training_data import check_labels
from gptm.starts.seed_words import read_seeds
from gptm.streaming.align_start import aligned_start
from gptm.streaming.fitted_so_far import stream_of
from gptm.streaming.going_on import check_goes_on, go_on
from gptm.streaming.one_update import Making
from gptm.streaming.read_batch import kernel_columns, read_batch
from gptm.streaming.updated_model import with_names
from gptm.surgery.regroup import with_counts

REFIT_SWEEPS = 200  # of a stream that finds its topics again


def check_update(settings: Settings, decay: float, n_new_components: int) -> None:
    """An error if a parameter is wrong, of the estimator or of the update."""
    settings.check()
    check_number("decay", decay, least=0.0, most=1.0)
    check_number("n_new_components", n_new_components, least=0, integer=True)


def as_stream(fitted: Fitted) -> Fitted:
    """A first fit, which a stream begins with."""
    return replace(fitted, stream=stream_of(fitted, started=len(fitted.lam)))


def run_update(
    settings: Settings,
    fitted: Fitted,
    X: Any,
    y: Any,
    metadata: Any,
    *,
    decay: float,
    n_new_components: int,
    training: Corpus | None,
) -> Fitted:
    """The fit to all documents so far and these."""
    check_goes_on(fitted)
    if training is not None:
        fitted = _with_training_columns(settings, fitted, training)
    check_labels(settings.kernel, y, metadata)
    stream = fitted.stream or stream_of(fitted)
    batch = read_batch(settings.model, fitted, X, metadata, stream.documents)
    progress, K = Progress(settings.verbose), fitted.K + n_new_components
    seed = int(check_random_state(settings.random_state).randint(2**31))

    def bind(documents: Documents, hold: bool) -> BoundKernel:
        if fitted.kernel is None:
            return NothingBound(documents.n)
        own = settings.kernel if isinstance(settings.kernel, Kernel) and not hold else fitted.kernel
        return clone(own).bind(documents)

    def problem(counts: csr_matrix, bound: BoundKernel, hold: bool) -> FitProblem:
        made = settings.problem(counts, bound, resumed=fitted.kernel, hold_kernel=hold)
        words, weight = settings.seed_words, settings.seed_weight
        made.seeds = read_seeds(words, weight, K, counts, batch.vocabulary).counts
        return made

    def refit(problem: FitProblem, before: Fitted) -> Fitted:
        starts = find_starts(settings, problem, "gibbs", None, seed, None, leads=False)
        starts = [aligned_start(problem, start, before.beta_T) for start in starts]
        return run_sampler(
            problem,
            starts,
            [seed],
            n_components=K,
            max_iter=settings.max_iter or REFIT_SWEEPS,
            after_iteration=after_sweep,
        )

    def after_sweep(number: int, state: Any) -> bool:
        progress.iteration(number, state.bound, None)
        return settings.callback is not None and bool(settings.callback(number, state))

    with computing(settings.n_jobs):
        updated = go_on(
            fitted,
            stream,
            batch,
            Making(bind, problem, after_sweep, settings.n_jobs),
            refit,
            decay=decay,
            n_new=n_new_components,
            sweeps=settings.max_iter,
            seed=seed,
        )
        updated = replace(updated, coherence=tables.topic_coherence(updated))
    return with_names(updated, fitted, batch.vocabulary)


def _with_training_columns(settings: Settings, fitted: Fitted, corpus: Corpus) -> Fitted:
    """The fit with the words of its training documents, and with what the kernel reads of them."""
    fitted = with_counts(fitted, read_counts(fitted.expects(settings.model), corpus))
    frame = frame_of(corpus, None, len(corpus), fitted.kinds, only=fitted.kinds)
    return replace(fitted, columns=kernel_columns(fitted.kernel, frame, len(corpus)))
