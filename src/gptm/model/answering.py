"""What questions about a fit need beyond it: proportions of the training documents, draws, words of these documents.

Each function returns the fit with what was computed, or the fit itself if it was there.
"""

from dataclasses import replace
from typing import Any

import pandas as pd

from gptm._basics.errors import Argument, InputError
from gptm._basics.parallel import computing
from gptm._basics.progress import Progress
from gptm.corpus import Corpus
from gptm.corpus.counts import frame_of, read_counts
from gptm.effects.effect_tables import check_explainable
from gptm.fitted import Fitted
from gptm.inference.sampling.run_sampler import run_sampler
from gptm.model.settings import Settings
from gptm.prediction.proportions import training_proportions
from gptm.starts.resume import resume
from gptm.surgery.regroup import regroup, with_counts

SHORT_CHAIN = 400  # sweeps that error bars of a fit without draws get


def with_proportions(fitted: Fitted, settings: Settings) -> Fitted:
    """The fit, with proportions of the training documents."""
    if fitted.doc_topics is not None:
        return fitted
    with computing(settings.n_jobs):
        theta = training_proportions(fitted, settings.effort)
    return replace(fitted, doc_topics=theta, topic_draws=None)


def with_draws(fitted: Fitted, settings: Settings) -> Fitted:
    """The fit, with draws: those of EM come from a short chain that starts where it ended, its kernel held."""
    check_explainable(fitted)
    return fitted if fitted.draws is not None else _drawn(fitted, settings)


def with_training_words(fitted: Fitted, settings: Settings, corpus: Corpus | None) -> Fitted:
    """The fit, with the words of the training documents if they are given."""
    if corpus is None:
        return fitted
    return with_counts(fitted, read_counts(fitted.expects(settings.model), corpus))


def with_training(
    fitted: Fitted, settings: Settings, metadata: Any
) -> tuple[Fitted, pd.DataFrame | None]:
    """The fit with draws, and the metadata of its training documents, which a corpus may bring along."""
    corpus = metadata if isinstance(metadata, Corpus) else None
    frame = frame_of(corpus, metadata if corpus is None else None, len(fitted.lengths))
    fitted = with_training_words(fitted, settings, corpus)
    if fitted.draws is not None:
        return fitted, frame
    if (fitted.origin.fitted if fitted.origin else fitted).counts is None:
        raise InputError(
            "this model has no draws, and its file does not hold the words of the training documents to make "
            "some. Pass the training corpus: ",
            Argument("metadata", ...),
            "corpus.",
        )
    return _drawn(fitted, settings), frame


def _drawn(fitted: Fitted, settings: Settings) -> Fitted:
    if fitted.origin is not None:
        grouped = regroup(_drawn(fitted.origin.fitted, settings), fitted.origin.members)
        return replace(fitted, origin=grouped.origin, draws=grouped.draws)
    assert fitted.counts is not None
    progress = Progress(settings.verbose)

    def after_sweep(number: int, state: Any) -> bool:
        progress.iteration(number, state.bound, SHORT_CHAIN)
        return False

    with computing(settings.n_jobs):
        problem = settings.problem(fitted.counts, fitted.bound, hold_kernel=True)
        start = resume(problem, fitted, fitted.K)
        chain = run_sampler(
            problem,
            [start],
            [0],
            n_components=fitted.K,
            max_iter=SHORT_CHAIN,
            after_iteration=after_sweep,
        )
    return replace(fitted, draws=chain.draws)
