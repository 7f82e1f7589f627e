"""What the manifest of a corpus on disk may say: values of the expected kinds, and no paths."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from gptm.corpus.saved_words import (
    check_saved_words,
    check_value,
    is_text,
    is_text_by_text,
    or_none,
)


def check_manifest(fields: Mapping[str, Any]) -> None:
    """An error unless the entries of a manifest are of the kinds that are written."""
    blocks = fields["blocks"]
    check_value("blocks", blocks, lambda value: isinstance(value, list), "a list of blocks")
    for entry in blocks:
        for name, (fits, expected) in _BLOCK.items():
            check_value(name, entry[name], fits, expected)
        # Each document has two offsets of four bytes, so that a manifest cannot ask for much memory.
        most = entry["bytes"] // 8
        check_value("documents", entry["documents"], _is_whole(most), f"{most} at most")
    for name, (fits, expected) in _MANIFEST.items():
        check_value(name, fields[name], fits, expected)
    if fields["words"] is not None:
        check_saved_words(fields["words"])


def _is_whole(most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and 0 <= value <= most


# A name and no path: a folder from a stranger must not lead to files elsewhere.
_FILE = re.compile(r"block-\d{6,9}\.arrow")
_BLOCK: dict[str, tuple[Callable[[Any], bool], str]] = {
    "file": (lambda value: is_text(value) and bool(_FILE.fullmatch(value)), "block-NNNNNN.arrow"),
    "documents": (_is_whole(2**31), "a number of documents"),
    "tokens": (_is_whole(2**63), "a number of tokens"),
    "bytes": (_is_whole(2**63), "a number of bytes"),
    "crc32": (_is_whole(2**32), "a checksum"),
}
_MANIFEST: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kinds": (is_text_by_text, "kinds by column"),
    "vocabulary": (or_none(is_text), "a hash, or nothing"),
    "n_words": (_is_whole(2**31 - 1), "a number of words"),
    "version": (is_text, "a version"),
}
