"""Messages of the library with the options of the command line in place of Python's arguments."""

import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gptm._basics.errors import Argument, Message, PythonOnly, Term

# Arguments without an option here, such as those of kernels, are written in formulas as in Python.
OPTIONS = {
    "at": "--at",
    "bins": "--bins",
    "by_time": "--by-time",
    "checkpoint": "--checkpoint",
    "client": "--scheduler",
    "cluster": "--cluster",
    "columns": "--predict",
    "coregionalization": "--coregionalization",
    "cv": "--folds",
    "dates": "--dates",
    "decay": "--decay",
    "encoding": "--encoding",
    "errors": "--errors",
    "format": "--format",
    "formula": "--formula",
    "groups": "--groups",
    "id": "--id",
    "inference": "--inference",
    "init": "--init",
    "keep": "--keep",
    "kernel": "--kernel",
    "kinds": "--column",
    "level": "--level",
    "max_df": "--max-df",
    "max_documents": "--max-documents",
    "max_iter": "--max-iter",
    "memory": "--memory",
    "metadata": "--metadata",
    "min_df": "--min-df",
    "missing_columns": "--missing-columns",
    "n_chains": "--chains",
    "n_components": "--topics",
    "n_documents": "--size",
    "n_jobs": "--jobs",
    "n_new_components": "--new-topics",
    "n_points": "--points",
    "n_words": "--size",
    "ngram_range": "--ngrams",
    "overwrite": "--overwrite",
    "phrases": "--phrases",
    "questions": "--questions",
    "random_state": "--seed",
    "refit": "--refit",
    "resamples": "--resamples",
    "segmenter": "--segmenter",
    "seed_words": "--seed-words",
    "seeds": "--seeds",
    "simulations": "--simulations",
    "stop_words": "--stop-words",
    "strict": "--strict",
    "term": "--term",
    "test_size": "--test-size",
    "text": "--text",
    "threshold": "--threshold",
    "token_pattern": "--token-pattern",
    "tol": "--tol",
    "topic": "--topic",
    "versus": "--versus",
    "vocabulary": "--vocabulary",
    "within": "--within",
    "word_forms": "--word-forms",
}
_NOTHING: Mapping[str, str] = MappingProxyType({})


def in_options(source: object, own: Mapping[str, str] = _NOTHING) -> str:
    """An error, a warning or a message on one line, with options in place of arguments.

    A command that takes some arguments without an option calls them by names of its `own`.

    Examples
    --------
    >>> in_options(Message("Name the encoding, for example ", Argument("encoding", "latin-1"), "."))
    'Name the encoding, for example --encoding latin-1.'
    >>> in_options(ValueError("Graph('links', id='key') has nothing to learn from"))
    "Graph('links', id='key') has nothing to learn from"
    >>> in_options(Message(Argument("topic"), " must be a number."), {"topic": "TOPIC"})
    'TOPIC must be a number.'
    """
    message = getattr(source, "said", source)

    def write(term: Term) -> str:
        named = isinstance(term, Argument) and not term.has_value and own.get(term.name)
        return named or _write(term)

    text = message.written(write) if isinstance(message, Message) else str(source)
    return " ".join(text.split())


def lines_in_options(message: Message) -> str:
    """The same for a message of several lines, which stay as they are."""
    return message.written(_write)


def _write(term: Term) -> str:
    if isinstance(term, PythonOnly):
        return ""
    if not isinstance(term, Argument):
        return _typed(term.value)
    option = OPTIONS.get(term.name)
    if option is None:
        return str(term)
    if not term.has_value or term.value is True:
        return option
    if isinstance(term.value, dict):  # one option for each key
        pairs = [f"{key}={value}" for key, value in term.value.items()]
        return " ".join(f"{option} {_quoted(pair)}" for pair in pairs)
    return f"{option} {_quoted(_typed(term.value))}"


def _quoted(text: str) -> str:
    """In quotes unless it is plain: a full stop may follow, which must not be copied along."""
    plain = re.fullmatch(r"[\w=-]+(\.\d+)?", text)
    quoted = shlex.quote(text)
    return f"'{text}'" if quoted == text and not plain else quoted


def _typed(value: Any) -> str:
    """A value as it is typed: none for None, 1-2 for a range."""
    if value is None:
        return "none"
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
