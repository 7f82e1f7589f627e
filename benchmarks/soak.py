"""Load: many fits, many single documents, and extreme sizes; time, and memory that should stay flat.

Each case runs in a process of its own, so that its peak memory is its own. What is measured already is not measured
again. Usage:

    python -m benchmarks.soak                       # all cases
    python -m benchmarks.soak many-words --again    # one of them, whether it is there or not
"""

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
from scipy.sparse import csr_matrix

from gptm import CTM, GPTM
from gptm import kernels as k
from job_store import Store

RESULTS = Path(__file__).parent / "results" / "soak.jsonl"
CASES = {}


def case(function):
    """Add a case under the name of its function."""
    CASES[function.__name__.replace("_", "-")] = function
    return function


def peak():
    """Peak memory so far in GB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)


def resident():
    """Memory now in MB."""
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


def documents(n, n_words, n_tokens, seed=0):
    """Counts of words that are as unevenly frequent as those of a language, without topics."""
    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1.0 / np.arange(1, n_words + 1) ** 1.05)
    words = np.searchsorted(frequency / frequency[-1], rng.random(n * n_tokens))
    rows = np.repeat(np.arange(n), n_tokens)
    counts = csr_matrix((np.ones(len(words)), (rows, words)), shape=(n, n_words))
    counts.sum_duplicates()
    return counts


def timed(function):
    """Seconds that it takes."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


@case
def five_hundred_fits():
    counts = documents(100, 200, 40)
    metadata = {"t": np.arange(100.0)}

    def fit():
        GPTM(5, kernel=k.Matern("t"), max_iter=20, random_state=0).fit(counts, metadata=metadata)

    warm = [timed(fit) for _ in range(20)]
    before = resident()
    seconds = [timed(fit) for _ in range(480)]
    return {
        "median seconds, first 20": round(float(np.median(warm)), 3),
        "median seconds, last 100": round(float(np.median(seconds[-100:])), 3),
        "MB more after 480 fits": round(resident() - before, 1),
    }


@case
def single_documents():
    counts = documents(1000, 5000, 100)
    metadata = {"t": np.arange(1000.0), "g": np.arange(1000) % 7}
    plain = CTM(20, max_iter=50, random_state=0).fit(counts)
    with_kernel = GPTM(
        20, kernel=k.Matern("t") + k.Categorical("g"), max_iter=50, random_state=0
    ).fit(counts, metadata=metadata)
    rows = [counts[i] for i in range(1000)]

    def ask_plain(i):
        plain.transform(rows[i % 1000])

    def ask_kernel(i):
        with_kernel.transform(rows[i % 1000], metadata={"t": [float(i)], "g": [i % 7]})

    result = {}
    for name, ask in (("no kernel", ask_plain), ("two terms", ask_kernel)):
        for i in range(200):
            ask(i)
        before = resident()
        times = np.array([timed(lambda i=i, ask=ask: ask(i)) for i in range(10_000)]) * 1e3
        result[f"ms, {name}: p50, p99"] = np.percentile(times, [50, 99]).round(2).tolist()
        result[f"MB more after 10,000, {name}"] = round(resident() - before, 1)
    return result


@case
def a_long_document():
    rng = np.random.default_rng(0)
    counts = documents(200, 5000, 100).tolil()
    counts[0] = rng.multinomial(5_000_000, rng.dirichlet(np.full(5000, 0.1)))
    counts = counts.tocsr()
    return {"tokens of it": int(counts[0].sum())} | fit_and_ask(CTM(20, random_state=0), counts)


@case
def a_million_empty_documents():
    counts = documents(1000, 2000, 50)
    rows = csr_matrix(
        (counts.data, counts.indices, np.r_[counts.indptr, np.full(999_000, counts.nnz)]),
        shape=(1_000_000, 2000),
    )
    return fit_and_ask(CTM(20, random_state=0), rows)


@case
def many_words():
    return fit_and_ask(CTM(50, random_state=0), documents(20_000, 1_000_000, 100))


@case
def many_topics():
    return fit_and_ask(CTM(1000, random_state=0), documents(5_000, 5_000, 100))


def fit_and_ask(model, counts):
    model.set_params(n_jobs=2)
    seconds = timed(lambda: model.fit(counts))
    asked = timed(lambda: model.topics())
    return {
        "documents, words, tokens": [*counts.shape, int(counts.sum())],
        "seconds to fit": round(seconds, 1),
        "sweeps": model.n_iter_,
        "seconds for topics()": round(asked, 1),
        "GB at the peak": peak(),
    }


def run_alone(name):
    """Run a case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.soak", name, "--alone"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help=f"names of cases: {', '.join(CASES)}")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--alone", action="store_true", help="run in this process, print JSON")
    options = parser.parse_args()
    if options.alone:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(json.dumps(CASES[options.case[0]]()))
        return
    store = Store(RESULTS)
    for name in options.case or CASES:
        if options.again or store.get(name) is None:
            store.put(name, run_alone(name))
        print(name, json.dumps(store.get(name), indent=2))


if __name__ == "__main__":
    main()
