"""Work under way in one file, replaced as a whole, and refused where it is not the same work.

The file is a safetensors file like that of a model: arrays as tensors, all else as JSON in its header, a checksum over
both. Nothing in it is code.
"""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state

from gptm._basics.atomic_files import replace_file
from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.version import VERSION
from gptm._basics.warnings import warn
from gptm.fitted import Fitted
from gptm.inference.checkpoint import Tree
from gptm.kernels import BoundKernel
from gptm.storage.digests import digest, setting_digest

_FREE = ("n_jobs", "verbose", "callback")  # settings that change nothing about the result
_MAGIC = "gptm checkpoint"

# Set when the process is asked to end: whatever fit is under way writes its checkpoint at the next sweep, and stops.
ending = threading.Event()

_unsaved: list[Callable[[], None]] | None = None  # removals that wait until the model is saved


class Work(NamedTuple):
    """What a fit is of: two fits with the same work end in the same bits."""

    version: str
    settings: dict[str, str]
    documents: str
    metadata: str
    earlier: str

    @classmethod
    def of(
        cls,
        settings: Mapping[str, Any],
        counts: csr_matrix,
        bound: BoundKernel,
        previous: Fitted | None,
    ) -> "Work":
        shown = {
            name: setting_digest(value) for name, value in settings.items() if name not in _FREE
        }
        shape = np.array(counts.shape)
        return cls(
            VERSION,
            shown,
            digest([shape, counts.indptr, counts.indices, counts.data]),
            digest([array for _, array in sorted(bound.arrays().items())]),
            "" if previous is None else digest([previous.components, previous.lam]),
        )

    def differences(self, other: "Work") -> list[Message]:
        """In words: what another work has that this one has not."""
        differences = []
        if other.version != self.version:
            differences.append(Message(f"gptm {other.version} wrote it, this is {self.version}"))
        for name in sorted(self.settings.keys() | other.settings.keys()):
            here, there = self.settings.get(name), other.settings.get(name)
            if here != there:
                differences.append(Message(Argument(name), f" was {there}, now it is {here}"))
        if other.documents != self.documents:
            differences.append(Message("the counts of words are of other documents"))
        elif other.metadata != self.metadata:
            differences.append(Message("the metadata that the kernel reads are others"))
        if other.earlier != self.earlier:
            differences.append(Message("it went on from another earlier fit"))
        return differences


class CheckpointFile:
    """A file that keeps the work of one fit.

    Parameters
    ----------
    path : path
    pause : float
        Seconds between two times of writing.
    work : Work
        What the fit is of. A file of other work is refused.
    """

    def __init__(self, path: str | os.PathLike[str], pause: float, work: Work):
        self.path, self.pause, self.work = Path(path), pause, work
        self.header: dict[str, Any] = {}
        self.tree: Tree | None = None
        self.phase = ""
        self.failed = self.told = self.ended = False
        if self.path.exists():
            self._open()
        self.written = time.monotonic()

    def found(self) -> str:
        """One line about where the fit begins."""
        where = "goes on from" if self.tree is not None else "will be kept in"
        return f"work {where} {self.path}"

    def seed(self, random_state: Any) -> Any:
        """The random state of the fit: the same one after a crash, also where none was given."""
        if random_state is None or not isinstance(random_state, int | np.integer):
            drawn = int(check_random_state(random_state).randint(2**31))
            return self.header.setdefault("seed", drawn)
        return random_state

    def due(self) -> bool:
        return ending.is_set() or time.monotonic() - self.written >= self.pause

    def write(self, phase: str, tree: Tree) -> None:
        """Replace the file. Where it cannot be written, the last one stays, and the fit goes on."""
        try:
            self._write(phase, tree)
        except OSError as error:
            self.missed(error)
        else:
            self.failed, self.written = False, time.monotonic()
            self._stop()

    def missed(self, error: OSError) -> None:
        """Say, once, that the checkpoint or what belongs to it cannot be written."""
        self.failed, self.written = True, time.monotonic()
        if not self.told:
            self.told = True
            warn(
                f"the checkpoint {self.path} cannot be written ({error}); the fit goes on, and tries again later."
            )
        self._stop()

    def _stop(self) -> None:
        if ending.is_set() and not self.ended:  # once: whoever stops may write again
            self.ended = True
            raise KeyboardInterrupt

    def _write(self, phase: str, tree: Tree) -> None:
        self.phase, self.tree = phase, None  # what was read is of no more use
        tensors: dict[str, np.ndarray] = {}
        packed = _pack(tree, "", tensors)
        header = {
            "kind": _MAGIC,
            "seed": self.header.get("seed"),
            "work": self.work._asdict(),
            "phase": phase,
            "tree": packed,
        }
        header["checksum"] = _checksum(header, tensors)
        replace_file(self.path, to_bytes(tensors, {"gptm": json.dumps(header)}), one_writer=True)

    def read(self, phase: str) -> Tree | None:
        return self.tree if phase == self.phase else None

    def done(self, beside: Path | None = None) -> None:
        """The work is done: remove the file, then the folder `beside` it, now or when the model is saved."""
        if _unsaved is None:
            self._remove(beside)
        else:
            _unsaved.append(partial(self._remove, beside))

    def _remove(self, beside: Path | None) -> None:
        # The file first: without it the folder is of no use, but not the other way round.
        self.path.unlink(missing_ok=True)
        self.path.with_name(f".{self.path.name}.tmp").unlink(missing_ok=True)
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)

    def _open(self) -> None:
        try:
            header, tensors = _read(self.path)
            there = Work(**header["work"])
            self.phase, self.tree = header["phase"], _unpack(header["tree"], tensors)
            self.header = {} if header["seed"] is None else {"seed": int(header["seed"])}
        except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"{self.path} is not a checkpoint of gptm, or is damaged ({error}). Remove it to start anew, or pass "
                "another ",
                Argument("checkpoint"),
                ".",
            ) from error
        differences = self.work.differences(there)
        if differences:
            raise InputError(
                f"{self.path} keeps the work of another fit: ",
                *[part for said in differences for part in (said, "; ")][:-1],
                ". Remove the file to start anew, or pass another ",
                Argument("checkpoint"),
                ".",
            )


