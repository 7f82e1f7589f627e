"""Regressions of documents' proportions on columns. Importing this loads formulaic."""

from typing import Any

import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.parallel import computing
from gptm.corpus.counts import frame_of, read_counts
from gptm.effects.estimated_effects import EstimatedEffects
from gptm.effects.estimation import estimate
from gptm.effects.formula_language import formula_columns
from gptm.effects.proportion_draws import NewDraws, TrainingDraws
from gptm.fitted import Fitted
from gptm.model.predicting import kernel_input
from gptm.model.settings import Settings
from gptm.prediction.proportions import posterior_of_proportions
from gptm.prediction.theta import Weighted


def regress_training(
    settings: Settings, fitted: Fitted, formula: str, frame: pd.DataFrame | None, **choices: Any
) -> EstimatedEffects:
    """Effects on the training documents; `choices` as in `estimate`."""
    with computing(settings.n_jobs):
        return estimate(fitted, TrainingDraws(fitted), formula, frame, **choices)


def regress_new(
    settings: Settings, fitted: Fitted, formula: str, new: Any, metadata: Any, **choices: Any
) -> EstimatedEffects:
    """Effects on new documents; `choices` as in `estimate`."""
    counts = read_counts(fitted.expects(settings.model), new)
    frame = frame_of(new, metadata, counts.shape[0])
    with computing(settings.n_jobs):
        draws = NewDraws(_posterior_without(settings, fitted, formula, new, frame, counts))
        return estimate(fitted, draws, formula, frame, **choices)


def _posterior_without(
    settings: Settings,
    fitted: Fitted,
    formula: str,
    new: Any,
    frame: pd.DataFrame | None,
    counts: csr_matrix,
) -> Weighted:
    """The posterior of new documents' proportions, as if the columns of a formula were missing."""
    hidden = dict.fromkeys(formula_columns(formula, frame))
    seen = None if frame is None else frame.assign(**hidden)
    read = kernel_input(fitted, new, seen, counts, settings.n_jobs)
    return posterior_of_proportions(fitted, counts, read, settings.effort, [])
