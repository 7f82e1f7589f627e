"""Effects of a treatment on the topics of documents that the topics were not learnt from."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from gptm._basics.errors import ArgumentError, InputError, Message
from gptm._basics.validation import check_choice, check_level, check_seed, is_real
from gptm.corpus import Corpus
from gptm.corpus.metadata import level_names
from gptm.effects.estimated_effects import EstimatedEffects
from gptm.effects.formula_design import make_design
from gptm.model import GPTM

_FEWEST = 2  # documents on either side


@dataclass(frozen=True, eq=False, repr=False)
class SplitSampleEffects(EstimatedEffects):
    """Effects on held-out documents; see `gptm.split_sample_effects`.

    Attributes
    ----------
    table, formula, level, n_documents, n_draws, n_clusters
        As in `EstimatedEffects`, of the held-out documents.
    model : GPTM or CTM
        Fitted to the training documents.
    train, test : ndarray of int
        Positions of the documents on either side.
    """

    model: GPTM
    train: np.ndarray
    test: np.ndarray


def split_sample_effects(
    model: GPTM,
    corpus: Corpus,
    formula: str,
    *,
    test_size: float = 0.5,
    random_state: Any = 0,
    cluster: str | None = None,
    topic: int | str | Sequence[int | str] | None = None,
    errors: Literal["robust", "classical"] = "robust",
    level: float = 0.9,
) -> SplitSampleEffects:
    """Learn topics from one part of the documents, and estimate effects of a treatment on the other part.

    In an experiment the topics are found in the same answers that the treatment has changed. So what is measured
    depends on who was treated, and effects can be found where there are none. Here the topics are fixed before they
    meet the documents that count (Egami, Fong, Grimmer, Roberts and Stewart, 2022).

    Parameters
    ----------
    model : GPTM or CTM
        A clone of it is fitted to the training documents; the model itself stays unchanged.
    corpus : Corpus
        With metadata.
    formula : str
        Such as "~ treatment", as in `GPTM.estimate_effects`.
    test_size : float, default=0.5
        Fraction of the documents to hold out.
    random_state : int, RandomState or None, default=0
        Seed of the split. The fit itself follows the model's `random_state`.
    cluster : str, optional
        Column whose values name groups of documents that depend on each other. All documents of a group are on the
        same side, and errors are by group.
    topic, errors, level
        As in `GPTM.estimate_effects`.

    Returns
    -------
    SplitSampleEffects
        With `table`, `predict` and `marginal_effects` as in `GPTM.estimate_effects`; `model`, fitted to the training
        documents; `train` and `test`, positions of documents.

    Notes
    -----
    The proportions of held-out documents come from their words, with the topics fixed. If the kernel reads columns of
    the formula, these count as missing, so that the treatment cannot decide the outcome. The standard errors include
    the uncertainty of each document's proportions. The vocabulary of the corpus is that of all documents.

    To look at the topics, name or merge them before the held-out documents are used, do the same in steps: fit the
    model to `corpus[train]`, change its topics, and call `model.estimate_effects(formula, new=corpus[test])`.

    Examples
    --------
    >>> import gptm, numpy as np
    >>> treated = np.arange(80) % 2
    >>> words = np.where(treated[:, None], ["army, navy, tea"], ["tea, coffee, cups"])[:, 0]
    >>> corpus = gptm.Corpus.from_texts(words, {"treated": treated}, max_df=1.0)
    >>> effects = gptm.split_sample_effects(gptm.CTM(2, random_state=0), corpus, "~ treated")
    >>> len(effects.train), effects.n_documents
    (40, 40)
    >>> bool(effects.marginal_effects()["estimate"].abs().min() > 0.2)
    True
    """
    if not isinstance(model, GPTM):
        got = Message(f"an object of type {type(model).__name__}")
        raise ArgumentError("model", "must be a GPTM or CTM, which need not be fitted", got)
    if not isinstance(corpus, Corpus):
        raise ArgumentError("corpus", "must be a gptm.Corpus with metadata", type(corpus).__name__)
    check_seed("random_state", random_state)
    _check_before_the_fit(model, corpus, formula, topic, errors, level)
    train, test = _split(corpus, test_size, cluster, check_random_state(random_state))
    fitted = clone(model).fit(corpus[train])
    effects = fitted.estimate_effects(
        formula, new=corpus[test], cluster=cluster, topic=topic, errors=errors, level=level
    )
    values = {item.name: getattr(effects, item.name) for item in fields(effects)}
    return SplitSampleEffects(**values, model=fitted, train=train, test=test)


def _check_before_the_fit(
    model: GPTM, corpus: Corpus, formula: Any, topic: Any, errors: Any, level: Any
) -> None:
    """Mistakes that would otherwise show after it."""
    check_level(level)
    check_choice("errors", errors, ("robust", "classical"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the estimation says it of the documents that it uses
        make_design(formula, corpus.metadata, n=len(corpus))
    asked = topic if isinstance(topic, Sequence) and not isinstance(topic, str) else [topic]
    numbers = [number for number in asked if is_real(number)]  # names may come from seed words
    if any(not -1 < number < model.n_components for number in numbers):
        most = model.n_components - 1
        raise ArgumentError("topic", f"must be numbers from 0 to {most}, or names", topic)


def _split(
    corpus: Corpus, test_size: Any, cluster: str | None, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Positions on either side, in order; documents of a group stay together."""
    if not (is_real(test_size) and 0 < test_size < 1):
        raise ArgumentError("test_size", "must be a share between 0 and 1, such as 0.5", test_size)
    groups = np.arange(len(corpus))
    if cluster is not None:
        frame = corpus.metadata
        if frame is None or not (isinstance(cluster, str) and cluster in frame):
            names = [] if frame is None else list(frame)
            expected = f"must be a column of the metadata: {', '.join(map(repr, names)) or 'none'}"
            raise ArgumentError("cluster", expected, cluster)
        groups = pd.factorize(pd.Series(level_names(frame[cluster]), dtype=object))[0]
        # Documents without a group go to the training side: they would be left out of the other.
    numbers = np.unique(groups[groups >= 0])
    n_test = round(test_size * len(numbers))
    if min(n_test, len(numbers) - n_test) < _FEWEST:
        raise InputError(
            f"{len(numbers)} documents or groups are too few for a test_size of {test_size:g}: each side needs at "
            f"least {_FEWEST}."
        )
    held_out = train_test_split(numbers, test_size=n_test, random_state=rng)[1]
    is_test = np.isin(groups, held_out)
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)
