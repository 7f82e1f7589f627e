"""From texts to counts of words, chunk by chunk, with a report of what was left out."""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.errors import Argument, ArgumentError, Message
from gptm._basics.validation import is_whole
from gptm.corpus.cleaning import PARTS, Cleaner, checked_keep
from gptm.corpus.phrases import Phrase, PhraseJoiner, PhraseStream
from gptm.corpus.saved_words import check_saved_words
from gptm.corpus.scripts import warn_of_no_blanks
from gptm.corpus.segmenters import checked_segmenter, saved_name, segmenting
from gptm.corpus.stop_words import (
    composed,
    guess_language,
    language_list,
    read_stop_words,
)
from gptm.corpus.token_pattern import NUMBERS_TOO, TOKEN_PATTERN, expanded, with_breaks
from gptm.corpus.word_checks import check_frequency, checked_phrases, checked_range
from gptm.corpus.word_forms import WordForms, checked_forms
from gptm.corpus.word_limits import Limits, limit_words
from gptm.corpus.word_patterns import check_speed
from gptm.corpus.words_report import (
    Joined,
    WordsReport,
    joined_phrases,
    removed,
    with_kept,
)

_SAMPLED_TEXTS, _SAMPLED_AT_LEAST, _SAMPLED_CHARACTERS = 1000, 20, 1 << 20


