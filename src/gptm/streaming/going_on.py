"""A fit and a batch to the next fit: find topics again while documents are few, and update them after that."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gptm._basics.errors import Argument, InputError
from gptm.fitted import Fitted, Stream
from gptm.inference.problem import FitProblem
from gptm.kernels import Documents
from gptm.streaming.born_topics import with_births
from gptm.streaming.fitted_so_far import NewDocuments, known_before
from gptm.streaming.mean_topics import MeanTopics, topics_of, with_draws
from gptm.streaming.one_update import BIRTH_SWEEPS, Known, Making, Updated, run_update
from gptm.streaming.staying_documents import staying

SWEEPS = 16  # of an update at least, of which the second half counts;
KERNEL_SWEEPS = 30  # with a kernel, since bands of its effects are of these draws alone;
WHOLE = 200  # where all documents are new
ROOM = 1_000_000  # tokens of the documents in memory,
ROOMS = (500, 20_000)  # but not fewer or more documents than that
GROWTH = 2.0  # how many times as many documents there are when topics are found again
ENOUGH = 0.75  # of the room: when topics are found in so many documents, they are found for good
Refit = Callable[[FitProblem, Fitted], Fitted]


def go_on(
    fitted: Fitted,
    stream: Stream,
    batch: NewDocuments,
    making: Making,
    refit: Refit,
    *,
    decay: float,
    n_new: int,
    sweeps: int | None,
    seed: int,
) -> Fitted:
    """The fit to all documents so far, by `refit` if topics are found again."""
    rng = np.random.default_rng([seed, stream.updates])
    known = with_births(known_before(fitted, stream, batch, decay, rng), n_new, rng)
    n_new_documents = batch.counts.shape[0]
    documents = stream.documents + n_new_documents
    tokens = stream.tokens + round(float(batch.counts.sum()))
    room = documents if fitted.bound.structure.graphs else room_for(tokens, documents)
    started = remembered(stream.started, decay) if _may_find_again(fitted, stream, n_new) else 0
    if started and _find_again(started, known.counts.shape[0], n_new_documents, room):
        updated, started = _found_again(known, making, refit, fitted), known.counts.shape[0]
        topics = topics_of(updated.fitted)
    else:
        n_past = 0.0 if known.past is None else known.past.n
        stays = staying(
            known.n_old, n_new_documents, n_past, room, known.columns, fitted.kinds, rng
        )
        least = BIRTH_SWEEPS if n_new else SWEEPS if fitted.kernel is None else KERNEL_SWEEPS
        length = sweeps or sweeps_for(known.share_before, least)
        updated = run_update(known, stays, making, int(rng.integers(2**31)), length)
        before = MeanTopics(fitted.beta_T, stream.draws)
        topics = with_draws(before, known.share_before, topics_of(updated.fitted))
        updated = updated._replace(fitted=replace(updated.fitted, components=topics.beta_T.T))
        known = _only(known, stays)
    whole = updated.fitted.whole
    return replace(
        updated.fitted,
        whole=None if whole is None else whole._replace(documents=documents, tokens=tokens),
        columns=known.columns,
        stream=Stream(
            updates=stream.updates + 1,
            documents=documents,
            tokens=tokens,
            started=started if updated.past is None else 0,
            draws=topics.draws,
            tau=updated.urn.tau,
            base=updated.urn.base,
            even=updated.urn.even,
            past=updated.past,
        ),
    )


def _may_find_again(fitted: Fitted, stream: Stream, n_new: int) -> bool:
    """Whether nobody holds on to the topics, and all documents are in memory."""
    touched = fitted.topic_names is not None or fitted.history
    return not touched and stream.past is None and n_new == 0


def room_for(tokens: int, documents: int) -> int:
    """Number of documents that are kept in memory, by their mean length so far.

    >>> room_for(8_000, 100), room_for(100, 100), room_for(600_000, 100)
    (12500, 20000, 500)
    """
    return int(np.clip(round(ROOM * documents / max(tokens, 1)), *ROOMS))


def remembered(started: int, decay: float) -> int:
    """How many of the documents in which topics were found still count; at least one, as 0 means that topics stay.

    So topics are found again when half of what a model that forgets remembers came after them.

    >>> remembered(100, 0.9), remembered(100, 0.0), remembered(0, 0.9)
    (90, 1, 0)
    """
    return max(int(started * decay), min(started, 1))


def sweeps_for(share_before: float, least: int) -> int:
    """Length of an update: longer the more of all documents are new.

    >>> sweeps_for(0.5, 16), sweeps_for(0.9, 16), sweeps_for(0.99, 16)
    (100, 20, 16)
    """
    return max(least, round(WHOLE * (1.0 - share_before)))


def _find_again(started: int, n: int, n_batch: int, room: int) -> bool:
    """Whether there are many more documents than topics were found in, or no room for another batch of this size."""
    return started < ENOUGH * room and (n >= GROWTH * started or n + n_batch > room)


def _found_again(known: Known, making: Making, refit: Refit, fitted: Fitted) -> Updated:
    n = known.counts.shape[0]
    bound = making.bind(Documents(n, known.columns, known.counts, None, making.n_jobs), False)
    refitted = refit(making.problem(known.counts, bound, False), fitted)
    return Updated(refitted, known.urn, None)


def _only(known: Known, stays: np.ndarray) -> Known:
    """The documents that stay."""
    columns = None if known.columns is None else known.columns.iloc[np.flatnonzero(stays)]
    return known._replace(columns=columns)


def check_goes_on(fitted: Fitted) -> None:
    """Refuse fits that cannot be updated, with the way out."""
    if fitted.origin is not None:
        raise InputError(
            "topics of this model were merged, dropped or reordered, and an update needs those of the fit. Go back "
            "to them with restore_topics(), update, and edit the topics again."
        )
    if not fitted.by_sampling:
        raise InputError(
            "only models that were fitted by sampling go on learning. Fit with ",
            Argument("inference", "sampling"),
            ".",
        )
    if fitted.kernel is not None and fitted.kernel.reads_labels:
        raise InputError(
            f"the kernel {fitted.kernel!r} reads labels that only fit takes. Put the labels into a column of the "
            "metadata, as in MustLink('label'), to update the model."
        )
