"""Corpora on disk on one machine and on several: time and memory per document, traffic, and a forecast for clusters.

Documents are sampled, 50 tokens each, with a category of 20 levels as side information. Each case runs in a process of
its own and makes a few sweeps: a sweep takes the same time whatever comes before or after it. What is measured already
is not measured again. Usage:

    python -m benchmarks.scale_out                          # all cases; the largest take an hour and 10 GB of disk
    python -m benchmarks.scale_out here-1000000-20 --again  # one of them, whether it is there or not
    python -m benchmarks.scale_out --forecast               # what clusters would take, by what was measured
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

import gptm
from gptm import GPTM, Corpus, _hot
from gptm import kernels as k
from gptm.corpus.block_writer import BLOCK_DOCUMENTS, BlockWriter
from gptm.inference.blocks import run_blocks
from gptm.inference.blocks.dask_placement import BlockTasks
from gptm.inference.blocks.dask_tasks import state_of
from job_store import Store

RESULTS = Path(__file__).parent / "results" / "scale_out.jsonl"
WORDS, TOKENS, LEVELS, TRUE_TOPICS = 10_000, 50, 20, 50
DISTINCT = 1_000_000  # documents that differ; larger corpora repeat them, in files of their own
SWEEPS = 7  # of which the first, which loads what is compiled, does not count
FEWER = 4  # with a million documents or hundreds of topics


class Case(NamedTuple):
    """What is measured."""

    documents: int
    topics: int
    workers: int  # of dask, with one thread each; 0 for a fit without dask

    @property
    def name(self):
        return f"{f'dask{self.workers}' if self.workers else 'here'}-{self.documents}-{self.topics}"


CASES = [
    *(Case(100_000, 20, workers) for workers in (0, 1, 2)),
    Case(1_000_000, 20, 0),
    *(Case(100_000, 100, workers) for workers in (0, 1, 2)),
    Case(100_000, 500, 0),
    Case(1_000_000, 20, 1),
    Case(1_000_000, 20, 2),
    Case(3_000_000, 20, 0),
    Case(100_000, 500, 2),
    Case(10_000_000, 20, 0),
]
BY_NAME = {case.name: case for case in CASES}
SCHEDULER = "scheduler"  # what a task costs the scheduler, by tasks that do nothing


# Documents


def corpus_of(n, folder):
    """A corpus of n documents, written on first use."""
    path = Path(folder) / f"corpus-{n}"
    if not (path / "corpus.json").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        vocabulary = np.array([f"w{i:05d}" for i in range(WORDS)], dtype=object)
        writer = BlockWriter(path, vocabulary, WORDS, None)
        for first in range(0, n, BLOCK_DOCUMENTS):
            size = min(BLOCK_DOCUMENTS, n - first)
            writer.add(documents(first % DISTINCT, size, vocabulary))
        writer.finish()
    return gptm.open_corpus(path)


def documents(first, n, vocabulary):
    """Some documents, with two topics each; the first topic goes with the category."""
    fixed = np.random.default_rng(0)
    ends = np.cumsum(fixed.dirichlet(np.full(WORDS, 0.02), TRUE_TOPICS), axis=1)
    rng = np.random.default_rng([1, first])
    level = rng.integers(0, LEVELS, n)
    topics = np.stack([level, rng.integers(0, TRUE_TOPICS, n)])
    of_token = topics[rng.integers(0, 2, (n, TOKENS)), np.arange(n)[:, None]]
    points = rng.random((n, TOKENS))
    words = np.empty((n, TOKENS), dtype=np.int32)
    for topic in range(TRUE_TOPICS):
        mine = of_token == topic
        words[mine] = np.minimum(np.searchsorted(ends[topic], points[mine]), WORDS - 1)
    indptr = np.arange(0, n * TOKENS + 1, TOKENS)
    counts = csr_matrix((np.ones(n * TOKENS), words.ravel(), indptr), shape=(n, WORDS))
    counts.sum_duplicates()
    names = pd.Categorical.from_codes(level, [f"level{i}" for i in range(LEVELS)])
    return Corpus(counts, vocabulary, metadata=pd.DataFrame({"level": names}))


# One case


class Clock:
    """Times after each sweep: by the wall, and of the CPU in this process, in its scheduler and in workers."""

    def __init__(self, client):
        self.client, self.ticks = client, []

    def __call__(self, number, state):
        elsewhere, scheduler = 0.0, 0.0
        if self.client is not None:
            elsewhere = sum(self.client.run(time.process_time).values())
            scheduler = self.client.run_on_scheduler(time.thread_time)  # a thread of this process
        self.ticks.append([time.perf_counter(), time.process_time(), scheduler, elsewhere])

    def per_sweep(self):
        """The times of the quickest sweep: the least disturbed one, where others use the machine."""
        return np.diff(self.ticks, axis=0).min(axis=0).tolist()


def run(case, folder):
    """Measure a case."""
    run_blocks.HELD = 1  # sweeps before the first that counts; they take the time of the others
    corpus = corpus_of(case.documents, folder)
    if not case.workers:
        return measure(case, corpus, None)
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=case.workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        return measure(case, corpus, client)


def measure(case, corpus, client):
    """Fit, and report times, memory and traffic."""
    clock = Clock(client)
    model = GPTM(
        case.topics,
        kernel=k.Categorical("level"),
        init="random",
        max_iter=FEWER if case.documents >= DISTINCT or case.topics > 100 else SWEEPS,
        random_state=0,
        memory="4GB",
        callback=clock,
    )
    before = os.getloadavg()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(corpus, client=client)
    wall, here, scheduler, elsewhere = clock.per_sweep()
    cpu = here + elsewhere
    return {
        "case": case.name,
        "documents": case.documents,
        "blocks": corpus.n_blocks,
        "words": corpus.shape[1],
        "topics": case.topics,
        "workers": case.workers,
        "seconds per sweep": round(wall, 2),
        "CPU seconds per sweep": round(cpu, 2),
        "of these, client": round(here, 2),
        "CPU microseconds per document": round(1e6 * cpu / case.documents, 2),
        "documents per second": round(case.documents / wall),
        "documents per CPU second": round(case.documents / cpu),
        "GB at the peak": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "load of the machine": round(before, 1),
        **({} if client is None else traffic(case, corpus, client, scheduler)),
    }


def traffic(case, corpus, client, scheduler):
    """What travelled, and what share of the workers' time that took; by dask's own metrics."""
    time.sleep(2)  # workers report with their heartbeats
    metrics = client.run_on_scheduler(
        lambda dask_scheduler: dict(dask_scheduler.cumulative_worker_metrics)
    )
    seconds = {"execute": 0.0, "gather-dep": 0.0, "get-data": 0.0}
    for key, value in metrics.items():
        if isinstance(key, tuple) and key[0] in seconds and key[-1] == "seconds":
            seconds[key[0]] += value
    sent = metrics.get(("get-data", "memory-read", "bytes"), 0.0)
    moved = seconds["gather-dep"] + seconds["get-data"]
    topics = WORDS * _hot.padded(case.topics)
    return {
        "bytes to the client per sweep": 8 * topics,
        "bytes from the client per sweep": 4 * topics,
        "bytes that workers send, all of the fit": round(sent),
        "share of workers' time in communication": round(moved / sum(seconds.values()), 4),
        "scheduler CPU seconds per sweep": round(scheduler, 3),
        "tasks per sweep": tasks(corpus.n_blocks),
        "GB of the largest worker": round(max(client.run(_peak).values()), 2),
    }


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Nothing:
    """A sum that takes no time."""

    def plus(self, other):
        return self


def nothing(block):
    """A sweep that takes no time."""
    return None, Nothing()


def run_scheduler(blocks=2000):
    """Measure the CPU time of the scheduler's thread in a sweep over many blocks without documents."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        some, seconds = BlockTasks(client, blocks), []
        for number in range(3):
            begun = client.run_on_scheduler(time.thread_time)
            pairs = some.each("sweep-block", number, nothing, range(blocks))
            states = some.after("state", number, state_of, pairs)
            total = some.total("add-sums", number, pairs)
            del pairs
            total.result()
            del states, total
            seconds.append(client.run_on_scheduler(time.thread_time) - begun)
    per_task = min(seconds) / tasks(blocks)
    return {
        "case": SCHEDULER,
        "blocks": blocks,
        "tasks": tasks(blocks),
        "CPU microseconds per task": round(1e6 * per_task, 1),
        "load of the machine": round(os.getloadavg()[0], 1),
    }


