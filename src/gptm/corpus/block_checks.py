"""What the blocks of a corpus on disk may hold: sound arrays of the expected types, which go together."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gptm.corpus.block_files import COLUMN, COUNTS, ID, TEXT, WORDS, import_arrow
from gptm.corpus.block_manifest import damaged
from gptm.corpus.kinds import base_kind

_NESTED = ("links", "list", "vector")  # kinds of columns whose cells are lists


def check_table(path: Path, table: Any, kinds: Mapping[str, str]) -> None:
    """An error unless the arrays of a block are sound, of the expected types, and of the same lengths."""
    pa = import_arrow()
    table.validate(full=True)
    if len(set(table.schema.names)) < len(table.schema.names):
        raise damaged(path, "a column is there twice")
    for name in (WORDS, COUNTS):
        _check_lists(path, table, name)
    for name, kind in ((ID, "id"), (TEXT, "note"), *((COLUMN + n, k) for n, k in kinds.items())):
        if name in table.schema.names and not _fits_kind(pa, table.schema.field(name).type, kind):
            type_ = table.schema.field(name).type
            raise damaged(path, f"its column {name!r} of the kind {kind} is of the type {type_}")
    if ID in table.schema.names and table.column(ID).null_count:
        raise damaged(path, "some of its documents have no id")


def check_offsets(path: Path, words: Any, counts: Any) -> None:
    """An error unless each document has as many counts as words."""
    ours, theirs = words.offsets.to_numpy(), counts.offsets.to_numpy()
    sizes = {len(words.values), len(counts.values), int(ours[-1]) if len(ours) else 0}
    if len(sizes) > 1 or not np.array_equal(ours, theirs) or ours[:1].any():
        raise damaged(path, "documents have more words than counts, or fewer")


def _check_lists(path: Path, table: Any, name: str) -> None:
    pa = import_arrow()
    type_ = table.schema.field(name).type
    numbers = (pa.int32(),) if name == WORDS else (pa.int32(), pa.float64())
    if not pa.types.is_list(type_) or type_.value_type not in numbers:
        raise damaged(path, f"its column {name!r} is of the type {type_}")
    column = table.column(name)
    if column.null_count or any(chunk.values.null_count for chunk in column.chunks):
        raise damaged(path, f"its column {name!r} has missing values")


def _fits_kind(pa: Any, type_: Any, kind: str) -> bool:
    """Whether a column of a kind may be of a type of Arrow's."""
    t, base = pa.types, base_kind(kind)
    if base in _NESTED:
        if not t.is_list(type_):
            return False
        return bool((t.is_floating if base == "vector" else t.is_string)(type_.value_type))
    if base == "id":
        return bool(t.is_string(type_) or t.is_integer(type_) or t.is_dictionary(type_))
    text = t.is_string(type_) or (t.is_dictionary(type_) and t.is_string(type_.value_type))
    number = t.is_integer(type_) or t.is_floating(type_) or t.is_boolean(type_)
    return bool(text or number or t.is_timestamp(type_) or t.is_duration(type_))
