"""What saved settings of words may be: values of the expected kinds, and never the path of a file."""

from collections.abc import Callable, Mapping
from typing import Any

from gptm.corpus.segmenters import is_saved
from gptm.corpus.stop_words import are_languages

_SHOWN = 60  # characters of a value in a message


def check_value(name: str, value: Any, fits: Callable[[Any], bool], expected: str) -> None:
    """An error that says what a saved value must be, unless it fits."""
    if not fits(value):
        text = repr(value)
        text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise ValueError(f"{name} must be {expected}; got {text}")


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def is_text_by_text(value: Any) -> bool:
    return isinstance(value, dict) and is_texts([*value, *value.values()])


def or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


def check_saved_words(settings: Any) -> None:
    """An error unless settings of words are of the kinds that `Words.to_dict` writes.

    Examples
    --------
    >>> from gptm.corpus.saved_words import check_saved_words
    >>> check_saved_words({"stop_words": "/etc/hosts"})
    Traceback (most recent call last):
      ...
    ValueError: stop_words must be a list of words or a language, never a file; got '/etc/hosts'
    """
    check_value(
        "words", settings, lambda value: isinstance(value, Mapping), "settings by their names"
    )
    for name, (fits, expected) in _WORDS.items():
        if name in settings:
            check_value(name, settings[name], fits, expected)


def _is_stop_words(value: Any) -> bool:
    """Words or languages. A text that is neither would be taken for the path of a file with words."""
    if not isinstance(value, str):
        return value is None or is_texts(value)
    return are_languages(value)


_WORDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "stop_words": (_is_stop_words, "a list of words or a language, never a file"),
    "token_pattern": (is_text, "a regular expression"),
    "lowercase": (lambda value: isinstance(value, bool), "true or false"),
    "extra_stop_words": (is_texts, "a list of words"),
    "keep": (is_texts, "a list of parts of texts"),
    "phrases": (lambda value: isinstance(value, bool) or is_texts(value), "a list of phrases"),
    "word_forms": (or_none(is_text), "lemmas or stems"),
    "segmenter": (
        or_none(lambda value: is_text(value) and is_saved(value)),
        "the name of a segmenter",
    ),
}
