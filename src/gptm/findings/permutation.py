"""Whether the topics depend on a term: its columns are shuffled.

`trial` says what is asked, `held_topics` and `shuffled_refits` are the two ways to answer.
"""

import os
from typing import Any

from gptm._basics.validation import check_n_jobs, check_number, check_truth
from gptm.corpus.counts import columns_of
from gptm.findings.held_topics import with_topics_held
from gptm.findings.permutation_result import PermutationTest
from gptm.findings.shuffle_checks import check_shuffles
from gptm.findings.shuffled_refits import by_refits
from gptm.findings.shuffles import Shuffles
from gptm.findings.trial import Trial, find_term
from gptm.kernels import Kernel, resolve_kernel
from gptm.model import CTM, GPTM
from gptm.model.checked_model import check_fitted
from gptm.selection.data import read_groups
from gptm.selection.named_models import prepare_one
from gptm.selection.refits import seed_of, training_data

N_HELD, N_REFITS = 999, 99  # shuffles by default
MOST = 1_000_000  # shuffles: p-values below that say nothing more


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
    check_n_jobs(n_jobs)
    check_number("random_state", random_state, least=0, integer=True)
    n = (N_REFITS if refit else N_HELD) if n is None else n
    check_number("n", n, least=1, most=MOST, integer=True)
    data = training_data(model, corpus, metadata, y)
    unfitted = prepare_one(model, data, seed_of(model, random_state), split=False)
    if not isinstance(unfitted, CTM):  # a matrix is a kernel too
        unfitted.set_params(kernel=resolve_kernel(unfitted.kernel, None))
    asked = find_term(model, unfitted.kernel, term)
    data = data.with_kinds_of({*asked.kernel.column_names(), *(columns_of(asked.rest) or ())})
    shuffles = Shuffles.of(
        data.n,
        None if groups is None else read_groups("groups", groups, data),
        None if within is None else read_groups("within", within, data),
    )
    check_shuffles(asked.kernel, data, shuffles, by_groups=groups is not None)
    trial = Trial(model, unfitted, data, asked, shuffles, n, random_state, n_jobs, verbose)
    return by_refits(trial, checkpoint) if refit else with_topics_held(trial)
