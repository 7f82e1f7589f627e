"""Start fits, one process each, and score what they leave."""

import datetime
import json
import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.environments import FAMILY_OF, HERE, install, python_of
from benchmarks.race.tracks import Case, Track

ROOT = HERE.parents[1]
LIMIT = 3600  # seconds for a fit
# Of BLAS: libraries bring threads of their own, which together would be more than there are cores.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def is_there(library: str) -> bool:
    """Whether a library can take part: R's stm only where somebody has installed it."""
    if library != "stm":
        return find_spec(f"benchmarks.race.libraries.{library}") is not None
    try:
        done = subprocess.run(["Rscript", "-e", "library(stm)"], capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def measure(track: Track, case: Case, library: str) -> dict[str, Any]:
    """Fit in a process of its own, then score. A fit that fails is a result too: its last words are kept."""
    family = FAMILY_OF.get(library)
    install(family)
    row: dict[str, Any] = {
        **case._asdict(),
        "library": library,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load": round(os.getloadavg()[0], 1),
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        track.task(case, library).write(folder)
        command = [python_of(family), "-m", "benchmarks.race.worker", library, folder]
        try:
            subprocess.run(
                list(map(str, command)),
                cwd=ROOT,
                env=os.environ | ONE_THREAD,
                check=True,
                capture_output=True,
                text=True,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return row | {"failed": f"took longer than {LIMIT} s"}
        except subprocess.CalledProcessError as error:
            last = error.stderr.strip().splitlines()[-1:] or ["no output"]
            return row | {"failed": last[0][:300]}
        result = json.loads((folder / "result.json").read_text())
        topics, theta = np.load(folder / "topics.npy"), np.load(folder / "theta.npy")
        result["new_theta"] = [np.load(path) for path in sorted(folder.glob("new_theta_*.npy"))]
    row |= {name: result[name] for name in ("seconds", "cpu", "memory_mb", "version", "facts")}
    return row | track.scores(case, topics, theta, result)
