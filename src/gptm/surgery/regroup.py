"""A fit whose topics are groups of the topics of another fit: merged, in another order, some left out."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm import metrics
from gptm._basics.errors import ArgumentError, Message
from gptm._basics.sparse_arrays import row_sums
from gptm._basics.types import Array
from gptm.fitted import Draws, Fitted, Origin
from gptm.inference.contrasts import centred, contrasts
from gptm.inference.sampling.convergence import diagnostics_table
from gptm.inference.sampling.kept import turned
from gptm.surgery.merged_moments import (
    Moments,
    merged_covariance,
    merged_documents,
    merged_draws,
    prior_moments,
)
from gptm.tables import N_SCORED

Members = tuple[tuple[int, ...], ...]


def origin_of(fitted: Fitted) -> Origin:
    """The fit that inference made, and which of its topics each topic is made of."""
    return fitted.origin or Origin(fitted, tuple((number,) for number in range(fitted.K)))


def regroup(old: Fitted, members: Members) -> Fitted:
    """The fit with topics that are groups of those of `old`, which must have been fitted as it is.

    Proportions are sums, divided by their total where topics are dropped. Words are means, weighted by the topics'
    shares. Dropping and reordering change no number; what merging does to the parameters, `merged_moments` says.
    """
    check_members(old.K, members)
    if members == tuple((number,) for number in range(old.K)):
        return old
    origin = Origin(old, members)
    merges = any(len(group) > 1 for group in members)
    moments = prior_moments(origin) if merges else None
    watched = None if old.watched is None else _watched(old.watched, origin)
    return replace(
        old,
        **_parameters(old, origin, moments),
        draws=None if old.draws is None else _draws(old.draws, origin, moments),
        components=origin.means.T @ old.components,
        doc_topics=origin.combined(old.proportions),
        coherence=_coherence(old, origin),
        watched=watched,
        diagnostics=None if watched is None else diagnostics_table(watched),
        topic_names=None,
        origin=origin,
    )


def check_members(K: int, members: Members) -> None:
    """An error unless these are groups of K topics, none of which is in two."""
    numbers = [number for group in members for number in group]
    proper = all(members) and all(0 <= number < K for number in numbers)
    if not (members and proper and len(set(numbers)) == len(numbers)):
        raise ValueError(f"{members} are not groups of {K} topics")


def _parameters(old: Fitted, origin: Origin, moments: Moments | None) -> dict[str, Any]:
    if moments is None:
        order = [group[0] for group in origin.members]
        square = np.ix_(order, order)
        rows = {name: getattr(old, name)[:, order] for name in ("lam", "nu2", "F", "alpha")}
        return rows | {"mu": old.mu[order], "Sigma": old.Sigma[square], "B": old.B[square]}
    W = origin.means
    lam, nu2 = merged_documents(origin)
    nothing = np.broadcast_to(0.0, lam.shape)
    return {
        "lam": lam,
        "nu2": nu2,
        "F": nothing if old.kernel is None else old.F @ W,
        "alpha": nothing if old.kernel is None else old.alpha @ W,
        "mu": old.mu @ W + moments.gap,
        "Sigma": merged_covariance(old.Sigma, W, moments.spread),
        "B": W.T @ old.B @ W,
    }


def _draws(draws: Draws, origin: Origin, moments: Moments | None) -> Draws:
    if moments is not None:
        return merged_draws(draws, origin, moments)
    order = [group[0] for group in origin.members]
    return turned(draws, contrasts(origin.fitted.K)[order].T @ contrasts(len(order)))


def _watched(watched: dict[str, Array], origin: Origin) -> dict[str, Array]:
    """What chains are judged by, of the topics as they are now."""
    combined = dict(watched)
    combined["share"] = origin.combined(watched["share"])
    if "effect" in watched:
        combined["effect"] = centred(watched["effect"] @ origin.means)
    return combined


def _coherence(old: Fitted, origin: Origin) -> Array | None:
    """(K,) as before, or of merged words where the counts are there to tell."""
    if old.coherence is None:
        return None
    single = np.array([len(group) == 1 for group in origin.members])
    own = old.coherence[[group[0] for group in origin.members]]
    if single.all():
        return own
    merged = np.full(len(own), np.nan)
    if old.counts is not None:
        components = origin.means.T @ old.components
        merged = np.asarray(metrics.npmi_coherence(components, old.counts, N_SCORED))
    return np.where(single, own, merged)


def with_counts(fitted: Fitted, counts: csr_matrix) -> Fitted:
    """The fit with the words of its training documents, which a file may not have."""
    lengths = row_sums(counts)
    if lengths.shape != fitted.lengths.shape or not np.allclose(lengths, fitted.lengths):
        expected = (
            f"must be the {len(fitted.lengths)} training documents with {fitted.lengths.sum():g} words, in the "
            "same order"
        )
        arrived = Message(f"{len(lengths)} documents with {lengths.sum():g} words")
        raise ArgumentError("corpus", expected, arrived)
    if fitted.origin is None:
        return replace(fitted, counts=counts)
    origin = Origin(replace(fitted.origin.fitted, counts=counts), fitted.origin.members)
    return replace(fitted, counts=counts, origin=origin)
