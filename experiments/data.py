"""The paper's document sets, all counted in the same way.

Words are lower case, of two letters or more; English stop words go, and words in fewer than five documents of a set
or in more than half of them. That takes the encoded binaries in some posts too (with three documents instead of five,
one such post would be a fifth of all words of same100). Documents that have no word left stay, as empty ones:
`Documents.n_empty` counts them.
"""

import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from experiments.jobs import Settings
from gptm.corpus.words import Words

WORDS = Words(stop_words="english", min_df=5, max_df=0.5)
PER_GROUP = 100  # posts that are drawn of each newsgroup
QUICK_DOCUMENTS = 150  # of a set, for a quick run
NEWSGROUPS = {
    "dif100": ("alt.atheism", "rec.sport.baseball", "sci.space"),
    "sim100": ("talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
    "same100": ("comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x"),
    "news100": (
        "rec.autos",
        "rec.sport.hockey",
        "comp.sys.mac.hardware",
        "comp.sys.ibm.pc.hardware",
        "alt.atheism",
        "talk.politics.misc",
        "comp.windows.x",
        "soc.religion.christian",
        "sci.med",
        "sci.electronics",
    ),
}
SETS = (*NEWSGROUPS, "asrs", "asrs3")


class Documents(NamedTuple):
    """Counts of words and one label per document."""

    counts: csr_matrix  # (D, V)
    labels: np.ndarray  # (D,) of str
    vocabulary: np.ndarray  # (V,) of str

    @property
    def n_empty(self) -> int:
        return int((np.asarray(self.counts.sum(1)).ravel() == 0).sum())


def load_set(name: str, settings: Settings) -> Documents:
    """The documents of a set, counted; read once per process.

    A quick run takes some of them, drawn evenly from the labels.
    """
    return _load(name, settings.data, settings.quick)


def available(settings: Settings) -> dict[str, str]:
    """For each set, nothing if it can be had, else why not."""
    return {name: _missing(name, settings.data) for name in SETS}


def digest(name: str, settings: Settings) -> str:
    """A digest of the documents of a set and of how their words are counted."""
    return _digest(name, settings.data)


@cache
def _load(name: str, folder: str | None, quick: bool) -> Documents:
    rows = list(_rows(name, folder))
    if quick:
        rows = _some(rows, QUICK_DOCUMENTS)
    counts, vocabulary, _ = WORDS.count(row["text"] for row in rows)
    labels = np.array([str(row["label"]) for row in rows])
    return Documents(csr_matrix(counts, dtype=np.float64), labels, np.asarray(vocabulary))


@cache
def _digest(name: str, folder: str | None) -> str:
    content = hashlib.sha256(json.dumps(WORDS.to_dict()).encode())
    for row in _rows(name, folder):
        content.update(json.dumps([row["text"], row["label"]]).encode())
    return content.hexdigest()


def _some(rows: list[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """At most n of the rows, as evenly from the labels as they allow, in their order."""
    rng = random.Random(0)
    shuffled = rng.sample(range(len(rows)), len(rows))
    seen: dict[str, int] = {}
    turn = []
    for i in shuffled:
        label = rows[i]["label"]
        turn.append((seen.get(label, 0), i))  # the first of each label, then the second, ...
        seen[label] = seen.get(label, 0) + 1
    return [rows[i] for i in sorted(i for _, i in sorted(turn)[:n])]


def _file(name: str, folder: str) -> Path | None:
    for ending in (".jsonl.gz", ".jsonl"):
        path = Path(folder) / f"{name}{ending}"
        if path.exists():
            return path
    return None


@cache
def _missing(name: str, folder: str | None) -> str:
    if folder is not None:
        there = _file(name, folder) is not None
        return "" if there else f"there is no file {name}.jsonl.gz in the folder given with --data"
    if name not in NEWSGROUPS:
        return "it is read from a folder given with --data only"
    try:
        _newsgroups()
    except OSError as error:
        return f"20 Newsgroups could not be fetched ({error}); give a folder with --data"
    return ""


def _rows(name: str, folder: str | None) -> Iterator[dict[str, Any]]:
    """Documents with `text` and `label`."""
    problem = _missing(name, folder)
    if problem:
        raise ValueError(f"the set {name} is missing: {problem}.")
    if folder is None:
        return _drawn(NEWSGROUPS[name])
    path = _file(name, folder)
    assert path is not None
    return _read(path)


def _read(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            if not ("text" in row and "label" in row):
                raise ValueError(
                    f"{path}, line {number}: expected an object with 'text' and 'label'; got {sorted(row)}."
                )
            yield row


def _drawn(groups: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Some posts of each group, always the same ones."""
    posts = _newsgroups()
    rng = random.Random(0)
    for group in groups:
        for text in rng.sample(posts[group], PER_GROUP):
            yield {"text": text, "label": group}


@cache
def _newsgroups() -> dict[str, list[str]]:
    """Posts by group: subject and body, without the other headers."""
    from sklearn.datasets import fetch_20newsgroups

    fetched = fetch_20newsgroups(subset="all", shuffle=False)
    posts: dict[str, list[str]] = {group: [] for group in fetched.target_names}
    for text, target in zip(fetched.data, fetched.target, strict=True):
        headers, _, body = text.partition("\n\n")
        subject = re.search(r"(?im)^subject:[ \t]*(.*)$", headers)
        title = "" if subject is None else subject.group(1).strip()
        posts[fetched.target_names[target]].append(f"{title}\n\n{body}")
    return posts
