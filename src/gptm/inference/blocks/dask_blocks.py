"""Blocks on the workers of a dask cluster: topics and weights travel to them, and sums travel back.

    read-block -> begin-block -> sweep-block -> sweep-block -> ...    (one of each for every block)
                     topics -------^    \\-> add-sums -> sums, back to the client

Each task is a pure function, so that dask can repeat those whose results were lost with a worker.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gptm._basics.errors import InputError
from gptm._basics.version import VERSION
from gptm._basics.warnings import warn
from gptm.inference.blocks.block_documents import Values
from gptm.inference.blocks.block_source import BlockSource
from gptm.inference.blocks.dask_cluster import Cluster, absolute, import_distributed
from gptm.inference.blocks.dask_placement import BlockTasks
from gptm.inference.blocks.dask_states import DaskStates
from gptm.inference.blocks.dask_tasks import (
    first_state,
    next_state,
    read_documents,
    state_of,
)
from gptm.inference.blocks.sums import BlockSums, FeatureSums

if TYPE_CHECKING:
    from distributed import Future

PATIENCE = 120.0  # seconds after which a sweep may be stuck, and
SLOWER = 10.0  # times as long as the slowest so far


class DaskBlocks:
    """Sweeps over blocks on the workers of a cluster."""

    def __init__(self, source: BlockSource, cluster: Cluster):
        self.source, self.cluster = source, cluster
        self.tasks = BlockTasks(cluster.client, len(source))
        self.states = DaskStates(cluster, self.tasks)
        self.documents: list[Future] = []
        self.slowest = 0.0

    def begin(self, values: Values, held: int, r: int) -> FeatureSums | None:
        """Give all blocks their first state; the sums of their features."""
        if not len(self.source):
            return None
        self._read()
        topics = self.tasks.constant("topics", 0, values)
        pairs = self.tasks.each(
            "begin-block", 0, first_state, self.documents, *self._same(topics, held, r, VERSION)
        )
        self.states.put(0, self.tasks.after("state", 0, state_of, pairs))
        total = self.tasks.total("add-gram", 0, pairs)
        del pairs  # dask lets go of sums as soon as they are added
        sums: FeatureSums = self._result(total, 0)
        self.states.save(0)
        return sums

    def sweep(self, values: Values, number: int) -> Callable[[], BlockSums | None]:
        """Start a sweep over all blocks."""
        if not len(self.source):
            return lambda: None
        if not self.documents:
            self._read()
        topics = self.tasks.constant("topics", number, values)
        pairs = self.tasks.each(
            "sweep-block",
            number,
            next_state,
            self.documents,
            self.states.after[number - 1],
            *self._same(topics, VERSION),
        )
        self.states.put(number, self.tasks.after("state", number, state_of, pairs))
        total, size = self.tasks.total("add-sums", number, pairs), values.beta_T.nbytes

        def wait() -> BlockSums:
            sums: BlockSums = self._result(total, number)
            with self._explained(number):
                self.states.settle(number, size)
            return sums

        return wait

    def keep(self, number: int) -> None:
        """Put the states of blocks after a sweep beside the checkpoint."""
        with self._explained(number):
            self.states.keep(number)

    def forget(self, but: int | None) -> None:
        """Remove the states of all checkpoints but that of one sweep."""
        self.states.forget(but)

    def take_up(self, number: int) -> None:
        """Continue from the states of a checkpoint."""
        self.states.kept.check(number, len(self.source))
        self.states.of_checkpoint = number
        if len(self.source):
            self.states.take_up(number)

    def close(self) -> None:
        """Let go of all that workers have of this fit."""
        self.documents = []
        self.states.close()
        self.cluster.close()

    def _read(self) -> None:
        """Let workers read the blocks, or send the documents to them."""
        n = len(self.source)
        if self.cluster.reads:
            source = replace(self.source, corpus=absolute(self.source.corpus))
            there = self.tasks.constant("corpus", 0, source)
            self.documents = self.tasks.each(
                "read-block", 0, read_documents, *self._same(there), range(n), *self._same(VERSION)
            )
        else:
            self.documents = [
                self.tasks.constant("read-block", 0, self.source.documents(position), position)
                for position in range(n)
            ]

    def _same(self, *values: Any) -> list[list[Any]]:
        """Columns with the same value for each block."""
        return [[value] * len(self.source) for value in values]

    def _result(self, total: "Future", number: int) -> Any:
        """The result, with a word about what holds it up."""
        begun, patience = time.monotonic(), max(PATIENCE, SLOWER * self.slowest)
        while True:
            try:
                with self._explained(number):
                    result = total.result(timeout=patience)
            except TimeoutError:
                warn(self._held_up(number, time.monotonic() - begun))
                patience *= 2
            else:
                self.slowest = max(self.slowest, time.monotonic() - begun)
                return result

    @contextmanager
    def _explained(self, number: int) -> Iterator[None]:
        """Inside the block, errors of the cluster say what they mean for the fit."""
        distributed = import_distributed()
        try:
            yield
        except distributed.scheduler.KilledWorker as error:
            raise InputError(
                f"sweep {number} ended several dask workers, one after the other, probably for lack of memory "
                f"({error}). Start workers with fewer threads or more memory, or write smaller blocks."
            ) from error
        except (distributed.client.FutureCancelledError, distributed.comm.CommClosedError) as error:
            raise ConnectionError(
                f"the connection to the dask scheduler was lost in sweep {number} ({error}). If the fit has a "
                "checkpoint, start the scheduler and its workers again, and repeat the same call: it goes on from "
                "there with the same bits."
            ) from error

    def _held_up(self, number: int, seconds: float) -> str:
        busy = {
            address: len(keys) for address, keys in self.tasks.client.processing().items() if keys
        }
        if not self.tasks.client.nthreads():
            where = "there are no dask workers left; the fit goes on when some join"
        else:
            names = ", ".join(f"{address} ({count} tasks)" for address, count in busy.items())
            where = f"it waits for {names or 'none in particular'}; end a worker that hangs, and others do its work"
        return f"sweep {number} has taken {seconds:.0f} seconds so far: {where}."
