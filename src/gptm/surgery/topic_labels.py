"""Names for topics: from any function of their words and documents, or from their own words."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gptm import metrics
from gptm._basics.errors import ArgumentError
from gptm.corpus import BlockCorpus, Corpus
from gptm.corpus.phrases import Phrase, PhraseStream
from gptm.fitted import Fitted
from gptm.surgery.topic_edits import checked_name
from gptm.tables import check_training_corpus, document_table, shown_words, topic_shares, word_names

Namer = Callable[[list[str], list[str]], str | None]
N_CANDIDATES = 25  # of a topic's most probable words, from which its name is made
N_PARTS = 3  # words or phrases in a name
_ENDING = 3  # letters by which two forms of one word differ at most
# Letters that two words begin with, and what may follow, as in immigrant and immigration.
_STEM, _BOTH_ENDINGS = 6, 4
_TEXTS = 2000  # in which phrases for names are looked for


def names_by(
    fitted: Fitted, function: Namer, corpus: Corpus | None, n_words: int, n_documents: int
) -> dict[int, str | None]:
    """The name that a function gives to each topic; where it gives none, the topic keeps the one it has."""
    if not callable(function):
        expected = "must be a function of a list of words and a list of texts that returns a name"
        raise ArgumentError("function", expected, function)
    words = shown_words(fitted, n_words)
    names = fitted.names
    for topic in range(fitted.K):
        texts = typical_texts(fitted, topic, n_documents, corpus)
        name = function(words[topic], texts)
        if not (name is None or isinstance(name, str)):
            raise ArgumentError("function", "must return a text, or None for no name", name)
        names[topic] = checked_name(name) or names[topic]
    return dict(enumerate(_numbered(names)))


def typical_texts(fitted: Fitted, topic: int, n: int, corpus: Corpus | None) -> list[str]:
    """Whole texts of the documents with the largest share of a topic; none without a corpus that has texts."""
    texts = _texts_of(fitted, corpus)
    if texts is None:
        return []
    rows = document_table(fitted, topic, n, corpus)["position"]
    return [str(texts[row]) for row in rows]


def _texts_of(fitted: Fitted, corpus: Corpus | None) -> np.ndarray | None:
    if isinstance(corpus, BlockCorpus):  # has none in memory
        return None
    check_training_corpus(corpus, len(fitted.proportions))
    return None if corpus is None else corpus.texts


def text_phrases(fitted: Fitted, corpus: Corpus | None) -> list[Phrase]:
    """Phrases in the texts that have most of the topics; none without texts, or where phrases are words already."""
    words = fitted.words  # a corpus from a model's file has none
    texts = _texts_of(fitted, corpus)
    if texts is None or words is None:
        return []
    if words.phrases is not False or words.segmenter is not None:  # which needs blanks
        return []
    n = max(_TEXTS // fitted.K, 1)
    rows = {r for k in range(fitted.K) for r in document_table(fitted, k, n, corpus)["position"]}
    tokenize, stream = words.tokenizer(breaks=True), PhraseStream()
    for row in sorted(rows):
        stream.add(tokenize(str(texts[row])))
    return stream.phrases(words.stop_list(), min_documents=2)


def own_names(
    fitted: Fitted,
    phrases: Sequence[Phrase] = (),
) -> dict[int, str | None]:
    """Names from the topics' own words: frequent and exclusive ones, no word in two names, phrases before words.

    Large topics choose first. `phrases` are made of words that the model counts one by one.
    """
    words = [str(word) for word in word_names(fitted)]
    frex = metrics.frex(fitted.components)
    candidates = metrics.top_words(fitted.components, N_CANDIDATES)
    best = fitted.components.argmax(0)  # the topic in which each word is most probable
    names: dict[int, str | None] = {}
    used: list[str] = []
    for topic in np.argsort(-topic_shares(fitted.proportions), kind="stable").tolist():
        likely = [w for w in candidates[topic] if fitted.components[topic, w] > 0]
        likely = [w for w in likely if best[w] == topic] or likely
        ranked = sorted(likely, key=lambda w, k=topic: -frex[k, w])  # type: ignore[misc]
        known = {words[w] for w in candidates[topic]}
        own = [phrase for phrase in phrases if known.issuperset(phrase)]
        parts = _parts(_with_phrases([words[w] for w in ranked], own), used)
        used += parts
        names[topic] = ", ".join(parts) or None
    return dict(enumerate(_numbered([names[topic] for topic in range(fitted.K)])))


def _with_phrases(ranked: list[str], phrases: Sequence[Phrase]) -> list[str]:
    """The words, and behind each the phrases that it is in, the longest last, as this one takes its place.

    >>> _with_phrases(["care", "tax", "health"], [("health", "care")])
    ['care', 'health care', 'tax', 'health']
    """
    listed: list[str] = []
    left = sorted(phrases, key=len)
    for word in ranked:
        listed += [word, *(" ".join(phrase) for phrase in left if word in phrase)]
        left = [phrase for phrase in left if word not in phrase]
    return listed


def _parts(ranked: list[str], used: list[str]) -> list[str]:
    """The first words that say something new; a phrase takes the place of a word in it."""
    parts: list[str] = []
    for word in ranked:
        inside = [part for part in parts if part in word.split() and part != word]
        if inside and not _alike_any(word, used):
            parts = [
                word if part == inside[0] else part for part in parts if part not in inside[1:]
            ]
        elif len(parts) < N_PARTS and not _alike_any(word, [*parts, *used]):
            parts.append(word)
    return parts


def _alike_any(word: str, others: list[str]) -> bool:
    return any(_alike(word, other) for other in others)


def _alike(a: str, b: str) -> bool:
    """Whether two words or phrases have a word in common, in the same or another form.

    >>> _alike("taxes", "income tax"), _alike("war", "warsaw pact"), _alike("immigrant", "immigration")
    (True, False, True)
    """
    return any(_same_word(word, other) for word in a.split() for other in b.split())


def _same_word(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    ending = len(long) - len(short)
    if a == b or (long.startswith(short) and ending <= min(_ENDING, len(short) - 1)):
        return True
    stem = max(_STEM, len(long) - _BOTH_ENDINGS)
    return len(short) >= stem and short[:stem] == long[:stem]


def _numbered(names: Sequence[str | None]) -> list[Any]:
    """The same names, but the second topic with a name gets a 2 behind it."""
    given: list[str | None] = []
    for name in names:
        number, new = 1, name
        while new is not None and new in given:
            number += 1
            new = f"{name} {number}"
        given.append(new)
    return given
