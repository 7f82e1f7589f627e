"""Formulas such as "~ party * s(year)": which columns they read, and what they give."""

import ast
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula, ModelSpec, SimpleFormula
from formulaic.errors import FormulaicError
from formulaic.transforms import TRANSFORMS
from formulaic.transforms.basis_spline import basis_spline
from formulaic.utils.stateful_transforms import stateful_transform

from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.prose import listed
from gptm._basics.types import Array
from gptm.effects.formula_safety import check_terms, parse_expression, shortened

MOST_DF = 10  # columns of s(x), as in R's stm
_DEGREE = 3
_MOST_NAMED = 10  # levels in a message


@stateful_transform
def s(x: Any, df: int | None = None, _state: dict[str, Any] = {}) -> Any:  # noqa: B006
    """A smooth curve: cubic B-splines with knots at quantiles, which predictions remember.

    `df` is the number of columns: by default 10, or one less than there are distinct values.
    """
    try:
        values = np.asarray(x, dtype=np.float64)
    except ValueError:
        first = next(iter(x))
        raise ValueError(f"s() needs numbers or dates; the values are such as {first!r}") from None
    if "inner" not in _state:
        distinct = len(np.unique(values))
        columns = min(MOST_DF, distinct - 1) if df is None else int(df)
        if columns < 1:
            raise ValueError(f"the df of s() must be at least 1; got {columns}")
        if columns >= max(distinct, 2):
            raise ValueError(
                f"s() makes a curve of {columns} columns, which needs at least {columns + 1} distinct values; there "
                f"are {distinct}"
            )
        _state["degree"] = min(_DEGREE, columns)
        places = np.linspace(0.0, 1.0, columns - _state["degree"] + 2)[1:-1]
        inner = np.unique(np.quantile(values, places))
        _state["inner"] = inner[(inner > values.min()) & (inner < values.max())].tolist()
        _state["splines"] = {}
    return basis_spline.__wrapped__(
        values,
        knots=_state["inner"],
        degree=_state["degree"],
        extrapolation="extend",
        _state=_state["splines"],
    )


_CONTEXT = {"s": s}
_WITHOUT_TABLE = Message(
    "Pass ", Argument("metadata", ...), ", a table with one row for each document."
)
# Q("column") is left to backticks, which say the same and can be looked into.
_FUNCTIONS = frozenset(name for name in {*TRANSFORMS, *_CONTEXT} if name != "Q")


def formula_columns(formula: Any, frame: pd.DataFrame | None) -> list[str]:
    """Columns of the metadata that a formula reads."""
    return column_names(parse_formula(formula)[0], pd.DataFrame() if frame is None else frame)


def parse_formula(formula: Any) -> tuple[SimpleFormula, str]:
    remedy = 'For example "~ party + s(year)": a column as it is, and one as a smooth curve.'
    if not isinstance(formula, str):
        raise ArgumentError("formula", "must be a text", formula, remedy)
    if not formula.strip(" ~"):
        raise ArgumentError("formula", "must name a column of the metadata", formula, remedy)
    check_terms(formula)
    try:
        parsed = Formula(formula)
    except (FormulaicError, SyntaxError, RecursionError) as error:
        raise ArgumentError(
            "formula", f"cannot be read: {_plain(error)}", shortened(formula), remedy
        ) from None
    if not isinstance(parsed, SimpleFormula):
        raise ArgumentError(
            "formula",
            "must have nothing to the left of ~, where the topics' shares are, and no |",
            formula,
            remedy,
        )
    return parsed, formula.strip()


def column_names(parsed: SimpleFormula, frame: pd.DataFrame) -> list[str]:
    columns = [str(name) for name in frame.columns]
    needed, called = _names(parsed)
    unknown = sorted({*needed - {*columns, *_FUNCTIONS}, *called - _FUNCTIONS})
    if unknown:
        raise ArgumentError(
            "formula",
            f"must name columns of the metadata: {some_of(columns) or 'there are none'}",
            Message(some_of(unknown)),
            "Put a name with spaces between backticks." if columns else _WITHOUT_TABLE,
        )
    twice = [name for name in columns if name in needed and columns.count(name) > 1]
    if twice:
        raise InputError(f"the metadata have two columns {twice[0]!r}. Rename one of them.")
    return [name for name in columns if name in needed]


def _names(parsed: SimpleFormula) -> tuple[set[str], set[str]]:
    """Names of columns, and of functions: formulaic does not find columns inside all of its functions."""
    needed, called = set(), set()
    for factor in {factor for term in parsed for factor in term.factors}:
        if factor.eval_method.value == "lookup":
            needed.add(str(factor.expr))
        elif factor.eval_method.value == "python":
            quoted = {
                f"_quoted{i}": name for i, name in enumerate(re.findall("`(.*?)`", factor.expr))
            }
            code = factor.expr
            for stand_in, name in quoted.items():
                code = code.replace(f"`{name}`", stand_in)
            tree = parse_expression(code, _FUNCTIONS)
            calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
            called |= {function.id for function in calls if isinstance(function, ast.Name)}
            names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
            needed |= {quoted.get(node.id, node.id) for node in names if node not in calls}
    return needed, called


def evaluate(
    source: SimpleFormula | ModelSpec, frame: pd.DataFrame, formula: str
) -> tuple[ModelSpec, Array]:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # what is not finite is an error below
            matrix = source.get_model_matrix(
                frame, context=_CONTEXT, output="pandas", na_action="ignore"
            )
    except Exception as error:  # whatever a function of the formula raises
        raise ArgumentError("formula", f"cannot be evaluated: {_plain(error)}", formula) from error
    X = matrix.to_numpy(dtype=np.float64)
    odd = ~np.isfinite(X)
    if odd.any():
        names = [repr(str(name)) for name in matrix.columns[odd.any(0)]]
        raise ArgumentError(
            "formula",
            f"must give finite numbers; {listed(names)} is not finite for {odd.any(1).sum():,} of {len(X):,} documents",
            formula,
            "For example, the logarithm of zero is not finite.",
        )
    return matrix.model_spec, X


def _plain(error: Exception) -> str:
    """A message of formulaic's in one line, without its colours."""
    text = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error))
    text = re.sub(
        r"^Unable to evaluate factor `(.*?)`\. \[\w+: (.*)\]$", r"\1: \2", text.strip(), flags=re.S
    )
    return shortened(" ".join(text.split()).rstrip(".")) or type(error).__name__


def some_of(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:_MOST_NAMED])) + (
        ", ..." if len(values) > _MOST_NAMED else ""
    )
