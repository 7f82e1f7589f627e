"""States of blocks as files: those that a sweep reads and writes, and those that a checkpoint keeps."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from gptm._basics.errors import Argument, InputError
from gptm.inference.blocks.block_documents import BlockState


class BlockStates:
    """Two states of each block, of the last sweep and of the one under way, so that an interrupt spoils neither.

    Parameters
    ----------
    kept : folder for the states that belong to a checkpoint, or None where there is none
    """

    def __init__(self, kept: Path | None):
        self._room = tempfile.TemporaryDirectory(prefix="gptm-blocks-")
        self.folder, self.kept = Path(self._room.name), kept
        self.turn = 0

    def read(self, position: int) -> BlockState:
        """The state after the last sweep."""
        with np.load(self._path(self.turn, position)) as arrays:
            return BlockState(arrays["eta"], arrays.get("own"))

    def write(self, position: int, state: BlockState) -> None:
        """The state after the sweep that is under way."""
        arrays = {"eta": state.eta} | ({} if state.own is None else {"own": state.own})
        path = self._path(1 - self.turn, position)
        waiting = path.with_suffix(".tmp")
        with open(waiting, "wb") as file:  # a new file each time: a checkpoint may hold the old one
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.replace(waiting, path)

    def advance(self) -> None:
        """All blocks have been written."""
        self.turn = 1 - self.turn

    def keep(self, tag: str) -> None:
        """Put the states after the last sweep beside the checkpoint."""
        if self.kept is None or (self.kept / tag).exists():
            return
        waiting = self.kept / f"{tag}.tmp"
        shutil.rmtree(waiting, ignore_errors=True)
        waiting.mkdir(parents=True)
        for path in sorted(self.folder.glob(f"{self.turn}-*.npz")):
            _link(path, waiting / path.name.partition("-")[2])
        os.replace(waiting, self.kept / tag)

    def forget(self, but: str | None) -> None:
        """Remove the states of all checkpoints but one."""
        if self.kept is None or not self.kept.is_dir():
            return
        for folder in self.kept.iterdir():
            if folder.name != but:
                shutil.rmtree(folder, ignore_errors=True)
        if but is None:
            shutil.rmtree(self.kept, ignore_errors=True)

    def take_up(self, tag: str, n: int) -> None:
        """Continue from the states of a checkpoint."""
        assert self.kept is not None
        for position in range(n):
            path = self.kept / tag / f"{position:06d}.npz"
            if not path.is_file():
                raise InputError(
                    f"{path} belongs to the checkpoint, and is missing. Remove the checkpoint to start anew, or pass "
                    "another ",
                    Argument("checkpoint"),
                    ".",
                )
            shutil.copyfile(path, self._path(self.turn, position))

    def close(self) -> None:
        """Remove what the fit has worked with."""
        self._room.cleanup()

    def _path(self, turn: int, position: int) -> Path:
        return self.folder / f"{turn}-{position:06d}.npz"


def _link(path: Path, target: Path) -> None:
    """A second name of the file, or a copy on another disk."""
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)
