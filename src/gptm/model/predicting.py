"""Questions about new documents: read them as the model expects them, then predict."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gptm import metrics
from gptm._basics.errors import Argument, Message, PythonOnly
from gptm._basics.parallel import computing
from gptm._basics.progress import telling
from gptm._basics.prose import listed
from gptm._basics.validation import check_choice, checked_quantiles
from gptm._basics.warnings import warn
from gptm.corpus.block_corpus import BlockCorpus
from gptm.corpus.counts import frame_of, read_counts
from gptm.corpus.metadata import with_columns
from gptm.fitted import Fitted
from gptm.inference.blocks.block_fit import (
    check_block_metadata,
    check_has_all,
    in_blocks,
    mean_over_blocks,
)
from gptm.kernels import Documents
from gptm.model.settings import Settings
from gptm.prediction.new_documents import held_out_bounds
from gptm.prediction.proportions import posterior_of_proportions, proportions

SCORE_SEED = 0  # of the split into observed and held-out words
PARTS = "parts of the documents done"  # what progress counts


def kernel_input(
    fitted: Fitted,
    X: Any,
    metadata: Any,
    counts: csr_matrix,
    n_jobs: int | None,
    missing_columns: str = "error",
) -> Any:
    """What the kernel needs of new documents; of their words, those in `counts`, which may be seen."""
    check_choice("missing_columns", missing_columns, ("error", "prior"))
    bound, kernel, n_documents = fitted.bound, fitted.kernel, counts.shape[0]
    frame = frame_of(X, metadata, n_documents, fitted.kinds, only=fitted.kinds)
    if frame is not None and kernel is not None:
        frame = with_columns(frame, kernel.column_names(), fill=missing_columns == "prior")
    elif bound.reads_metadata and missing_columns == "error":
        columns = [] if kernel is None else kernel.column_names()
        warn(_came_without(list(columns), n_documents))
    return bound.read(Documents(n_documents, frame, counts, None, n_jobs))


def _came_without(columns: list[str], n_documents: int) -> Message:
    over = f" over {listed([repr(name) for name in columns])}" if columns else ""
    these = "this document" if n_documents == 1 else f"these {n_documents} documents"
    return Message(
        f"the kernel{over} reads metadata, but {these} came without any; the kernel "
        "falls back to the prior. Pass ",
        Argument("metadata", ...),
        ", a table with its columns.",
        PythonOnly(
            " Inside scikit-learn's cross-validation, switch on "
            "sklearn.set_config(enable_metadata_routing=True)."
        ),
    )


def predict(
    settings: Settings,
    fitted: Fitted,
    X: Any,
    metadata: Any,
    missing_columns: str,
    return_std: bool,
    quantiles: Sequence[float] | None,
) -> Any:
    """Proportions of documents; with standard deviations or quantiles a tuple."""
    wanted = [] if quantiles is None else checked_quantiles(quantiles)
    if isinstance(X, BlockCorpus):
        check_block_metadata(metadata)
        rest = (None, missing_columns, return_std, quantiles)
        return in_blocks(X, lambda block: predict(settings, fitted, block, *rest))
    counts = read_counts(fitted.expects(settings.model), X)
    new = kernel_input(fitted, X, metadata, counts, settings.n_jobs, missing_columns)
    with computing(settings.n_jobs), telling(PARTS, settings.verbose):
        if not return_std and quantiles is None:
            return proportions(fitted, counts, new, settings.effort)
        posterior = posterior_of_proportions(fitted, counts, new, settings.effort, wanted)
    arrays = [posterior.theta]
    if return_std:
        arrays.append(posterior.std)
    if wanted:
        arrays.append(posterior.quantiles)
    return tuple(arrays)


def completion(
    settings: Settings,
    fitted: Fitted,
    X: Any,
    metadata: Any,
    observed: float,
    missing_columns: str,
    sample_weight: Any = None,
) -> float:
    """Mean log-probability per held-out word, of which the share `observed` is seen."""
    if isinstance(X, BlockCorpus):
        check_block_metadata(metadata)
        rest = (None, observed, missing_columns)
        return mean_over_blocks(X, lambda block: completion(settings, fitted, block, *rest))
    counts = read_counts(fitted.expects(settings.model), X)
    seen, held_out = metrics.split_tokens(counts, observed, SCORE_SEED)
    new = kernel_input(fitted, X, metadata, seen, settings.n_jobs, missing_columns)
    with computing(settings.n_jobs), telling(PARTS, settings.verbose):
        theta = proportions(fitted, seen, new, settings.effort)
    return metrics.mean_log_likelihood(theta, fitted.components, held_out, sample_weight)


def paper_perplexity(
    settings: Settings, fitted: Fitted, X: Any, metadata: Any, kind: str, missing_columns: str
) -> float:
    """Eq. 24 for "conditional" and eq. 23 for "joint", with the bound in place of the likelihood."""
    counts = read_counts(fitted.expects(settings.model), X)
    check_has_all(fitted, kind)
    if counts.sum() == 0:
        raise ValueError("there are no words to score: every document is empty.")
    new = kernel_input(fitted, X, metadata, counts, settings.n_jobs, missing_columns)
    with computing(settings.n_jobs):
        cross = fitted.bound.cross(new, joint=True)
        words, means = held_out_bounds(counts, fitted, cross, settings.n_jobs)
    total = words + means if kind == "joint" else words
    return float(np.exp(-total / counts.sum()))
