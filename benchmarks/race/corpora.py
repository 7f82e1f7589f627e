"""The corpora of the tracks, from files `NAME.jsonl.gz` in the folder of the data."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.race.environments import HERE, install, python_of
from gptm.metrics import split_tokens

CACHE = HERE.parent / ".race"
WORDS = {"stop_words": "english", "min_df": 5, "max_df": 0.5, "max_features": 5000}
LETTERS = r"(?u)\b[a-zA-Z]{2,}\b"
LEAST_WORDS = 3  # of a document, or it is left out for all libraries
MOST_DOCUMENTS = 4000  # of a corpus whose topics are compared: vectors take long


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / f"{name}.jsonl.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"there is no file {path.name} in {folder}; pass its folder as --data."
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def poliblog(folder: Path) -> tuple[csr_matrix, np.ndarray, pd.DataFrame]:
    """Counts, words, and a table with rating and day."""
    rows = rows_of(folder, "poliblog5k")
    vectorizer = DictVectorizer(dtype=np.int64)
    counts = csr_matrix(vectorizer.fit_transform([row["counts"] for row in rows]))
    days = pd.to_datetime([row["date"] for row in rows])
    frame = pd.DataFrame(
        {
            "rating": [row.get("rating", row.get("label")) for row in rows],
            "day": (days - days.min()).days.astype(float),
        }
    )
    return counts, vectorizer.get_feature_names_out(), frame


PARAGRAPHS = 6000  # of the State of the Union addresses


def texts_of(folder: Path, name: str) -> list[str]:
    """The documents of a corpus; of speeches, some of their paragraphs."""
    texts = [row["text"] for row in rows_of(folder, name)]
    if name != "sotu":
        return texts
    paragraphs = [part for text in texts for part in text.split("\n\n")]
    paragraphs = [part for part in paragraphs if len(part.split()) >= 20]
    some = np.random.default_rng(0).permutation(len(paragraphs))[:PARAGRAPHS]
    return [paragraphs[i] for i in np.sort(some)]


class Completed:
    """Counts of documents to learn from, and of held-out ones with a part of their words seen.

    A fifth of the documents is held out. Words are those of the training documents; documents with too few of them are
    left out.
    """

    def __init__(self, folder: Path, name: str, seed: int, seen: tuple[float, ...]):
        texts = texts_of(folder, name)
        order = np.random.default_rng(seed).permutation(len(texts))
        held_out, train = np.sort(order[: len(texts) // 5]), np.sort(order[len(texts) // 5 :])
        vectorizer = CountVectorizer(token_pattern=LETTERS, **WORDS)
        counts = csr_matrix(vectorizer.fit_transform([texts[i] for i in train]), dtype=float)
        others = csr_matrix(vectorizer.transform([texts[i] for i in held_out]), dtype=float)
        self.counts = counts[np.asarray(counts.sum(1)).ravel() >= LEAST_WORDS]
        others = others[np.asarray(others.sum(1)).ravel() >= LEAST_WORDS]
        self.vocabulary = vectorizer.get_feature_names_out()
        self.parts = [split_tokens(others, observed, seed) for observed in seen]


class Labelled:
    """Texts with labels, their counts, and vectors of them by a sentence model."""

    def __init__(self, folder: Path, name: str):
        rows = rows_of(folder, name)
        rng = np.random.default_rng(0)
        some = np.sort(rng.permutation(len(rows))[:MOST_DOCUMENTS])
        vectorizer = CountVectorizer(token_pattern=LETTERS, **WORDS)
        counts = csr_matrix(vectorizer.fit_transform([rows[i]["text"] for i in some]))
        long_enough = np.asarray(counts.sum(1)).ravel() >= LEAST_WORDS
        kept = some[long_enough]
        self.name = name
        self.counts = counts[long_enough]
        self.vocabulary = vectorizer.get_feature_names_out()
        self.texts = [rows[i]["text"] for i in kept]
        analyse = vectorizer.build_analyzer()
        self.tokens = [analyse(text) for text in self.texts]
        self.labels = np.array([rows[i]["label"] for i in kept])

    def vectors(self) -> tuple[np.ndarray, float]:
        """(D, n) of unit length, and the seconds of CPU that they took; computed once."""
        path, cost = CACHE / f"{self.name}.npy", CACHE / f"{self.name}.seconds"
        if not cost.exists():
            install("vectors")
            CACHE.mkdir(exist_ok=True)
            texts = CACHE / f"{self.name}.json"
            texts.write_text(json.dumps(self.texts), encoding="utf-8")
            command = [python_of("vectors"), "-m", "benchmarks.race.embed", texts, path]
            done = subprocess.run(
                list(map(str, command)),
                cwd=HERE.parents[1],
                check=True,
                capture_output=True,
                text=True,
            )
            cost.write_text(done.stdout.split()[-1])
            texts.unlink()
        return np.load(path), float(cost.read_text())
