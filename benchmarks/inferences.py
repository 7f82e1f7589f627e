"""Sampling beside EM: both inferences at their defaults, on the same documents, in turns.

Half of the words of held-out documents are seen, the other half is predicted: with a model's own proportions, and with
the estimator that the comparison with other libraries uses for all of them. What is measured already is not measured
again. Usage:

    python -m benchmarks.inferences --data FOLDER                      # all cases, one seed
    python -m benchmarks.inferences --data FOLDER nips-20 cora-20      # some of them
    python -m benchmarks.inferences --data FOLDER --seeds 3 quarter-20
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.peers import corpora, scoring
from gptm import CTM
from job_store import Store

RESULTS = Path(__file__).parent / "results" / "inferences.jsonl"
SPLITS = Path(__file__).parent / ".splits"
INFERENCES = ("variational", "sampling")
SHORT = {"cora": "cora_linqs", "m10": "m10", "dblp": "octis_dblp"}
CASES = (
    "quarter-20",
    "nips-20",
    "nips-50",
    "cora-20",
    "m10-20",
    "dblp-20",
    "full-20",
    "full-50",
    "full-100",
    "full20k-50",
)


def read(folder, name):
    """The split of a corpus."""
    if name in SHORT:
        texts, _ = corpora.read_texts(folder, SHORT[name])
        for_testing = np.random.default_rng(0).random(len(texts)) < 0.2
        return corpora.split_texts(texts, for_testing, min_df=5, max_words=5000)
    name = {"quarter": "quarter5k", "full": "full5k"}.get(name, name)
    return corpora.load(corpora.build([name], folder, SPLITS)[name])


def measure(split, K, inference, seed):
    """Perplexities, coherence and cost of one fit, on one thread."""
    model = CTM(K, inference=inference, random_state=seed, n_jobs=1)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.train)
    cpu = time.process_time() - began
    topics = model.components_
    return {
        "own": scoring.own_completion(split, topics, model.transform(split.seen)),
        "ppl": scoring.completion(split, topics)[0],
        "npmi": scoring.coherence(topics, split.train),
        "cpu_seconds": cpu,
        "iterations": model.n_iter_,
    }


def table(store, names, seeds):
    """Lines of Markdown: one row for each case and seed that both inferences have."""
    lines = [
        "| corpus, topics | seed | EM: own, ppl, NPMI | CPU | sampling: own, ppl, NPMI | CPU "
        "| ratio of own | of CPU |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        for seed in range(seeds):
            em, draws = (store.get(f"{name}/{kind}/seed {seed}") for kind in INFERENCES)
            if em is None or draws is None:
                continue
            cells = [
                f"{row['own']:.0f}, {row['ppl']:.0f}, {row['npmi']:.3f} | {row['cpu_seconds']:.1f}"
                for row in (em, draws)
            ]
            ratios = [draws[key] / em[key] for key in ("own", "cpu_seconds")]
            lines.append(
                f"| {name} | {seed} | {cells[0]} | {cells[1]} | {ratios[0]:.3f} | {ratios[1]:.1f} |"
            )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    chosen = parser.parse_args()
    names = chosen.cases or list(CASES)
    for name in names:
        if name not in CASES:
            parser.error(f"there is no case {name!r}; choose from {', '.join(CASES)}")
    store = Store(RESULTS)
    for name in names:
        corpus, _, K = name.rpartition("-")
        split = None
        for seed in range(chosen.seeds):
            for inference in INFERENCES:
                key = f"{name}/{inference}/seed {seed}"
                if store.get(key) is None or chosen.again:
                    split = split or read(chosen.data, corpus)
                    store.put(key, measure(split, int(K), inference, seed))
                    print(key, store.get(key), flush=True)
    print("\n".join(table(store, names, chosen.seeds)))


if __name__ == "__main__":
    main()
