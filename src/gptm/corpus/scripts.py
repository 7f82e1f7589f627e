"""Scripts without blanks between words, where whole sentences would be taken for words."""

import re
from collections.abc import Sequence

from gptm._basics.errors import Argument, Message, PythonOnly
from gptm._basics.warnings import warn

# Han and kana, and scripts of South-East Asia, with the mean length of a run of them beyond which it is no single word.
_NO_BLANKS = (
    (re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"), 4),
    (re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3]+"), 10),
)
_MANY_TEXTS = 0.2


def warn_of_no_blanks(texts: Sequence[str]) -> None:
    """Warn where many texts are in a script without blanks between words, so that whole sentences would be counted."""
    n_such = sum(map(has_no_blanks, texts))
    if n_such and n_such >= _MANY_TEXTS * sum(map(bool, texts)):
        said = Message(
            f"{n_such:,} of the first {len(texts):,} texts are written without spaces between words (Chinese, "
            "Japanese, Thai or similar), so whole phrases are counted as words. Pass ",
            Argument("segmenter", "jieba"),
            " for Chinese, ",
            Argument("segmenter", "janome"),
            " for Japanese",
            PythonOnly(", or a function from a text to its words"),
            ".",
        )
        warn(said)


def has_no_blanks(text: str) -> bool:
    """Whether a text is mainly in a script without blanks between words, and has not been cut into words."""
    if text.isascii():
        return False
    beginning = text[:2000]
    for script, longest in _NO_BLANKS:
        runs = script.findall(beginning)
        size = sum(map(len, runs))
        if size > longest * len(runs) and 2 * size > sum(map(str.isalpha, beginning)):
            return True
    return False
