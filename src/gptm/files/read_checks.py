"""Checks of what the functions that read files take, before anything is read."""

from typing import Any

from gptm._basics.errors import ArgumentError
from gptm._basics.validation import as_items, check_string, check_truth, is_whole
from gptm.corpus.kinds import check_kinds
from gptm.corpus.words import check_words
from gptm.files.formats import check_format
from gptm.files.streams import check_encoding

_COLUMNS = "must be the name of a column, or a list of names"


def check_reading(**given: Any) -> None:
    """An error for the first argument that cannot be; each of them may be left out.

    Examples
    --------
    >>> from gptm.files.read_checks import check_reading
    >>> check_reading(text=["title", "body"], kinds={"year": "category"}, keep_texts=500)
    """
    for name, value in given.items():
        _CHECKS[name](value)


def _check_text(text: Any) -> None:
    if text is None or isinstance(text, str):
        return
    for name in as_items("text", text, _COLUMNS):
        check_string("text", name, _COLUMNS)


def _check_id(id: Any) -> None:
    if id is not None:
        check_string("id", id, "must be the name of a column")


def _check_keep_texts(keep: Any) -> None:
    if not isinstance(keep, bool) and not (is_whole(keep) and keep >= 0):
        expected = "must be True, False or a number of characters"
        raise ArgumentError("keep_texts", expected, keep)


def _check_progress(progress: Any) -> None:
    if progress is not None and not callable(progress):
        expected = "must be a function of how much is done, and of how much there is"
        raise ArgumentError("progress", expected, progress)


_CHECKS: dict[str, Any] = {
    "format": check_format,
    "text": _check_text,
    "id": _check_id,
    "kinds": check_kinds,
    "encoding": check_encoding,
    "words": check_words,
    "strict": lambda strict: check_truth("strict", strict),
    "keep_texts": _check_keep_texts,
    "progress": _check_progress,
}
