"""Text from files on a terminal, which must show it and not obey it."""

import re

# Control characters but for line ends and tabs, and those that turn the direction of writing.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""A text with control characters written out, so that a terminal shows them.

    Examples
    --------
    >>> from gptm._basics.terminal import printable
    >>> print(printable("tea\x1b[2J"))
    tea\x1b[2J
    """
    return _COMMANDS.sub(lambda found: ascii(found[0])[1:-1], text)


def printable_json(text: str) -> str:
    r"""The same for JSON, which stays the same value.

    Examples
    --------
    >>> from gptm._basics.terminal import printable_json
    >>> print(printable_json('"tea\x9b2J"'))
    "tea\u009b2J"
    """
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