def tasks(blocks):
    """Tasks of a sweep: a sweep and a state for each block, the tree of sums, and the topics."""
    total, level = 2 * blocks + 1, blocks
    while level > 1:
        level = -(-level // 8)
        total += level
    return total


# A forecast


class Machines(NamedTuple):
    """Assumptions about a cluster."""

    cores: int = 16
    bandwidth: float = 1.25e9  # bytes per second of one machine: 10 Gb/s
    words: int = 50_000
    block: int = BLOCK_DOCUMENTS


def constants(results):
    """CPU seconds per document, by number of topics; per task of the scheduler; per topic and word of the client."""
    fits = {name: result for name, result in results.items() if name != SCHEDULER}
    per_document = {
        r["topics"]: r["CPU microseconds per document"] / 1e6
        for r in fits.values()
        if r["documents"] == 100_000 and not r["workers"]
    }
    client = [
        (r["of these, client"] - r["scheduler CPU seconds per sweep"]) / (r["words"] * r["topics"])
        for r in fits.values()
        if r["workers"]
    ]
    return per_document, results[SCHEDULER]["CPU microseconds per task"] / 1e6, min(client)


def forecast(results, machines=None):
    """Seconds of a sweep, by parts, for 10^8 and 10^9 documents on 16, 64 and 256 machines."""
    assumed = machines or Machines()
    per_document, task, client = constants(results)
    rows = []
    for n in (10**8, 10**9):
        for topics, seconds in sorted(per_document.items()):
            for count in (16, 64, 256):
                matrix = assumed.words * _hot.padded(topics)
                hops = np.log2(
                    count
                )  # topics go from machine to machine, and sums come back in a tree
                rows.append(
                    {
                        "documents": n,
                        "topics": topics,
                        "machines": count,
                        "documents' time": n * seconds / (count * assumed.cores),
                        "network": (4 + 8) * matrix * hops / assumed.bandwidth,
                        "scheduler": task * tasks(-(-n // assumed.block)),
                        "client": client * assumed.words * topics,
                        "GB per machine": n * (12 * TOKENS + 8 * topics) / count / 2**30,
                    }
                )
    table = pd.DataFrame(rows)
    parts = ["documents' time", "network", "scheduler", "client"]
    table["seconds per sweep"] = table[parts].sum(axis=1)
    table["hours for 200 sweeps"] = table["seconds per sweep"] / 18
    table["largest part"] = table[parts].idxmax(axis=1)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help="names of cases; all by default")
    parser.add_argument("--folder", default=f"{tempfile.gettempdir()}/gptm-scale-out")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    parser.add_argument("--alone", action="store_true", help="run in this process, print JSON")
    parser.add_argument("--forecast", action="store_true", help="print the forecast for clusters")
    parser.add_argument("--block", type=int, default=BLOCK_DOCUMENTS, help="documents of a block")
    options = parser.parse_args()
    if options.alone:
        name = options.case[0]
        result = run_scheduler() if name == SCHEDULER else run(BY_NAME[name], options.folder)
        print(json.dumps(result))
        return
    store = Store(RESULTS)
    if options.forecast:
        table = forecast(store.results(), Machines(block=options.block))
        print(table.round(2).to_string(index=False))
        return
    for name in options.case or [SCHEDULER, *BY_NAME]:
        if options.again or store.get(name) is None:
            store.put(name, run_alone(name, options))
        print(json.dumps(store.get(name), indent=2))


def run_alone(name, options):
    """Run a case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale_out", name, "--alone"]
    command += ["--folder", options.folder]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


if __name__ == "__main__":
    main()