@dataclass(frozen=True)
class Words:
    """How texts become counts of words.

    Parameters
    ----------
    stop_words : str, path, sequence of str or None, default="auto"
        Words that are not counted: a language ("english" or "en"; see `gptm.corpus.LANGUAGES`), a file with one word
        per line, words separated by commas ("amp,rt"), or several of these joined by "+", as in "english+mine.txt". A
        list holds the words themselves; None means no stop words. "auto" takes the language whose stop words are most
        frequent in the first texts, and "+amp,rt" adds words to these.
    min_df, max_df : int or float, optional
        Fewest and most documents that a word may occur in, as a number (int) or as a fraction (float). By default
        `min_df` is 1 below 100 documents, 2 below 1,000 and 5 above; `max_df` is 0.5 from 10 documents on.
    max_features : int, optional
        Maximum number of words; the most frequent ones are kept.
    ngram_range : (int, int), default=(1, 1)
        (1, 2) also counts pairs of neighbouring words.
    token_pattern : str
        Regular expression of a word; by default two letters or more of any alphabet, with the marks that belong to
        them. Inside brackets ``\\p{M}`` stands for these marks.
    lowercase : bool, default=True
    strip_accents : {"ascii", "unicode"}, optional
    extra_stop_words : sequence of str, default=()
        Words that are not counted, besides those of the languages. Words that `stop_words` adds are here, too.
    keep : str or sequence of str, default=()
        Parts of texts to keep, as a list or separated by commas: "urls", "html" (tags, and entities such as &amp;),
        "emails", "mentions" (@name), "numbers", or "all". By default they are taken out first, and
        `WordsReport.cleaned` says how many there were. Without "numbers" it is `token_pattern` that leaves them out;
        with them, words may have digits, too.
    phrases : bool or sequence of str, default=False
        True counts phrases such as "united states" as one word: neighbouring words whose normalised pointwise mutual
        information is at least 0.5, up to four words long. They are found in the texts; afterwards this is the list of
        them. A list names the phrases to count.
    word_forms : {"lemmas", "stems"}, optional
        Count words by their lemma (went: go; needs the package simplemma) or by their stem (cities: citi; needs
        snowballstemmer). The language is that of the texts, or named, as in "lemmas:german".
    segmenter : {"jieba", "janome"} or callable, optional
        What splits texts into words if there are no spaces between them: jieba for Chinese, janome for Japanese, or a
        function from a text to its words. A model file keeps its name, never the function itself.

    Examples
    --------
    >>> from gptm.corpus.words import Words
    >>> words = Words(stop_words="english")
    >>> counts, vocabulary, report = words.count(["The tea is green", "Black tea"])
    >>> list(vocabulary), counts.toarray().tolist()
    (['black', 'green', 'tea'], [[0, 1, 1], [1, 0, 1]])
    >>> report.stop_words
    Removed(words=2, tokens=2, examples=('is', 'the'))
    >>> words.transform(["tea, tea and milk"], vocabulary).toarray().tolist()
    [[0, 0, 2]]
    >>> Words.from_dict(words.to_dict()) == words
    True
    """

    stop_words: Any = "auto"
    min_df: int | float | None = None
    max_df: int | float | None = None
    max_features: int | None = None
    ngram_range: tuple[int, int] = (1, 1)
    token_pattern: str = TOKEN_PATTERN
    lowercase: bool = True
    strip_accents: str | None = None
    extra_stop_words: tuple[str, ...] = ()
    keep: Any = ()
    phrases: Any = False
    word_forms: str | None = None
    segmenter: Any = None

    def __post_init__(self) -> None:
        self._settle_stop_words()
        object.__setattr__(self, "keep", checked_keep(self.keep))
        object.__setattr__(self, "word_forms", checked_forms(self.word_forms))
        object.__setattr__(self, "segmenter", checked_segmenter(self.segmenter))
        object.__setattr__(self, "ngram_range", checked_range(self.ngram_range))
        object.__setattr__(self, "phrases", checked_phrases(self.phrases, self.ngram_range))
        for name in ("min_df", "max_df"):
            check_frequency(name, getattr(self, name))
        limit = self.max_features
        if limit is not None and (not is_whole(limit) or limit < 1):
            raise ArgumentError("max_features", "must be a positive integer or None", limit)
        if self.strip_accents not in (None, "ascii", "unicode"):
            raise ArgumentError(
                "strip_accents", "must be 'ascii', 'unicode' or None", self.strip_accents
            )
        try:
            groups = re.compile(expanded(self.token_pattern)).groups
        except (re.error, TypeError) as error:
            got = Message(f"{self.token_pattern!r} ({error})")
            raise ArgumentError("token_pattern", "must be a regular expression", got) from None
        if groups > 1:
            got = Message(f"{self.token_pattern!r} with {groups}")
            remedy = "Write (?:...) around parts that belong together but are not the word."
            raise ArgumentError("token_pattern", "must have at most one group (...)", got, remedy)
        if self.token_pattern != TOKEN_PATTERN:  # which is known to be fine
            check_speed(self.token_pattern, expanded(self.token_pattern))

    def _settle_stop_words(self) -> None:
        """A file is read now, so that the settings alone say how a saved model reads text."""
        base, added = read_stop_words(self.stop_words)
        more = tuple(self.extra_stop_words) if not isinstance(self.extra_stop_words, str) else (1,)
        if not all(isinstance(word, str) for word in more):
            got = self.extra_stop_words
            raise ArgumentError("extra_stop_words", "must be a list of words", got)
        words = tuple(dict.fromkeys((*added, *more)))
        if words and not isinstance(base, str):  # no language that they are added to
            base, words = (*(base or ()), *words), ()
        object.__setattr__(self, "stop_words", base)
        object.__setattr__(self, "extra_stop_words", words)

    def to_dict(self) -> dict[str, Any]:
        """The settings in terms of JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name in (setting.name for setting in fields(self))
            for value in [getattr(self, name)]
        } | {"segmenter": saved_name(self.segmenter)}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "Words":
        """Settings that `to_dict` wrote."""
        check_saved_words(settings)
        names = {setting.name for setting in fields(cls)}
        odd = sorted(set(settings) - names)
        if odd:
            raise ValueError(f"settings of words are {sorted(names)}; got {odd} as well.")
        return cls(**settings)

    @property
    def has_open_language(self) -> bool:
        """Whether the texts are still to say which stop words they have."""
        return "auto" in self._languages()

    def _languages(self) -> list[str]:
        return self.stop_words.split("+") if isinstance(self.stop_words, str) else []

    def resolved(self, texts: Iterable[str]) -> "Words":
        """The same settings with a language instead of "auto": the one of these texts."""
        languages = self._languages()
        forms = self.word_forms if self.word_forms is None or ":" in self.word_forms else None
        if "auto" not in languages and forms == self.word_forms:
            return self
        guessed = guess_language(texts, self.tokenizer())
        names = dict.fromkeys(guessed if name == "auto" else name for name in languages)
        known = [name for name in names if name]
        if forms != self.word_forms:
            language = known[0] if len(known) == 1 else guessed
            if language is None:
                raise ArgumentError(
                    "word_forms",
                    "must name a language where the texts do not show it",
                    self.word_forms,
                    f"Pass for example '{self.word_forms}:english'.",
                )
            forms = f"{self.word_forms}:{language}"
        stop_words = ("+".join(known) or None) if "auto" in languages else self.stop_words
        return replace(self, stop_words=stop_words, word_forms=forms)

    def count(
        self, texts: Iterable[str], vocabulary: Sequence[str] | np.ndarray | None = None
    ) -> "tuple[csr_matrix, np.ndarray, WordsReport]":
        """Counts (documents x words), the words of the columns, and what was left out."""
        counting = Counting(self, vocabulary)
        for chunk in chunks(texts):
            counting.add(chunk)
        return counting.finish()

    def transform(self, texts: Iterable[str], vocabulary: Sequence[str] | np.ndarray) -> csr_matrix:
        """Counts of the words of a trained vocabulary, as in training."""
        return self.count(texts, vocabulary)[0]

    def stop_list(self) -> frozenset[str]:
        """The stop words, cut into words as a text would be; without those of a language that is still open."""
        if isinstance(self.stop_words, str):
            names = [name for name in self.stop_words.split("+") if name != "auto"]
            parts = [*map(language_list, names), self.extra_stop_words]
        else:
            parts = [self.stop_words or ()]
        tokenize = self.tokenizer()  # "don't" stands for what is left of it in a text
        return frozenset(
            token
            for part in parts
            for word in part
            for token in (composed(word.lower() if self.lowercase else word), *tokenize(word))
        )

    @property
    def limits(self) -> Limits:
        """Which words are too rare, too frequent or too many."""
        return Limits(self.min_df, self.max_df, self.max_features)

    def cleaner(self) -> Cleaner:
        """What takes out of texts what is no word; a pattern of the user's may take numbers for words."""
        keeps_numbers = self.token_pattern != TOKEN_PATTERN
        return Cleaner((*self.keep, "numbers") if keeps_numbers else self.keep)

    def tokenizer(
        self, cleaner: Cleaner | None = None, *, breaks: bool = False
    ) -> Callable[[str], list[str]]:
        """The function from a text to its words, in order, stop words included.

        The cleaner takes out what is no word, and counts it. With `breaks` an empty string stands where a punctuation
        mark, or anything else that is no word, is between two words.
        """
        from sklearn.feature_extraction.text import CountVectorizer

        pattern = self.token_pattern
        if "numbers" in self.keep and pattern == TOKEN_PATTERN:
            pattern = NUMBERS_TOO
        vectorizer = CountVectorizer(
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            token_pattern=with_breaks(expanded(pattern)) if breaks else expanded(pattern),
        )
        clean = self.cleaner() if cleaner is None else cleaner
        prepare, split = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
        if self.segmenter is None:
            return lambda text: split(prepare(clean(composed(text))))
        apart = segmenting(self.segmenter)
        return lambda text: split(prepare(apart(clean(composed(text)))))

    def split_phrases(self, trained: bool = False) -> list[Phrase]:
        """The phrases, each cut into words as a text would be; those of a training have the forms of words already."""
        tokenize = self.tokenizer()
        forms = WordForms(self.word_forms, self.stop_list()) if not trained else None
        phrases: list[Phrase] = []
        for phrase in self.phrases if isinstance(self.phrases, tuple) else ():
            words = tokenize(phrase)
            if len(words) < 2:
                remedy = Message("Leave it out, or change ", Argument("token_pattern"), ".")
                expected = "must have two words or more each, as token_pattern finds them"
                raise ArgumentError("phrases", expected, Message(f"{phrase!r}"), remedy)
            phrases.append(tuple(words if forms is None else [forms[word] for word in words]))
        return phrases


