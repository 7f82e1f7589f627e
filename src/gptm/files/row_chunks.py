"""Rows of a file in portions, the first of which says what its columns hold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from gptm._basics.errors import InputError, Message
from gptm.corpus.problems import ProblemLog
from gptm.files.bags import are_bags, flat_chunks, flat_rows, has_bags
from gptm.files.formats import Source
from gptm.files.rows import BAG, Row

_CHUNK_ROWS = 1000
_CHUNK_SIZE = 1 << 20  # characters
_CHUNK_LEAST = 20  # rows, so that there is something to guess by where texts are long


def sampled(
    source: Source,
    log: ProblemLog,
    text: str | Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> tuple[list[Row], Iterator[list[Row]], bool]:
    """The first rows, to guess by, all rows in chunks, these included, and whether they hold counts and no texts."""
    chunks = chunks_of(source.rows)
    sample = next(chunks, None)
    if sample is None:
        expected = {
            "csv": "a line with the names of the columns, and one row per document below it",
            "tsv": "a line with the names of the columns, and one row per document below it",
            "jsonl": "one object {...} per line",
            "xlsx": "a row with the names of the columns, and one row per document below it",
            "lines": "one document per line",
        }.get(source.format, "one row per document")
        noted = [Message("\n", problem.said) for problem in log.problems()]
        raise InputError(f"{log.name} holds no documents; expected {expected}.", *noted)
    is_bag = isinstance(text, str) and text == BAG
    named = text is not None or "text" in (kinds or {}).values()
    if has_bags(sample) if is_bag else are_bags(sample) and not named:
        return sample, chain([sample], chunks), True
    return flat_rows(sample), flat_chunks(chain([sample], chunks)), False


def chunks_of(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows in portions of limited number and size."""
    chunk: list[Row] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += sum(len(cell) for cell in row[1].values() if isinstance(cell, str))
        enough = size >= _CHUNK_SIZE and len(chunk) >= _CHUNK_LEAST
        if enough or len(chunk) >= _CHUNK_ROWS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
