"""Several models on the same documents."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gptm.model import GPTM
from gptm.selection.data import SHARES, check_shares, read_data
from gptm.selection.fold_fits import Task, make_tasks, run_tasks
from gptm.selection.folds import described_order, make_folds, make_split
from gptm.selection.named_models import find_reference, named_models, prepare
from gptm.selection.results import Comparison

TEST_SHARE = 0.2  # of the documents, where they are split once


def compare(
    models: Mapping[Any, GPTM] | Sequence[GPTM],
    X: Any,
    *,
    metadata: Any = None,
    y: Any = None,
    test: Any = None,
    test_metadata: Any = None,
    cv: Any = None,
    groups: Any = None,
    by_time: Any = None,
    reference: Any = None,
    observed: float | Sequence[float] = SHARES,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Compare models: fit all to the same documents and score them on the same held-out documents.

    Parameters
    ----------
    models : dict of models by name, or sequence of models
        GPTMs and CTMs. They stay unchanged: clones are fitted.
    X : Corpus, or sparse or dense array of shape (n_documents, n_words)
    metadata : DataFrame or dict of columns, optional
        One row per document. Default: the metadata of the corpus.
    y : array of shape (n_documents,), optional
        Labels, for `MustLink()`.
    test : float, int, Corpus or array, optional
        Fraction or number of documents to hold out at random, by default a fifth; with `groups`, of the groups; with
        `by_time`, the latest documents. Or the held-out documents themselves: then all of X is for training, and models
        that are already fitted are scored as they are.
    test_metadata : DataFrame or dict of columns, optional
        Metadata of the documents in `test`, unless it is a corpus with metadata.
    cv : int, scikit-learn splitter or iterable of (train, test), optional
        Cross-validate instead; the table then has means over the folds.
    groups, by_time : str or array of shape (n_documents,), optional
        As in `cross_validate`: hold out whole groups, or the future.
    reference : name, optional
        The model that the others are compared with. Default: the first model without a kernel, such as a CTM, or else
        the first model.
    observed, random_state, n_jobs, verbose
        As in `cross_validate`. Models that have a `random_state` keep it.
    checkpoint : path, optional
        A file that stores the scores of finished fits. After a crash or Ctrl-C, the same call runs only the others.
        The file is removed when all are done.

    Returns
    -------
    Comparison
        With `table`, one row per model with columns as in `cross_validate` and the change of the perplexity relative to
        the reference; `differences`, the same as log-ratios; `std`, standard deviations over the folds; `folds`, every
        fit; and `best`, the name of the model with the lowest perplexity at the first fraction.

    Notes
    -----
    Perplexities vary from fold to fold, mostly because some documents are harder than others for all models. So models
    are compared within folds: a change is the mean over folds of the log-ratio of perplexities, and its standard error
    says how much it would vary with other documents. The standard error is an estimate, because folds share training
    documents; on simulated corpora it was within 15 % of the true value. A single split has none: pass `cv=5`.

    Examples
    --------
    >>> import gptm
    >>> from gptm import kernels as k
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> years = {"year": [1990, 1991, 2010, 2011] * 6}
    >>> models = {"words": gptm.CTM(2), "time": gptm.GPTM(2, kernel=k.RBF("year", length_scale=5.0))}
    >>> comparison = gptm.compare(models, X, metadata=years, observed=[0.5, 0.1])
    >>> comparison.table.index.tolist()
    ['words', 'time']
    >>> bool(comparison.table.loc["time", "change_10"] < 0)
    True
    >>> comparison.reference, comparison.differences.index.tolist()
    ('words', [('time', 0.5), ('time', 0.1)])
    """
    data, shares, named = read_data(X, metadata, y), check_shares(observed), named_models(models)
    if cv is not None and test is not None:
        raise ValueError("pass test= or cv= to compare, not both.")
    compared_to = find_reference(reference, named)
    held_out = None
    if cv is None and test is not None and not isinstance(test, int | float | np.number):
        held_out = read_data(test, test_metadata, None)
        if groups is not None or by_time is not None:
            raise ValueError(
                "the documents in test= are held out already, so groups= and by_time= have nothing to split."
            )
    elif test_metadata is not None:
        raise ValueError("test_metadata needs documents in test=, but there are none.")
    if held_out is None:
        share = TEST_SHARE if test is None else test
        folds = (
            make_split(share, data, random_state, groups, by_time)
            if cv is None
            else make_folds(cv, data, random_state, groups, by_time)
        )
        how = f"{len(folds)} folds" if cv is not None else f"{len(folds[0][1])} held-out documents"
        how += described_order(groups, by_time)
        tasks = make_tasks(prepare(named, data, random_state), data, folds, shares)
    else:
        folds, how = [], f"{held_out.n} held-out documents"
        fitted = {name: model for name, model in named.items() if hasattr(model, "components_")}
        unfitted = {name: model for name, model in named.items() if name not in fitted}
        ready = prepare(unfitted, data, random_state, split=False) | fitted
        tasks = iter(Task(name, 0, ready[name], data, held_out, shares) for name in named)
    fits = run_tasks(tasks, len(named) * max(len(folds), 1), n_jobs, verbose, checkpoint=checkpoint)
    return Comparison(fits.table, fits.note, f"{len(named)} models on {how}", compared_to)
