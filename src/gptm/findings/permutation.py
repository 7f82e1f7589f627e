"""The effect of a term against shuffled columns."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from gptm._basics.errors import ArgumentError, InputError, Message
from gptm._basics.progress import Progress
from gptm._basics.types import Array
from gptm._basics.validation import check_number, check_truth
from gptm.corpus.counts import columns_of, frame_of
from gptm.effects.effect_tables import check_explainable, term_labels, term_number
from gptm.findings.association import associations, standardised, structures_of
from gptm.findings.shuffle_checks import check_shuffles
from gptm.findings.shuffles import Shuffles
from gptm.kernels import Documents, Kernel, Sum, resolve_kernel
from gptm.kernels.kernel import summands, unscaled
from gptm.model import CTM, GPTM
from gptm.model.checked_model import check_fitted
from gptm.selection.alignment import best_pairs, overlaps, topic_labels_of
from gptm.selection.folds import Data
from gptm.selection.named_models import prepare
from gptm.selection.ordered_folds import read_groups
from gptm.selection.refits import (
    Refit,
    fitted_to,
    key_of_refit,
    label_of,
    seed_of,
    training_data,
    without_warnings,
)
from gptm.selection.resumable import Job, Row, run_all
from gptm.views.shown_table import ShownTable, table_card, table_lines

N_HELD, N_REFITS = 999, 99  # shuffles by default
MOST = 1_000_000  # shuffles: p-values below that say nothing more
_ROUNDING = 1e-9  # statistics that differ by less are equal


@dataclass(frozen=True, repr=False, eq=False)
class PermutationTest:
    """The effect of a term against shuffled columns; `print` says it in words.

    Attributes
    ----------
    p_value : float
        Of all topics together: (1 + shuffles with a statistic as large) / (1 + shuffles); exact if all orders were
        tried.
    statistic : float
        Of the data. Without `refit`: how similar the topics of documents are that the term makes similar, relative to
        the mean over shuffles, which is 1. With `refit`: the share of the variance of logits that the term explains.
    table : DataFrame
        One row per topic: `topic`, the number in the model; its words; its `overlap` with the tested topic;
        `statistic`; `p_value`; `p_adjusted`, which accounts for testing all topics: the fraction of shuffles in which
        the largest statistic of any topic is as large. With `refit` there is only the latter.
    shuffled : ndarray
        The statistic of every shuffle.
    exact : bool
        Whether all orders were tried, rather than some at random.
    complete : bool
        False if the work was interrupted.
    """

    term: str
    statistic: float
    shuffled: Array
    table: pd.DataFrame
    exact: bool
    how: str
    note: str = ""

    @property
    def complete(self) -> bool:
        return not self.note

    @property
    def p_value(self) -> float:
        return float(p_values(np.array([self.statistic]), self.shuffled[:, None], self.exact)[0])

    @property
    def title(self) -> str:
        """The term, its p-value and what was shuffled, in a line."""
        n = len(self.shuffled)
        orders = f"all {n:,} orders" if self.exact else f"{n:,} shuffles"
        return f"{self.term}: p = {self.p_value:.3g}, {orders} of {self.how}"

    @property
    def conclusion(self) -> str:
        """The statistic of the data beside those of shuffled columns."""
        low, high = np.quantile(self.shuffled, [0.05, 0.95])
        return (
            f"statistic {self.statistic:.3g}; "
            f"90 % of the shuffled ones are from {low:.3g} to {high:.3g}"
        )

    def __repr__(self) -> str:
        above = [self.title, *([self.note] if self.note else []), self.conclusion]
        return "\n".join([*above, *table_lines(self.table)])

    def _repr_html_(self) -> str:
        return table_card(self.title, self.table, [self.note, self.conclusion])


def p_values(observed: Array, shuffled: Array, exact: bool) -> Array:
    """(k,) shares of shuffles (n, k) with a statistic as large as the one observed (k,).

    The data count as one more shuffle, unless all orders were tried and they are among them.

    Examples
    --------
    >>> p_values(np.array([2.0]), np.array([[1.0], [3.0], [2.0]]), exact=False)
    array([0.75])
    """
    slack = _ROUNDING * np.maximum(np.abs(observed), 1e-300)
    larger = (shuffled >= observed - slack).sum(0)
    n = len(shuffled)
    return np.asarray(larger / n if exact else (1 + larger) / (1 + n))


def permutation_test(
    model: GPTM,
    corpus: Any,
    term: str | int | Kernel | None = None,
    *,
    n: int | None = None,
    within: Any = None,
    groups: Any = None,
    refit: bool = False,
    metadata: Any = None,
    y: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> PermutationTest:
    """Test whether the topics depend on a term: compare it with shuffled columns.

    Parameters
    ----------
    model : fitted GPTM or CTM
        It stays unchanged.
    corpus : Corpus, or sparse or dense array of shape (n_documents, n_words)
        The training documents.
    term : str, int or Kernel, optional
        A term of the model's kernel: its label, its number or a column that it reads. Not needed if there is only one.
        Or a kernel over columns that the model does not use, such as `kernels.Categorical("party")`.
    n : int, optional
        Number of shuffles, by default 999, or 99 with `refit`. If there are no more orders than that, all are tried
        and the p-value is exact.
    within : str or array of shape (n_documents,), optional
        A column of the metadata, or values: documents exchange values only with documents of the same block, such as
        the same author or year. So what differs between blocks cannot be mistaken for the effect.
    groups : str or array of shape (n_documents,), optional
        A column of the metadata, or values: all documents of a group have the same value of the term, and groups
        exchange values as a whole. Use it for columns that belong to authors rather than to documents.
    refit : bool, default=False
        Fit the whole model to every shuffled table, rather than once.
    metadata, y
        As in `fit`.
    random_state : int, default=0
        Seed of the shuffles, and of a model without a seed of its own.
    n_jobs : int or None
        Number of threads, or of fits at the same time. Results do not depend on it.
    verbose : int or bool, default=False
        Print progress.
    checkpoint : path, optional
        With `refit`: a file that stores finished fits, so that the same call goes on after a crash or Ctrl-C.

    Returns
    -------
    PermutationTest
        With `p_value`, `table` with one row per topic, and `shuffled`.

    Notes
    -----
    By default the topics stay fixed. They must not have seen the column: a model whose kernel reads it draws the topics
    of its documents towards it, and any test on these would find an effect. So the model is fitted once more without
    the term. Its residual logits (what words say of each document beyond the other terms) are then compared with the
    column and with shuffled ones. The statistic of a topic is y' K y, with y its residual logits and K the kernel of
    the term, relative to its mean over free shuffles; with `within`, y is taken relative to the mean of its block.
    Parameters that the term leaves open, such as length-scales, are not learnt here: three values are averaged. If the
    column has nothing to do with the documents, all orders are equally probable, and so are all p-values. With other
    terms in the kernel this holds approximately, as for the permutation test of Freedman & Lane (1983).

    With `refit` the model is fitted to every shuffled table, and the statistic is the share of the variance of logits
    that the term explains (`variance_explained`). This asks the question of the model itself, and takes as many fits.

    Examples
    --------
    >>> import numpy as np
    >>> import gptm
    >>> from gptm import kernels as k
    >>> rng = np.random.default_rng(0)
    >>> party = np.array(["left", "right"] * 20)
    >>> topics = np.kron(np.eye(2), np.full((1, 4), 0.25))
    >>> mix = rng.beta(2.0, 2.0, 40) * np.where(party == "left", 1.0, 0.5)
    >>> X = np.array([rng.multinomial(30, [p, 1 - p] @ topics) for p in mix])
    >>> frame = {"party": party, "coin": rng.permutation(party)}
    >>> model = gptm.GPTM(2, kernel=k.Categorical("party"), random_state=0).fit(X, metadata=frame)
    >>> test = gptm.permutation_test(model, X, "party", metadata=frame)
    >>> bool(test.p_value < 0.05)
    True
    >>> other = gptm.permutation_test(gptm.CTM(2, random_state=0).fit(X), X, k.Categorical("coin"), metadata=frame)
    >>> bool(other.p_value > 0.05)
    True
    """
    check_fitted(model)
    check_truth("refit", refit)
    check_number("random_state", random_state, least=0, integer=True)
    n = (N_REFITS if refit else N_HELD) if n is None else n
    check_number("n", n, least=1, most=MOST, integer=True)
    data = training_data(model, corpus, metadata, y)
    prepared = prepare({"model": clone(model)}, data, seed_of(model, random_state), split=False)[
        "model"
    ]
    if not isinstance(prepared, CTM):  # a matrix is a kernel too
        prepared.set_params(kernel=resolve_kernel(prepared.kernel, None))
    kernel, label, rest = _find_term(model, prepared.kernel, term)
    columns = {*kernel.column_names(), *(columns_of(rest) or ())}
    data = data.with_kinds_of(columns)
    shuffles = Shuffles.of(
        data.n,
        None if groups is None else read_groups("groups", groups, data),
        None if within is None else read_groups("within", within, data),
    )
    check_shuffles(kernel, data, shuffles, by_groups=groups is not None)
    if refit:
        return _by_refits(
            model,
            prepared,
            data,
            shuffles,
            (kernel, label, rest),
            n,
            random_state,
            n_jobs,
            verbose,
            checkpoint,
        )
    return _with_topics_held(
        model, prepared, data, shuffles, (kernel, label, rest), n, random_state, n_jobs, verbose
    )


_Term = tuple[Kernel, str, Kernel | None]  # a term, its label, and the kernel without it


def _find_term(model: GPTM, kernel: Any, term: Any) -> _Term:
    if isinstance(term, Kernel):
        used = set(columns_of(kernel) or ()) & set(term.column_names())
        if used:
            raise ArgumentError(
                "term",
                "must be a kernel over columns that the model does not use, or the name of one of its terms",
                term,
                f"The model's own kernel reads {', '.join(map(repr, sorted(used)))}.",
            )
        return term, term_labels(term)[0] if not isinstance(term, Sum) else repr(term), kernel
    if model.fitted_.kernel is None:
        raise ArgumentError(
            "term",
            "must be a kernel for a model without one",
            term,
            "Pass, for example, gptm.kernels.Categorical('party').",
        )
    check_explainable(model.fitted_)
    number = term_number(kernel, term)
    terms = list(summands(kernel))
    chosen = terms.pop(number)
    rest = None if not terms else terms[0] if len(terms) == 1 else Sum(*terms)
    return unscaled(chosen), term_labels(kernel)[number], rest


def _orders(shuffles: Shuffles, n: int, seed: int) -> tuple[Iterator[np.ndarray], int, bool]:
    """Orders to try, how many, and whether these are all there are."""
    if shuffles.total <= n:
        return shuffles.all(), shuffles.total, True
    return shuffles.drawn(n, seed), n, False


# With topics held.


def _with_topics_held(
    model: GPTM,
    prepared: GPTM,
    data: Data,
    shuffles: Shuffles,
    term: _Term,
    n: int,
    random_state: int,
    n_jobs: int | None,
    verbose: int | bool,
) -> PermutationTest:
    kernel, label, rest = term
    progress = Progress(verbose)
    blind = model
    if prepared.kernel is not rest:
        blind = clone(prepared).set_params(kernel=rest, warm_start=False, verbose=verbose)
        with without_warnings():
            if not fitted_to(blind, data):
                raise KeyboardInterrupt
        progress.say(f"fitted without {label}  {progress.elapsed()}")
    fitted = blind.fitted_
    residuals = fitted.lam - fitted.mu - fitted.F
    Y = standardised(residuals - _block_means(residuals, shuffles.block[shuffles.unit]))
    frame = frame_of(data.X, data.metadata, data.n, only=kernel.column_names())
    structures = structures_of(clone(kernel), Documents(data.n, frame, None, data.y, n_jobs))
    orders, n_orders, exact = _orders(shuffles, n, random_state)
    observed = associations(structures, Y, [shuffles.as_it_is()], 1, None, Progress(False))[0]
    shuffled = associations(structures, Y, orders, n_orders, n_jobs, progress)
    table = _matched(model, blind)
    table["statistic"] = observed
    table["p_value"] = p_values(observed, shuffled, exact)
    table["p_adjusted"] = p_values(observed, shuffled.max(1, keepdims=True), exact)
    how = "the column, topics held" + ("" if blind is model else f" from a fit without {label}")
    return PermutationTest(
        label, float(observed.mean()), shuffled.mean(1), _ordered(table), exact, how
    )


def _block_means(values: Array, block: np.ndarray) -> Array:
    """(D, K) the mean of each document's block: what differs between blocks is no matter of the term."""
    sizes = np.maximum(np.bincount(block), 1)[:, None]
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, block, values)
    return np.asarray((sums / sizes)[block])


