"""Training counts and halved test documents, as one `.npz` each: what every library receives.

A fifth of the documents is for testing. The tokens of each test document are dealt into two halves at random: a library
sees `seen`, and `hidden` is predicted. Draws are seeded and in a fixed order, so that everybody has the same splits.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

NEWS = "20news_stripped"
SMALL = {
    "dif100": ("alt.atheism", "rec.sport.baseball", "sci.space"),
    "sim100": ("talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
    "same100": ("comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x"),
}
PARTS = ("train", "seen", "hidden")


class Split(NamedTuple):
    """Counts of words: documents to learn from, and the two halves of documents to test with."""

    train: csr_matrix  # (D, V)
    seen: csr_matrix  # (M, V)
    hidden: csr_matrix  # (M, V)

    def save(self, path: Path) -> None:
        arrays = {}
        for name, matrix in zip(PARTS, self, strict=True):
            arrays |= {
                f"{name}_data": matrix.data,
                f"{name}_indices": matrix.indices,
                f"{name}_indptr": matrix.indptr,
                f"{name}_shape": np.array(matrix.shape),
            }
        beside = path.with_suffix(
            ".tmp.npz"
        )  # an interrupt leaves no half of a file under its name
        np.savez(beside, **arrays)
        beside.replace(path)


def load(path: Path) -> Split:
    """The split that `Split.save` wrote."""
    with np.load(path) as file:
        return Split(
            *(
                csr_matrix(
                    (file[f"{name}_data"], file[f"{name}_indices"], file[f"{name}_indptr"]),
                    shape=tuple(file[f"{name}_shape"]),
                )
                for name in PARTS
            )
        )


def halves(counts: csr_matrix, rng: np.random.Generator) -> tuple[csr_matrix, csr_matrix]:
    """The tokens of each document dealt into two; the first half takes the odd one."""
    first, second = counts.tolil(), counts.tolil()
    for d in range(counts.shape[0]):
        row = counts[d]
        tokens = np.repeat(row.indices, row.data)
        rng.shuffle(tokens)
        middle = (len(tokens) + 1) // 2
        for half, part in ((first, tokens[:middle]), (second, tokens[middle:])):
            words, numbers = np.unique(part, return_counts=True)
            half.rows[d], half.data[d] = words.tolist(), numbers.tolist()
    return first.tocsr(), second.tocsr()


def split_texts(
    texts: Sequence[str], for_testing: np.ndarray, *, min_df: int, max_words: int
) -> Split:
    """Counts of the words that training documents share; documents too short to learn from or to halve are left out."""
    from sklearn.feature_extraction.text import CountVectorizer  # not needed where splits are read

    vectoriser = CountVectorizer(
        stop_words="english",
        min_df=min_df,
        max_df=0.5,
        max_features=max_words,
        token_pattern=r"(?u)\b[a-zA-Z]{2,}\b",
        dtype=np.int32,
    )
    train = vectoriser.fit_transform(
        [text for text, test in zip(texts, for_testing, strict=True) if not test]
    )
    test = vectoriser.transform(
        [text for text, test in zip(texts, for_testing, strict=True) if test]
    )
    train = train[_lengths(train) >= 2]
    used = np.asarray(train.sum(axis=0)).ravel() > 0
    train, test = train[:, used].tocsr(), test[_lengths(test) >= 4][:, used].tocsr()
    train.sort_indices()
    return Split(train, *halves(test[_lengths(test) >= 4], np.random.default_rng(0)))


def _lengths(counts: csr_matrix) -> np.ndarray:
    return np.asarray(counts.sum(axis=1)).ravel()


def read_texts(data: Path, name: str) -> tuple[list[str], np.ndarray]:
    """Texts and labels of a corpus of gzipped JSON lines."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    return [d["text"] for d in documents], np.array([d.get("label", "") for d in documents])


def newsgroups(data: Path) -> dict[str, Split]:
    """All of 20 Newsgroups with 5,000 and 20,000 words, a quarter of it, and three sets of 300 posts."""
    texts, labels = read_texts(data, NEWS)
    rng = np.random.default_rng(0)
    long_enough = np.array([len(text.split()) >= 20 for text in texts])

    def hundred_each(groups: Sequence[str]) -> np.ndarray:
        drawn = [
            rng.choice(np.flatnonzero((labels == group) & long_enough), 100, replace=False)
            for group in groups
        ]
        chosen = np.concatenate(drawn)
        rng.shuffle(chosen)
        return chosen

    splits = {}
    for name, groups in SMALL.items():
        chosen = hundred_each(groups)
        splits[name] = split_texts(
            [texts[i] for i in chosen],
            np.arange(len(chosen)) < len(chosen) // 5,
            min_df=2,
            max_words=5000,
        )
    hundred_each(
        sorted(set(labels))[::2]
    )  # a set that is no longer used, but whose draws the next ones follow
    for_testing = rng.random(len(texts)) < 0.2
    quarter = np.flatnonzero(rng.random(len(texts)) < 0.25)
    splits["full5k"] = split_texts(texts, for_testing, min_df=5, max_words=5000)
    splits["full20k"] = split_texts(texts, for_testing, min_df=5, max_words=20_000)
    splits["quarter5k"] = split_texts(
        [texts[i] for i in quarter], for_testing[quarter], min_df=5, max_words=5000
    )
    return splits


def abstracts(data: Path) -> dict[str, Split]:
    """Titles and abstracts of NeurIPS."""
    texts, _ = read_texts(data, "nips")
    for_testing = np.random.default_rng(0).random(len(texts)) < 0.2
    return {"nips": split_texts(texts, for_testing, min_df=5, max_words=5000)}


SOURCES: tuple[tuple[Callable[[Path], dict[str, Split]], tuple[str, ...], str], ...] = (
    (newsgroups, (*SMALL, "full5k", "full20k", "quarter5k"), NEWS),
    (abstracts, ("nips",), "nips"),
)


def build(names: Sequence[str], data: Path, folder: Path) -> dict[str, Path]:
    """Paths of the named splits in `folder`, made from the corpora in `data` where they are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.npz" for name in names}
    missing = {name for name, path in paths.items() if not path.exists()}
    for make, made, source in SOURCES:
        if missing.isdisjoint(made):
            continue
        if not (data / f"{source}.jsonl.gz").exists():
            raise FileNotFoundError(
                f"{source}.jsonl.gz is not in {data}. Pass the folder that holds it with --data."
            )
        for name, split in make(data).items():
            split.save(folder / f"{name}.npz")
    return paths
