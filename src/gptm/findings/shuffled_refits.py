"""A permutation test with refits: the whole model is fitted to every shuffled table."""

import os
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.base import clone

from gptm._basics.errors import ArgumentError, InputError, Message
from gptm.corpus.counts import columns_of, frame_of
from gptm.findings.permutation_result import PermutationTest, p_values
from gptm.findings.trial import Trial, matched_topics
from gptm.model import GPTM
from gptm.selection.refits import Refit, fitted_to, run_refits, without_warnings
from gptm.selection.resumable import Row
from gptm.views.shown_table import ShownTable


def by_refits(trial: Trial, checkpoint: str | os.PathLike[str] | None) -> PermutationTest:
    """Compare the share of the variance that the term explains with that of shuffled columns."""
    _check_refits(trial)
    label = trial.term.label
    with without_warnings():
        own = _shares_of(trial.model, label)
    done = run_refits(
        _shuffled_tables(trial),
        trial.n_orders,
        partial(_variance_shares, label=label),
        _line,
        asked=("variance", label),
        n_jobs=trial.n_jobs,
        verbose=trial.verbose,
        checkpoint=checkpoint,
    )
    exact = trial.exact and not done.note
    topics = np.array([row["topics"] for row in done.rows])
    table = matched_topics(trial.model, trial.model).drop(columns="overlap")
    table["statistic"] = own["topics"]
    table["p_adjusted"] = p_values(np.array(own["topics"]), topics.max(1, keepdims=True), exact)
    return PermutationTest(
        label,
        own["all"],
        np.array([row["all"] for row in done.rows]),
        ShownTable(table),
        exact,
        "the column, each fitted anew",
        done.note,
    )


def _check_refits(trial: Trial) -> None:
    """An error unless the term has columns of its own, and the model can be fitted to them shuffled."""
    if trial.term.is_new:
        raise InputError("a refit needs a term of the model's own kernel; got another kernel.")
    if trial.model.fitted_.origin is not None:
        raise InputError(
            "the topics of this model were merged, dropped or reordered, which a refit cannot repeat. Use "
            "model.restore_topics() first."
        )
    columns = trial.term.kernel.column_names()
    common = sorted(set(columns) & set(columns_of(trial.term.rest) or ()))
    if not columns or common:
        why = f"other terms read {common[0]!r} too" if common else "it reads no column"
        raise ArgumentError(
            "term",
            "must have columns of its own to shuffle for a refit",
            Message(f"{trial.term.label!r}: {why}"),
            "Leave out refit=True.",
        )


def _shuffled_tables(trial: Trial) -> Iterator[Refit]:
    """The model, to be fitted to the documents with the term's columns in other orders."""
    data, columns = trial.data, trial.term.kernel.column_names()
    frame = frame_of(data.X, data.metadata, data.n)
    assert frame is not None
    for number, order in enumerate(trial.orders(), 1):
        moved = frame.assign(**{name: frame[name].array[order] for name in columns})
        copy = clone(trial.unfitted).set_params(warm_start=False)
        yield Refit(f"shuffle {number}", copy, data._replace(metadata=moved))


def _variance_shares(task: Refit, label: str) -> Row | None:
    return _shares_of(task.model, label) if fitted_to(task.model, task.data) else None


def _shares_of(model: GPTM, label: str) -> Row:
    """The share of the variance that a term explains, of all topics together and of each."""
    table = model.variance_explained()
    own = table[table["term"] == label]
    shares = dict(zip(own["topic"], own["share"], strict=True))
    K = len(model.components_)
    return {"all": float(shares["all"]), "topics": [float(shares[k]) for k in range(K)]}


def _line(label: str, row: Row) -> str:
    return f"{label}: {100 * row['all']:.1f} % of the variance"
