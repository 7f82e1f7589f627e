"""Start fits, one process each, and score what they leave."""

import datetime
import hashlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.peers import corpora, scoring
from benchmarks.peers.cases import THREADS, Case
from benchmarks.peers.fit import FITTED
from benchmarks.peers.measuring import tree_memory
from benchmarks.peers.results import Run

ROOT = Path(__file__).resolve().parents[2]
LOOK_EVERY = 0.25  # seconds, at the memory of the processes
LIMIT = 3600.0  # seconds for a fit
FAR_OFF = (
    1.3  # times the last perplexity: earlier points of a curve are not worth the time to score them
)
# Of BLAS: libraries bring threads or processes of their own, which together would be more than there are cores.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def fingerprint() -> str:
    """A short name for the code of gptm as it is."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def task_of(case: Case, library: str, seed: int, threads: int = THREADS) -> Run:
    """The settings of a run, which tell it from others."""
    return {
        "case": case.name,
        "corpus": case.corpus,
        "K": case.K,
        "library": library,
        "seed": seed,
        "threads": threads,
        "options": case.options[library],
    }


def measure(task: Run, split_path: Path, python: Path) -> Run:
    """Fit in a process of its own, then score: the task with what came out of it.

    A fit that fails or crashes is a result too: its last words are kept as "error".
    """
    before = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load": [round(value, 2) for value in os.getloadavg()],
        "code": fingerprint(),
    }
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        text = json.dumps(task | {"split": str(split_path.resolve())})
        (folder / "task.json").write_text(text)
        error, tree_peak = _run_process(folder, python)
        if error:
            return task | before | {"error": error}
        result = json.loads((folder / "result.json").read_text())
        scores = score(folder, result, corpora.load(split_path))
    memory = result["memory_mb"]
    memory["peak"] = max(memory["peak"], round(tree_peak, 1))
    steps = np.diff(result["ticks"])
    return (
        task
        | before
        | scores
        | {
            "seconds_per_step": round(float(np.median(steps)), 5) if len(steps) else None,
            "memory_mb": memory,
            "facts": result["facts"],
            "versions": result["versions"],
            "minutes_in_all": round((time.perf_counter() - started) / 60, 2),
        }
    )


def _run_process(folder: Path, python: Path) -> tuple[str, float]:
    """The end of its error output, empty if all went well; and the peak of the memory of all its processes."""
    command = [str(python), "-m", "benchmarks.peers.fit", str(folder)]
    peak = 0.0
    with (folder / "errors").open("w+") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | ONE_THREAD, stdout=errors, stderr=errors
        )
        watched = psutil.Process(process.pid)
        deadline = time.monotonic() + LIMIT
        try:
            while process.poll() is None:
                if not (folder / FITTED).exists():
                    peak = max(peak, _memory_or_nothing(watched))
                if time.monotonic() > deadline:
                    return f"took longer than {LIMIT:.0f} s", peak
                time.sleep(LOOK_EVERY)
        finally:
            _end(process, watched)
        if process.returncode == 0:
            return "", peak
        errors.seek(0)
        last = errors.read().strip().splitlines()[-1:] or ["no output"]
        return f"ended with {process.returncode}: {last[0]}", peak


def _end(process: subprocess.Popen[bytes], watched: psutil.Process) -> None:
    """Nothing of a fit is left running, however it ended."""
    if process.poll() is None:
        for child in watched.children(recursive=True):
            child.kill()
        process.kill()
        process.wait()


def _memory_or_nothing(process: psutil.Process) -> float:
    try:
        return tree_memory(process)
    except psutil.Error:
        return 0.0


def score(folder: Path, result: dict[str, Any], split: corpora.Split) -> Run:
    """The curve, with the common perplexity at each moment, and the scores of the last topics."""
    points = result["points"]
    topics = np.load(folder / f"topics-{len(points) - 1:03d}.npy")
    final, pseudo_count = scoring.completion(split, topics)
    curve = [points[-1] | {"ppl": round(final, 2)}]
    for number in range(len(points) - 2, -1, -1):
        value, _ = scoring.completion(split, np.load(folder / f"topics-{number:03d}.npy"))
        curve.insert(0, points[number] | {"ppl": round(value, 2)})
        if value > FAR_OFF * final:
            break
    inference = []
    for number, entry in enumerate(result["inference"]):
        theta = np.load(folder / f"theta-{number:03d}.npy")
        own = scoring.own_completion(split, topics, theta)
        per_second = split.seen.shape[0] / entry["seconds"]
        inference.append(
            entry | {"documents_per_second": round(per_second, 1), "ppl": round(own, 2)}
        )
    n_documents, n_words = split.train.shape
    return {
        "documents": n_documents,
        "words": n_words,
        "seconds": curve[-1]["seconds"],
        "cpu": curve[-1]["cpu"],
        "ppl": curve[-1]["ppl"],
        "pseudo_count": pseudo_count,
        "own": inference[-1]["ppl"],
        "npmi": round(scoring.coherence(topics, split.train), 4),
        "curve": curve,
        "inference": inference,
    }


def describe(run: Run) -> str:
    """One line on a run."""
    head = f"{run['case']:<10} seed {run['seed']:<2} {run['library']:<13}"
    if "error" in run:
        return f"{head} {run['error']}"
    return (
        f"{head} ppl {run['ppl']:7.1f}  own {run['own']:7.1f}  npmi {run['npmi']:.3f}  {run['seconds']:7.2f} s "
        f"({run['cpu']:.2f} s of CPU)  {run['memory_mb']['peak']:.0f} MB"
    )
