"""From draws of proportions and a formula to estimated effects, with the checks on the way."""

from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.prose import listed
from gptm._basics.validation import check_choice, check_level
from gptm._basics.warnings import warn
from gptm.effects.estimated_effects import EstimatedEffects
from gptm.effects.formula_design import make_design
from gptm.effects.proportion_draws import NewDraws, TrainingDraws
from gptm.effects.share_regression import Errors, pool_regressions
from gptm.fitted import Fitted
from gptm.tables import topic_numbers

FEW_CLUSTERS = 20  # below which errors by cluster tend to be too small


def estimate(
    fitted: Fitted,
    draws: TrainingDraws | NewDraws,
    formula: Any,
    frame: pd.DataFrame | None,
    *,
    topic: Any,
    cluster: str | None,
    errors: Errors,
    level: float,
) -> EstimatedEffects:
    """Regress shares on the columns of a formula; see `GPTM.estimate_effects`."""
    check_level(level)
    if fitted.K < 2:
        raise InputError(
            "this model has a single topic, with a share of one everywhere. Fit two topics or more."
        )
    check_choice("errors", errors, ("robust", "classical"))
    topics = list(range(fitted.K)) if topic is None else topic_numbers(fitted, topic)
    _check_cluster(cluster, frame)
    drawn = draws.rows
    note = ""
    if len(drawn) < draws.n_documents:
        note = (
            f"draws are kept for {len(drawn):,} of {draws.n_documents:,} documents, evenly spread over the corpus; "
            "the estimates are from these"
        )
        frame = None if frame is None else frame.iloc[drawn]
    design, groups = make_design(formula, frame, also=cluster, n=len(drawn))
    clusters = None if groups is None else pd.factorize(groups)[0]
    n_clusters = None if clusters is None else int(clusters.max()) + 1
    _check_clusters(cluster, n_clusters)
    shares = draws.of(design.rows, topics)
    pooled = pool_regressions(design.X, shares, errors=errors, clusters=clusters)
    if pooled.n_draws < 2:
        raise InputError(
            "this fit kept fewer than two draws, so its uncertainty is unknown. Fit with more sweeps."
        )
    effects = EstimatedEffects(fitted, topics, design, pooled, level, n_clusters, note)
    _warn_exact(effects)
    return effects


def _check_cluster(cluster: Any, frame: pd.DataFrame | None) -> None:
    names = [] if frame is None else [str(name) for name in frame.columns]
    if cluster is not None and not (isinstance(cluster, str) and cluster in names):
        expected = (
            f"must be a column of the metadata: {', '.join(map(repr, names)) or 'there are none'}"
        )
        raise ArgumentError("cluster", expected, cluster)


def _check_clusters(cluster: str | None, n: int | None) -> None:
    if n is None:
        return
    if n < 2:
        raise ArgumentError("cluster", f"must have at least two values; {cluster!r} has one")
    if n < FEW_CLUSTERS:
        warn(
            f"{cluster!r} has only {n} clusters. Errors by cluster tend to be too small with fewer than "
            f"{FEW_CLUSTERS}; read the bands with care."
        )


def _warn_exact(effects: EstimatedEffects) -> None:
    error = effects.pooled.combine(np.eye(len(effects.design.terms))).std_error
    without = [
        repr(term)
        for term, errors in zip(effects.design.terms, error, strict=True)
        if np.isnan(errors).any()
    ]
    if without:
        some = listed(without[:10]) + (" and others" if len(without) > 10 else "")
        resting = (
            "rests on a single document, so it has no robust standard error. Leave this document out"
            if len(without) == 1
            else "rest on a single document each, so they have no robust standard error. Leave these documents out"
        )
        message = Message(
            f"{some} {resting}, join levels, or pass ",
            Argument("errors", "classical"),
            ", which takes the spread of documents to be the same everywhere.",
        )
        warn(message)
