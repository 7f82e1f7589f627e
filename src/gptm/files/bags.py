"""Counts of words in the rows of a file: JSON lines such as {"id": "a", "counts": {"tea": 2, "cup": 1}}."""

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_matrix

from gptm.corpus.problems import ProblemLog
from gptm.corpus.stop_words import composed
from gptm.files.guess_text import texts_among
from gptm.files.rows import BAG, Row, flat

_ALIKE = 1.5  # times as many words in all rows as in the longest one, beyond which they are words of texts


def has_bags(sample: Sequence[Row]) -> bool:
    """Whether some row has counts, whatever they are counts of."""
    return any(isinstance(cells.get(BAG), dict) for _, cells in sample)


def are_bags(sample: Sequence[Row]) -> bool:
    """Whether rows hold counts of words: nothing in them looks like text, or the words differ from row to row.

    Counts of likes and shares, beside a text, are the same few in every row.

    Examples
    --------
    >>> from gptm.files.bags import are_bags
    >>> are_bags([(1, {"counts": {"tea": 2}}), (2, {"counts": {"milk": 1}})])
    True
    >>> text = "the tea is green and the cup is full of it"
    >>> are_bags([(1, {"text": text, "counts": {"likes": 2}})])
    False
    """
    bags = [cells[BAG] for _, cells in sample if isinstance(cells.get(BAG), dict)]
    if not bags:
        return False
    if len(set().union(*bags)) > _ALIKE * max(map(len, bags)):
        return True
    names = dict.fromkeys(name for _, cells in sample for name in cells)
    columns = {name: [cells.get(name) for _, cells in sample] for name in names}
    return set(texts_among(columns)) <= {BAG}


def flat_chunks(chunks: Iterator[list[Row]]) -> Iterator[list[Row]]:
    """Rows whose counts are columns like others."""
    for chunk in chunks:
        yield flat_rows(chunk)


def flat_rows(rows: Sequence[Row]) -> list[Row]:
    """The same rows, with the counts in them as columns "counts.likes" and so on."""
    return [(line, flat(cells) if BAG in cells else cells) for line, cells in rows]


class BagCounting:
    """Counts that grow row by row."""

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}
        self._indices, self._values, self._ends = array("i"), array("d"), array("q", [0])

    def add(self, rows: Sequence[Row], log: ProblemLog) -> None:
        """Count some more rows; one without counts is an empty document."""
        for line, cells in rows:
            bag = cells.get(BAG)
            if not isinstance(bag, dict) or not bag:
                log.add("empty text", line)
                bag = {}
            for word, count in bag.items():
                column = self._columns.setdefault(composed(word), len(self._columns))
                self._indices.append(column)
                self._values.append(count)
            self._ends.append(len(self._indices))

    def finish(self) -> tuple[csr_matrix, np.ndarray]:
        """Counts (documents x words) and the words, in the order of the alphabet."""
        words = sorted(self._columns)
        place = np.empty(len(words), dtype=np.int32)
        place[[self._columns[word] for word in words]] = np.arange(len(words), dtype=np.int32)
        shape = (len(self._ends) - 1, len(words))
        indices = place[np.array(self._indices, dtype=np.int32)]
        counts = csr_matrix((np.array(self._values), indices, np.array(self._ends)), shape=shape)
        return counts, np.array(words, dtype=object)
