"""Checkpoints of fits to blocks: that of the chain, with the states of all blocks beside it."""

from gptm.inference.blocks.blocked_sweep import Workers
from gptm.inference.checkpoint import Checkpoint, Tree


class BlockCheckpoint:
    """A checkpoint of which the states of blocks are a part.

    States are put beside it before it is written, and those of the last one are removed after that: whenever a fit
    dies, there is one with all that belongs to it.
    """

    def __init__(self, chain: Checkpoint, workers: Workers, fixed: Tree):
        self.chain, self.workers, self.fixed = chain, workers, fixed

    def due(self) -> bool:
        return self.chain.due()

    def write(self, phase: str, tree: Tree) -> None:
        number = int(tree["runs"][0]["state"]["sweep"])
        self.workers.keep(number)
        self.chain.write(phase, tree | self.fixed | {"sweep": number})
        self.workers.forget(number)

    def read(self, phase: str) -> Tree | None:
        return self.chain.read(phase)