def check_words(words: Any) -> None:
    """An error for anything but `Words` and None."""
    if words is not None and not isinstance(words, Words):
        expected = "must be gptm.corpus.Words, such as corpus.words"
        raise ArgumentError("words", expected, words)


class Counting:
    """Counts that grow chunk by chunk; equal to `CountVectorizer` on all texts at once.

    With a vocabulary its words are counted and no others; stop words among them are counted too. The language of the
    stop words is settled by the first texts, however these are cut into chunks.
    """

    warns = True  # of scripts without blanks

    def __init__(self, words: Words, vocabulary: Sequence[str] | np.ndarray | None = None):
        if vocabulary is not None and words.has_open_language and words.ngram_range == (1, 1):
            words = replace(words, stop_words=None)  # not in the vocabulary in any case
        self.words = words
        self._first: list[str] = []  # texts that are to settle the language
        self._fixed = vocabulary is not None
        self._columns: dict[str, int] = (
            {} if vocabulary is None else {composed(str(w)): i for i, w in enumerate(vocabulary)}
        )
        self._given = (
            None if vocabulary is None else np.array([*map(str, vocabulary)], dtype=object)
        )
        if vocabulary is not None and len(self._columns) < len(vocabulary):
            repeated = next(
                w for i, w in enumerate(vocabulary) if self._columns[composed(str(w))] != i
            )
            n_repeated = len(vocabulary) - len(self._columns)
            got = Message(f"{n_repeated} that repeat another, for example {repeated!r}")
            raise ArgumentError("vocabulary", "must hold each word once", got)
        if vocabulary is not None and words.phrases is True:  # those that the vocabulary has
            self.words = words = replace(words, phrases=[w for w in self._columns if " " in w])
        self._cleaner = words.cleaner()
        self._split = words.tokenizer(self._cleaner, breaks=bool(words.phrases))
        self._forms: WordForms | None = None
        self._join: PhraseJoiner | None = None
        self._stream = PhraseStream() if words.phrases is True else None
        self._stop: frozenset[str] | None = None
        self._indices, self._values, self._ends = array("i"), array("i"), array("q", [0])
        self._stopped: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._tokens = 0

    def add(self, texts: Sequence[str]) -> None:
        """Count some more documents."""
        if self._stop is None:
            self._first.extend(texts)
            if len(_sample(self._first)) < len(self._first):
                self._settle()
            return
        for text in texts:
            self._count(text)

    def _settle(self) -> None:
        """Settle the language by the first texts, and count all that have waited for it."""
        sample = _sample(self._first)
        self.words = self.words.resolved(sample)
        self._stop = self.words.stop_list().difference(self._columns)
        if self.words.word_forms is not None:
            self._forms = WordForms(self.words.word_forms, self._stop)
        if isinstance(self.words.phrases, tuple):
            self._use_phrases(self.words.split_phrases(trained=self._fixed))
        if not self._fixed and self.warns and self.words.segmenter is None:
            warn_of_no_blanks(sample)
        waiting, self._first = self._first, []
        for text in waiting:
            self._count(text)

    def _count(self, text: str) -> None:
        tokens = self._split(text)
        if self._forms is not None:
            tokens = [self._forms[token] for token in tokens]
        if self._stream is not None:
            self._stream.add(tokens)
        else:
            self._count_words(tokens)

    def _count_words(self, tokens: list[str]) -> None:
        """Count the words of a document; those of phrases are joined first."""
        assert self._stop is not None
        if self._join is not None:
            tokens = self._join(tokens)
        if self.words.phrases is not False:
            tokens = [token for token in tokens if token]
        self._tokens += len(tokens)
        if self._stop:
            kept = [token for token in tokens if token not in self._stop]
            if len(kept) < len(tokens):
                self._stopped.update(token for token in tokens if token in self._stop)
            tokens = kept
        columns = self._columns
        for term, count in Counter(_ngrams(tokens, self.words.ngram_range)).items():
            column = columns.get(term)
            if column is None:
                if self._fixed:
                    # Most pairs are unknown, which says nothing.
                    if " " not in term or self.words.phrases:
                        self._unknown[term] += count
                    continue
                column = columns[term] = len(columns)
            self._indices.append(column)
            self._values.append(count)
        self._ends.append(len(self._indices))

    def finish(self) -> tuple[csr_matrix, np.ndarray, WordsReport]:
        """Counts, words and report; nothing may be added afterwards."""
        counts, vocabulary, report = self.all_words()
        if self._fixed:
            return counts, vocabulary, with_kept(report, counts)
        return limit_words(counts, vocabulary, self.words.limits, report)

    def all_words(self) -> tuple[csr_matrix, np.ndarray, WordsReport]:
        """The same, with words that are too rare, too frequent or too many."""
        if self._stop is None:
            self._settle()
        if self._stream is not None:
            self._learn_phrases(self._stream)
        n = len(self._ends) - 1
        if n == 0:
            raise ValueError("texts must hold at least one document; got none.")
        vocabulary = self._given
        if vocabulary is None:
            vocabulary = np.array(list(self._columns), dtype=object)
        indices = np.frombuffer(self._indices, dtype=np.int32) if self._indices else _NOTHING
        values = np.frombuffer(self._values, dtype=np.int32) if self._values else _NOTHING
        if not self._fixed:
            order = np.array(sorted(range(len(vocabulary)), key=vocabulary.__getitem__), dtype=int)
            new = np.empty(len(order), dtype=np.int32)
            new[order] = np.arange(len(order), dtype=np.int32)
            vocabulary, indices = vocabulary[order], new[indices]
        counts = csr_matrix((values, indices, np.array(self._ends)), shape=(n, len(vocabulary)))
        counts.sort_indices()
        language = self.words.stop_words if isinstance(self.words.stop_words, str) else None
        report = WordsReport(
            documents=n,
            tokens=self._tokens,
            language=language,
            phrases=joined_phrases(counts, vocabulary) if self.words.phrases else Joined(),
            cleaned={name: n for name in PARTS if (n := self._cleaner.removed[name])},
            stop_words=removed(self._stopped),
            unknown=removed(self._unknown),
        )
        return counts, vocabulary, report

    def _learn_phrases(self, stream: PhraseStream) -> None:
        """Find the phrases of all texts, and count the texts with them."""
        assert self._stop is not None
        n = len(stream)
        least = self.words.limits.frequencies(n)[0]
        min_documents = int(least if is_whole(least) else np.ceil(least * n))
        self._use_phrases(stream.phrases(self._stop, min_documents))
        self._stream = None
        for tokens in stream:
            self._count_words(tokens)

    def _use_phrases(self, phrases: list[Phrase]) -> None:
        self.words = replace(self.words, phrases=[" ".join(phrase) for phrase in phrases])
        self._join = PhraseJoiner(phrases)


