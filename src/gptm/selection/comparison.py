"""Several models on the same documents."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit

from gptm.model import GPTM
from gptm.selection.fold_fits import Task, make_tasks, run_tasks
from gptm.selection.folds import SHARES, check_shares, make_folds, read_data
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
    reference: Any = None,
    observed: float | Sequence[float] = SHARES,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Models side by side, fitted to the same documents and scored on the same others.

    Parameters
    ----------
    models : dict of models by name, or sequence of models
        GPTMs and CTMs, which stay as they are: clones are fitted.
    X : Corpus, or sparse or dense array of shape (n_documents, n_words)
    metadata : DataFrame or dict of columns, optional
        One row per document; by default a corpus brings its own.
    y : array of shape (n_documents,), optional
        Labels, for `MustLink()`.
    test : float, int, Corpus or array, optional
        Share or number of the documents that are drawn at random and held out, by default a fifth. Or the held-out
        documents themselves: all of X is for the training then, and models that are fitted already are scored as
        they are.
    test_metadata : DataFrame or dict of columns, optional
        Of the documents in `test`, where that is not a corpus with its own.
    cv : int, scikit-learn splitter or iterable of (train, test), optional
        Cross-validate instead: the table holds means over the folds.
    reference : name, optional
        The model that the others are compared to; by default the first one without a kernel, such as a CTM, else the
        first one.
    observed, random_state, n_jobs, verbose
        As in `cross_validate`. Models that have a `random_state` keep it.
    checkpoint : path, optional
        A file that keeps the scores of fits that are done. The same call after a crash or Ctrl-C does the others only;
        the file is removed when all are done.

    Returns
    -------
    Comparison
        With `table`, one row per model and columns as in `cross_validate`, and how much the perplexity changes against
        that of the reference; `differences`, the same as log-ratios; `std`, standard deviations over the folds;
        `folds`, every fit; and `best`, the name of the model with the lowest perplexity at the first share.

    Notes
    -----
    Perplexities vary from fold to fold mostly because some documents are harder than others, for all models alike. So
    models are compared within folds: a change is the mean over folds of the log-ratio of perplexities, and its
    standard error says how far that would move with other documents. It is an estimate, since folds share training
    documents; on sampled corpora it was within 15 % of the truth. With one split there is none: pass `cv=5`.

    Examples
    --------
    >>> import gptm
    >>> from gptm import kernels as k
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> years = {"year": [1990, 1991, 2010, 2011] * 6}
    >>> models = {"words": gptm.CTM(2), "time": gptm.GPTM(2, kernel=k.RBF("year", length_scale=5.0))}
    >>> found = gptm.compare(models, X, metadata=years, observed=[0.5, 0.1])
    >>> found.table.index.tolist()
    ['words', 'time']
    >>> bool(found.table.loc["time", "perplexity_10"] < found.table.loc["words", "perplexity_10"])
    True
    >>> found.reference, found.differences.index.tolist()
    ('words', [('time', 0.5), ('time', 0.1)])
    """
    data, shares, named = read_data(X, metadata, y), check_shares(observed), named_models(models)
    if cv is not None and test is not None:
        raise ValueError("compare takes test= or cv=, not both.")
    compared_to = find_reference(reference, named)
    held_out = None
    if cv is None and test is not None and not isinstance(test, int | float | np.number):
        held_out = read_data(test, test_metadata, None)
    elif test_metadata is not None:
        raise ValueError("test_metadata goes with documents in test=; there are none.")
    if held_out is None:
        share = TEST_SHARE if test is None else test
        split = ShuffleSplit(1, test_size=share, random_state=random_state) if cv is None else cv
        folds = make_folds(split, data, random_state)
        how = f"{len(folds)} folds" if cv is not None else f"{len(folds[0][1])} held-out documents"
        tasks = make_tasks(prepare(named, data, random_state), data, folds, shares)
    else:
        folds, how = [], f"{held_out.n} held-out documents"
        fitted = {name: model for name, model in named.items() if hasattr(model, "components_")}
        others = {name: model for name, model in named.items() if name not in fitted}
        ready = prepare(others, data, random_state, split=False) | fitted
        tasks = iter(Task(name, 0, ready[name], data, held_out, shares) for name in named)
    fits = run_tasks(tasks, len(named) * max(len(folds), 1), n_jobs, verbose, checkpoint=checkpoint)
    return Comparison(fits.table, fits.note, f"{len(named)} models on {how}", compared_to)
