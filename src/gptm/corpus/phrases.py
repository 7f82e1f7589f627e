"""Phrases: neighbouring words that stand together far more often than by chance, and are counted as one word.

Two words x and y are joined if their normalised pointwise mutual information is large enough:

    npmi(x, y) = log(p(x, y) / (p(x) p(y))) / -log p(x, y)

It is 0 for words that meet by chance, and 1 for words that are never apart (Bouma 2009). A second pass joins phrases
with further words. Stop words, punctuation marks and the ends of documents stand between words, and are never joined.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

BREAK = -1  # stands between words that are no neighbours
THRESHOLD = 0.5  # npmi from which words are joined
MIN_COUNT = 5  # times that a phrase occurs at least
_SMALL, _MIN_COUNT_SMALL = 100, 3  # documents below which fewer times are enough
_PASSES = 2  # which give phrases of up to four words

Phrase = tuple[str, ...]


class PhraseJoiner:
    """Joins the words of phrases in lists of words, from left to right, and the longest phrase first.

    Examples
    --------
    >>> from gptm.corpus.phrases import PhraseJoiner
    >>> join = PhraseJoiner([("new", "york"), ("new", "york", "city")])
    >>> join(["in", "new", "york", "city", "new", "york", "new"])
    ['in', 'new york city', 'new york', 'new']
    """

    def __init__(self, phrases: Iterable[Phrase]):
        self._starts: dict[str, list[Phrase]] = {}
        for phrase in sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase)):
            self._starts.setdefault(phrase[0], []).append(phrase)

    def __call__(self, words: list[str]) -> list[str]:
        starts = self._starts
        if starts.keys().isdisjoint(words):
            return words
        joined: list[str] = []
        place = 0
        while place < len(words):
            word = words[place]
            for phrase in starts.get(word, ()):
                if tuple(words[place : place + len(phrase)]) == phrase:
                    joined.append(" ".join(phrase))
                    place += len(phrase)
                    break
            else:
                joined.append(word)
                place += 1
        return joined


class PhraseStream:
    """The words of many documents as numbers, in which phrases are to be found; an empty word stands between others."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}
        self._ids, self._ends = array("i"), array("q", [0])

    def add(self, words: Sequence[str]) -> None:
        """One more document."""
        numbers = self._numbers
        self._ids.extend([numbers.setdefault(word, len(numbers)) for word in words])
        self._ends.append(len(self._ids))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[list[str]]:
        """The words of each document."""
        vocabulary = list(self._numbers)
        for start, end in pairwise(self._ends):
            yield [vocabulary[number] for number in self._ids[start:end]]

    def phrases(self, stop: frozenset[str], min_documents: int) -> list[Phrase]:
        """Phrases without stop words that as many documents have, even where longer phrases take words away."""
        vocabulary = list(self._numbers)
        no_word = np.array([word == "" or word in stop for word in vocabulary])
        ids, ends = np.array(self._ids, dtype=np.int64), np.array(self._ends)
        tokens = np.insert(np.where(no_word[ids], BREAK, ids), ends[1:], BREAK)
        documents = np.repeat(np.arange(len(self)), np.diff(ends) + 1)
        least = MIN_COUNT if len(self) >= _SMALL else _MIN_COUNT_SMALL
        phrases = learn_phrases(
            tokens, documents, vocabulary, min_documents=min_documents, min_count=least
        )
        while phrases:
            join, frequency = PhraseJoiner(phrases), Counter[str]()
            for words in self:
                frequency.update({word for word in join(words) if " " in word})
            enough = [p for p in phrases if frequency[" ".join(p)] >= max(min_documents, 1)]
            if len(enough) == len(phrases):
                break
            phrases = enough
        return phrases


def learn_phrases(
    tokens: np.ndarray,
    documents: np.ndarray,
    vocabulary: Sequence[str],
    *,
    min_documents: int = 1,
    threshold: float = THRESHOLD,
    min_count: int = MIN_COUNT,
) -> list[Phrase]:
    """The phrases of a text, in the order of the alphabet.

    Parameters
    ----------
    tokens : (n,) integer array
        Words as numbers in `vocabulary`, and `BREAK` between words that are no neighbours.
    documents : (n,) integer array
        The document of each token.
    vocabulary : sequence of str
    min_documents : int
        Documents that a phrase must be in.
    threshold : float
        Least npmi.
    min_count : int
        Times that a phrase must occur.

    Examples
    --------
    >>> import numpy as np
    >>> words = ["new", "york", "tea"]
    >>> tokens = np.array([0, 1, -1, 2, -1, 0, 1, 2, -1, 2])
    >>> learn_phrases(tokens, np.zeros(10), words, min_count=2)
    [('new', 'york')]
    """
    units: list[Phrase] = [(word,) for word in vocabulary]
    tokens, documents = np.asarray(tokens, dtype=np.int64), np.asarray(documents)
    found: set[Phrase] = set()
    for _ in range(_PASSES):
        pairs = _collocations(tokens, documents, len(units), min_documents, threshold, min_count)
        if found:  # words that have been looked at already stay as they are
            pairs = pairs[np.maximum(*divmod(pairs, len(units))) >= len(vocabulary)]
        if not len(pairs):
            break
        new = [
            units[left] + units[right]
            for left, right in zip(*divmod(pairs, len(units)), strict=True)
        ]
        tokens, documents = _joined(tokens, documents, pairs, len(units))
        units += new
        found.update(new)
    return sorted(found)


def _collocations(
    tokens: np.ndarray,
    documents: np.ndarray,
    n: int,
    min_documents: int,
    threshold: float,
    min_count: int,
) -> np.ndarray:
    """Pairs to join, as left * n + right, in order."""
    left, right = tokens[:-1], tokens[1:]
    neighbours = (left != BREAK) & (right != BREAK)
    codes = left[neighbours] * n + right[neighbours]
    pairs, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    words = np.bincount(tokens[tokens != BREAK], minlength=n)
    total = words.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # log p = 0 where there is one word alone
        chance = words[pairs // n] / total * words[pairs % n]
        npmi = np.log(counts / chance) / -np.log(counts / total)
    # Rounding must not decide: p(x, y) = p(x) = p(y) gives 1.
    chosen = (counts >= min_count) & (npmi >= threshold - 1e-12)
    if min_documents > 1 and chosen.any():
        within = chosen[place]
        both = np.unique(np.stack([place[within], documents[:-1][neighbours][within]]), axis=1)
        chosen &= np.bincount(both[0].astype(np.int64), minlength=len(pairs)) >= min_documents
    return np.asarray(pairs[chosen])


def _joined(
    tokens: np.ndarray, documents: np.ndarray, pairs: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """The tokens with each pair as one: number n for the first pair, and so on; of pairs that overlap the left one."""
    left, right = tokens[:-1], tokens[1:]
    codes = np.where((left == BREAK) | (right == BREAK), -1, left * n + right)
    place = np.searchsorted(pairs, codes)
    place[place == len(pairs)] = 0
    starts = np.flatnonzero(pairs[place] == codes)
    # In a run of overlapping pairs every other one is joined.
    first = np.concatenate([[True], np.diff(starts) > 1]) if len(starts) else np.zeros(0, bool)
    run = np.maximum.accumulate(np.where(first, np.arange(len(starts)), 0))
    starts = starts[(np.arange(len(starts)) - run) % 2 == 0]
    tokens = tokens.copy()
    tokens[starts] = n + place[starts]
    kept = np.ones(len(tokens), dtype=bool)
    kept[starts + 1] = False
    return tokens[kept], documents[kept]
