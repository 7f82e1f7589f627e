"""R's stm with a formula, from its spectral start, where R and its package stm are installed."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.io import mmwrite

from benchmarks.race.task import Outcome, Task

PACKAGE, WARMS_UP = "", False  # its version is among the facts
SCRIPT = Path(__file__).with_suffix(".R")


def fit(task: Task) -> Outcome:
    used = np.flatnonzero(np.asarray(task.counts.sum(0)).ravel())  # stm takes no other words
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        mmwrite(folder / "counts.mtx", task.counts[:, used])
        if task.metadata is not None:
            task.metadata.to_csv(folder / "metadata.csv", index=False)
        column, _, other = task.effect or ("", "", "")
        settings = [task.K, task.seed, task.formula or "", f"{column}{other}"]
        subprocess.run(["Rscript", str(SCRIPT), place, *map(str, settings)], check=True)
        topics = np.zeros((task.K, task.counts.shape[1]))
        topics[:, used] = np.fromfile(folder / "topics").reshape(task.K, -1)
        theta = np.fromfile(folder / "theta").reshape(-1, task.K)
        facts = json.loads((folder / "facts.json").read_text())
        rows = np.fromfile(folder / "effect").reshape(-1, 3) if task.effect else None
    effect = None
    if rows is not None:
        effect = dict(zip(("estimate", "low", "high"), rows.T.tolist(), strict=True))
    return Outcome(topics, theta, facts, effect)
