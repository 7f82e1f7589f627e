"""Words that say nothing about a text's subject, by language."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from gptm._basics.errors import ArgumentError, Message, PythonOnly, Value

# Lists of stop words that were looked through; others of that package are in a wrong encoding, mixed or old.
LANGUAGES = {
    "ar": "arabic",
    "bg": "bulgarian",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "he": "hebrew",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "uk": "ukrainian",
}
# What the apostrophe leaves of don't, we've and the like; single letters are no words anyway.
_REMNANTS = (
    "ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren won wouldn "
    "ll re ve"
)
_CONVINCING = 0.08  # share of its words that a text's stop words make up at the very least


def composed(text: str) -> str:
    """A text with each letter and its marks as one character where there is one, whichever way it was written (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def guess_language(texts: Iterable[str], tokenize: Callable[[str], list[str]]) -> str | None:
    """The language whose stop words make up most of the texts; None where none is convincing.

    Examples
    --------
    >>> from gptm.corpus.stop_words import guess_language
    >>> guess_language(["der Tee ist grün und die Tasse ist nicht leer"], str.split)
    'german'
    """
    seen: Counter[str] = Counter()
    for text in texts:
        seen.update(map(str.lower, tokenize(text)))
    total = max(seen.total(), 1)
    best, share = None, _CONVINCING
    for language in LANGUAGES.values():
        covered = sum(seen[word] for word in set(language_list(language))) / total
        if covered > share:
            best, share = language, covered
    return best


def checked_stop_words(value: Any) -> str | tuple[str, ...] | None:
    """None, "auto", names of languages joined by "+", or the words themselves."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if isinstance(value, PathLike):
        return _word_file(Path(value))
    if isinstance(value, str):
        parts = [part.strip().lower() for part in value.split("+")]
        names = [LANGUAGES.get(part, part) for part in parts]
        if all(name in LANGUAGES.values() for name in names):
            return "+".join(names)
        if Path(value).is_file():
            return _word_file(Path(value))
        expected = Message(
            "must be a language, a file with one word per line, ",
            PythonOnly("a list of words, "),
            "'auto' or ",
            Value("stop_words", None),
        )
        languages = f"The languages are {', '.join(sorted(LANGUAGES.values()))}."
        raise ArgumentError("stop_words", expected, value, languages)
    words = tuple(value)
    if not all(isinstance(word, str) for word in words):
        raise ArgumentError("stop_words", "as a list must hold strings", words[:5])
    return words


def _word_file(path: Path) -> tuple[str, ...]:
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def language_list(name: str) -> list[str]:
    """The stop words of a language of `LANGUAGES`."""
    if name == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS.union(_REMNANTS.split()))
    from stop_words import get_stop_words

    return [composed(word) for word in get_stop_words(name)]
