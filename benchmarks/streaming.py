"""Models that go on learning against batch fits, on held-out words.

Two questions. Shuffled: after one pass over a corpus in 50 batches, how far is `partial_fit` from `fit` to all
documents at once? In time: State of the Union addresses arrive year by year; is the next year predicted better by a
model that forgets, or by a fit to all earlier years? What is measured already is not measured again. Usage:

    python -m benchmarks.streaming --data FOLDER                       # all of both
    python -m benchmarks.streaming --data FOLDER shuffled --cases nips
    python -m benchmarks.streaming --data FOLDER time --decay 0.95
    python -m benchmarks.streaming --report
"""

import argparse
import gzip
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from gptm import CTM
from job_store import Store

RESULTS = Path(__file__).parent / "results" / "streaming.jsonl"
CASES = {"20news_quarter": 20, "20news": 20, "nips": 20, "sotu": 20}  # and numbers of topics
BATCHES = 50
WORDS = {
    "stop_words": "english",
    "min_df": 5,
    "max_df": 0.5,
    "max_features": 5000,
    "token_pattern": r"(?u)\b[a-zA-Z]{2,}\b",
}
SETTINGS_YEARS, SHOWN_YEARS = range(1850, 1900, 20), range(1925, 2027, 15)


def texts_of(folder, name):
    """Texts, and their dates where there are any; paragraphs of addresses, all or 6,000 of them by chance."""
    file = {
        "20news": "20news_stripped",
        "20news_quarter": "20news_stripped",
        "sotu_all": "sotu",
    }.get(name, name)
    with gzip.open(Path(folder) / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        docs = [json.loads(line) for line in lines]
    rng = np.random.default_rng(0)
    if file == "sotu":
        docs = [
            {**doc, "text": text}
            for doc in docs
            for text in doc["text"].split("\n\n")
            if len(text.split()) >= 20
        ]
        most = len(docs) if name == "sotu_all" else 6000
        docs = [docs[i] for i in np.sort(rng.permutation(len(docs))[:most])]
    if name == "20news_quarter":
        docs = [docs[i] for i in np.sort(rng.permutation(len(docs))[: len(docs) // 4])]
    return [doc["text"] for doc in docs], [doc.get("date") for doc in docs]


def counted(folder, name, train=None):
    """Counts of documents that have words, over words of the training documents, and dates."""
    texts, dates = texts_of(folder, name)
    vectoriser = CountVectorizer(**WORDS).fit(texts if train is None else train(texts))
    X = csr_matrix(vectoriser.transform(texts), dtype=float)
    some = np.flatnonzero(np.asarray(X.sum(1)).ravel() >= 4)
    return X[some], [dates[i] for i in some]


def shuffled(folder, name, seed):
    """Perplexity of held-out words after one pass in batches, and after a fit to all documents."""
    X, _ = counted(folder, name)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    test, train = order[: X.shape[0] // 5], order[X.shape[0] // 5 :]
    K, row = CASES[name], {"part": "shuffled", "corpus": name, "seed": seed}
    began = time.process_time()
    whole = CTM(K, random_state=seed).fit(X[train])
    row["batch_cpu"] = round(time.process_time() - began, 1)
    row["batch"] = whole.perplexity(X[test])
    began, model = time.process_time(), CTM(K, random_state=seed)
    for rows in np.array_split(train, BATCHES):
        model.partial_fit(X[rows])
    row["stream_cpu"] = round(time.process_time() - began, 1)
    row["stream"] = model.perplexity(X[test])
    row["ratio"] = row["stream"] / row["batch"]
    return row


def in_time(folder, decay, seed, years):
    """Perplexity of each of some years by a model of all years before: updated year by year, and fitted at once."""
    X, dates = counted(folder, "sotu_all")
    year = np.array([int(date[:4]) for date in dates])
    model, rows = CTM(CASES["sotu"], random_state=seed), []
    for now in range(year.min(), max(years) + 1):
        present = X[year == now]
        if now in years and present.shape[0]:
            whole = CTM(CASES["sotu"], random_state=seed).fit(X[year < now])
            rows.append(
                {
                    "year": now,
                    "tokens": float(present.sum()),
                    "stream": model.perplexity(present),
                    "batch": whole.perplexity(present),
                }
            )
            print(rows[-1], flush=True)
        if present.shape[0]:
            model.partial_fit(present, decay=decay if hasattr(model, "fitted_") else 1.0)
    table = pd.DataFrame(rows)
    gain = np.log(table["stream"] / table["batch"])
    return {
        "part": "time",
        "decay": decay,
        "seed": seed,
        "years": [int(y) for y in table["year"]],
        "stream": table["stream"].tolist(),
        "batch": table["batch"].tolist(),
        "ratio": float(np.exp(np.average(gain, weights=table["tokens"]))),
        "better": int((gain < 0).sum()),
    }


def summary(rows):
    """Tables of what is measured."""
    frame = pd.DataFrame(rows)
    if frame.empty:
        return "nothing is measured yet"
    columns = ["part", "corpus", "decay", "seed", "batch", "stream", "ratio", "better"]
    columns += ["batch_cpu", "stream_cpu"]
    shown = frame[[name for name in columns if name in frame]].copy()
    for name in ("batch", "stream"):
        shown[name] = [np.round(np.mean(value), 1) for value in shown[name]]
    return shown.round(3).to_string(index=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["shuffled", "time"], help="default: both")
    parser.add_argument("--data", help="folder with the corpora")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--decay", type=float, default=0.95)
    parser.add_argument("--early", action="store_true", help="years before 1900, to choose decay")
    parser.add_argument("--report", action="store_true", help="tables only")
    options = parser.parse_args()
    store, jobs = Store(RESULTS), {}
    for seed in range(options.seeds):
        if options.part != "time":
            for name in options.cases.split(","):
                jobs[f"shuffled/{name}/seed {seed}"] = (shuffled, name, seed)
        if options.part != "shuffled":
            years = SETTINGS_YEARS if options.early else SHOWN_YEARS
            span = "early" if options.early else "late"
            key = f"time/{span}/decay {options.decay}/seed {seed}"
            jobs[key] = (in_time, options.decay, seed, years)
    warnings.simplefilter("ignore")
    for key, (run, *arguments) in jobs.items():
        if store.get(key) is None and not options.report:
            store.put(key, run(options.data, *arguments))
            print(key, store.get(key), flush=True)
    print(summary(list(store.results().values())))


if __name__ == "__main__":
    main()
