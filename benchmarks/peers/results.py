"""What was measured of gptm and its peers: runs by their settings, and measurements of gptm alone by name."""

import json
import math
from pathlib import Path
from typing import Any

from job_store import Store

Run = dict[str, Any]
IDENTITY = ("case", "library", "seed", "threads", "options")  # what makes a run the same run
_MACHINE, _INSIDE, _RUN = "machine", "inside/", "run/"


class PeerResults:
    """Runs, measurements of gptm alone, and the machine, in the order in which they were first made."""

    def __init__(self, path: Path):
        self._store = Store(path)

    @property
    def path(self) -> Path:
        return self._store.path

    @property
    def machine(self) -> dict[str, Any]:
        return self._store.get(_MACHINE) or {}

    @property
    def inside(self) -> dict[str, Any]:
        """Measurements of gptm alone, by name."""
        return self._under(_INSIDE)

    @property
    def runs(self) -> list[Run]:
        return list(self._under(_RUN).values())

    def has(self, task: Run, load: float = math.inf) -> bool:
        """Whether this run was made before, on a machine that was no busier than `load`."""
        run = self._store.get(run_key(task))
        return run is not None and run["load"][0] <= load

    def add(self, run: Run) -> None:
        """Keep a run, in place of an earlier one of the same settings."""
        self._store.put(run_key(run), run)

    def add_inside(self, name: str, measured: dict[str, Any]) -> None:
        """Keep a measurement of gptm alone."""
        self._store.put(_INSIDE + name, measured)

    def set_machine(self, machine: dict[str, Any]) -> None:
        """Keep what machine this is."""
        if machine != self.machine:
            self._store.put(_MACHINE, machine)

    def _under(self, prefix: str) -> dict[str, Any]:
        results = self._store.results()
        return {key.removeprefix(prefix): results[key] for key in results if key.startswith(prefix)}


def run_key(run: Run) -> str:
    """The settings of a run as text.

    >>> run_key({"case": "a", "library": "b", "seed": 0, "threads": 2, "options": {}, "more": 1})
    'run/["a", "b", 0, 2, {}]'
    """
    return _RUN + json.dumps([run[name] for name in IDENTITY], sort_keys=True)
