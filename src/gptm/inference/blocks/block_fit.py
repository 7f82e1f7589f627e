"""A fit to a corpus on disk: what is in memory, who sweeps over the rest, and how."""

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gptm._basics.errors import Argument, ArgumentError, InputError
from gptm.corpus import Corpus
from gptm.corpus.block_corpus import BlockCorpus
from gptm.corpus.kinds import kinds_of
from gptm.fitted import Fitted
from gptm.inference.blocks.block_source import BlockSource, check_kernel
from gptm.inference.blocks.blocked_sweep import Workers
from gptm.inference.blocks.dask_blocks import DaskBlocks
from gptm.inference.blocks.dask_cluster import Cluster
from gptm.inference.blocks.local_blocks import LocalBlocks
from gptm.inference.blocks.memory_plan import plan_memory
from gptm.inference.blocks.run_blocks import Size, run_blocks
from gptm.inference.blocks.sample_documents import draw_sample
from gptm.inference.checkpoint import Checkpoint, NoCheckpoint
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.state import ChainState
from gptm.inference.start_point import Start
from gptm.kernels.identity import NothingBound

if TYPE_CHECKING:
    from distributed import Client


class BlockFit:
    """A fit to blocks. Its `sample` takes the place of the documents in memory.

    Parameters
    ----------
    corpus : the documents
    K : number of topics
    memory : limit of memory, as the user gave it
    columns : those that the kernel reads, None for all
    checkpoint : file of the fit's checkpoint; states of blocks are kept in a folder beside it
    client : of dask.distributed, whose workers sweep over the blocks; None for this machine
    """

    def __init__(
        self,
        corpus: BlockCorpus,
        K: int,
        memory: Any,
        columns: Collection[str] | None,
        checkpoint: Path | None,
        client: "Client | None",
    ):
        if not len(corpus):
            raise ArgumentError("X", "must hold at least one document", 0)
        self.corpus, self.K = corpus, K
        self.plan = plan_memory(corpus, K, memory)
        self.kept = (
            None if checkpoint is None else checkpoint.with_name(f"{checkpoint.name}.blocks")
        )
        self.cluster = None if client is None else Cluster(client, corpus, K, self.kept)
        seed = int(corpus.digest[:12], 16)  # the same sample in every fit
        ask = None if self.cluster is None else partial(self.cluster.ask, corpus)
        self.rows, self.sample = draw_sample(corpus, self.plan.sample, seed, columns, ask)

    @property
    def size(self) -> Size:
        """Of the corpus; tokens of selected documents in proportion."""
        share = len(self.corpus) / max(self.corpus.n_documents, 1)
        return Size(len(self.corpus), round(self.corpus.n_tokens * share), self.corpus.shape[1])

    def infer(
        self,
        problem: FitProblem,
        starts: list[Start],
        seed: int,
        *,
        max_iter: int | None,
        after_iteration: Callable[[int, ChainState], bool],
        say: Callable[[str], None],
        checkpoint: Checkpoint | None,
    ) -> Fitted:
        """The fit to all documents, from a start with those of the sample."""
        kernel = problem.coregionalization != "none"
        if kernel:
            check_kernel(problem.bound)
        columns = problem.bound.kernel.column_names() if kernel else ()
        kinds = {n: k for n, k in kinds_of(self.sample.metadata).items() if n in columns}

        def hire(whole: FitProblem) -> Workers:
            bound = whole.bound if kernel else NothingBound(len(self.rows))
            source = BlockSource(self.corpus, self.rows, bound, kinds)
            if self.cluster is not None:
                return DaskBlocks(source, self.cluster)
            return LocalBlocks(source, whole.n_jobs, self.kept)

        return run_blocks(
            problem,
            starts,
            seed,
            self.size,
            n_components=self.K,
            max_iter=max_iter,
            after_iteration=after_iteration,
            say=say,
            hire=hire,
            checkpoint=checkpoint or NoCheckpoint(),
        )


def check_block_settings(inference: str, n_chains: int, metadata: Any, y: Any) -> None:
    """Refuse settings that a fit to blocks does not have, with the way out."""
    remedy = " Load the documents into memory with corpus.load(), or pass "
    only = "a corpus on disk is fitted by sampling, block by block, with one chain; got "
    for name, value, right in (("inference", inference, "sampling"), ("n_chains", n_chains, 1)):
        if value != right:
            raise InputError(only, Argument(name, value), f".{remedy}", Argument(name, right), ".")
    check_block_metadata(metadata)
    check_block_metadata(y, "y")


def check_block_metadata(value: Any, name: str = "metadata") -> None:
    """Refuse what a corpus on disk brings along itself."""
    if value is not None:
        raise InputError(
            "a corpus on disk brings its metadata along; ",
            Argument(name),
            " cannot be given beside it. Write the columns with the corpus, or load the documents into memory with "
            "corpus.load().",
        )


def check_in_blocks(X: Any, client: Any) -> None:
    """Refuse a cluster for documents in memory, with the way out."""
    if client is not None and not isinstance(X, BlockCorpus):
        raise InputError(
            Argument("client"),
            f" is for a corpus on disk; got documents in memory ({type(X).__name__}). Write them to a folder that all "
            "machines share, as in fit(gptm.open_corpus(corpus.to_blocks(folder)), client=client), or fit without a "
            "client.",
        )


def check_has_all(fitted: Fitted, kind: str) -> None:
    """Refuse scores that need all training documents in memory."""
    if fitted.whole is not None:
        raise InputError(
            "a model that was fitted to blocks has the score ",
            Argument("kind", "completion"),
            f" only; {kind!r} needs all training documents in memory.",
        )


def in_blocks(corpus: BlockCorpus, function: Callable[[Corpus], Any]) -> Any:
    """Results of a function of each block, one below the other; a tuple of arrays stays one.

    Quantiles have documents on their second axis, all else on the first.
    """
    parts = [function(block) for block in corpus.blocks()]
    if not isinstance(parts[0], tuple):
        return np.concatenate(parts)
    return tuple(
        np.concatenate(arrays, axis=arrays[0].ndim - 2) for arrays in zip(*parts, strict=True)
    )


def mean_over_blocks(corpus: BlockCorpus, score: Callable[[Corpus], float]) -> float:
    """The mean of scores per token, by the tokens of blocks that have any."""
    pairs = [
        (score(block), float(block.counts.sum())) for block in corpus.blocks() if block.counts.nnz
    ]
    if not pairs:
        raise InputError("there are no words to score: every document is empty.")
    values, tokens = np.array(pairs).T
    return float(values @ tokens / tokens.sum())