def _matched(model: GPTM, blind: GPTM) -> pd.DataFrame:
    """The topics of a blind fit, with the numbers of the model's topics that they match."""
    overlap = overlaps(blind.components_, model.components_)
    partner = dict(best_pairs(overlap))
    K = len(overlap)
    return pd.DataFrame(
        {
            "topic": pd.array([partner.get(k) for k in range(K)], dtype="Int64"),
            "words": topic_labels_of(blind.fitted_),
            "overlap": [overlap[k, partner[k]] if k in partner else np.nan for k in range(K)],
        }
    )


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return ShownTable(table.sort_values("topic", kind="stable", ignore_index=True))


# With refits.


def _by_refits(
    model: GPTM,
    prepared: GPTM,
    data: Data,
    shuffles: Shuffles,
    term: _Term,
    n: int,
    random_state: int,
    n_jobs: int | None,
    verbose: int | bool,
    checkpoint: str | os.PathLike[str] | None,
) -> PermutationTest:
    _check_refits(model, prepared, term)
    kernel, label, _ = term
    orders, n_orders, exact = _orders(shuffles, n, random_state)
    job = Job(
        partial(_variance_shares, label=label),
        partial(key_of_refit, also=("variance", label)),
        label_of,
        _line,
    )
    with without_warnings():
        own = _shares_of(model, label)
        tasks = _shuffled_tables(prepared, data, list(kernel.column_names()), orders)
        done = run_all(job, tasks, n_orders, n_jobs, verbose, checkpoint)
    topics = np.array([row["topics"] for row in done.rows])
    table = _matched(model, model).drop(columns="overlap")
    table["statistic"] = own["topics"]
    largest = topics.max(1, keepdims=True)
    table["p_adjusted"] = p_values(np.array(own["topics"]), largest, exact and not done.note)
    return PermutationTest(
        label,
        own["all"],
        np.array([row["all"] for row in done.rows]),
        ShownTable(table),
        exact and not done.note,
        "the column, each fitted anew",
        done.note,
    )


