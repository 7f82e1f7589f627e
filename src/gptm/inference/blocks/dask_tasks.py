"""What dask's workers do: pure functions of blocks, states and values, so that a lost result comes back bit by bit."""

import pickle
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

from gptm._basics.errors import InputError
from gptm._basics.parallel import computing
from gptm._basics.version import VERSION
from gptm.inference.blocks.block_documents import (
    BlockDocuments,
    BlockState,
    Values,
    begin_block,
    feature_sums,
    sweep_over,
)
from gptm.inference.blocks.block_source import BlockSource
from gptm.inference.blocks.block_states import read_state, write_state
from gptm.inference.blocks.sums import BlockSums, FeatureSums

Sums = TypeVar("Sums", BlockSums, FeatureSums)


def packed(value: object) -> bytes:
    """A value for `unpacked`: dask looks into tuples and lists of a task, but not into bytes."""
    return pickle.dumps(value, protocol=5)


def unpacked(content: bytes) -> Any:
    """What the client sent along."""
    return pickle.loads(content)


def read_documents(source: BlockSource, position: int, version: str) -> BlockDocuments:
    """The documents of a block, from its file."""
    check_version(version)
    with computing(1):
        return source.documents(position)


def first_state(
    documents: BlockDocuments, values: Values, held: int, r: int, version: str
) -> tuple[BlockState, FeatureSums]:
    """A block's first state, and the sums of its features."""
    check_version(version)
    with computing(1):
        return begin_block(documents, values, held, 1), feature_sums(documents, r)


def next_state(
    documents: BlockDocuments, state: BlockState, values: Values, version: str
) -> tuple[BlockState, BlockSums]:
    """A block's state after a sweep, and what it adds to the sums."""
    check_version(version)
    with computing(1):
        return sweep_over(documents, state, values, 1)


def state_of(pair: tuple[BlockState, object]) -> BlockState:
    """The state alone, so that the sums can go."""
    return pair[0]


def add_pairs(pairs: Sequence[tuple[BlockState, Sums]]) -> Sums:
    """The sums of some neighbouring blocks: a leaf of the tree."""
    return reduce(lambda a, b: a.plus(b), [sums for _, sums in pairs])


def add_sums(parts: Sequence[Sums]) -> Sums:
    """A node of the tree above the leaves."""
    return reduce(lambda a, b: a.plus(b), parts)


def save_state(state: BlockState, path: str) -> None:
    """Write a state to a folder that workers share with the client."""
    write_state(Path(path), state)


def load_state(path: str) -> BlockState:
    """Read it again."""
    return read_state(Path(path))


def check_version(version: str) -> None:
    """Refuse to work for another version of gptm, whose bits may be others; workers may join at any time."""
    if version != VERSION:
        from distributed import get_worker

        raise InputError(
            f"the dask worker {get_worker().address} has gptm {VERSION}, and the fit runs with {version}. Install the "
            "same version on all machines."
        )
