"""Single cells, and columns of them, as typed values; what does not fit becomes missing and is noted."""

import ast
import json
import math
import re
from collections.abc import Callable, Container, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from gptm.corpus.metadata import as_name

MISSING = frozenset(["", "na", "n/a", "#n/a", "nan", "null", "none", "nat", "<na>"])
_CODE = re.compile(r"\s*[+-]?0\d")  # 007 is a name and no number
_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?(?:[eE][+-]?\d+)?")
# 1,234 may be a thousand and more; these cannot.
_SURELY_DECIMAL = re.compile(r"[+-]?(?:[\d.]+\.\d{3},\d+|0,\d+|\d{4,},\d+|\d+,(?!\d{3}$)\d+)")
_MOST = 0.95  # share of the cells that must be so


def is_missing(cell: Any) -> bool:
    """Whether a cell says nothing: empty, NA, null and their like."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return len(cell) <= 6 and cell.strip().lower() in MISSING
    if isinstance(cell, list | np.ndarray):
        return False
    return bool(cell != cell) or cell is pd.NaT  # NaN is unlike itself


def as_text(cell: Any) -> str:
    """A cell of a text column; a list is taken for its words."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, list | np.ndarray):
        return " ".join(as_text(one) for one in cell)
    return "" if is_missing(cell) else str(cell)


def as_number(cell: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(cell, str):
        if "_" in cell or _CODE.match(cell):
            return None
    elif isinstance(cell, bool | np.bool_) or not isinstance(cell, Real | Decimal):
        return None
    try:
        value = float(cell)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def as_comma_number(cell: Any) -> float | None:
    """A number with a comma before its decimals and dots between thousands, as in 1.234,5; else None."""
    if not isinstance(cell, str):
        return as_number(cell)
    text = cell.strip()
    if not _WITH_COMMA.fullmatch(text):
        return None
    return as_number(text.replace(".", "").replace(",", "."))


def has_decimal_commas(cells: Sequence[Any]) -> bool:
    """Whether nearly all cells are numbers with decimal commas, and one of them can be nothing else.

    Examples
    --------
    >>> has_decimal_commas(["268,01", "1.234,5", "7"]), has_decimal_commas(["1,234", "5,678"])
    (True, False)
    """
    known = [cell for cell in cells if not is_missing(cell)]
    if not any(isinstance(cell, str) and _SURELY_DECIMAL.fullmatch(cell.strip()) for cell in known):
        return False
    return sum(as_comma_number(cell) is not None for cell in known) >= _MOST * len(known)


def number_reader(cells: Sequence[Any], form: str) -> Callable[[Any], float | None]:
    """How the numbers of a column are read: as they are written there, and as told where that leaves a choice."""
    if has_decimal_commas(cells):
        return as_comma_number
    if form != "comma":
        return as_number
    points = any(as_comma_number(cell) is None and as_number(cell) is not None for cell in cells)
    commas = any(isinstance(cell, str) and "," in cell for cell in cells)
    return as_number if points and not commas else as_comma_number


def as_list(cell: Any) -> list[Any] | None:
    """A list as it is, or written as JSON or Python would; else None."""
    if isinstance(cell, list):
        return cell
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    if not isinstance(cell, str) or not (cell.lstrip()[:1] == "[" and cell.rstrip()[-1:] == "]"):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return value if isinstance(value, list) else None
    return None


def as_links(cell: Any, ids: Container[str] = ()) -> list[str]:
    """Ids in a cell: a list, one id, or ids between semicolons, bars, commas or blanks, in this order."""
    listed = as_list(cell)
    if listed is not None:
        return [as_name(one) for one in listed if not is_missing(one)]
    if not isinstance(cell, str):
        return [as_name(cell)]
    if cell in ids or cell.strip() in ids:
        return [cell if cell in ids else cell.strip()]
    for separator in (r"[;|]", r",", r"\s"):
        if re.search(separator, cell.strip()):
            parts = (part.strip() for part in re.split(separator, cell))
            return [_whole(part, ids) for part in parts if part]
    return [_whole(cell.strip(), ids)]


def _whole(link: str, ids: Container[str]) -> str:
    """The id 7 where a program with missing values wrote 7.0."""
    short = link.removesuffix(".0")
    return short if link not in ids and short in ids else link


def as_vector(cell: Any) -> np.ndarray | None:
    """A list of numbers as an array, or None."""
    listed = as_list(cell)
    if not listed or any(isinstance(one, str | bool) for one in listed[:2]):
        return None
    try:
        values = np.asarray(listed, dtype=np.float64)
    except (ValueError, TypeError):
        return None
    return values if values.ndim == 1 else None
