"""The manifest of a corpus on disk: which blocks there are, and what their documents have in common."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gptm._basics.errors import InputError
from gptm._basics.plain_json import parse_json
from gptm.corpus.manifest_checks import check_manifest

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
            check_manifest(fields)
            fields["blocks"] = tuple(BlockEntry(**entry) for entry in fields["blocks"])
            return cls(**fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise damaged(path, str(error)) from None


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
