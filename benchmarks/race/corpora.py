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
