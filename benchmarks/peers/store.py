"""Results on disk: one JSON file, one run per line, written after each run so that a long benchmark can be resumed."""

import json
import math
import os
from pathlib import Path
from typing import Any

Run = dict[str, Any]
IDENTITY = ("case", "library", "seed", "threads", "options")  # what makes a run the same run


class Store:
    """Runs, and measurements of gptm alone by name, in the order in which they were first made."""

    def __init__(self, path: Path):
        self.path = path
        content = json.loads(path.read_text()) if path.exists() else {}
        self.machine: dict[str, Any] = content.get("machine", {})
        self.inside: dict[str, Any] = content.get("inside", {})
        self._runs: dict[str, Run] = {identity(run): run for run in content.get("runs", [])}

    @property
    def runs(self) -> list[Run]:
        return list(self._runs.values())

    def has(self, task: Run, load: float = math.inf) -> bool:
        """Whether this run was made before, on a machine that was no busier than `load`."""
        run = self._runs.get(identity(task))
        return run is not None and run["load"][0] <= load

    def add(self, run: Run) -> None:
        """Keep a run, in place of an earlier one of the same settings, and write the file."""
        self._runs[identity(run)] = run
        self.write()

    def write(self) -> None:
        """Replace the file as a whole, so that an interrupt leaves either the old or the new one."""
        lines = ",\n".join(json.dumps(run) for run in self.runs)
        inside = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in self.inside.items())
        text = f'{{"machine": {json.dumps(self.machine)},\n"inside": {{\n{inside}\n}},\n"runs": [\n{lines}\n]}}\n'
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".tmp")
        beside.write_text(text)
        os.replace(beside, self.path)


def identity(run: Run) -> str:
    """The settings of a run as text.

    >>> identity({"case": "a", "library": "b", "seed": 0, "threads": 2, "options": {}, "more": 1})
    '["a", "b", 0, 2, {}]'
    """
    return json.dumps([run[name] for name in IDENTITY], sort_keys=True)