def _check_refits(model: GPTM, prepared: GPTM, term: _Term) -> None:
    """An error unless the term has columns of its own, and the model can be fitted to them shuffled."""
    kernel, label, rest = term
    if prepared.kernel is rest:
        raise InputError("a refit needs a term of the model's own kernel; got another kernel.")
    if model.fitted_.origin is not None:
        raise InputError(
            "the topics of this model were merged, dropped or reordered, which a refit cannot repeat. Use "
            "model.restore_topics() first."
        )
    columns = kernel.column_names()
    common = sorted(set(columns) & set(columns_of(rest) or ()))
    if not columns or common:
        why = f"other terms read {common[0]!r} too" if common else "it reads no column"
        raise ArgumentError(
            "term",
            "must have columns of its own to shuffle for a refit",
            Message(f"{label!r}: {why}"),
            "Leave out refit=True.",
        )


def _shuffled_tables(
    model: GPTM, data: Data, columns: list[str], orders: Iterator[np.ndarray]
) -> Iterator[Refit]:
    frame = frame_of(data.X, data.metadata, data.n)
    assert frame is not None
    for number, order in enumerate(orders, 1):
        moved = frame.assign(**{name: frame[name].array[order] for name in columns})
        copy = clone(model).set_params(warm_start=False)
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
