"""Blocks of this machine: one at a time is in memory, with its state in a file."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gptm.inference.blocks.block_documents import (
    BlockDocuments,
    BlockState,
    Values,
    begin_block,
    feature_sums,
    sweep_over,
)
from gptm.inference.blocks.block_source import BlockSource
from gptm.inference.blocks.block_states import BlockStates
from gptm.inference.blocks.sums import BlockSums, FeatureSums, tree_sum

_Sums = TypeVar("_Sums", BlockSums, FeatureSums)


class LocalBlocks:
    """Sweeps over blocks one after the other, each with all threads."""

    def __init__(self, source: BlockSource, n_jobs: int | None, kept: Path | None):
        self.source, self.n_jobs, self.states = source, n_jobs, BlockStates(kept)

    def begin(self, values: Values, held: int, r: int) -> FeatureSums | None:
        """Give all blocks their first state; the sums of their features."""

        def one(position: int, documents: BlockDocuments) -> tuple[BlockState, FeatureSums]:
            state = begin_block(documents, values, held, self.n_jobs)
            return state, feature_sums(documents, r)

        return self._pass(0, one, FeatureSums.plus)

    def sweep(self, values: Values, number: int) -> Callable[[], BlockSums | None]:
        """Sweep over all blocks, when the sums are asked for."""

        def one(position: int, documents: BlockDocuments) -> tuple[BlockState, BlockSums]:
            return sweep_over(
                documents, self.states.read(number - 1, position), values, self.n_jobs
            )

        return lambda: self._pass(number, one, BlockSums.plus)

    def _pass(
        self,
        number: int,
        one: Callable[[int, BlockDocuments], tuple[BlockState, _Sums]],
        add: Callable[[_Sums, _Sums], _Sums],
    ) -> _Sums | None:
        if not len(self.source):
            return None

        def run(position: int) -> _Sums:
            state, sums = one(position, self.source.documents(position))
            self.states.write(number, position, state)
            return sums

        return tree_sum(map(run, range(len(self.source))), add)

    def keep(self, number: int) -> None:
        """Put the states of blocks after a sweep beside the checkpoint."""
        self.states.keep(number, len(self.source))

    def forget(self, but: int | None) -> None:
        """Remove the states of all checkpoints but that of one sweep."""
        self.states.forget(but)

    def take_up(self, number: int) -> None:
        """Continue from the states of a checkpoint."""
        self.states.take_up(number, len(self.source))

    def close(self) -> None:
        """Remove what was kept for the fit."""
        self.states.close()
