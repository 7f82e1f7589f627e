"""Which topics and effects of a model come back when it is fitted again."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.types import Array
from gptm._basics.validation import check_level, check_number
from gptm.corpus.counts import columns_of
from gptm.findings.stability_result import Stability
from gptm.findings.stability_runs import (
    Reference,
    compare_refit,
    make_refits,
    plan_runs,
)
from gptm.findings.term_effects import effects_at, settings_of
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.selection.alignment import check_threshold, overlaps, topic_labels_of
from gptm.selection.data import Data, read_groups
from gptm.selection.named_models import prepare_one
from gptm.selection.refits import run_refits, seed_of, training_data
from gptm.selection.resumable import Row
from gptm.storage.digests import digest
from gptm.tables import topic_shares


def stability(
    model: GPTM,
    corpus: Any,
    *,
    seeds: int | Sequence[int] = 5,
    n_components: int | Sequence[int] | None = None,
    resamples: int = 5,
    groups: Any = None,
    metadata: Any = None,
    y: Any = None,
    threshold: float = 0.4,
    level: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Stability:
    """Fit a model again in other ways, and see which of its topics and effects come back.

    Three kinds of refits: from other seeds, with other numbers of topics, and to bootstrap samples of the documents.
    Topics are matched by their words, as `align` does. Effects are shares of the matched topics at the same settings.

    Parameters
    ----------
    model : fitted GPTM or CTM
        The reference. It stays unchanged: clones are fitted.
    corpus : Corpus, or sparse or dense array of shape (n_documents, n_words)
        The training documents.
    seeds : int or sequence of int, default=5
        Number of other seeds, or the seeds themselves.
    n_components : int or sequence of int, optional
        Other numbers of topics. By default two, about a fifth fewer and a quarter more; pass `()` for none.
    resamples : int, default=5
        Number of bootstrap samples: as many documents, drawn with replacement. With a `Graph`, whose documents need
        different ids, half of the documents, each once.
    groups : str or array of shape (n_documents,), optional
        A column of the metadata, or values, such as authors: resamples then draw whole groups. Use it where documents
        of a group are not independent of each other.
    metadata, y
        As in `fit`.
    threshold : float, default=0.4
        Smallest overlap of words with which a topic counts as back. It must also be larger than the topic's overlap
        with any other topic of the model.
    level : float, default=0.9
        Level of the bands.
    random_state : int, default=0
        Seed of the resamples, and of a model without a seed of its own.
    n_jobs : int or None
        Number of fits that run at the same time, in processes. Results do not depend on it.
    verbose : int or bool, default=False
        Print a line after each fit.
    checkpoint : path, optional
        A file that stores finished refits. After a crash or Ctrl-C, the same call runs only the others. The file is
        removed when all are done.

    Returns
    -------
    Stability
        With `table`, one row per topic; `effects`, one row per topic, term and setting; `runs` and `overlap`, every
        refit; and `plot`.

    Notes
    -----
    An effect here is the share of a topic at a setting (a level of a category, or one of five values along a date or
    a number), less the mean of the shares at all settings of the term. Unlike contrasts of logits, it can be compared
    between fits with different numbers of topics.

    The bands of one fit include what is uncertain given its mode; another seed may lead to another mode. So the
    reference and its refits with other seeds and numbers of topics are pooled by Rubin's rules: total variance =
    mean variance within fits + (1 + 1/m) times the variance of the m estimates between fits. Resamples are not pooled:
    their variation repeats what the variance within a fit already has. It is shown beside it as `resample_error`, as
    a second opinion that does not trust the model. Resamples keep the length-scales and weights that the model learnt,
    because copies of a document would distort them.

    Examples
    --------
    >>> import numpy as np
    >>> import gptm
    >>> from gptm import kernels as k
    >>> rng = np.random.default_rng(0)
    >>> party = np.array(["left", "right"] * 20)
    >>> topics = np.kron(np.eye(2), np.full((1, 4), 0.25))
    >>> mix = np.where(party == "left", 0.8, 0.2)
    >>> X = np.array([rng.multinomial(30, [p, 1 - p] @ topics) for p in mix])
    >>> model = gptm.GPTM(2, kernel=k.Categorical("party"), random_state=0)
    >>> model = model.fit(X, metadata={"party": party})
    >>> found = gptm.stability(model, X, metadata={"party": party}, seeds=2, n_components=(), resamples=1)
    >>> found.table["back"].tolist()
    [1.0, 1.0]
    >>> found.effects["same_sign"].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    check_fitted(model)
    check_level(level)
    check_number("random_state", random_state, least=0, integer=True)
    check_threshold(threshold)
    data = training_data(model, corpus, metadata, y)
    fitted = model.fitted_
    K = fitted.K if fitted.origin is None else fitted.origin.fitted.K
    own_seed = seed_of(model, random_state)
    runs = plan_runs(seeds, n_components, resamples, K, own_seed)
    if not runs:
        raise InputError(
            "there is nothing to compare with: pass ",
            Argument("seeds", ...),
            ", ",
            Argument("n_components", ...),
            " or ",
            Argument("resamples", ...),
            ".",
        )
    prepared = prepare_one(model, data, own_seed, split=resamples > 0)
    data = data.with_kinds_of(set(columns_of(prepared.kernel) or ()))
    blocks = None if groups is None else _read_groups(groups, data, resamples)
    reference = Reference(np.ascontiguousarray(model.components_), settings_of(model))
    own_effects = effects_at(model, reference.terms)
    nearest = _nearest(reference.topics)
    done = run_refits(
        make_refits(
            runs,
            prepared,
            data,
            learnt=fitted.kernel,
            groups=blocks,
            random_state=random_state,
        ),
        len(runs),
        partial(compare_refit, reference=reference),
        partial(_line, least=np.maximum(threshold, nearest)),
        asked=(
            digest([reference.topics]),
            *(str(term.settings.to_dict()) for term in reference.terms),
        ),
        n_jobs=n_jobs,
        verbose=verbose,
        checkpoint=checkpoint,
    )
    return Stability(
        runs_done=runs[: len(done.rows)],
        rows=done.rows,
        terms=reference.terms,
        own_effects=own_effects,
        topics=topic_labels_of(fitted),
        shares=topic_shares(model.doc_topics_),
        nearest=nearest,
        threshold=threshold,
        level=level,
        note=done.note,
    )


def _read_groups(groups: Any, data: Data, resamples: int) -> np.ndarray:
    """(n,) the groups that are resampled as a whole."""
    blocks = read_groups("groups", groups, data)
    if resamples and blocks.max() == 0:
        raise ArgumentError(
            "groups",
            "must have at least two values: a resample of one group is the corpus itself",
            Message("one"),
        )
    return blocks


def _nearest(topics: Array) -> Array:
    """(K,) the largest overlap of each topic with another one."""
    among = overlaps(topics, topics)
    np.fill_diagonal(among, 0.0)
    return np.asarray(among.max(1))


def _line(label: str, row: Row, least: Array) -> str:
    back = int((np.array(row["paired"]) >= least).sum())
    return f"{label}: {back} of {len(least)} topics came back  {row['seconds']:.1f} s"
