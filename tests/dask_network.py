"""Schedulers and workers of dask as processes of their own, each worker in a network namespace of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

MARK = os.getpid() % 10_000  # other runs of the tests have networks of their own
BRIDGE, SUBNET = f"gptm{MARK}", f"10.213.{MARK % 250}"
QUICK = {  # a silent worker counts as lost after seconds, where that takes minutes by default
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "15s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "12s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "60s",
    "OPENBLAS_NUM_THREADS": "1",
}


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class DaskNetwork:
    """Processes of dask; workers in namespaces if there is a bridge to plug them in."""

    def __init__(self, stack, bridged):
        self.stack, self.bridged = stack, bridged
        self.host = f"{SUBNET}.1" if bridged else "127.0.0.1"
        self.workers, self.cable = {}, {}
        self.start_scheduler()

    def start_scheduler(self, port=0):
        file = Path(self.stack.enter_context(tempfile.TemporaryDirectory())) / "scheduler.json"
        command = ["distributed.cli.dask_scheduler", "--host", self.host, "--port", str(port)]
        command += ["--no-dashboard", "--no-show", "--scheduler-file", str(file)]
        self.scheduler = self.start(command)
        until(lambda: file.exists() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]

    def start(self, module, namespace=None):
        inside = [] if namespace is None else ["ip", "netns", "exec", namespace]
        process = subprocess.Popen(
            [*inside, sys.executable, "-m", *module],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | QUICK | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.stack.callback(end, process)
        return process

    def start_worker(self, name):
        """A worker that its name stands for, in its network: workers of one network share nothing but files."""
        namespace = self.plug_in(name) if self.bridged else None
        command = ["distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1"]
        command += ["--preload", "gptm.inference.blocks.dask_tasks"]  # a long import is no silence
        command += [
            "--name",
            name,
            "--no-dashboard",
            "--memory-limit",
            "0",
            "--death-timeout",
            "60",
        ]
        self.workers[name] = self.start(command, namespace)

    def plug_in(self, name):
        number = len(self.workers) + 2
        namespace, outer, inner = (
            f"gptm{MARK}-{name}",
            f"gptm{MARK}o{number}",
            f"gptm{MARK}i{number}",
        )
        ip("netns", "add", namespace)
        self.stack.callback(subprocess.run, ["ip", "netns", "del", namespace], capture_output=True)
        ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", namespace)
        self.stack.callback(subprocess.run, ["ip", "link", "del", outer], capture_output=True)
        ip("link", "set", outer, "master", BRIDGE, "up")
        for words in (
            ["addr", "add", f"{SUBNET}.{number}/24", "dev", inner],
            ["link", "set", inner, "up"],
            ["link", "set", "lo", "up"],
        ):
            ip("-n", namespace, *words)
        self.cable[name] = outer
        return namespace

    def cut_off(self, name):
        """Pull the plug: nobody is told."""
        ip("link", "set", self.cable[name], "down")

    def kill(self, name):
        self.workers[name].send_signal(signal.SIGKILL)

    def freeze(self, name):
        self.workers[name].send_signal(signal.SIGSTOP)


def end(process):
    process.kill()
    process.wait()


@contextmanager
def dask_network(bridged):
    """A network; `bridged` for namespaces, which need the right to make them."""
    with ExitStack() as stack:
        if bridged:
            _make_bridge(stack)
        yield DaskNetwork(stack, bridged)


def _make_bridge(stack):
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or error
        pytest.skip(f"network namespaces cannot be made here ({str(said).strip()})")
    stack.callback(subprocess.run, ["ip", "link", "del", BRIDGE], capture_output=True)
    ip("addr", "add", f"{SUBNET}.1/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")


def names_of(client):
    """Names of workers by their addresses."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {address: info["name"] for address, info in workers.items()}


def busy(client, name):
    """Whether a worker has work to do; by its name."""
    names = names_of(client)
    return any(keys for address, keys in client.processing().items() if names.get(address) == name)


def until(condition, seconds=200):
    """Wait for something to come true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
