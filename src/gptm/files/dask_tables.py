"""Texts in a dask dataframe or bag: partitions are counted where they are, and counts and metadata come back."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gptm._basics.errors import InputError
from gptm._basics.progress import tell
from gptm.corpus.words import ChunkCounts, Words, count_chunk
from gptm.files.plan import Plan
from gptm.files.row_chunks import chunks_of
from gptm.files.rows import Row, flat

if TYPE_CHECKING:
    from distributed import Client

_FIRST = 1000  # rows by which columns and language are guessed


class CountedChunk(NamedTuple):
    """Some rows of a partition: their counts, and what else there is."""

    counts: ChunkCounts
    rows: list[Row]  # without their texts
    texts: list[str]  # as many characters of them as are to be stored
    empty: list[int]  # rows without a text


class RowCounter(NamedTuple):
    """How rows are counted."""

    plan: Plan
    words: Words
    vocabulary: np.ndarray | None
    keep_texts: bool | int


class Partitions:
    """The partitions of a dask collection.

    Parameters
    ----------
    collection : dask dataframe, series or bag
    client : of dask.distributed; None for whatever dask takes by default
    """

    def __init__(self, collection: Any, client: "Client | None"):
        if hasattr(collection, "to_frame") and not hasattr(collection, "columns"):
            collection = collection.to_frame("text")
        self.parts, self.client = collection.to_delayed(), client
        self.name = f"the dask {type(collection).__name__.lower()}"

    def first_rows(self) -> list[Row]:
        """The first rows of the first partition that has any."""
        import dask

        for part in self.parts:
            rows: list[Row] = self._computed([dask.delayed(_first_rows)(part)])[0]
            if rows:
                return rows
        raise InputError(f"{self.name} holds no documents; expected one row per document.")

    def counted(self, counter: RowCounter, together: int) -> Iterator[CountedChunk]:
        """All rows, in their order, numbered from one; some partitions at a time, or one per thread of workers."""
        import dask

        if self.client is not None:
            together = max(sum(self.client.nthreads().values()), 1)
        before = 0
        settings = dask.delayed(counter, traverse=False)
        for start in range(0, len(self.parts), together):
            tasks = [
                dask.delayed(count_partition)(part, settings)
                for part in self.parts[start : start + together]
            ]
            for chunks in self._computed(tasks):
                for chunk in chunks:
                    rows = [(before + number, cells) for number, cells in chunk.rows]
                    empty = [before + number for number in chunk.empty]
                    yield chunk._replace(rows=rows, empty=empty)
                before += sum(len(chunk.rows) for chunk in chunks)
            tell(min(start + together, len(self.parts)), len(self.parts))

    def _computed(self, tasks: list[Any]) -> Sequence[Any]:
        import dask

        if self.client is None:
            return dask.compute(*tasks)
        return self.client.gather(self.client.compute(tasks))


def is_collection(value: object) -> bool:
    """Whether a value is a dask collection of rows; dask is not imported for that."""
    return type(value).__module__.startswith("dask") and hasattr(value, "to_delayed")


def count_partition(partition: Any, counter: RowCounter) -> list[CountedChunk]:
    """Counts of a partition, in portions as they are read from a file."""
    end = None if counter.keep_texts is True else int(counter.keep_texts)
    result = []
    for rows in chunks_of(enumerate(cells_of(partition), start=1)):
        texts = counter.plan.take_texts(rows)
        counts = count_chunk(counter.words, texts, counter.vocabulary)
        empty = [number for (number, _), text in zip(rows, texts, strict=True) if not text.strip()]
        kept = [text[:end] for text in texts] if counter.keep_texts else []
        result.append(CountedChunk(counts, rows, kept, empty))
    return result


def cells_of(partition: Any) -> list[dict[str, Any]]:
    """The rows of a partition: those of a table as Parquet has them, those of a bag as they are."""
    if hasattr(partition, "columns"):
        import pyarrow as pa

        try:
            batch = pa.RecordBatch.from_pandas(partition, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(
                f"a partition of the dask dataframe cannot be read ({' '.join(str(error).split())}). Give each column "
                "one type, with astype, or leave the column out."
            ) from None
        return [flat(cells) for cells in batch.to_pylist()]
    return [_cells(item) for item in partition]


def _cells(item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, dict):
        return flat(item)
    raise InputError(
        "a dask bag of documents holds texts, or dictionaries with the text and the metadata; got "
        f"{type(item).__name__}. Change its items with bag.map."
    )


def _first_rows(partition: Any) -> list[Row]:
    some = partition.head(_FIRST) if hasattr(partition, "columns") else list(partition)[:_FIRST]
    return list(enumerate(cells_of(some), start=1))
