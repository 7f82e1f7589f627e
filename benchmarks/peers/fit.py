"""One fit in a process of its own: `python -m benchmarks.peers.fit FOLDER`, with `task.json` in the folder.

Leaves `topics-*.npy`, `theta-*.npy` and `result.json` there. Imports, the conversion of the counts and a first fit to
200 documents, which compiles and loads whatever has to be, are outside the clock.
"""

import json
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import corpora
from benchmarks.peers.measuring import MB, Recorder, cpu_seconds, peak_memory
from benchmarks.peers.runners import runner

WARM_UP = 200  # documents
FITTED = "fitted"  # the file that says that the fit is done and only inference follows
REPEATS = 3  # of each inference; the median counts
PACKAGES = ("numpy", "scipy", "numba")  # that results may depend on, beside the library


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of those packages that are installed."""
    installed = {}
    for package in packages:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def run(folder: Path) -> dict[str, Any]:
    task = json.loads((folder / "task.json").read_text())
    library = runner(task["library"])
    after_import = peak_memory()
    split = corpora.load(Path(task["split"]))
    K, seed, threads, options = (task[name] for name in ("K", "seed", "threads", "options"))

    few = split.train[:WARM_UP]
    library.fit(few, min(K, 5), seed, threads, options | library.WARM_UP, Recorder(None))
    recorder = Recorder(folder)
    model = library.fit(split.train, K, seed, threads, options, recorder)
    recorder.finish(lambda: library.topics(model))
    (folder / FITTED).touch()

    inference = []
    for number, setting in enumerate(library.INFERENCE):
        costs = []
        for _ in range(1 + REPEATS):  # the first one warms up
            documents = library.prepare_new(model, split.seen)
            cpu_start = cpu_seconds()  # which takes a millisecond itself
            start = time.perf_counter()
            theta = library.infer(model, documents, threads, setting)
            seconds = time.perf_counter() - start
            costs.append((seconds, cpu_seconds() - cpu_start))
        seconds, cpu = np.median(costs[1:], axis=0).round(5).tolist()
        np.save(folder / f"theta-{number:03d}.npy", np.asarray(theta, dtype=np.float32))
        inference.append({"setting": setting, "seconds": seconds, "cpu": cpu})
    return {
        "points": recorder.points,
        "ticks": recorder.ticks,
        "inference": inference,
        "facts": library.facts(model),
        "versions": versions((library.PACKAGE, *PACKAGES)),
        "memory_mb": {
            "after import": round(after_import, 1),
            "counts": round(_size(split.train) / MB, 1),
            "peak": round(recorder.peak, 1),
        },
    }


def _size(counts: Any) -> int:
    """Bytes of a sparse matrix with its numbers as float64."""
    return counts.nnz * (8 + counts.indices.itemsize) + counts.indptr.nbytes


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place = Path(sys.argv[1])
    (place / "result.json").write_text(json.dumps(run(place)))
