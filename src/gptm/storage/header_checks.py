"""What the header of a model's file may say: values of the expected kinds, and no paths."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from gptm.corpus.saved_words import (
    check_saved_words,
    check_value,
    is_text,
    is_text_by_text,
    is_texts,
    or_none,
)
from gptm.fitted import Reason

Header = Mapping[str, Any]


def check_model_header(header: Header) -> None:
    """An error unless the entries that describe the model are of the kinds that `write_model` writes."""
    for name, (fits, expected) in _MODEL.items():
        check_value(name, header.get(name) if name == "kinds" else header[name], fits, expected)


def check_attached_header(header: Header) -> None:
    """The same for what is kept beside the model; what is missing, as in older files, is None."""
    for name, (fits, expected) in _ATTACHED.items():
        check_value(name, header.get(name), fits, expected)
    check_saved_words(header.get("words") or {})
    reading = header.get("reading") or {}
    for name, (fits, expected) in _READING.items():
        if name in reading:
            check_value(name, reading[name], fits, expected)


def _is_groups(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(group, list) for group in value)


_Checks = dict[str, tuple[Callable[[Any], bool], str]]
_MODEL: _Checks = {
    "model": (is_text, "the name of a class"),
    "parameters": (lambda value: isinstance(value, dict), "values by name"),
    "reason": (lambda value: value in get_args(Reason), f"one of {get_args(Reason)}"),
    "joint": (lambda value: isinstance(value, bool), "true or false"),
    "vocabulary": (or_none(is_texts), "a list of words"),
    "topic_names": (
        or_none(lambda value: isinstance(value, list) and all(map(or_none(is_text), value))),
        "a list of names",
    ),
    "kinds": (or_none(is_text_by_text), "kinds by column"),
    "members": (or_none(_is_groups), "groups of topics"),
    "history": (is_texts, "a list of sentences"),
}
_ATTACHED: _Checks = {
    "libraries": (is_text_by_text, "versions by library"),
    "corpus": (lambda value: value is None or isinstance(value, dict), "values by name"),
    "words": (lambda value: value is None or isinstance(value, dict), "settings by name"),
    "reading": (lambda value: value is None or isinstance(value, dict), "settings by name"),
}
_READING: _Checks = {
    "text": (or_none(is_texts), "a list of columns"),
    "id": (or_none(is_text), "a column"),
    "kinds": (or_none(is_text_by_text), "kinds by column"),
}
