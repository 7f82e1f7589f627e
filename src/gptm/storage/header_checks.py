"""What the header of a model's file may say: values of the expected kinds, and no paths."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from gptm.corpus.segmenters import is_saved
from gptm.corpus.stop_words import are_languages
from gptm.fitted import Reason

Header = Mapping[str, Any]


def check_model_header(header: Header) -> None:
    """An error unless the entries that describe the model are of the kinds that `write_model` writes."""
    for name, (fits, expected) in _MODEL.items():
        _check(name, header.get(name) if name == "kinds" else header[name], fits, expected)


def check_attached_header(header: Header) -> None:
    """The same for what is kept beside the model; what is missing, as in older files, is None."""
    for name, (fits, expected) in _ATTACHED.items():
        _check(name, header.get(name), fits, expected)
    words, reading = header.get("words") or {}, header.get("reading") or {}
    for entries, checks in ((words, _WORDS), (reading, _READING)):
        for name, (fits, expected) in checks.items():
            if name in entries:
                _check(name, entries[name], fits, expected)


def _check(name: str, value: Any, fits: Callable[[Any], bool], expected: str) -> None:
    if not fits(value):
        raise ValueError(f"{name} must be {expected}; got {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text_by_text(value: Any) -> bool:
    return isinstance(value, dict) and _is_texts([*value, *value.values()])


def _is_groups(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(group, list) for group in value)


def _is_stop_words(value: Any) -> bool:
    """Words or languages. A text that is neither would be taken for the path of a file with words."""
    if not isinstance(value, str):
        return value is None or _is_texts(value)
    return are_languages(value)


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_Checks = dict[str, tuple[Callable[[Any], bool], str]]
_MODEL: _Checks = {
    "model": (_is_text, "the name of a class"),
    "parameters": (lambda value: isinstance(value, dict), "values by name"),
    "reason": (lambda value: value in get_args(Reason), f"one of {get_args(Reason)}"),
    "joint": (lambda value: isinstance(value, bool), "true or false"),
    "vocabulary": (_or_none(_is_texts), "a list of words"),
    "topic_names": (
        _or_none(lambda value: isinstance(value, list) and all(map(_or_none(_is_text), value))),
        "a list of names",
    ),
    "kinds": (_or_none(_is_text_by_text), "kinds by column"),
    "members": (_or_none(_is_groups), "groups of topics"),
    "history": (_is_texts, "a list of sentences"),
}
_ATTACHED: _Checks = {
    "libraries": (_is_text_by_text, "versions by library"),
    "corpus": (lambda value: value is None or isinstance(value, dict), "values by name"),
    "words": (lambda value: value is None or isinstance(value, dict), "settings by name"),
    "reading": (lambda value: value is None or isinstance(value, dict), "settings by name"),
}
_WORDS: _Checks = {
    "stop_words": (_is_stop_words, "a list of words or a language, never a file"),
    "token_pattern": (_is_text, "a regular expression"),
    "extra_stop_words": (_is_texts, "a list of words"),
    "keep": (_is_texts, "a list of parts of texts"),
    "phrases": (lambda value: isinstance(value, bool) or _is_texts(value), "a list of phrases"),
    "word_forms": (_or_none(_is_text), "lemmas or stems"),
    "segmenter": (
        _or_none(lambda value: _is_text(value) and is_saved(value)),
        "the name of a segmenter",
    ),
}
_READING: _Checks = {
    "text": (_or_none(_is_texts), "a list of columns"),
    "id": (_or_none(_is_text), "a column"),
    "kinds": (_or_none(_is_text_by_text), "kinds by column"),
}
