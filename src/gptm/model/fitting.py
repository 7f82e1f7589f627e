"""The course of a fit: from settings and documents to one `Fitted`.

    read -> bind the kernel -> state the problem -> find starts -> infer -> name

A corpus on disk lends a sample to the first steps and its blocks to the inference. An error leaves nothing behind.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.sparse import csr_matrix

from gptm import tables
from gptm._basics.parallel import computing, interruptible
from gptm._basics.progress import Progress
from gptm._basics.warnings import warn
from gptm.corpus import Corpus
from gptm.corpus.block_corpus import BlockCorpus
from gptm.corpus.counts import columns_of
from gptm.fitted import Fitted
from gptm.inference.blocks.block_fit import BlockFit, check_block_settings, check_in_blocks
from gptm.inference.present_words import PresentWords
from gptm.kernels import BoundKernel
from gptm.model.ending import conclude
from gptm.model.inferring import infer
from gptm.model.settings import Settings
from gptm.model.starting import find_starts
from gptm.model.training_data import TrainingData, check_labels, read_training
from gptm.storage.checkpoint_file import CheckpointFile, Work, seconds

if TYPE_CHECKING:
    from distributed import Client


class Progression(NamedTuple):
    """Where the progress of a fit is stored, if anywhere, how often, and who works on it."""

    path: str | os.PathLike[str] | None = None
    every: str | float = "60s"
    client: "Client | None" = None


NOT_STORED = Progression()


class FitResult(NamedTuple):
    """What a fit gives."""

    # None if it was interrupted before its first iteration, and an earlier fit is there.
    fitted: Fitted | None
    counts: csr_matrix
    corpus: Corpus | None = None  # what it was fitted to, for the texts
    sample: Corpus | None = None  # documents in memory of a corpus on disk


def run_fit(
    settings: Settings,
    X: Any,
    y: Any,
    metadata: Any,
    earlier: Fitted | None,
    progression: Progression,
) -> FitResult:
    """A fit to documents; after an `earlier` one, which a warm start continues."""
    settings.check()
    path, every, client = progression
    check_in_blocks(X, client)
    blocks = None
    if isinstance(X, BlockCorpus):
        blocks = _block_fit(settings, X, y, metadata, progression)
        X = blocks.sample
    check_labels(settings.kernel, y, metadata)
    pause = seconds(every)
    previous = earlier if settings.warm_start else None
    data = read_training(settings, X, y, metadata, previous)
    progress, checkpoint = Progress(settings.verbose), None
    with computing(settings.n_jobs):
        bound = data.bind(settings, in_blocks=blocks is not None)
        if path is not None:
            work = _work(settings, data, bound, previous, blocks)
            checkpoint = CheckpointFile(path, pause, work)
            progress.say(checkpoint.found())
        fitted = _learn(settings, data, bound, previous, progress, checkpoint, blocks)
        if fitted.reason == "interrupt" and not len(fitted.trace) and earlier is not None:
            warn("fit was interrupted before its first iteration; the earlier fit is kept.")
            return FitResult(None, data.counts)
        fitted = replace(fitted, coherence=tables.topic_coherence(fitted))
    conclude(fitted, progress, tol=settings.tol, with_checkpoint=path is not None)
    fitted = data.named(fitted)
    if checkpoint is not None and fitted.reason != "interrupt":
        checkpoint.done(None if blocks is None else blocks.kept)
    return FitResult(fitted, data.counts, data.corpus, None if blocks is None else blocks.sample)


def _block_fit(
    settings: Settings, corpus: BlockCorpus, y: Any, metadata: Any, progression: Progression
) -> BlockFit:
    """A fit to a corpus on disk, with a sample of its documents in memory."""
    check_block_settings(settings.inference, settings.n_chains, metadata, y)
    file = None if progression.path is None else Path(progression.path)
    columns = columns_of(settings.kernel)
    K, memory = settings.n_components, settings.memory
    return BlockFit(corpus, K, memory, columns, file, progression.client)


def _work(
    settings: Settings,
    data: TrainingData,
    bound: BoundKernel,
    previous: Fitted | None,
    blocks: BlockFit | None,
) -> Work:
    """What a checkpoint of this fit is of."""
    work = Work.of(settings.given, data.counts, bound, previous)
    return work if blocks is None else work._replace(documents=blocks.corpus.digest)


def _learn(
    settings: Settings,
    data: TrainingData,
    bound: BoundKernel,
    previous: Fitted | None,
    progress: Progress,
    checkpoint: CheckpointFile | None,
    blocks: BlockFit | None,
) -> Fitted:
    """The fit without names. Words that no document has are left out on the way."""
    resumed = None if previous is None else previous.kernel
    problem = interruptible(lambda: settings.problem(data.counts, bound, resumed=resumed))
    problem.seeds = data.seeds.counts
    sampled = settings.inference == "sampling" and previous is None and blocks is None
    present = PresentWords(problem, all_of_them=not sampled)
    problem, init = present.narrowed(problem), present.topics(data.init)
    if problem.coregionalization != "none":
        progress.say(f"kernel ready  {progress.elapsed()}")
    seed = settings.random_state
    seed = seed if checkpoint is None else checkpoint.seed(seed)
    starts = find_starts(settings, problem, init, previous, seed, checkpoint)
    progress.say(f"start found  {progress.elapsed()}")
    return present.widened(infer(settings, problem, starts, progress, seed, checkpoint, blocks))
