"""A safetensors file with a JSON header, read without believing it: sizes, types, nesting and checksums come first."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open

from gptm._basics.plain_json import parse_json
from gptm.storage.checksum import check_arrays, check_header, has_checksum

SCHEMA = 3
_CHECKED = 3  # the first schema whose files have checksums
# Types that we write. safetensors has more, which numpy does not know.
_TYPES = {"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"}
_MOST_AXES = 8


class Content(NamedTuple):
    """What was read."""

    header: dict[str, Any]
    tensors: dict[str, np.ndarray]  # those that were wanted
    shapes: dict[str, tuple[int, ...]]  # of all arrays in the file


def read_checked(path: str | os.PathLike[str], wanted: Callable[[str], bool]) -> Content:
    """The header of a file and the arrays whose names are wanted; a `ValueError` if it is damaged, or not ours."""
    name = os.fspath(path)
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {name}.")
    # The system says it best where a file may not be read, or is a folder.
    with Path(path).open("rb"):
        pass
    try:
        with safe_open(name, framework="numpy") as file:
            return _read(name, file, wanted)
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{name} is not a gptm model, or was cut short ({error}). Pass a file that gptm saved."
        ) from error


def _read(name: str, file: Any, wanted: Callable[[str], bool]) -> Content:
    text = (file.metadata() or {}).get("gptm")
    if text is None:
        raise ValueError(
            f"{name} is a safetensors file, but not a gptm model. Pass a file that gptm saved."
        )
    try:
        header = parse_json(text)
    except ValueError as error:
        raise ValueError(
            f"{name} is not a gptm model: its header is damaged ({error}). Pass a file that gptm saved."
        ) from error
    _check_schema(name, header)
    try:
        if header["schema"] >= _CHECKED or has_checksum(header):
            check_header(header)
        shapes = {key: _shape(key, file) for key in file.keys()}  # noqa: SIM118, it is no dictionary
        tensors = {key: file.get_tensor(key) for key in shapes if wanted(key)}
        if has_checksum(header):
            check_arrays(header, tensors, shapes)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{name} cannot be loaded: {error}") from error
    return Content(header, tensors, shapes)


def _shape(key: str, file: Any) -> tuple[int, ...]:
    """The shape of an array, whose type must be one that we write. Nothing is read yet."""
    about = file.get_slice(key)
    shape = tuple(about.get_shape())
    if about.get_dtype() not in _TYPES or len(shape) > _MOST_AXES:
        raise ValueError(
            f"its array {key!r} has the type {about.get_dtype()} and {len(shape)} axes, which gptm does not write. "
            "Pass a file that gptm saved."
        )
    return shape


def _check_schema(name: str, header: Any) -> None:
    schema = header.get("schema") if isinstance(header, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ValueError(f"{name} is not a gptm model: its header names no schema version.")
    if schema > SCHEMA:
        libraries = header.get("libraries")
        version = libraries.get("gptm") if isinstance(libraries, dict) else None
        raise ValueError(
            f"{name} was written with schema {schema} by gptm {version!r}; this version reads up to schema {SCHEMA}. "
            "Upgrade gptm."
        )
