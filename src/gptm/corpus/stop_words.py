"""Words that say nothing about a text's subject, by language."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
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


def read_stop_words(value: Any) -> tuple[str | tuple[str, ...] | None, tuple[str, ...]]:
    """Names of languages, "auto", None or the words themselves; and words that are left out beside those of languages.

    Examples
    --------
    >>> from gptm.corpus.stop_words import read_stop_words
    >>> read_stop_words("en+German"), read_stop_words("+amp,rt"), read_stop_words("amp,rt")
    (('english+german', ()), ('auto', ('amp', 'rt')), (('amp', 'rt'), ()))
    """
    if value is None:
        return None, ()
    if isinstance(value, PathLike):
        return _word_file(Path(value)), ()
    if isinstance(value, str):
        return _read_text(value)
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise _unknown(value)
    words = tuple(value)
    if not all(isinstance(word, str) for word in words):
        raise ArgumentError("stop_words", "as a list must hold strings", words[:5])
    return words, ()


def _read_text(value: str) -> tuple[str | tuple[str, ...], tuple[str, ...]]:
    """What languages, files and words between plus signs mean; nothing before the first one means "auto"."""
    parts = [part.strip() for part in value.split("+")]
    languages = [_language(part) for part in parts]
    if not all(languages) and Path(value).is_file():  # a plus sign may be in its name
        return _word_file(Path(value)), ()
    words: dict[str, None] = {}
    for place, (part, language) in enumerate(zip(parts, languages, strict=True)):
        if language == "" and not (place == 0 and part == "" and len(parts) > 1):
            words.update(dict.fromkeys(_words(part, value, first=place == 0)))
    named = dict.fromkeys(language for language in languages if language)
    if parts[0] == "":
        named = {"auto": None} | named
    return ("+".join(named), tuple(words)) if named else (tuple(words), ())


def are_languages(value: str) -> bool:
    """Whether a text names languages and nothing else, joined by plus signs; "auto" counts as one."""
    return all(_language(part.strip()) for part in value.split("+"))


def _language(part: str) -> str:
    """The name of a language, "auto", or nothing for anything else."""
    name = LANGUAGES.get(part.lower(), part.lower())
    return name if name == "auto" or name in LANGUAGES.values() else ""


def _words(part: str, value: str, first: bool) -> tuple[str, ...]:
    """The words of a file, or those between commas; a single one only behind a plus sign."""
    if part and Path(part).is_file():
        return _word_file(Path(part))
    if "," in part:
        return tuple(word.strip() for word in part.split(",") if word.strip())
    if first or not part:
        raise _unknown(value)
    if re.search(r"[/\\]|\.\w+$", part):
        raise _unknown(value, f"There is no file {part!r}. ")
    near = get_close_matches(part.lower(), LANGUAGES.values(), n=1, cutoff=0.75)
    if near:
        raise _unknown(value, f"Did you mean {near[0]!r}? For a word, write '{part},'. ")
    return (part,)


def _unknown(value: Any, hint: str = "") -> ArgumentError:
    expected = Message(
        "must be a language, a file with one word per line, words between commas, several of these joined by '+', ",
        PythonOnly("a list of words, "),
        "'auto' or ",
        Value("stop_words", None),
    )
    languages = f"{hint}The languages are {', '.join(sorted(LANGUAGES.values()))}."
    return ArgumentError("stop_words", expected, value, languages)


def _word_file(path: Path) -> tuple[str, ...]:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    lines = text.splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def language_list(name: str) -> list[str]:
    """The stop words of a language of `LANGUAGES`."""
    if name == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS.union(_REMNANTS.split()))
    from stop_words import get_stop_words

    return [composed(word) for word in get_stop_words(name)]
