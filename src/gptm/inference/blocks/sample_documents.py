"""The sample of a corpus on disk that a fit keeps in memory: by chance, and one document of each rare level."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import numpy as np

from gptm._basics.errors import Argument, Message
from gptm._basics.warnings import warn
from gptm.corpus import Corpus
from gptm.corpus.block_corpus import BlockCorpus, joined
from gptm.corpus.kinds import base_kind
from gptm.corpus.metadata import level_names

MORE = 0.25  # of the sample, that documents with rare levels may add
FEW_MORE = 1000


class Sample(NamedTuple):
    """Some documents, and which they are."""

    rows: np.ndarray  # sorted numbers
    corpus: Corpus


class BlockPart(NamedTuple):
    """What the sample takes from a block."""

    first: dict[str, dict[str, int]]  # by column, where each level turns up first
    seen: dict[str, set[str]]  # by column, levels of the chosen documents
    chosen: Corpus | None


Ask = Callable[[list[tuple[int, np.ndarray, list[str]]]], Iterable[BlockPart]]


def draw_sample(
    corpus: BlockCorpus, n: int, seed: int, columns: Collection[str] | None, ask: Ask | None
) -> Sample:
    """A sample of n documents, with one more for each level that it would miss of the `columns`, None for all.

    `ask` reads all blocks elsewhere: it takes what `part_of_block` takes of each, and gives the results in their order.
    """
    rng = np.random.default_rng([seed, len(corpus)])
    rows = np.sort(rng.choice(len(corpus), n, replace=False, shuffle=False))
    categories = [
        name
        for name, kind in corpus.kinds.items()
        if base_kind(kind) == "category" and (columns is None or name in columns)
    ]
    cuts = np.searchsorted(rows, corpus.starts)
    questions = [
        (number, rows[cuts[number] : cuts[number + 1]], categories)
        for number in range(corpus.n_blocks)
    ]
    parts = (
        (part_of_block(corpus, *question) for question in questions)
        if ask is None
        else ask(questions)
    )
    first: dict[str, dict[str, int]] = {name: {} for name in categories}
    seen: dict[str, set[str]] = {name: set() for name in categories}
    pieces = []
    for part in parts:
        for name in categories:
            for level, row in part.first[name].items():
                first[name].setdefault(level, row)
            seen[name] |= part.seen[name]
        if part.chosen is not None:
            pieces.append(part.chosen)
    more = _more_rows(first, seen, max(FEW_MORE, int(MORE * n)))
    if len(more):
        pieces.append(_copied(corpus[more].load()))
    together = joined(pieces, corpus)
    order = np.argsort(np.concatenate([rows, more]), kind="stable")
    return Sample(np.sort(np.concatenate([rows, more])), together[order] if len(more) else together)


def part_of_block(
    corpus: BlockCorpus, number: int, rows: np.ndarray, categories: list[str]
) -> BlockPart:
    """What the sample, to which these `rows` of the corpus belong, takes from a block."""
    block, begin = corpus.block(number), int(corpus.starts[number])
    inside = rows - begin
    first, seen = dict[str, dict[str, int]](), dict[str, set[str]]()
    for name in categories:
        assert block.metadata is not None
        names = level_names(block.metadata[name])
        levels, places = _firsts(names)
        first[name] = {l: begin + p for l, p in zip(levels, places, strict=True)}
        seen[name] = {level for level in names[inside] if level is not None}
    return BlockPart(first, seen, _copied(block[inside]) if len(inside) else None)


def _copied(corpus: Corpus) -> Corpus:
    """In memory, so that the file is let go of."""
    corpus.counts = corpus.counts.copy()
    return corpus


def _firsts(names: np.ndarray) -> tuple[list[str], list[int]]:
    places: dict[str, int] = {}
    for row, name in enumerate(names):
        if name is not None:
            places.setdefault(name, row)
    return list(places), list(places.values())


def _more_rows(
    first: dict[str, dict[str, int]], seen: dict[str, set[str]], most: int
) -> np.ndarray:
    """Documents with levels that the sample misses."""
    rows: set[int] = set()
    for name, places in first.items():
        missing = [row for level, row in places.items() if level not in seen[name]]
        if len(missing) > most:
            left = len(missing) - most
            message = Message(
                f"{left:,} of the {len(places):,} levels of {name!r} are too rare for the sample in memory; for "
                "documents that have them this term falls back to the prior. Merge rare levels, or raise ",
                Argument("memory", ...),
                ".",
            )
            warn(message)
        rows.update(missing[:most])
    return np.array(sorted(rows), dtype=np.int64)
