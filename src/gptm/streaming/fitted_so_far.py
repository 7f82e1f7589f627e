"""A fit as the past of an update: what it knows of topics and documents, over more words and topics."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack

from gptm._basics.errors import Argument, InputError
from gptm._basics.types import Array
from gptm.fitted import Fitted, Past, Stream
from gptm.inference.sampling.topic_prior import Urn, first_urn
from gptm.streaming.fold_in import first_logits
from gptm.streaming.mean_topics import topics_of
from gptm.streaming.one_update import Known
from gptm.streaming.past_documents import of_documents, weakened, with_words


class NewDocuments(NamedTuple):
    """Documents that come, over the words of the model and those that join."""

    counts: csr_matrix  # (n, V)
    columns: pd.DataFrame | None  # what the kernel reads
    vocabulary: np.ndarray | None  # (V,)


def stream_of(fitted: Fitted, started: int = 0) -> Stream:
    """What an update needs besides a fit, for one that has not been updated yet.

    `started` is the number of documents that topics were found in, if these may be found again.
    """
    tokens = topic_tokens(fitted)
    urn = first_urn(fitted.beta_T @ tokens)
    return Stream(
        updates=1,
        documents=fitted.n_documents,
        tokens=round(fitted.n_tokens),
        started=started,
        draws=topics_of(fitted).draws,
        tau=urn.tau,
        base=urn.base,
        even=urn.even,
        past=_past_of(fitted),
    )


def topic_tokens(fitted: Fitted) -> Array:
    """(K,) tokens of topics in the documents in memory."""
    theta = np.exp(fitted.lam - fitted.lam.max(1, keepdims=True))
    return np.asarray(fitted.lengths @ (theta / theta.sum(1, keepdims=True)))


def _past_of(fitted: Fitted) -> Past | None:
    """Documents that are not in memory: those of which a sample is there, or all if their words are not."""
    share = 0.0 if fitted.whole is None else fitted.whole.documents / len(fitted.lam) - 1.0
    share += 1.0 if fitted.counts is None else 0.0
    if not share > 0:
        return None
    if fitted.kernel is not None and (fitted.columns is None or fitted.counts is None):
        raise InputError(
            "this model's file does not hold the words and metadata of its training documents, which the kernel needs "
            "to learn from more. Pass ",
            Argument("training", ...),
            ", the training corpus.",
        )
    lam, nu2 = fitted.lam - fitted.lam.mean(1, keepdims=True), np.asarray(fitted.nu2)
    tally = fitted.beta_T * topic_tokens(fitted)
    squares = lam.T @ lam + np.diag(nu2.sum(0))
    return weakened(of_documents(tally, lam, nu2, squares, fitted.columns), share)


def known_before(
    fitted: Fitted, stream: Stream, batch: NewDocuments, decay: float, rng: np.random.Generator
) -> Known:
    """Where an update begins. With decay, documents in memory are forgotten by chance, and sums made smaller."""
    V, past = batch.counts.shape[1], stream.past
    word_topic = np.zeros((V, fitted.K))
    word_topic[: len(fitted.beta_T)] = fitted.beta_T * topic_tokens(fitted)
    counts, columns, old = batch.counts, batch.columns, np.zeros((0, fitted.K))
    if fitted.counts is not None:
        remain = np.flatnonzero(rng.random(len(fitted.lam)) < decay)
        old = np.asarray(fitted.lam)[remain]
        counts = vstack([_widened(fitted.counts[remain], V), batch.counts], format="csr")
        if batch.columns is not None and fitted.columns is not None:
            columns = pd.concat([fitted.columns.iloc[remain], batch.columns])
    tokens = 0.0
    if past is not None:
        past = with_words(weakened(past, decay), V)
        word_topic += past.tally
        tokens = float(past.tally.sum())
    urn = _widened_urn(stream, batch.counts, max(stream.tokens, 1))
    known = Known(
        word_topic=word_topic,
        urn=urn,
        mu=fitted.mu,
        Sigma=fitted.Sigma,
        B=fitted.B,
        n_old=len(old),
        eta=old,
        counts=csr_matrix(counts),
        columns=columns,
        past=past,
        tokens=tokens,
    )
    new = first_logits(batch.counts, known.beta_T)
    return known._replace(eta=np.vstack([old, new]))


def _widened(counts: csr_matrix, V: int) -> csr_matrix:
    """The same counts over more words."""
    return csr_matrix((counts.data, counts.indices, counts.indptr), shape=(counts.shape[0], V))


def _widened_urn(stream: Stream, counts: csr_matrix, tokens: float) -> Urn:
    """The topics' prior over more words: old ones keep their pseudo-counts, new ones get theirs by their frequency."""
    n_old = len(stream.base)
    new = np.asarray(counts[:, n_old:].sum(0), dtype=np.float64).ravel() + 0.5
    base = np.concatenate([stream.base, new / tokens])
    total = base.sum()
    return Urn(stream.tau * total, base / total, stream.even)
