"""Numbers of words while texts are still coming in, and their numbers when all words are known."""

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.sparse_arrays import column_sums
from gptm.corpus.word_limits import Limits, choose_words
from gptm.corpus.words import ChunkCounts
from gptm.corpus.words_report import WordsReport


class WordNumbers:
    """All words so far, numbered as they turn up, with how many documents and tokens have each."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.frequency = np.zeros(0, dtype=np.int64)
        self.tokens = np.zeros(0, dtype=np.int64)

    def add(self, chunk: ChunkCounts) -> csr_matrix:
        """The chunk's counts with these numbers."""
        numbers = self.numbers
        new = np.array([numbers.setdefault(t, len(numbers)) for t in chunk.terms], dtype=np.int64)
        if len(numbers) > len(self.frequency):
            more = max(len(numbers), 2 * len(self.frequency)) - len(self.frequency)
            self.frequency = np.append(self.frequency, np.zeros(more, dtype=np.int64))
            self.tokens = np.append(self.tokens, np.zeros(more, dtype=np.int64))
        counts = chunk.counts
        self.frequency[new] += np.bincount(counts.indices, minlength=len(new))
        self.tokens[new] += column_sums(counts).astype(np.int64)
        indices = new[counts.indices] if len(new) else counts.indices
        return csr_matrix((counts.data, indices, counts.indptr), shape=(counts.shape[0], 2**31 - 1))

    def chosen(
        self, n: int, limits: Limits, report: WordsReport
    ) -> tuple[np.ndarray, np.ndarray, WordsReport]:
        """The words to keep of n documents, in their order, and the number that each gets; negative for none."""
        names = np.array(list(self.numbers), dtype=object)
        V = len(names)
        order = np.array(sorted(range(V), key=names.__getitem__), dtype=np.int64)
        frequency, tokens = self.frequency[:V][order], self.tokens[:V][order]
        kept, report = choose_words(n, frequency, tokens, names[order], limits, report)
        numbers = np.full(V, -1, dtype=np.int32)
        numbers[order[kept]] = np.arange(int(kept.sum()), dtype=np.int32)
        return names[order][kept], numbers, report


def relabelled(counts: csr_matrix, numbers: np.ndarray | None, n_words: int) -> csr_matrix:
    """Counts with other numbers of words; words with a negative one are left out.

    >>> relabelled(csr_matrix([[1, 2, 0], [0, 3, 4]]), np.array([1, -1, 0]), 2).toarray().tolist()
    [[0, 1], [4, 0]]
    """
    if numbers is None:
        return csr_matrix((counts.data, counts.indices, counts.indptr), (counts.shape[0], n_words))
    new = numbers[counts.indices] if len(numbers) else counts.indices
    kept = new >= 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    result = csr_matrix((counts.data[kept], new[kept], indptr), shape=(counts.shape[0], n_words))
    result.sort_indices()
    return result
