"""Quality against time: gptm's CTM and tomotopy's LDA on a quarter of 20 Newsgroups, in one run.

    python benchmarks/against_tomotopy.py [--data ../shared] [--seeds 3] [--topics 20]

The splits and the scorer live beside the data (`bench/corpora.py`, `bench/score.py`): document
completion at 50 %, one estimator of theta given the topics for everybody. Scoring time is taken out of the clock. Peers
and ours alternate. Writes benchmarks/results/against_tomotopy.json.
"""

import argparse
import importlib.util
import json
import platform
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
N_JOBS = 2
LEVEL = 870.0  # tomotopy's LDA after 500 sweeps
SWEEPS_AT_ONCE, MAX_SWEEPS = 25, 500


def load_module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


class Clock:
    """Seconds spent on the work, with the scoring taken out."""

    def __init__(self):
        self.started, self.outside = time.perf_counter(), 0.0

    def measure(self, score, topics):
        now = time.perf_counter()
        value = score(topics)
        point = {"seconds": now - self.started - self.outside, "perplexity": value}
        self.outside += time.perf_counter() - now
        return point


def fit_gptm(X, n_topics, seed, score):
    from gptm import CTM

    clock, curve = Clock(), []
    model = CTM(
        n_topics,
        random_state=seed,
        n_jobs=N_JOBS,
        callback=lambda _, state: curve.append(clock.measure(score, state.components)) and False,
    )
    model.fit(X)
    return curve, {"iterations": model.n_iter_, "converged": bool(model.converged_)}


def fit_tomotopy(X, n_topics, seed, score):
    import tomotopy

    words = np.array([f"w{i}" for i in range(X.shape[1])])
    model = tomotopy.LDAModel(k=n_topics, seed=seed)
    for d in range(X.shape[0]):
        row = slice(X.indptr[d], X.indptr[d + 1])
        model.add_doc(list(np.repeat(words[X.indices[row]], X.data[row])))
    clock, curve = Clock(), []
    for _ in range(MAX_SWEEPS // SWEEPS_AT_ONCE):
        model.train(SWEEPS_AT_ONCE, workers=N_JOBS)
        topics = np.zeros((n_topics, X.shape[1]))
        used = [int(word[1:]) for word in model.used_vocabs]
        topics[:, used] = [model.get_topic_word_dist(k) for k in range(n_topics)]
        curve.append(clock.measure(score, topics))
    return curve, {"sweeps": MAX_SWEEPS}


def seconds_to(curve, level):
    return next((point["seconds"] for point in curve if point["perplexity"] <= level), None)


def summarise(runs):
    """Medians over seeds; a run that never reached the level counts with its whole time."""
    reached = [seconds_to(run["curve"], LEVEL) for run in runs]
    total = [run["curve"][-1]["seconds"] for run in runs]
    return {
        "runs_that_reached_the_level": sum(value is not None for value in reached),
        "seconds_to_level": statistics.median(
            t if r is None else r for r, t in zip(reached, total, strict=True)
        ),
        "seconds_in_all": statistics.median(total),
        "final_perplexity": statistics.median(run["curve"][-1]["perplexity"] for run in runs),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--topics", type=int, default=20)
    arguments = parser.parse_args()
    if not (arguments.data / "bench" / "corpora.py").exists():
        print(f"no bench/corpora.py under {arguments.data}: nothing to measure; pass --data.")
        return 0
    warnings.simplefilter("ignore")
    corpora = load_module(arguments.data / "bench" / "corpora.py")
    scorer = load_module(arguments.data / "bench" / "score.py")
    with tempfile.TemporaryDirectory() as folder:
        corpora.main(folder)
        corpus = corpora.load(Path(folder) / "quarter5k.npz")
    X = corpus["X"].tocsr()

    def score(topics):
        return scorer.score(corpus, topics)["ppl"]

    peers = {"gptm CTM": fit_gptm, "tomotopy LDA": fit_tomotopy}
    for fit in peers.values():  # compile and load outside the clock
        fit(X[:200], 2, 0, lambda topics: 0.0)
    runs = {name: [] for name in peers}
    for seed in range(arguments.seeds):
        for name, fit in peers.items():
            curve, facts = fit(X, arguments.topics, seed, score)
            runs[name].append({"seed": seed, "curve": curve, **facts})
            level = seconds_to(curve, LEVEL)
            print(
                f"seed {seed}  {name:<13} {LEVEL:.0f} after "
                + ("- (never)" if level is None else f"{level:5.2f} s")
                + f"   end {curve[-1]['perplexity']:.0f} after {curve[-1]['seconds']:.2f} s",
                flush=True,
            )
    summary = {name: summarise(list_of_runs) for name, list_of_runs in runs.items()}
    ratio = summary["gptm CTM"]["seconds_to_level"] / summary["tomotopy LDA"]["seconds_to_level"]
    print(json.dumps(summary, indent=2))
    print(f"time to {LEVEL:.0f}: gptm / tomotopy = {ratio:.2f}")
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    facts = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "threads": N_JOBS,
        "level": LEVEL,
        "ratio_of_seconds_to_level": ratio,
    }
    text = json.dumps({"facts": facts, "summary": summary, "runs": runs}, indent=1)
    (results / "against_tomotopy.json").write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
