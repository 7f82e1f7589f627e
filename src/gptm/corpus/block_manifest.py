"""The manifest of a corpus on disk: which blocks there are, what their documents have in common, and no paths."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gptm._basics.errors import InputError
from gptm._basics.plain_json import parse_json
from gptm.corpus.saved_words import (
    check_saved_words,
    check_value,
    is_text,
    is_text_by_text,
    or_none,
)

MANIFEST, VOCABULARY, FORMAT = "corpus.json", "vocabulary.json", 1


@dataclass(frozen=True)
class BlockEntry:
    """What the manifest says of a block."""

    file: str
    documents: int
    tokens: int
    bytes: int
    crc32: int


@dataclass(frozen=True)
class Manifest:
    """What there is in a folder of blocks."""

    blocks: tuple[BlockEntry, ...]
    kinds: Mapping[str, str]  # of the columns of the metadata, in their order
    words: Mapping[str, Any] | None  # settings by which texts became counts
    vocabulary: str | None  # digest of its words, None where they have no names
    n_words: int
    version: str  # of gptm that wrote it

    def to_json(self) -> str:
        """The manifest as text."""
        return json.dumps({"gptm corpus": FORMAT} | asdict(self), indent=1, ensure_ascii=False)

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """The manifest of a folder, or an error that says what is wrong."""
        path = folder / MANIFEST
        if not path.is_file():
            raise InputError(
                f"{folder} is not a corpus on disk: it has no {MANIFEST}, which is written last. Write the corpus "
                "with 'gptm corpus FILE -o DIR' or Corpus.to_blocks."
            )
        try:
            fields = parse_json(path.read_text(encoding="utf-8"))
            form = fields.pop("gptm corpus")
            if form != FORMAT:
                raise InputError(
                    f"{path} is of form {form!r}, and this version of gptm reads form {FORMAT}. Write the corpus again."
                )
            _check_manifest(fields)
            fields["blocks"] = tuple(BlockEntry(**entry) for entry in fields["blocks"])
            return cls(**fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise damaged(path, str(error)) from None


def _check_manifest(fields: Mapping[str, Any]) -> None:
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


def vocabulary_digest(vocabulary: np.ndarray | None) -> str | None:
    """A hash of the words, in their order."""
    if vocabulary is None:
        return None
    return hashlib.sha256(json.dumps(list(vocabulary)).encode()).hexdigest()


def damaged(path: Path, why: str) -> InputError:
    """The error for a file of a corpus that is not what was written."""
    why = " ".join(why.split())
    return InputError(
        f"{path} is not what was written ({why}). Copy the folder again, or write the corpus again with 'gptm corpus' "
        "or Corpus.to_blocks."
    )
