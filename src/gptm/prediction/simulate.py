"""The generative process of the paper's section 2: from parameters to a corpus."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack
from scipy.special import softmax

from gptm._basics.eigenvectors import symmetric_root
from gptm._basics.errors import Argument, InputError
from gptm._basics.types import Array
from gptm.corpus import Corpus
from gptm.fitted import Fitted
from gptm.kernels import Documents
from gptm.kernels.bound import check_memory
from gptm.operators import Spectral


class Latent(NamedTuple):
    """The latent variables behind the words."""

    F: Array  # (n, K) document means
    eta: Array  # (n, K)
    theta: Array  # (n, K)


def sample_documents(
    beta: Array,
    mu: Array,
    Sigma: Array,
    *,
    lengths: np.ndarray,
    B: Array | None = None,
    Kxx: Array | None = None,
    rng: np.random.RandomState,
) -> tuple[csr_matrix, Latent]:
    """Counts (n, V) of documents of the given lengths, and the latent variables behind them.

    vec F ~ N(0, Kxx (x) B), eta_d ~ N(mu + F_d, Sigma), words from softmax(eta_d) beta.
    """
    n, K = len(lengths), len(mu)
    F = np.zeros((n, K)) if Kxx is None or B is None else _sample_F(Kxx, B, rng)
    eta = mu + F + rng.standard_normal((n, K)) @ symmetric_root(Sigma)
    theta = softmax(eta, axis=1)
    rows = []
    for length, proportions in zip(lengths, theta, strict=True):
        probability = proportions @ beta
        rows.append(csr_matrix(rng.multinomial(length, probability / probability.sum())))
    return vstack(rows, format="csr"), Latent(F, eta, theta)


def draw_corpus(
    fitted: Fitted, lengths: np.ndarray, frame: pd.DataFrame | None, rng: np.random.RandomState
) -> tuple[Corpus, Latent]:
    """Documents of the given lengths and metadata, drawn from a fitted model."""
    counts, latent = sample_documents(
        fitted.components,
        fitted.mu,
        fitted.Sigma,
        lengths=lengths,
        B=fitted.B,
        Kxx=_prior_kernel(fitted, frame, len(lengths)),
        rng=rng,
    )
    return Corpus(counts, fitted.vocabulary, metadata=frame), latent


def _prior_kernel(fitted: Fitted, frame: pd.DataFrame | None, n: int) -> Array | None:
    """(n, n) the kernel between documents with these metadata."""
    if fitted.kernel is None:
        return None
    if frame is None and fitted.bound.reads_metadata:
        raise InputError(
            f"drawing documents needs the metadata that the kernel {fitted.kernel!r} reads. Pass ",
            Argument("metadata", ...),
            f" with {n} rows.",
        )
    check_memory(n, fitted.kernel)
    return fitted.bound.own_gram(fitted.bound.read(Documents(n, frame)), joint=True)


def _sample_F(Kxx: Array, B: Array, rng: np.random.RandomState) -> Array:
    operator = Spectral.from_dense(Kxx)
    white = np.sqrt(operator.values)[:, None] * rng.standard_normal((len(Kxx), len(B)))
    return operator.unrotate(white) @ symmetric_root(B)


def checked_lengths(n_words: Any, n_documents: int) -> np.ndarray:
    """(n_documents,) numbers of words; an error for anything else."""
    lengths = np.asarray(n_words)
    wrong_kind = lengths.dtype.kind not in "iu" or lengths.shape not in ((), (n_documents,))
    if wrong_kind or (lengths < 0).any():
        raise ValueError(
            f"n_words must be a number of words, or one for each of the {n_documents} documents: whole numbers of zero "
            f"or more; got {n_words!r} of shape {lengths.shape}."
        )
    return np.broadcast_to(lengths, (n_documents,))
