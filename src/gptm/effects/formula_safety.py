"""What a formula may contain: columns, numbers, arithmetic and functions that are known. Anything else is never run.

formulaic evaluates parts of formulas as Python. A formula may come from a form on a page or from a file of settings, so
that such parts are looked at first.
"""

import ast
import re
from collections.abc import Container

import numpy as np

from gptm._basics.errors import ArgumentError

MOST_CROSSED = 5  # as in (a + b) ** 5; the work grows with that power of the number of terms
_SHOWN = 200  # characters of a formula in a message
_MOST_POWER = 100  # of numbers
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_STRUCTURE = (ast.Expression, ast.Name, ast.Load, ast.keyword, ast.Call, ast.Constant)
_OPERATIONS = (ast.Compare, ast.cmpop, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator)
_PLAIN = (*_STRUCTURE, *_OPERATIONS, ast.List, ast.Tuple)
_INSIDE = re.compile(r"\{[^{}]*\}|[\w.]+\([^()]*\)|`[^`]*`|\"[^\"]*\"|'[^']*'")
_ALL_COLUMNS = re.compile(r"(?<![\w.])\.(?![\w.])")
_POWER = re.compile(r"(?:\*\*|\^)[\s(]*(\d+)")


def check_terms(formula: str) -> None:
    """An error where interactions of very many terms are asked for, as in (a + b) ** 99, or all columns by a dot.

    Examples
    --------
    >>> from gptm.effects.formula_safety import check_terms
    >>> check_terms("~ (party + s(year)) ** 2 + I(year ** 30)")
    """
    outside, before = formula, ""
    while outside != before:
        outside, before = _INSIDE.sub("x", outside), outside
    if _ALL_COLUMNS.search(outside):
        raise ArgumentError("formula", "must name its columns, and . names none", formula)
    powers = [int(digits[:9]) for digits in _POWER.findall(outside)]
    if max(powers, default=0) > MOST_CROSSED:
        raise ArgumentError(
            "formula",
            f"may have interactions up to ** {MOST_CROSSED}",
            formula,
            "For a power of a column write I(column ** 6).",
        )


def parse_expression(code: str, functions: Container[str]) -> ast.Expression:
    """The tree of a part of a formula that is evaluated as Python; an error if it is more than arithmetic and calls."""
    try:
        tree = ast.parse(code, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refused(code) from None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    attributes = {node.func for node in calls if _is_known_attribute(node.func)}
    inside = {part.value for part in attributes if isinstance(part, ast.Attribute)}
    for node in ast.walk(tree):
        if node in attributes or node in inside:
            continue
        if not isinstance(node, _PLAIN) or (isinstance(node, ast.BinOp) and not _is_tame(node)):
            raise _refused(code)
        if isinstance(node, ast.Call) and not (
            node.func in attributes or isinstance(node.func, ast.Name)
        ):
            raise _refused(code)
        if isinstance(node, ast.Name) and node.id.startswith("__") and node.id not in functions:
            raise _refused(code)
    return tree


def _is_known_attribute(function: ast.expr) -> bool:
    """Whether a function is one of numpy's on numbers, such as np.log, or names contrasts, such as contr.sum."""
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return False
    if function.value.id == "np":
        return isinstance(getattr(np, function.attr, None), np.ufunc)
    return function.value.id == "contr" and not function.attr.startswith("_")


def _is_tame(node: ast.BinOp) -> bool:
    """Arithmetic with columns and numbers whose result is about as large as a column."""
    if not isinstance(node.op, _ARITHMETIC):
        return False
    sides = [node.left, node.right]
    if any(isinstance(part, ast.List | ast.Tuple) or _is_text(part) for part in sides):
        return False
    if not isinstance(node.op, ast.Pow):
        return True
    power = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    if not isinstance(power, ast.Constant) or not isinstance(power.value, int | float):
        return False
    return power.value <= _MOST_POWER and any(isinstance(n, ast.Name) for n in ast.walk(node.left))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, int | float)


def shortened(text: str) -> str:
    """The first characters of a text that may be very long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _refused(code: str) -> ArgumentError:
    return ArgumentError(
        "formula",
        "may have columns, numbers, arithmetic and functions such as log, I, C, poly, bs and s",
        shortened(code),
        "Compute anything else before, as a column of its own.",
    )
