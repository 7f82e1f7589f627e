"""Effects of the terms of a fitted kernel on the topics, and shares of variance, as tables."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError, InputError, Message, PythonOnly
from gptm._basics.types import Array
from gptm._basics.validation import check_level, check_number, is_whole
from gptm.effects.column_values import distinct_settings, read_settings, warn_unseen
from gptm.effects.explanation import MANY, Explanation
from gptm.fitted import Fitted
from gptm.kernels import BoundKernel, Documents, Kernel
from gptm.kernels.kernel import summands, unscaled
from gptm.kernels.weighted_terms import terms_of
from gptm.operators import Placement
from gptm.tables import named_topics, topic_numbers
from gptm.views.effect_view import EffectsTable
from gptm.views.shown_table import ShownTable

UNEXPLAINED = "unexplained"
RESULTS = [
    "term",
    "topic",
    "topic_name",
    *(f"{name}{end}" for name in ("contrast", "share") for end in ("", "_low", "_high")),
]


def check_explainable(fitted: Fitted) -> None:
    """An error unless there is a kernel, and more than one topic for it to act on."""
    if fitted.kernel is None:
        raise InputError(
            "this model has no kernel, so there are no effects of side information. Fit with ",
            Argument("kernel", ...),
            " and ",
            Argument("metadata", ...),
            ".",
        )
    if not fitted.bound.mean_diagonal() > 0:
        raise InputError(
            f"the kernel {fitted.kernel!r} is zero for all training documents, so its terms have no effects to show. "
            "Check that its columns vary."
        )
    if fitted.K < 2:
        raise ValueError(
            "effects compare topics, and this model has only one. Fit two topics or more."
        )


def variance_table(fitted: Fitted, level: float) -> pd.DataFrame:
    """Shares of variance by term and topic, with intervals; see `GPTM.variance_explained`."""
    check_level(level)
    shares = _explanation(fitted).variance_shares(level)
    assert fitted.kernel is not None
    labels, K = [*term_labels(fitted.kernel), UNEXPLAINED], fitted.K
    rows = [
        {
            "term": label,
            "topic": "all" if topic == K else topic,
            "share": shares.mean[position, topic],
            "low": shares.low[position, topic],
            "high": shares.high[position, topic],
        }
        for topic in (K, *range(K))
        for position, label in enumerate(labels)
    ]
    table = named_topics(pd.DataFrame(rows), fitted)
    return ShownTable.of(table, f"Variance explained by each term, {100 * level:g} % bands")


def effects_table(
    fitted: Fitted,
    term: str | int | None,
    topic: int | str | Sequence[int | str] | None,
    *,
    at: Any,
    versus: Any,
    level: float,
    n_points: int,
) -> pd.DataFrame:
    """Contrasts and shares by topic and setting, with bands; see `GPTM.effects`."""
    check_level(level)
    check_number("n_points", n_points, least=1, integer=True)
    assert fitted.kernel is not None
    number = term_number(fitted.kernel, term)
    label = term_labels(fitted.kernel)[number]
    topics = range(fitted.K) if topic is None else topic_numbers(fitted, topic)
    explanation = _explanation(fitted)
    question = _ask(explanation.bounds[number], label, at, versus, n_points)
    effect = explanation.effect(number, question.places, level, question.rows, question.versus)
    shown = question.shown.rename(columns={name: f"{name}_at" for name in RESULTS})
    tables = []
    for k in topics:
        table = pd.DataFrame({"term": label, "topic": k}, index=shown.index)
        table = pd.concat([table, shown], axis=1)
        for name, band in zip(("contrast", "share"), effect, strict=True):
            table[name] = band.mean[:, k]
            table[f"{name}_low"] = band.low[:, k]
            table[f"{name}_high"] = band.high[:, k]
        tables.append(table)
    return EffectsTable.of(named_topics(pd.concat(tables, ignore_index=True), fitted), level)


def term_settings(fitted: Fitted, term: int, n_points: int) -> pd.DataFrame | None:
    """Values of a term's columns along which to show its effect; None if there are none, as for links."""
    return terms_of(fitted.bound)[term].settings(n_points)


def share_draws(fitted: Fitted, term: int, settings: pd.DataFrame) -> Array:
    """(draws, n, K) shares of the topics at settings of a term, draw by draw."""
    explanation = _explanation(fitted)
    bound = explanation.bounds[term]
    new = bound.read(Documents(len(settings), settings))
    places = bound.place(new, joint=len(settings) <= MANY)
    return explanation.share_draws(term, places)


class _Question(NamedTuple):
    """Settings of a term, and what they are compared with."""

    shown: pd.DataFrame  # one row for each row of a topic's table
    places: Placement | None  # of the distinct settings; None for the training documents
    rows: np.ndarray | slice  # the place of each row
    versus: np.ndarray | None  # the place that each row is compared with


def _ask(bound: BoundKernel, label: str, at: Any, versus: Any, n_points: int) -> _Question:
    """The settings in `at` and `versus`, or the default settings without them."""
    settings = bound.settings(n_points) if at is None else read_settings(bound, at, "at")
    if settings is None:
        if versus is not None:
            raise InputError(
                Argument("versus"),
                f" needs settings of the term {label!r} to compare with; give them as ",
                Argument("at", ...),
                ".",
            )
        return _Question(pd.DataFrame({"document": np.arange(bound.n)}), None, slice(None), None)
    both = settings
    if versus is not None:
        against = read_settings(bound, versus, "versus", beside=settings)
        both = pd.concat([settings, against], ignore_index=True)
    warn_unseen(bound, both)
    distinct, which = distinct_settings(bound, both)
    new = bound.read(Documents(len(distinct), distinct))
    places = bound.place(new, joint=len(distinct) <= MANY)
    n = len(settings)
    return _Question(settings, places, which[:n], None if versus is None else which[n:])


def _explanation(fitted: Fitted) -> Explanation:
    draws = fitted.draws if fitted.origin is None else fitted.origin.fitted.draws
    assert draws is not None
    return Explanation(fitted.bound, draws, fitted.origin)


def term_number(kernel: Kernel, term: str | int | None) -> int:
    """The position of a term, given by its label, its number or a column that it alone reads."""
    labels = term_labels(kernel)
    if term is None and len(labels) == 1:
        return 0
    if is_whole(term) and 0 <= int(term or 0) < len(labels):
        return int(term or 0)
    if isinstance(term, str):
        if term in labels:
            return labels.index(term)
        by_column = [n for n, part in enumerate(_terms(kernel)) if term in part.column_names()]
        if len(by_column) == 1:
            return by_column[0]
    got = Message("none, and the kernel has several") if term is None else term
    elsewhere = (
        f"For columns that the kernel does not read use estimate_effects('~ {term}', metadata)."
    )
    remedy = PythonOnly(elsewhere) if isinstance(term, str) else ""
    raise ArgumentError("term", f"must be one of {labels}, or its number", got, remedy)


def _terms(kernel: Kernel) -> list[Kernel]:
    return [unscaled(term) for term in summands(kernel)]


def term_labels(kernel: Kernel) -> list[str]:
    """A unique name for each term of a kernel: its own name, its columns, or its class."""
    terms = _terms(kernel)
    plain = [term.name or ", ".join(term.column_names()) or type(term).__name__ for term in terms]
    labels: list[str] = []
    for label, term in zip(plain, terms, strict=True):
        full = label if plain.count(label) == 1 else f"{type(term).__name__}({label})"
        repeats = sum(used == full or used.startswith(f"{full} #") for used in labels)
        labels.append(f"{full} #{repeats + 1}" if repeats else full)
    return labels
