"""Coherence of topics from windows that slide over the texts, as gensim and Palmetto compute it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from gptm import _hot
from gptm._basics.errors import ArgumentError, Message
from gptm._basics.types import Array
from gptm._basics.validation import as_items, check_number
from gptm.metrics.word_lists import word_lists

_EPSILON = 1e-12  # gensim's, which keeps the logarithm of a pair that never occurs finite
_AT_ONCE = 1_000_000  # tokens, after which Ctrl-C is heard
_WORDS = 2000  # whose pairs are counted in one pass


def c_v(
    topics: Any,
    texts: Sequence[Sequence[Any]],
    vocabulary: Sequence[str] | np.ndarray | None = None,
    *,
    n_words: int = 10,
    window: int = 110,
) -> Array:
    """C_v coherence: how alike the contexts of a topic's words are, in windows that slide over the texts.

    Parameters
    ----------
    topics : array of shape (K, V), or sequence of sequences of words
        Topics as distributions over words, or the words of each topic, most probable first.
    texts : sequence of sequences of tokens
        Tokenised texts, in the order of their words: tokens are words, or numbers of columns if topics are an array
        without a vocabulary.
    vocabulary : sequence of str, optional
        The words of the columns of `topics`.
    n_words : int, default=10
        Number of words of each topic; gensim's default is 20.
    window : int, default=110
        Number of tokens in a window. A text that is shorter is one window.

    Returns
    -------
    ndarray of shape (K,)
        About 0 to 1, larger is better. NaN if the texts have fewer than two of a topic's words.

    Notes
    -----
    Röder, Both & Hinneburg (2015). Each word has a vector of its NPMI with all words of the topic; the score is the
    mean cosine between these vectors and their sum. The values are those of gensim's `CoherenceModel` with
    coherence="c_v". As there, a window counts as without a word as soon as one occurrence of the word has left it,
    even if there is another one inside. In gensim a topic with a word that no text has is NaN; here such a word has
    an NPMI of -1 with all others.

    Examples
    --------
    >>> from gptm.metrics import c_v
    >>> texts = [["green", "tea"], ["black", "tea"], ["cold", "war"], ["war", "army"]] * 3
    >>> c_v([["tea", "green", "black"], ["tea", "war", "cold"]], texts).round(2)
    array([0.55, 0.32])
    """
    scores = []
    for npmi, n_found in _npmi_tables(topics, texts, vocabulary, n_words, window):
        if n_found < 2:  # words that never occur are perfectly alike
            scores.append(np.nan)
            continue
        total = npmi.sum(0)
        lengths = np.linalg.norm(npmi, axis=1) * np.linalg.norm(total)
        cosines = np.divide(npmi @ total, lengths, out=np.zeros(len(npmi)), where=lengths > 0)
        scores.append(float(cosines.mean()))
    return np.array(scores)


def c_npmi(
    topics: Any,
    texts: Sequence[Sequence[Any]],
    vocabulary: Sequence[str] | np.ndarray | None = None,
    *,
    n_words: int = 10,
    window: int = 10,
) -> Array:
    """C_npmi coherence: mean NPMI of pairs of a topic's words, in windows that slide over the texts.

    Parameters
    ----------
    topics, texts, vocabulary, n_words
        As in `c_v`.
    window : int, default=10
        Number of tokens in a window. A text that is shorter is one window.

    Returns
    -------
    ndarray of shape (K,)
        -1 if the words never occur in the same window, 0 if as often as by chance, 1 if only together. NaN if a topic
        has fewer than two words.

    Notes
    -----
    Bouma (2009), Röder, Both & Hinneburg (2015). The values are those of gensim's `CoherenceModel` with
    coherence="c_npmi"; see `c_v` for what it counts. `npmi_coherence` is the same with whole documents as windows, and
    needs counts only.

    Examples
    --------
    >>> from gptm.metrics import c_npmi
    >>> texts = [["green", "tea"], ["black", "tea"], ["cold", "war"], ["war", "army"]] * 3
    >>> c_npmi([["tea", "green"], ["tea", "war"]], texts).round(3)
    array([ 0.5 , -0.95])
    """
    scores = []
    for npmi, _ in _npmi_tables(topics, texts, vocabulary, n_words, window):
        pairs = npmi[np.triu_indices(len(npmi), 1)]
        scores.append(float(pairs.mean()) if len(pairs) else np.nan)
    return np.array(scores)


def _npmi_tables(
    topics: Any,
    texts: Sequence[Sequence[Any]],
    vocabulary: Sequence[str] | np.ndarray | None,
    n_words: int,
    window: int,
) -> Iterator[tuple[Array, int]]:
    """The NPMI of all pairs of each topic's words, a word and itself included; and how many of them the texts have."""
    check_number("n_words", n_words, least=1, integer=True)
    check_number("window", window, least=1, integer=True)
    lists = word_lists(topics, n_words, vocabulary)
    texts = _checked_texts(texts)
    _check_some_occur(lists, texts)
    step = max(_WORDS // n_words, 1)
    for start in range(0, len(lists), step):
        some = lists[start : start + step]
        positions: dict[Any, int] = {}
        for words in some:
            for word in words:
                positions.setdefault(word, len(positions))
        together, n_windows = _count_windows(texts, positions, window)
        for words in some:
            rows = [positions[word] for word in words]
            joint = together[np.ix_(rows, rows)] / n_windows
            yield _npmi(joint), int((np.diagonal(joint) > 0).sum())


def _npmi(joint: Array) -> Array:
    """(n, n) from probabilities of pairs, on the diagonal those of single words; -1 for words that never occur."""
    single = np.diagonal(joint)
    product = np.outer(single, single)
    occur = product > 0
    ratio = np.divide(joint + _EPSILON, product, out=np.ones_like(joint), where=occur)
    return np.where(occur, np.log(ratio) / -np.log(joint + _EPSILON), -1.0)


def _checked_texts(texts: Any) -> Sequence[Sequence[Any]]:
    listed = as_items("texts", texts, "must be lists of tokens")
    if any(isinstance(text, str) for text in listed):
        remedy = "Split them, for example by corpus.words.tokenizer(), or text.lower().split()."
        raise ArgumentError("texts", "must be lists of tokens", Message("texts as strings"), remedy)
    odd = [type(text).__name__ for text in listed if not isinstance(text, Iterable)]
    if odd:
        got = Message(f"a text of type {odd[0]}")
        raise ArgumentError("texts", "must be lists of tokens", got)
    if not listed:
        raise ArgumentError("texts", "must have at least one text", Message("none"))
    return listed


def _check_some_occur(lists: Sequence[Sequence[Any]], texts: Sequence[Sequence[Any]]) -> None:
    """Refuse topics of which no text has a word: words that never occur would look perfectly alike."""
    wanted = {word for words in lists for word in words}
    if not wanted or any(not wanted.isdisjoint(text) for text in texts):
        return
    word, token = lists[0][0], next((token for text in texts for token in text), None)
    got = Message(f"none, for example {word!r} in the topics and {token!r} in the texts")
    remedy = "Pass vocabulary= if topics are an array, and texts cut into words as the topics' words are."
    raise ArgumentError("texts", "must have some of the topics' words", got, remedy)


def _count_windows(
    texts: Sequence[Sequence[Any]], positions: dict[Any, int], window: int
) -> tuple[Array, int]:
    """(n, n) in how many windows words occur together, on the diagonal alone; and the number of windows."""
    n = len(positions)
    together = np.zeros((n, n), dtype=np.int64)
    since, inside = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    for some in _blocks(lengths):
        codes = [positions.get(token, -1) for row in some for token in texts[row]]
        ends = np.cumsum(lengths[some])
        tokens = np.array(codes, dtype=np.int64)
        _hot.count_windows(tokens, ends, window, since, inside, together)
    single = np.diagonal(together).copy()
    together += together.T  # each pair was counted on one side
    np.fill_diagonal(together, single)
    return together.astype(np.float64), int(np.maximum(lengths - window + 1, 1).sum())


def _blocks(lengths: np.ndarray) -> Iterator[range]:
    """Runs of texts of at most so many tokens each."""
    start, total = 0, 0
    for row, length in enumerate(lengths):
        if total and total + length > _AT_ONCE:
            yield range(start, row)
            start, total = row, 0
        total += int(length)
    yield range(start, len(lengths))
