"""Checkpoints of fits to blocks: that of the chain, with the states of all blocks beside it."""

from gptm.inference.blocks.blocked_sweep import Workers
from gptm.inference.checkpoint import Checkpoint, Tree


class BlockCheckpoint:
    """A checkpoint of which the states of blocks are a part.

    States are put beside it before it is written, and those of the last one are removed after that, if that has
    worked: whenever a fit dies, or a disk is full, there is one with all that belongs to it.
    """

    def __init__(self, chain: Checkpoint, workers: Workers, fixed: Tree):
        self.chain, self.workers, self.fixed = chain, workers, fixed

    @property
    def failed(self) -> bool:
        return self.chain.failed

    def due(self) -> bool:
        return self.chain.due()

    def write(self, phase: str, tree: Tree) -> None:
        number = int(tree["runs"][0]["state"]["sweep"])
        try:
            self.workers.keep(number)
        except OSError as error:
            if isinstance(error, ConnectionError) or error.errno is None:
                raise  # a cluster that is lost, not a disk
            self.missed(error)
            return
        self.chain.write(phase, tree | self.fixed | {"sweep": number})
        if not self.failed:
            self.workers.forget(number)

    def missed(self, error: OSError) -> None:
        self.chain.missed(error)

    def read(self, phase: str) -> Tree | None:
        return self.chain.read(phase)
