"""What side information is worth: GPTM with a learnt kernel against CTM, from the same seeds, on held-out words.

Completion perplexity with 50, 20 and 5 % of the words of held-out documents observed; a fifth of the documents is
held out. Each case is one corpus and its kernels. What is measured already is not measured again. Usage:

    python -m benchmarks.side_information --data FOLDER                # all cases
    python -m benchmarks.side_information --data FOLDER m10 sotu       # some of them
    python -m benchmarks.side_information --data FOLDER --seeds 1 m10  # quickly
"""

import argparse
import gzip
import json
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from gptm import CTM, GPTM
from gptm import kernels as k
from job_store import Store

OBSERVED = (0.5, 0.2, 0.05)
RESULTS = Path(__file__).parent / "results"


class Case(NamedTuple):
    """A corpus, how many topics, and the kernels that compete with none."""

    corpus: str
    n_components: int
    kernels: dict

    def models(self):
        """Names of the models and their kernels, the one without a kernel first."""
        return {"CTM": None, **self.kernels}


def links():
    return k.Graph("links", id="id")


CASES = {
    "m10": Case("m10", 20, {"links": links()}),
    "debian": Case("debian", 20, {"links": links()}),
    "20news": Case("20news", 20, {"links + date": links() + k.Matern("date")}),
    "sotu": Case("sotu", 20, {"date + party": k.Matern("date") + k.Categorical("label")}),
    "asrs_acas": Case("asrs_acas", 10, {"date": k.Matern("date")}),
    # Links and dates of other documents say nothing; they must do no harm.
    "m10 shuffled": Case("m10 shuffled", 20, {"links of others": links()}),
    "sotu shuffled": Case(
        "sotu shuffled", 20, {"date + party of others": k.Matern("date") + k.Categorical("label")}
    ),
    **{
        name: Case(
            name,
            3 if name != "news100" else 10,
            {
                "neighbours, eq. 21": k.NearestNeighbors(10, form="direct"),
                "neighbours, smooth": k.NearestNeighbors(10),
                "must-link, eq. 22": k.MustLink("label"),
            },
        )
        for name in ("dif100", "sim100", "same100", "news100", "asrs")
    },
}


def read(folder, name):
    """Texts and a table of their metadata."""
    source, _, shuffled = name.partition(" ")
    source = {"debian": "debian_sources"}.get(source, source)
    with gzip.open(Path(folder) / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
        docs = [json.loads(line) for line in lines]
    rng = np.random.default_rng(0)
    if source == "sotu":
        docs = [
            {**doc, "text": text}
            for doc in docs
            for text in doc["text"].split("\n\n")
            if len(text.split()) >= 20
        ]
        docs = [docs[i] for i in np.sort(rng.permutation(len(docs))[:6000])]
    frame = pd.DataFrame(docs).drop(columns="text")
    if "links" in frame:
        frame["links"] = [links if isinstance(links, list) else [] for links in frame["links"]]
    if "date" in frame:
        frame["date"] = pd.to_datetime(frame["date"], errors="coerce", format="mixed")
    if shuffled:
        order = rng.permutation(len(docs))
        columns = [name for name in frame if name != "id"]
        frame[columns] = frame[columns].iloc[order].set_axis(frame.index)
    return [doc["text"] for doc in docs], frame


def split(texts, seed):
    """Counts of training and held-out documents, words from the training documents alone."""
    order = np.random.default_rng(seed).permutation(len(texts))
    test, train = np.sort(order[: len(texts) // 5]), np.sort(order[len(texts) // 5 :])
    least = 2 if len(texts) < 2000 else 5
    vectoriser = CountVectorizer(stop_words="english", min_df=least, max_df=0.5)
    vectoriser.fit([texts[i] for i in train])
    return csr_matrix(vectoriser.transform(texts), dtype=float), train, test


def labels_known(frame, train):
    """The table with the labels of held-out documents taken away, as must-link must not see them."""
    in_training = np.zeros(len(frame), dtype=bool)
    in_training[train] = True
    return frame.assign(label=frame["label"].where(in_training))


def scored(model, X, frame, train, test):
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[train], metadata=frame.iloc[train])
        seconds = time.perf_counter() - began
        scores = [
            model.perplexity(X[test], metadata=frame.iloc[test], observed=o) for o in OBSERVED
        ]
    return {
        "perplexity": scores,
        "seconds": seconds,
        "iterations": model.n_iter_,
        "converged": bool(model.converged_),
        "kernel": repr(getattr(model, "kernel_", None)),
    }


def run(store, folder, name, options):
    """Fit and score the models of a case that the store does not have; the keys of all of them."""
    case = CASES[name]
    keys = {
        (seed, label): f"{name}/{label}/seed {seed}"
        for seed in range(options.seeds)
        for label in case.models()
    }
    left = [pair for pair, key in keys.items() if options.again or store.get(key) is None]
    texts, frame = read(folder, case.corpus) if left else ([], None)
    for seed, label in left:
        X, train, test = split(texts, seed)
        kernel = case.models()[label]
        model = make_model(case.n_components, kernel, seed, options.inference)
        shown = labels_known(frame, train) if isinstance(kernel, k.MustLink) else frame
        row = {"case": name, "seed": seed, "model": label}
        row |= scored(model, X, shown, train, test)
        store.put(keys[seed, label], row)
        print(describe(row), flush=True)
    return list(keys.values())


def make_model(n_components, kernel, seed, inference):
    common = {"inference": inference, "random_state": seed, "n_jobs": -1}
    if kernel is None:
        return CTM(n_components, **common)
    return GPTM(n_components, kernel=kernel, **common)


def describe(row):
    """One line on a model."""
    scores = " / ".join(f"{value:.0f}" for value in row["perplexity"])
    head = f"{row['case']:14} seed {row['seed']} {row['model']:24}"
    return f"{head} {scores}  {row['seconds']:.0f} s  {row['kernel']}"


def summary(rows):
    """Mean perplexities, and their ratio to CTM's within each seed."""
    frame = pd.DataFrame(rows)
    scores = pd.DataFrame(frame["perplexity"].tolist(), columns=[f"{o:.0%}" for o in OBSERVED])
    frame = pd.concat([frame[["case", "seed", "model"]], scores], axis=1)
    base = frame[frame["model"] == "CTM"].set_index(["case", "seed"])[list(scores)]
    ratio = frame.set_index(["case", "seed"])[list(scores)] / base.reindex(
        frame.set_index(["case", "seed"]).index
    )
    frame[[f"ratio {name}" for name in scores]] = ratio.to_numpy()
    return frame.drop(columns="seed").groupby(["case", "model"], sort=False).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with the corpora")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--inference", choices=["sampling", "variational"], default="sampling")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    parser.add_argument("cases", nargs="*", help=", ".join(CASES))
    options = parser.parse_args()
    store = Store(RESULTS / f"side_information_{options.inference}.jsonl")
    rows = []
    for name in options.cases or list(CASES):
        rows += [store.get(key) for key in run(store, options.data, name, options)]
    print(summary(rows).round(3).to_string())


if __name__ == "__main__":
    main()