class ChunkCounts(NamedTuple):
    """Counts of some texts, with all of their words."""

    counts: csr_matrix
    terms: np.ndarray  # words of the columns
    tokens: int
    stopped: Counter[str]
    unknown: Counter[str]
    cleaned: Counter[str]  # parts that were taken out of the texts


def count_chunk(
    words: Words, texts: Sequence[str], vocabulary: Sequence[str] | np.ndarray | None = None
) -> ChunkCounts:
    """Counts of some texts of many; the language of `words` is settled.

    >>> count_chunk(Words("english"), ["the tea", "black tea"]).terms.tolist()
    ['black', 'tea']
    """
    counting = Counting(words, vocabulary)
    counting.warns = False
    counting.add(texts)
    counts, terms, report = counting.all_words()
    cleaned = Counter(report.cleaned)
    return ChunkCounts(counts, terms, report.tokens, counting._stopped, counting._unknown, cleaned)


_NOTHING = np.empty(0, dtype=np.int32)
_CHUNK = 1000  # texts


def _sample(texts: list[str]) -> list[str]:
    """The first texts, which settle the language: a thousand, or fewer where they are long."""
    size = 0
    for position, text in enumerate(texts[:_SAMPLED_TEXTS]):
        size += len(text)
        if size >= _SAMPLED_CHARACTERS and position + 1 >= _SAMPLED_AT_LEAST:
            return texts[: position + 1]
    return texts[:_SAMPLED_TEXTS]


