"""Parts of texts that are no words, and are taken out before words are counted: URLs, HTML, @names, e-mail addresses.

Every search here takes time in proportion to the text, whatever is in it: repeats are bounded, or end at a mark.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from gptm._basics.errors import ArgumentError, Message, PythonOnly

# What can be kept, and what it is called in a report: one, and several.
PARTS = {
    "urls": ("URL", "URLs"),
    "html": ("HTML tag or entity", "HTML tags and entities"),
    "emails": ("e-mail address", "e-mail addresses"),
    "mentions": ("@name", "@names"),
    "numbers": ("number or word with digits", "numbers and words with digits"),
}

_ELEMENTS = (
    "a abbr address area article aside audio b base big blockquote body br button canvas caption center cite code "
    "col colgroup data dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form "
    "frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main "
    "map mark menu meta meter nav noscript object ol optgroup option output p param picture pre progress q s samp "
    "script section select small source span strike strong style sub summary sup svg table tbody td template "
    "textarea tfoot th thead time title tr track tt u ul var video wbr"
)
# Only elements of HTML: <3, <Peter> and <ann@tea.org> are none.
_TAG = re.compile(rf"</?(?:{'|'.join(_ELEMENTS.split())})(?:[\s/][^<>]*)?>|<[!?][^<>]*>", re.I)
# Elements whose content nobody reads: where they begin, and where they end.
_HIDDEN = [
    (re.compile(rf"<{name}\b", re.I), re.compile(rf"</{name}\b[^<>]*>", re.I))
    for name in ("script", "style")
]
# &amp;lt; was escaped twice; &amp without its end is what a cut leaves.
_ENTITY = re.compile(
    r"&(?:amp;)*(#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,31});|&(amp|lt|gt|quot|nbsp)\b"
)
_ADDRESS = r"[^\s<>\"\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]"  # Chinese may follow without a blank
_URL = re.compile(
    rf"\b(?:https?|ftp)://?{_ADDRESS}*|\bwww\.{_ADDRESS}+|\bhttps?:?\u2026"
    # Without http, as in t.co/x: a name with a usual ending, and something behind a slash.
    r"|(?<![\w@.-])(?:[a-z\d-]{1,63}\.){1,4}(?:com|org|net|edu|gov|info|co|ly|gl|me|be|gd|am|tv|fm|it|tt|us|uk|de|eu|ca"
    rf"|to|cc|in|ie|ru|jp|cn|ch|at|nl|fr|es|pl|au)/{_ADDRESS}+",
    re.I,
)
_EMAIL = re.compile(r"(?<![\w.+@-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_DIGITS = re.compile(r"\d[\w.,]*")  # one for each 2017, 1,000.5 or covid19
_MENTION = re.compile(r"(?:\bRT\s{1,5})?(?<![\w@.])@\w{1,64}(?:@[\w.-]{1,253})?")


def checked_keep(value: Any) -> tuple[str, ...]:
    """The parts to keep, in the order of `PARTS`: names, as a list or between commas; "all" is all of them.

    Examples
    --------
    >>> checked_keep("numbers,urls"), checked_keep(["html"]), checked_keep(None)
    (('urls', 'numbers'), ('html',), ())
    """
    if value is None:
        return ()
    given = value.split(",") if isinstance(value, str) else value
    listed = list(given) if isinstance(given, Iterable) else [given]
    names = [part.strip().lower() if isinstance(part, str) else part for part in listed]
    if names == ["all"]:
        return tuple(PARTS)
    if not all(isinstance(name, str) and name in (*PARTS, "") for name in names):
        ways = PythonOnly(", as a list or between commas")
        expected = Message(f"must name what is kept, of {', '.join(PARTS)}, or 'all'", ways)
        raise ArgumentError("keep", expected, value)
    return tuple(name for name in PARTS if name in names)


class Cleaner:
    """Takes out of texts what is not kept, and counts it. Numbers it only counts: no word has them.

    Parameters
    ----------
    keep : tuple of str
        Names of `PARTS` that stay.

    Attributes
    ----------
    removed : Counter
        How many of each part were taken out so far.

    Examples
    --------
    >>> from gptm.corpus.cleaning import Cleaner
    >>> cleaner = Cleaner()
    >>> cleaner("RT @ann: tea &amp; <b>milk</b> https://t.co/x1 ann@tea.org").split()
    [':', 'tea', '&', 'milk']
    >>> dict(cleaner.removed)
    {'html': 3, 'urls': 1, 'mentions': 1, 'emails': 1}
    >>> cleaner("covid19 in 2020"), cleaner.removed["numbers"]
    ('covid19 in 2020', 2)
    """

    def __init__(self, keep: Iterable[str] = ()):
        self.removed: Counter[str] = Counter()
        self._away = frozenset(PARTS).difference(keep)

    def __call__(self, text: str) -> str:
        away = self._away
        if "html" in away and ("&" in text or "<" in text):
            text = self._without_html(text)
        # A bare name such as t.co/x has a slash, as all addresses have but www.tea.org.
        if "urls" in away and ("/" in text or "www." in text.lower() or "\u2026" in text):
            text = self._without("urls", _URL, text)
        if "@" in text:
            if "mentions" in away:  # first, since @ann@tea.org is one and ann@tea.org is not
                text = self._without("mentions", _MENTION, text)
            if "emails" in away:
                text = self._without("emails", _EMAIL, text)
        if "numbers" in away and (n := len(_DIGITS.findall(text))):
            self.removed["numbers"] += n  # the pattern of words, without digits, leaves them out
        return text

    def _without(self, part: str, pattern: re.Pattern[str], text: str) -> str:
        text, n = pattern.subn(" ", text)
        if n:
            self.removed[part] += n
        return text

    def _without_html(self, text: str) -> str:
        if "&" in text:  # first, since &lt;b&gt; is how feeds write a tag
            text, n = _ENTITY.subn(_character, text)
            if n:
                self.removed["html"] += n
        if "<" in text:
            for begin, end in _HIDDEN:
                text = self._without_content(text, begin, end)
            text = self._without("html", _TAG, text)
        return text

    def _without_content(self, text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> str:
        """The text without what is between two marks; one that is not closed stays."""
        parts: list[str] = []
        start = 0
        while (opened := begin.search(text, start)) and (closed := end.search(text, opened.end())):
            parts.append(text[start : opened.start()])
            start = closed.end()
            self.removed["html"] += 1
        return " ".join([*parts, text[start:]]) if parts else text


def _character(match: re.Match[str]) -> str:
    """What an entity stands for; itself where it is none."""
    name = match[1] or match[2]
    character = html.unescape(f"&{name};")
    return match[0] if character == f"&{name};" else character
