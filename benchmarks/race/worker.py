"""One fit in a process of its own: `python -m benchmarks.race.worker LIBRARY FOLDER`.

The clock covers the fit, and the proportions of new documents where they are asked for. It does not cover imports, nor
a first fit to 100 documents, which compiles whatever has to be.
"""

import json
import resource
import sys
import time
import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.peers.measuring import cpu_seconds, peak_memory
from benchmarks.race.task import Task

FEW = 100  # documents of the first fit


def first_documents(task: Task) -> Task:
    """A small task of the same kind."""
    n = min(FEW, task.counts.shape[0])
    return task._replace(
        counts=task.counts[:n],
        K=min(task.K, 5),
        metadata=None if task.metadata is None else task.metadata.iloc[:n],
        texts=None if task.texts is None else task.texts[:n],
        vectors=None if task.vectors is None else task.vectors[:n],
        effect=None,
        new=tuple(counts[:n] for counts in task.new),
    )


def most_memory() -> float:
    """MB at the peak of this process, or of the largest of its children, such as R, where that is more."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return max(peak_memory(), children)


def main(library: str, folder: Path) -> None:
    module = import_module(f"benchmarks.race.libraries.{library}")
    task = Task.read(folder)
    if module.WARMS_UP:
        module.fit(first_documents(task))
    started, cpu = time.perf_counter(), cpu_seconds()
    outcome = module.fit(task)
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu
    np.save(folder / "topics.npy", np.asarray(outcome.topics, dtype=np.float64))
    np.save(folder / "theta.npy", np.asarray(outcome.theta, dtype=np.float64))
    for number, theta in enumerate(outcome.new_theta):
        np.save(folder / f"new_theta_{number}.npy", np.asarray(theta, dtype=np.float64))
    result = {
        "seconds": round(seconds, 2),
        "cpu": round(cpu, 2),
        "memory_mb": round(most_memory(), 1),
        "version": version(module.PACKAGE) if module.PACKAGE else "",
        "facts": outcome.facts,
        "effect": outcome.effect,
    }
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], Path(sys.argv[2]))
