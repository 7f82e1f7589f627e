"""A permutation test with topics held: of a fit that has not seen the column."""

import numpy as np
from sklearn.base import clone

from gptm._basics.progress import Progress
from gptm._basics.types import Array
from gptm.corpus.counts import frame_of
from gptm.findings.association import associations, standardised, structures_of
from gptm.findings.permutation_result import PermutationTest, p_values
from gptm.findings.trial import Trial, matched_topics
from gptm.kernels import Documents
from gptm.model import GPTM
from gptm.selection.refits import fitted_to, without_warnings
from gptm.views.shown_table import ShownTable


def with_topics_held(trial: Trial) -> PermutationTest:
    """Compare the residual logits of a fit without the term with the column, as it is and shuffled."""
    progress, kernel = Progress(trial.verbose), trial.term.kernel
    blind = trial.model if trial.term.is_new else _blind_fit(trial, progress)
    fitted, shuffles, data = blind.fitted_, trial.shuffles, trial.data
    residuals = fitted.lam - fitted.mu - fitted.F
    Y = standardised(residuals - _block_means(residuals, shuffles.block[shuffles.unit]))
    frame = frame_of(data.X, data.metadata, data.n, only=kernel.column_names())
    documents = Documents(data.n, frame, None, data.y, trial.n_jobs)
    structures = structures_of(clone(kernel), documents)
    observed = associations(structures, Y, [shuffles.as_it_is()], 1, None, Progress(False))[0]
    shuffled = associations(structures, Y, trial.orders(), trial.n_orders, trial.n_jobs, progress)
    table = matched_topics(trial.model, blind)
    table["statistic"] = observed
    table["p_value"] = p_values(observed, shuffled, trial.exact)
    table["p_adjusted"] = p_values(observed, shuffled.max(1, keepdims=True), trial.exact)
    how = "the column, topics held"
    return PermutationTest(
        trial.term.label,
        float(observed.mean()),
        shuffled.mean(1),
        ShownTable(table.sort_values("topic", kind="stable", ignore_index=True)),
        trial.exact,
        how if trial.term.is_new else f"{how} from a fit without {trial.term.label}",
    )


def _blind_fit(trial: Trial, progress: Progress) -> GPTM:
    """The model fitted without the term."""
    blind = clone(trial.unfitted).set_params(
        kernel=trial.term.rest, warm_start=False, verbose=trial.verbose
    )
    with without_warnings():
        if not fitted_to(blind, trial.data):
            raise KeyboardInterrupt
    progress.say(f"fitted without {trial.term.label}  {progress.elapsed()}")
    return blind


def _block_means(values: Array, block: np.ndarray) -> Array:
    """(D, K) the mean of each document's block: what differs between blocks is no matter of the term."""
    sizes = np.maximum(np.bincount(block), 1)[:, None]
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, block, values)
    return np.asarray((sums / sizes)[block])