@contextmanager
def kept_until_saved() -> Iterator[None]:
    """Inside the block, fits that are done leave their checkpoints, which go at its end, but not after an error.

    So a model that cannot be saved is not lost: the same fit continues from its checkpoint and tries again.
    """
    global _unsaved
    waiting: list[Callable[[], None]] = []
    _unsaved = waiting
    try:
        yield
    finally:
        _unsaved = None
    for remove in waiting:
        remove()


def seconds(every: Any) -> float:
    """A duration such as "60s", "5min" or 60, in seconds.

    >>> seconds("5min"), seconds(2.5)
    (300.0, 2.5)
    """
    try:
        number = isinstance(every, int | float) and not isinstance(every, bool)
        pause = float(every) if number else pd.Timedelta(str(every)).total_seconds()
    except ValueError:
        pause = np.nan
    if not pause >= 0 or not np.isfinite(pause):
        raise ArgumentError(
            "every", "must be a duration such as '60s' or '5min', or seconds", every
        )
    return pause


# A tree as JSON and arrays


def _pack(value: Any, path: str, tensors: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        tensors[path] = np.ascontiguousarray(value)
        return {"array": path}
    if isinstance(value, dict):
        return {"tree": {k: _pack(v, f"{path}/{k}", tensors) for k, v in value.items()}}
    if isinstance(value, list):
        return [_pack(item, f"{path}/{i}", tensors) for i, item in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float):
        return {"float": value.hex()}  # which keeps every bit, and what is not finite
    return value


def _unpack(value: Any, tensors: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return tensors[value["array"]]
    if "float" in value:
        return float.fromhex(value["float"])
    return {k: _unpack(v, tensors) for k, v in value["tree"].items()}


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if not 0 < size <= len(data):
        raise ValueError("its header is cut short")
    about = json.loads(data[8 : 8 + size]).get("__metadata__", {})
    header = json.loads(about.get("gptm", "{}"))
    if not isinstance(header, dict) or header.get("kind") != _MAGIC:
        raise ValueError("it is no checkpoint")
    tensors = from_bytes(data)
    if header.pop("checksum", None) != _checksum(header, tensors):
        raise ValueError("its checksum is wrong")
    return header, tensors


def _checksum(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> str:
    names = sorted(tensors)
    shapes = [[name, str(tensors[name].dtype), list(tensors[name].shape)] for name in names]
    text = json.dumps([header, shapes], sort_keys=True).encode()
    return digest([np.frombuffer(text, dtype=np.uint8), *(tensors[name] for name in names)])
