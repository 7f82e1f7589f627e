"""States of blocks as files: those that a sweep reads and writes, and those that a checkpoint keeps."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from gptm._basics.atomic_files import sync
from gptm._basics.errors import Argument, InputError
from gptm.inference.blocks.block_documents import BlockState


def write_state(path: Path, state: BlockState) -> None:
    """Write a state to a new file: another name of an old one still holds what it held."""
    arrays = {"eta": state.eta} | ({} if state.own is None else {"own": state.own})
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    with open(waiting, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    os.replace(waiting, path)


def read_state(path: Path) -> BlockState:
    """The state that `write_state` wrote."""
    with np.load(path) as arrays:
        return BlockState(arrays["eta"], arrays.get("own"))


class KeptStates:
    """States after some sweeps, each in a folder of its own; a folder is whole or is not there."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, number: int, position: int) -> Path:
        """The file of a block's state after a sweep."""
        return self.folder / _tag(number) / f"{position:06d}.npz"

    def has(self, number: int) -> bool:
        """Whether the states after a sweep are there."""
        return (self.folder / _tag(number)).is_dir()

    @contextmanager
    def filling(self, number: int) -> Iterator[Path]:
        """A folder to write the states after a sweep to; at the end of the block it takes its place."""
        waiting = self.folder / f"{_tag(number)}.tmp"
        shutil.rmtree(waiting, ignore_errors=True)
        waiting.mkdir(parents=True)
        try:
            yield waiting
            for file in waiting.iterdir():
                sync(file)
            sync(waiting)
            os.replace(waiting, self.folder / _tag(number))
        except BaseException:
            shutil.rmtree(waiting, ignore_errors=True)  # a full disk needs the room
            raise
        sync(self.folder)

    def check(self, number: int, n: int) -> None:
        """Look that the states of n blocks are there, and whole."""
        for position in range(n):
            path = self.path(number, position)
            problem = "" if path.is_file() else "missing"
            try:
                read_state(path)
            except (OSError, ValueError, KeyError, EOFError, BadZipFile):
                problem = problem or "damaged"
            if problem:
                raise InputError(
                    f"{path} belongs to the checkpoint, and is {problem}. Remove the checkpoint to start anew, or pass "
                    "another ",
                    Argument("checkpoint"),
                    ".",
                )

    def remove_all_but(self, numbers: Collection[int]) -> None:
        """Remove the states after all other sweeps; with none left, the folder too."""
        tags = {_tag(number) for number in numbers}
        if self.folder.is_dir():
            for inner in self.folder.iterdir():
                if inner.name not in tags:
                    shutil.rmtree(inner, ignore_errors=True)
            if not tags:
                shutil.rmtree(self.folder, ignore_errors=True)


class BlockStates:
    """States after the last sweep and of the one under way, by the parity of its number: an interrupt spoils neither.

    Parameters
    ----------
    kept : folder for the states that belong to a checkpoint, or None where there is none
    """

    def __init__(self, kept: Path | None):
        self._room = tempfile.TemporaryDirectory(prefix="gptm-blocks-")
        self.folder = Path(self._room.name)
        self.kept = None if kept is None else KeptStates(kept)

    def read(self, number: int, position: int) -> BlockState:
        """A block's state after a sweep."""
        return read_state(self._path(number, position))

    def write(self, number: int, position: int, state: BlockState) -> None:
        """Put a block's state after a sweep in place of that two sweeps before."""
        write_state(self._path(number, position), state)

    def keep(self, number: int, n: int) -> None:
        """Put the states of n blocks after a sweep beside the checkpoint."""
        if self.kept is None or self.kept.has(number):
            return
        with self.kept.filling(number) as folder:
            for position in range(n):
                _link(self._path(number, position), folder / f"{position:06d}.npz")

    def forget(self, but: int | None) -> None:
        """Remove the states of all checkpoints but one."""
        if self.kept is not None:
            self.kept.remove_all_but([] if but is None else [but])

    def take_up(self, number: int, n: int) -> None:
        """Continue from the states of a checkpoint."""
        assert self.kept is not None
        self.kept.check(number, n)
        for position in range(n):
            shutil.copyfile(self.kept.path(number, position), self._path(number, position))

    def close(self) -> None:
        """Remove what the fit has worked with."""
        self._room.cleanup()

    def _path(self, number: int, position: int) -> Path:
        return self.folder / f"{number % 2}-{position:06d}.npz"


def _tag(number: int) -> str:
    return f"sweep-{number}"


def _link(path: Path, target: Path) -> None:
    """A second name of the file, or a copy on another disk."""
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)
