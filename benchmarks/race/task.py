"""What a library is given and what it gives back, as files in a folder. Needs only numpy, scipy and pandas."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, load_npz, save_npz


class Task(NamedTuple):
    """A corpus and what to do with it."""

    counts: csr_matrix  # (D, V)
    vocabulary: np.ndarray  # (V,)
    K: int
    seed: int
    threads: int
    metadata: pd.DataFrame | None = None  # side information; `formula` says how rivals read it
    formula: str = ""
    effect: tuple[str, str, str] | None = (
        None  # column and two levels: the shares' difference is asked for
    )
    texts: list[str] | None = None
    vectors: np.ndarray | None = None  # (D, n) of sentences, unit length
    new: tuple[csr_matrix, ...] = ()  # new documents, whose proportions are asked for

    def documents(self) -> list[list[str]]:
        """Words one by one, for libraries that count for themselves."""
        return as_words(self.counts, self.vocabulary)

    def new_documents(self) -> list[list[list[str]]]:
        """The same of each set of new documents."""
        return [as_words(counts, self.vocabulary) for counts in self.new]

    def write(self, folder: Path) -> None:
        save_npz(folder / "counts.npz", self.counts)
        for number, counts in enumerate(self.new):
            save_npz(folder / f"new_{number}.npz", counts)
        np.save(folder / "vocabulary.npy", self.vocabulary.astype(str))
        if self.metadata is not None:
            self.metadata.to_json(
                folder / "metadata.json", orient="table", index=False, double_precision=15
            )
        if self.vectors is not None:
            np.save(folder / "vectors.npy", self.vectors)
        names = ("K", "seed", "threads", "formula", "effect", "texts")
        rest = {name: getattr(self, name) for name in names}
        (folder / "task.json").write_text(json.dumps(rest), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Task":
        rest = json.loads((folder / "task.json").read_text(encoding="utf-8"))
        table, vectors = folder / "metadata.json", folder / "vectors.npy"
        return cls(
            load_npz(folder / "counts.npz").tocsr(),
            np.load(folder / "vocabulary.npy"),
            metadata=pd.read_json(table, orient="table") if table.exists() else None,
            vectors=np.load(vectors) if vectors.exists() else None,
            new=tuple(
                load_npz(folder / f"new_{number}.npz").tocsr()
                for number in range(len(list(folder.glob("new_*.npz"))))
            ),
            **rest,
        )


class Outcome(NamedTuple):
    """What a library found."""

    topics: (
        np.ndarray
    )  # (K, V) weights of words; rows sum to one where the library has probabilities
    theta: np.ndarray  # (D, K) proportions of the documents; a row of zeros if it was left out
    facts: dict[str, Any] = {}  # noqa: RUF012  never changed
    effect: dict[str, list[float]] | None = (
        None  # estimate, low and high (90 %) of each topic's share difference
    )
    new_theta: tuple[np.ndarray, ...] = ()  # proportions of each set of new documents


def as_words(counts: csr_matrix, vocabulary: np.ndarray) -> list[list[str]]:
    """The words of each document, one by one."""
    rows = []
    for d in range(counts.shape[0]):
        cells = slice(counts.indptr[d], counts.indptr[d + 1])
        times = counts.data[cells].astype(int)
        rows.append(np.repeat(vocabulary[counts.indices[cells]], times).tolist())
    return rows


def in_our_order(found: np.ndarray, words: list[str], vocabulary: np.ndarray) -> np.ndarray:
    """(K, V) topics with one column for each word of ours; words that the library left out have none."""
    column = {word: number for number, word in enumerate(vocabulary)}
    topics = np.zeros((len(found), len(vocabulary)))
    topics[:, [column[word] for word in words]] = found
    return topics
