"""What a fit costs: wall time, processor time and memory of its processes, and topics at moments of the fit.

Runs inside the process of a fit, and in that of the harness. Only numpy and psutil are needed.
"""

import os
import platform
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

GROWTH = 1.25  # of the time from one snapshot of the topics to the next
MB = 2**20


def machine() -> dict[str, Any]:
    """The hardware and the interpreter."""
    return {
        "processor": _processor(),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "threads": os.cpu_count(),
        "memory_mb": round(psutil.virtual_memory().total / MB),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def cpu_seconds() -> float:
    """Processor time of this process and of its children, alive and ended."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:  # it ended meanwhile
            continue
        total += times.user + times.system
    return total


def peak_memory() -> float:
    """Most memory that this process has held, in MB.

    Not `ru_maxrss` where Linux tells better: that one starts from the parent's memory.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        unit = 1 if platform.system() == "Darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kilobytes) / 1024


def forget_peak_memory() -> None:
    """Let `peak_memory` start anew from the present memory, where the system can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def tree_memory(process: psutil.Process) -> float:
    """Memory of a process and its children in MB, with what they share counted once."""
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            information = member.memory_full_info()
        except psutil.Error:  # it ended meanwhile
            continue
        total += getattr(information, "pss", information.uss)
    return total / MB


class Recorder:
    """The clock of a fit, from `start` to `finish`. It stands still while topics are saved.

    `note` is called as often as a library lets us: after an iteration, some sweeps or a chunk. Topics are kept when the
    time has grown by a quarter since the last ones.
    """

    def __init__(self, folder: Path | None):
        self.folder = folder  # None: keep nothing
        self.points: list[dict[str, float]] = []
        self.ticks: list[float] = []  # seconds at each call
        self._next = 0.0

    def start(self) -> None:
        """The library has the data in its own form; from here on time and memory count."""
        forget_peak_memory()
        self._outside = self._cpu_outside = 0.0
        self._cpu_started = cpu_seconds()
        self._started = time.perf_counter()

    def note(self, topics: Callable[[], np.ndarray]) -> None:
        """Keep the (K, V) topics that `topics()` returns, if it is time."""
        now = time.perf_counter()
        seconds = now - self._started - self._outside
        self.ticks.append(round(seconds, 4))
        if seconds >= self._next:
            self._keep(topics, seconds)
        self._outside += time.perf_counter() - now

    def finish(self, topics: Callable[[], np.ndarray]) -> None:
        """Stop the clock and keep the last topics, in place of a snapshot that is all but as late."""
        seconds = time.perf_counter() - self._started - self._outside
        self.peak = peak_memory()
        if self.points and self.points[-1]["seconds"] > 0.99 * seconds:
            self.points.pop()
        self._keep(topics, seconds)

    def _keep(self, topics: Callable[[], np.ndarray], seconds: float) -> None:
        before = cpu_seconds()
        point = {"seconds": seconds, "cpu": before - self._cpu_started - self._cpu_outside}
        self.points.append({name: round(value, 4) for name, value in point.items()})
        self._next = GROWTH * seconds
        if self.folder is not None:
            file = self.folder / f"topics-{len(self.points) - 1:03d}.npy"
            np.save(file, np.asarray(topics(), dtype=np.float32))
        self._cpu_outside += cpu_seconds() - before
