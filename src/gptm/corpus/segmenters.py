"""Functions that cut texts into words where a script has no blanks: Chinese by jieba, Japanese by janome."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from gptm._basics.errors import ArgumentError, InputError, Message, PythonOnly

Segmenter = Callable[[str], Iterable[str]]

# What can be named, and so saved with a model; each needs the package of its name, and this extra of gptm.
SEGMENTERS = {"jieba": "chinese", "janome": "japanese"}
_FUNCTION = "function:"  # begins the name that is saved of a function


def checked_segmenter(value: Any) -> str | Segmenter | None:
    """None, a name of `SEGMENTERS`, a function, or the name of a function that a saved model has."""
    if value is None or callable(value) or (isinstance(value, str) and is_saved(value)):
        return value
    names = ", ".join(map(repr, SEGMENTERS))
    own = PythonOnly(", or a function from a text to its words")
    raise ArgumentError("segmenter", Message(f"must be one of {names}", own), value)


def is_saved(name: str) -> bool:
    """Whether a model may have saved this: a name that is known here, or that of a function, which is not looked up."""
    return name in SEGMENTERS or name.startswith(_FUNCTION)


def saved_name(segmenter: str | Segmenter | None) -> str | None:
    """A segmenter as a model saves it: by name. A function itself is never saved.

    Examples
    --------
    >>> from gptm.corpus.segmenters import saved_name
    >>> saved_name("jieba"), saved_name(str.split)
    ('jieba', 'function:str.split')
    """
    if segmenter is None or isinstance(segmenter, str):
        return segmenter
    kind = type(segmenter)
    return _FUNCTION + str(getattr(segmenter, "__qualname__", kind.__qualname__))


def segmenting(segmenter: str | Segmenter) -> Callable[[str], str]:
    """The function from a text to the same text with blanks between its words."""
    cut = _by_name(segmenter) if isinstance(segmenter, str) else segmenter

    def apart(text: str) -> str:
        words = cut(text)
        listed = None if isinstance(words, str) or not isinstance(words, Iterable) else list(words)
        if listed is None or not all(isinstance(word, str) for word in listed):
            expected = "must be a function from a text to a list of its words"
            raise ArgumentError("segmenter", expected, Message(f"one that returns {words!r:.60}"))
        return " ".join(listed)

    return apart


def _by_name(name: str) -> Segmenter:
    if name.startswith(_FUNCTION):
        raise InputError(
            f"the texts of the training were cut into words by {name.removeprefix(_FUNCTION)!r}, a function, which a "
            "model file cannot hold. Count new texts with it: Corpus.from_texts(texts, "
            "vocabulary=model.feature_names_in_, words=dataclasses.replace(model.fitted_.words, segmenter=...))."
        )
    return _jieba() if name == "jieba" else _janome()


@cache
def _jieba() -> Segmenter:
    try:
        import jieba
    except ImportError:
        raise _missing("jieba") from None
    tokenizer = jieba.Tokenizer()
    # Read from its own dictionary: the usual way is through a file in a folder that others can write to.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer.lcut


@cache
def _janome() -> Segmenter:
    try:
        from janome.tokenizer import Tokenizer
    except ImportError:
        raise _missing("janome") from None
    tokenizer = Tokenizer(wakati=True)
    return lambda text: list(tokenizer.tokenize(text))


def _missing(package: str) -> ImportError:
    return ImportError(
        f"segmenter={package!r} needs the package {package}, which is not installed: "
        f"pip install 'gptm[{SEGMENTERS[package]}]'"
    )
