"""Single cells of tables: which of them are missing, and which hold a number, a list or a vector."""

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

# How an empty cell is written, in any case and with blanks around it.
MISSING = frozenset(["", "na", "n/a", "#n/a", "nan", "null", "none", "nat", "<na>"])
_CODE = re.compile(r"\s*[+-]?0\d")  # 007 is a name and no number
_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?(?:[eE][+-]?\d+)?")
# 1,234 may be a thousand and more; these cannot.
_SURELY_DECIMAL = re.compile(r"[+-]?(?:[\d.]+\.\d{3},\d+|0,\d+|\d{4,},\d+|\d+,(?!\d{3}$)\d+)")
_NO_COMMA = re.compile(r"""['"]\s+['"]""")  # as numpy prints arrays; Python would join the strings
_MOST = 0.95  # share of the cells that must be so


def is_missing(cell: Any) -> bool:
    """Whether a cell is missing: empty or blank, NA, NaN, null, None and their like; a list never is.

    Examples
    --------
    >>> from gptm.corpus.cells import is_missing
    >>> [is_missing(cell) for cell in (None, float("nan"), " n/a ", "naan", [])]
    [True, True, True, False, False]
    """
    if isinstance(cell, str):
        return cell.isspace() or (len(cell) <= 10 and cell.strip().lower() in MISSING)
    if isinstance(cell, int):
        return False
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return True
    if np.ndim(cell) or isinstance(cell, set | frozenset | Mapping):
        return False
    try:
        return bool(cell != cell)  # NaN is unlike itself
    except (TypeError, ValueError):
        return False


def is_listed(cell: Any) -> bool:
    """Whether a cell holds several values: a list, a set, an array and the like."""
    return not isinstance(cell, str | bytes | Mapping) and isinstance(cell, Iterable)


def as_name(cell: Any) -> str:
    """One id or category as text; 3 and 3.0 are the same."""
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return str(int(cell)) if whole else str(cell)


def as_text(cell: Any) -> str:
    """A cell of a text column; a list is taken for its words."""
    if isinstance(cell, str):
        return cell
    if np.ndim(cell):
        return " ".join(as_text(item) for item in cell)
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
    present = [cell for cell in cells if not is_missing(cell)]
    if not any(
        isinstance(cell, str) and _SURELY_DECIMAL.fullmatch(cell.strip()) for cell in present
    ):
        return False
    return sum(as_comma_number(cell) is not None for cell in present) >= _MOST * len(present)


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
    if isinstance(cell, set | frozenset):
        return sorted(cell, key=str)  # the same order in every process
    if isinstance(cell, np.ndarray):
        return cell.tolist() if cell.ndim else None
    if is_listed(cell):
        return list(cell)
    if not isinstance(cell, str) or not (cell.lstrip()[:1] == "[" and cell.rstrip()[-1:] == "]"):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        joined = parse is ast.literal_eval and _NO_COMMA.search(cell)
        return value if isinstance(value, list) and not joined else None
    return None


def as_vector(cell: Any) -> np.ndarray | None:
    """A list of numbers as an array, or None."""
    listed = as_list(cell)
    if not listed or any(isinstance(item, str | bool) for item in listed[:2]):
        return None
    try:
        values = np.asarray(listed, dtype=np.float64)
    except (ValueError, TypeError):
        return None
    return values if values.ndim == 1 else None
