"""Effects of all terms as a refit can repeat them: shares of topics at the same settings, less their mean."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from gptm._basics.parallel import computing
from gptm._basics.types import Array
from gptm.corpus.cells import as_name
from gptm.effects.effect_tables import share_draws, term_labels, term_settings
from gptm.kernels.categorical import CategoricalBound
from gptm.kernels.weighted_terms import terms_of
from gptm.model import GPTM

N_POINTS = 5  # settings along a date or a number
MOST_LEVELS = 20  # levels of a category; the most frequent ones


class TermSettings(NamedTuple):
    """Where the effect of a term is looked at."""

    number: int  # of the term in its kernel
    label: str
    settings: pd.DataFrame

    @property
    def names(self) -> list[str]:
        """Each setting as a text."""
        dates = [name for name in self.settings if self.settings[name].dtype.kind == "M"]
        frame = self.settings.assign(
            **{str(n): self.settings[n].dt.strftime("%Y-%m-%d") for n in dates}
        )
        return [", ".join(_short(cell) for cell in row) for row in frame.itertuples(index=False)]


def _short(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else as_name(cell)


def settings_of(model: GPTM) -> list[TermSettings]:
    """Settings of all terms of a fitted model that have at least two; none without a kernel or for one topic."""
    fitted = model.fitted_
    if fitted.kernel is None or fitted.K < 2 or not fitted.bound.mean_diagonal() > 0:
        return []
    of_terms = []
    for number, label in enumerate(term_labels(fitted.kernel)):
        settings = term_settings(fitted, number, N_POINTS)
        if settings is None or len(settings) < 2:
            continue
        bound = terms_of(fitted.bound)[number]
        inner = getattr(bound, "bounds", [bound])[0]
        if isinstance(inner, CategoricalBound) and len(settings) > MOST_LEVELS:
            codes = inner.codes[inner.codes >= 0]
            often = np.argsort(-np.bincount(codes, minlength=len(settings)), kind="stable")
            settings = settings.iloc[np.sort(often[:MOST_LEVELS])].reset_index(drop=True)
        of_terms.append(TermSettings(number, label, settings))
    return of_terms


def effects_at(model: GPTM, terms: list[TermSettings]) -> list[tuple[Array, Array]]:
    """For each term (n, K) means and standard deviations: a topic's share at each setting, less the mean of them."""
    if not terms:
        return []
    fitted = model._with_draws()
    effects = []
    with computing(model.n_jobs):
        for term in terms:
            shares = share_draws(fitted, term.number, term.settings)
            effect = shares - shares.mean(1, keepdims=True)
            effects.append((effect.mean(0), effect.std(0)))
    return effects
