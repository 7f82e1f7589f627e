"""How long a new process waits: `import gptm`, `gptm --help`, and the first iteration of a first fit.

    python benchmarks/startup.py

Each figure is the median of several new processes; compiled code is in numba's cache after the first.
"""

import json
import statistics
import subprocess
import sys

IMPORT = "import time; t = time.perf_counter(); import gptm; print(time.perf_counter() - t)"
HELP = """
import subprocess, sys, time; t = time.perf_counter()
subprocess.run([sys.executable, "-m", "gptm", "--help"], capture_output=True, check=True)
print(time.perf_counter() - t)
"""
FIRST_FIT = """
import time; t = time.perf_counter()
import numpy as np
from gptm import GPTM, kernels as k
X = np.random.default_rng(0).poisson(0.5, (200, 300))
GPTM(5, kernel=k.RBF("t"), random_state=0, max_iter=20).fit(X, metadata={"t": np.arange(200)})
print(time.perf_counter() - t)
"""


def seconds(code: str, repeats: int = 5) -> float:
    def once() -> float:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    once()  # fills the caches
    return statistics.median(once() for _ in range(repeats))


if __name__ == "__main__":
    waits = {"import": IMPORT, "help": HELP, "first fit": FIRST_FIT}
    print(json.dumps({name: seconds(code) for name, code in waits.items()}, indent=2))
