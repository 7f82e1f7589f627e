"""How many topics."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from gptm._basics.errors import ArgumentError
from gptm._basics.validation import as_items, check_number
from gptm.model import GPTM
from gptm.selection.data import check_shares, read_data
from gptm.selection.fold_fits import make_tasks, run_tasks
from gptm.selection.folds import described_folds, make_folds
from gptm.selection.named_models import name_of, prepare_one
from gptm.selection.results import ComponentSearch
from gptm.selection.score_tables import perplexity_column


def search_components(
    model: GPTM,
    X: Any,
    n_components: Iterable[int] = (5, 10, 20, 40),
    *,
    metadata: Any = None,
    y: Any = None,
    cv: Any = 5,
    groups: Any = None,
    by_time: Any = None,
    observed: float = 0.5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ComponentSearch:
    """Cross-validated perplexity of held-out words against the number of topics.

    Parameters
    ----------
    model : GPTM or CTM
        Its own `n_components` is ignored.
    X, metadata, y, cv, groups, by_time, random_state, n_jobs, verbose
        As in `cross_validate`. The folds are the same for all numbers of topics.
    n_components : iterable of int, default=(5, 10, 20, 40)
        Numbers of topics to try.
    observed : float, default=0.5
        Fraction of a held-out document's words that the model sees.
    checkpoint : path, optional
        A file that stores the scores of finished fits. After a crash or Ctrl-C, the same call runs only the others.
        The file is removed when all are done.

    Returns
    -------
    ComponentSearch
        With `table`, one row per number of topics with perplexity, coherence and exclusivity; `lowest`, the number
        with the lowest perplexity; `best`, the smallest number that predicts as well, up to one standard error of the
        difference; `folds`, every fit; and `plot`.

    Notes
    -----
    More topics than needed often predict about as well, so `best` follows the one-standard-error rule of Breiman et
    al. (1984). Some folds are harder than others for all numbers of topics, so differences are paired within folds, as
    in `compare`: without that, their standard errors would be far too large and `best` too small a number.

    Held-out words are one criterion. Look at `coherence` and `exclusivity` too: topics that people like to read are
    often fewer than those that predict best.

    Examples
    --------
    >>> import gptm
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> search = gptm.search_components(gptm.CTM(random_state=0), X, [1, 2], cv=3)
    >>> search.best
    2
    >>> search.table["perplexity"].round().tolist()
    [4.0, 3.0]
    """
    if np.ndim(observed):
        raise ArgumentError("observed", "must be one share, such as 0.5", observed)
    data, shares = read_data(X, metadata, y), check_shares(observed)
    folds = make_folds(cv, data, random_state, groups, by_time)
    sizes = _check_sizes(n_components)
    name = name_of(model)
    prepared = prepare_one(model, data, random_state)
    models = {size: clone(prepared).set_params(n_components=size) for size in sizes}
    tasks = make_tasks(models, data, folds, shares)
    fits = run_tasks(
        tasks, len(sizes) * len(folds), n_jobs, verbose, " topics", checkpoint=checkpoint
    )
    table = fits.table.rename(columns={perplexity_column(shares[0]): "perplexity"})
    table = table.rename_axis(["n_components", "fold"])
    title = f"numbers of topics, {described_folds(len(folds), groups, by_time)} of {name}"
    return ComponentSearch(table, fits.note, title, shares[0])


def _check_sizes(n_components: Iterable[int]) -> list[int]:
    expected = "must be numbers of topics to try"
    sizes = as_items("n_components", n_components, expected)
    if not sizes:
        raise ArgumentError("n_components", expected, n_components)
    for size in sizes:
        check_number("n_components", size, least=1, integer=True)
    return sorted({int(size) for size in sizes})