def chunks(texts: Iterable[str]) -> Iterable[list[str]]:
    """Texts in portions; an error for what is no text."""
    if isinstance(texts, str):
        raise ValueError("texts must be a list of strings, one per document; got one string.")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):  # whose items are names of columns
        raise ValueError(
            f"texts must be a list of strings, one per document; got {type(texts).__name__}. Pass one column of it, "
            "and the others as metadata: Corpus.from_texts(df['text'], metadata=df)."
        )
    chunk: list[str] = []
    if not isinstance(texts, Iterable):
        expected = "must be a list of strings, one per document"
        raise ArgumentError("texts", expected, texts)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            cut = isinstance(text, list | tuple | np.ndarray)
            remedy = (
                "For documents that are already cut into words use Corpus.from_tokens."
                if cut
                else "Use an empty string for a document without text: texts.fillna('')."
            )
            raise ValueError(
                f"texts must be strings; the one at position {position} is {text!r} of type "
                f"{type(text).__name__}. {remedy}"
            )
        chunk.append(text)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _ngrams(tokens: list[str], ngram_range: tuple[int, int]) -> list[str]:
    """Runs of words, as scikit-learn makes them."""
    if ngram_range == (1, 1):
        return tokens
    least, most = ngram_range
    return [
        " ".join(tokens[start : start + n])
        for n in range(least, most + 1)
        for start in range(len(tokens) - n + 1)
    ]
