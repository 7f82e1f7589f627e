"""One model, fold by fold."""

import os
from collections.abc import Sequence
from typing import Any

from gptm.model import GPTM
from gptm.selection.data import SHARES, check_shares, read_data
from gptm.selection.fold_fits import make_tasks, run_tasks
from gptm.selection.folds import described_folds, make_folds
from gptm.selection.named_models import name_of, prepare_one
from gptm.selection.results import CrossValidation


def cross_validate(
    model: GPTM,
    X: Any,
    *,
    metadata: Any = None,
    y: Any = None,
    cv: Any = 5,
    groups: Any = None,
    by_time: Any = None,
    observed: float | Sequence[float] = SHARES,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> CrossValidation:
    """Scores of a model on documents that it was not fitted to, fold by fold.

    For each fold, a clone of the model is fitted to the documents outside the fold. It then sees some of the words of
    each document in the fold, and its metadata, and predicts the other words.

    Parameters
    ----------
    model : GPTM or CTM
        Stays unchanged.
    X : Corpus, or sparse or dense array of shape (n_documents, n_words)
    metadata : DataFrame or dict of columns, optional
        One row per document. Default: the metadata of the corpus.
    y : array of shape (n_documents,), optional
        Labels, for `MustLink()` and for splitters that use them.
    cv : int, scikit-learn splitter or iterable of (train, test), default=5
        Number of random folds; or a splitter; or the folds themselves.
    groups : str or array of shape (n_documents,), optional
        A column of the metadata, or values, such as authors: documents of the same group are held out together, so
        that scores say how a model does on new groups. A document without a value is a group of its own.
    by_time : str or array of shape (n_documents,), optional
        A column of dates or numbers, or values. Each fold then scores the documents that follow in time, after a fit
        to all earlier ones. Documents without a time are left out, with a warning.
    observed : float or sequence of floats, default=(0.5, 0.2, 0.05)
        Fractions of a held-out document's words that the model sees.
    random_state : int, RandomState or None, default=0
        Seed of the folds, and of models without their own `random_state`.
    n_jobs : int or None
        Number of fits that run at the same time, in processes; None means 1, -1 all cores. Results do not depend on
        it.
    verbose : int or bool, default=False
        Print a line after each fit.
    checkpoint : path, optional
        A file that stores the scores of finished fits. After a crash or Ctrl-C, the same call runs only the others.
        The file is removed when all are done.

    Returns
    -------
    CrossValidation
        With `table`, one row per fold; `summary`, mean and standard deviation over the folds; and `against`, which
        compares with the cross-validation of another model on the same folds.

    Notes
    -----
    `perplexity_50` is the perplexity of the held-out words of a document when the model sees half of its words; lower
    is better. `bound` is the training bound per word; do not compare it between "variational" and "map" inference.
    `coherence` is the mean NPMI of the topics' ten top words in the training documents, `exclusivity` says how little
    other topics use these words, `seconds` is the time of the fit.

    `kernel="auto"` is resolved once, from the metadata of all documents. Ctrl-C stops the work with a warning and keeps
    the folds that are done; `complete` is then False.

    Examples
    --------
    >>> import gptm
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> scores = gptm.cross_validate(gptm.CTM(2), X, cv=3, observed=[0.5, 0.1])
    >>> list(scores.table.columns[:3])
    ['perplexity_50', 'perplexity_10', 'bound']
    >>> scores.summary.drop(columns="seconds").shape  # mean and standard deviation
    (2, 7)
    """
    data, shares = read_data(X, metadata, y), check_shares(observed)
    folds = make_folds(cv, data, random_state, groups, by_time)
    name = name_of(model)
    models = {type(model).__name__: prepare_one(model, data, random_state)}
    fits = run_tasks(
        make_tasks(models, data, folds, shares), len(folds), n_jobs, verbose, checkpoint=checkpoint
    )
    table = fits.table.droplevel("model")
    title = f"{described_folds(len(folds), groups, by_time)} of {name}"
    return CrossValidation(table, fits.note, title, folds)
