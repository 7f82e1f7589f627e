"""How kernels grow: links and neighbours over real corpora, a sampled corpus of a million documents, a dense kernel.

Each case runs in a process of its own, so that its peak memory is its own. What is measured already is not measured
again. Usage:

    python -m benchmarks.scale --data FOLDER                      # all cases
    python -m benchmarks.scale --data FOLDER --again debian-graph # one of them, whether it is there or not
"""

import argparse
import gzip
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from gptm import GPTM
from gptm import kernels as k
from gptm.inference.em import loop as em
from gptm.operators import Network
from job_store import Store

K = 20
RESULTS = Path(__file__).parent / "results" / "scale.jsonl"


def memory():
    """Peak memory so far in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def read(folder, name):
    """Counts, and a table of ids and links."""
    with gzip.open(Path(folder) / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        docs = [json.loads(line) for line in lines]
    vectoriser = CountVectorizer(stop_words="english", min_df=5, max_df=0.5)
    counts = vectoriser.fit_transform([doc["text"] for doc in docs])
    frame = pd.DataFrame(
        {"id": [d["id"] for d in docs], "links": [d.get("links", []) for d in docs]}
    )
    return counts, frame


def sampled(n, n_tokens=50, n_words=2000, n_levels=500, n_links=5, seed=0):
    """Documents whose topics follow a date, a category and five links each to documents shortly before."""
    rng = np.random.default_rng(seed)
    dates = np.sort(rng.integers(0, 3650, n))
    levels = rng.integers(0, n_levels, n)
    links = np.maximum(np.arange(n)[:, None] - rng.geometric(0.01, (n, n_links)), 0)
    beta = rng.dirichlet(np.full(n_words, 0.05), K)
    waves = np.sin(np.arange(1, K + 1) * dates[:, None] / 600.0)
    F = waves + rng.standard_normal((n_levels, K))[levels]
    F += 0.5 * F[links].mean(axis=1)
    eta = F + 0.5 * rng.standard_normal((n, K))
    theta = np.exp(eta - eta.max(1, keepdims=True))
    cumulative = np.cumsum(theta / theta.sum(1, keepdims=True), axis=1)
    topics = (rng.random((n, n_tokens, 1)) > cumulative[:, None, :]).sum(2).clip(max=K - 1)
    words = np.empty(topics.size, dtype=np.int32)
    flat = topics.ravel()
    for topic in range(K):
        (places,) = np.nonzero(flat == topic)
        words[places] = rng.choice(n_words, len(places), p=beta[topic])
    indptr = np.arange(0, n * n_tokens + 1, n_tokens)
    counts = csr_matrix((np.ones(len(words)), words, indptr), shape=(n, n_words))
    counts.sum_duplicates()
    frame = pd.DataFrame({"date": pd.Timestamp("2010-01-01") + pd.to_timedelta(dates, unit="D")})
    frame["level"] = levels
    frame["links"] = links.tolist()
    return counts, frame


def dense(n=3000, n_tokens=100, seed=0):
    """Documents at random places, and a rough kernel that tells all of them apart."""
    counts, _ = sampled(n, n_tokens=n_tokens, seed=seed)
    return counts, pd.DataFrame({"x": np.random.default_rng(seed).random(n)})


def cases(folder):
    """name: (how to get the data, kernel, iterations, start)."""
    graph, neighbours = k.Graph("links", id="id"), k.NearestNeighbors(10)
    everything = k.Matern("date") + k.Categorical("level") + k.Graph("links")
    rough = k.Matern("x", nu=0.5, length_scale=0.001)
    return {
        "debian-graph": (lambda: read(folder, "debian_sources"), graph, 200, "gibbs"),
        "debian-neighbours": (lambda: read(folder, "debian_sources"), neighbours, 200, "gibbs"),
        "wordnet-graph": (lambda: read(folder, "wordnet_nouns"), graph, 200, "gibbs"),
        "wordnet-neighbours": (lambda: read(folder, "wordnet_nouns"), neighbours, 200, "gibbs"),
        "sampled-100k": (lambda: sampled(100_000), everything, 3, "random"),
        "sampled-1m": (lambda: sampled(1_000_000), everything, 3, "random"),
        "smooth-3000": (dense, k.Matern("x", length_scale=0.144), 10, "gibbs"),
        "learnt-3000": (dense, k.Matern("x"), 10, "gibbs"),
        "dense-3000": (dense, rough, 10, "gibbs"),
    }


class Clock:
    """Time inside some functions, and a count of products with a graph."""

    def __init__(self):
        self.seconds = {"documents": 0.0, "kernel": 0.0}
        self.products = 0
        em.infer_documents = self._timed(em.infer_documents, "documents")
        for name in ("view_logits", "solve_means", "document_means", "learn_parameters"):
            setattr(em, name, self._timed(getattr(em, name), "kernel"))
        step = Network.step

        def counted(network, now, before):
            self.products += 1
            return step(network, now, before)

        Network.step = counted

    def _timed(self, function, name):
        def timed(*args, **kwargs):
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] += time.perf_counter() - start

        return timed

    def read(self):
        return np.array([time.perf_counter(), *self.seconds.values(), self.products])


def rounded(value, digits):
    """A number for JSON, which has no NaN: a fit of one iteration has no time between iterations."""
    return None if np.isnan(value) else round(float(value), digits)


def run(name, folder, n_jobs):
    load, kernel, max_iter, init = cases(folder)[name]
    counts, frame = load()
    before, clock, ticks = memory(), Clock(), []
    model = GPTM(
        K,
        kernel=kernel,
        inference="variational",
        init=init,
        max_iter=max_iter,
        random_state=0,
        n_jobs=n_jobs,
        callback=lambda *_: ticks.append(clock.read()) and None,
    )
    start = clock.read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(counts, metadata=frame)
    steps = np.diff(ticks, axis=0)
    per_iteration = np.median(steps, axis=0) if len(steps) else np.full(4, np.nan)
    mean_products = steps[:, 3].mean() if len(steps) else np.nan  # some iterations learn the kernel
    return {
        "case": name,
        "documents": counts.shape[0],
        "tokens": int(counts.sum()),
        "seconds until the first iteration is done": round(float(ticks[0][0] - start[0]), 1),
        "seconds per iteration": rounded(per_iteration[0], 3),
        "of these, documents": rounded(per_iteration[1], 3),
        "of these, kernel": rounded(per_iteration[2], 4),
        "products with a graph per iteration": rounded(mean_products, 1),
        "iterations": model.n_iter_,
        "converged": model.converged_,
        "seconds": round(float(ticks[-1][0] - start[0]), 1),
        "GB with the data, before": round(before, 2),
        "GB at the peak": round(memory(), 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help="names of cases; all by default")
    parser.add_argument("--data", default="../shared/data", help="folder with the corpora")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    parser.add_argument("--alone", action="store_true", help="run in this process, print JSON")
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(run(options.case[0], options.data, options.jobs)))
        return
    store = Store(RESULTS)
    for name in options.case or cases(options.data):
        if options.again or store.get(name) is None:
            store.put(name, run_alone(name, options))
        print(json.dumps(store.get(name), indent=2))


def run_alone(name, options):
    """Run a case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", name, "--alone", "--data", options.data]
    command += ["--jobs", str(options.jobs)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


if __name__ == "__main__":
    main()
