"""One form for all forms of a word, by simplemma or snowballstemmer: its lemma (went: go) or its stem."""

from collections.abc import Callable
from functools import cache
from typing import Any

from gptm._basics.errors import ArgumentError
from gptm.corpus.stop_words import LANGUAGES

FORMS = ("lemmas", "stems")


def checked_forms(value: Any) -> str | None:
    """None, or "lemmas" or "stems", perhaps with a language, as in "lemmas:german".

    Examples
    --------
    >>> checked_forms("lemmas"), checked_forms("stems:de"), checked_forms(None)
    ('lemmas', 'stems:german', None)
    """
    if value is None:
        return None
    form, mark, language = str(value).lower().partition(":")
    language = LANGUAGES.get(language, language)
    if form not in FORMS or (mark and language not in LANGUAGES.values()):
        expected = "must be 'lemmas' or 'stems', perhaps with a language, as in 'lemmas:german'"
        languages = f"The languages are {', '.join(sorted(LANGUAGES.values()))}."
        raise ArgumentError("word_forms", expected, value, languages)
    return form + mark + language


class WordForms(dict[str, str]):
    """Forms by word, found once for each; stop words stay as they are, so that they are still known as such.

    Examples
    --------
    >>> from gptm.corpus.word_forms import WordForms
    >>> forms = WordForms("lemmas:english", frozenset(["was"]))
    >>> forms["was"], forms["were"], forms[""]
    ('was', 'be', '')
    """

    def __init__(self, forms: str | None, stop: frozenset[str]):
        super().__init__({word: word for word in (*stop, "")})
        self._find = form_finder(forms) if forms else str

    def __missing__(self, word: str) -> str:
        form = self[word] = self._find(word)
        return form


def form_finder(forms: str) -> Callable[[str], str]:
    """The function from a word to its lemma or stem; an error if the package for it, or the language, is not there.

    Examples
    --------
    >>> from gptm.corpus.word_forms import form_finder
    >>> [form_finder("lemmas:english")(word) for word in ("cities", "went", "tea")]
    ['city', 'go', 'tea']
    >>> form_finder("stems:english")("cities")
    'citi'
    """
    form, _, language = forms.partition(":")
    return _lemmas(language) if form == "lemmas" else _stems(language)


@cache
def _lemmas(language: str) -> Callable[[str], str]:
    try:
        from simplemma import lemmatize
    except ImportError:
        raise _missing("Lemmas", "simplemma") from None
    code = next(code for code, name in LANGUAGES.items() if name == language)
    try:
        lemmatize("a", lang=code)
    except ValueError:
        raise _no_such("lemmas", language) from None
    # A lemma may have capitals, as German nouns have, where the words of texts have none.
    return lambda word: _as_written(lemmatize(word, lang=code), word)


@cache
def _stems(language: str) -> Callable[[str], str]:
    try:
        import snowballstemmer
    except ImportError:
        raise _missing("Stems", "snowballstemmer") from None
    if language not in snowballstemmer.algorithms():
        raise _no_such("stems", language)
    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return lambda word: stem(word) or word


def _as_written(lemma: str, word: str) -> str:
    """The lemma in lower case where the word is; the word itself where there is none."""
    return (lemma.lower() if word.islower() else lemma) or word


def _missing(what: str, package: str) -> ImportError:
    return ImportError(
        f"{what} need the package {package}, which is not installed: pip install 'gptm[lemmas]'"
    )


def _no_such(forms: str, language: str) -> ArgumentError:
    other = "stems" if forms == "lemmas" else "lemmas"
    expected = f"must have a language that there are {forms} for"
    remedy = f"Try {other!r}, or leave words as they are written."
    return ArgumentError("word_forms", expected, f"{forms}:{language}", remedy)
