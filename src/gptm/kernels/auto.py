"""From what the user passes as `kernel` to a kernel object."""

import logging
from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
from sklearn.gaussian_process import kernels as gp

from gptm._basics.errors import Argument, ArgumentError, Message, Value
from gptm.corpus.corpus import Corpus
from gptm.corpus.metadata import as_frame
from gptm.kernels.auto_choice import ColumnChoice, choose_terms
from gptm.kernels.description import short
from gptm.kernels.function import Function, is_function
from gptm.kernels.kernel import Kernel, Sum
from gptm.kernels.precomputed import Precomputed
from gptm.views.shown_table import ShownTable

logger = logging.getLogger("gptm")
_NAMED = 5  # columns that are named with a reason; more are counted


def _for_text(kernel: str, frame: pd.DataFrame | None) -> str:
    """What to pass instead of a text."""
    if frame is not None and kernel in frame:
        return (
            f"For this column pass kernels.Matern({kernel!r}) if it has numbers or dates, and "
            f"kernels.Categorical({kernel!r}) if it has names."
        )
    if kernel.lstrip().startswith("~"):
        return (
            "Instead of a formula of R, add kernels: ~ party + s(day) is kernels.Categorical('party') + "
            "kernels.Matern('day')."
        )
    return f"A formula is read by gptm.kernels.formula.parse_kernel({kernel!r})."


def is_automatic(kernel: Any) -> TypeGuard[str]:
    """Whether a model's `kernel` argument leaves the choice to us: "auto", or "auto+" for all usable columns."""
    return isinstance(kernel, str) and kernel in ("auto", "auto+")


def resolve_kernel(
    kernel: Any, frame: pd.DataFrame | None, *, in_blocks: bool = False
) -> Kernel | None:
    """The kernel that a model's `kernel` argument means; None for no GP term.

    An automatic one that is fitted `in_blocks` has no links.
    """
    if kernel is None or isinstance(kernel, Kernel):
        return kernel
    if is_automatic(kernel):
        return auto_kernel(frame, every=kernel == "auto+", in_blocks=in_blocks)
    if isinstance(kernel, gp.Kernel):
        raise ArgumentError(
            "kernel",
            "must say which metadata columns it reads",
            Message("a kernel of scikit-learn"),
            "Wrap it, for example gptm.kernels.OnColumns(kernel, 'date').",
        )
    if isinstance(kernel, np.ndarray | pd.DataFrame):
        return Precomputed(kernel)
    if is_function(kernel):
        return Function(kernel)
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        name = kernel.__name__
        got, remedy = Message(f"the class {name}"), f"Make one, as in {name}(...)."
        raise ArgumentError("kernel", "must be a kernel of gptm.kernels", got, remedy)
    hint = ""
    if isinstance(kernel, list | tuple):
        hint = "Pass a matrix as np.array(rows), and a sum of several kernels as sum(kernels)."
    if isinstance(kernel, str):
        hint = _for_text(kernel, frame)
    raise ArgumentError(
        "kernel",
        "must be a kernel of gptm.kernels, a square array, 'auto', 'auto+' or None",
        Message(f"{short(kernel)} of type {type(kernel).__name__}"),
        hint,
    )


def auto_kernel(
    frame: pd.DataFrame | None, *, every: bool = False, in_blocks: bool = False
) -> Kernel | None:
    """A few terms for the columns that stand out, or one for `every` usable column; None without any.

    The choice is announced. What a column holds is its kind (`gptm.corpus.kinds`): smooth terms for numbers and dates,
    groups for categories and lists of names, a graph for links, a linear term for vectors.
    """
    if frame is None:
        return None
    choices = choose_terms(frame, every=every, in_blocks=in_blocks)
    terms = [choice.term for choice in choices if choice.used and choice.term is not None]
    kernel = None if not terms else terms[0] if len(terms) == 1 else Sum(*terms)
    # The level that is shown without any set-up.
    logger.warning(_announcement("auto+" if every else "auto", kernel, choices))
    return kernel


def auto_table(metadata: Any) -> pd.DataFrame:
    """What `kernel="auto"` makes of each column of a table, and why.

    Parameters
    ----------
    metadata : DataFrame, dict of columns, or Corpus

    Returns
    -------
    DataFrame
        One row per column of the metadata, with its `kind`, the `term` that it could have (empty where there is none),
        whether it is `used`, and the `reason` if not.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> tweets = {"year": [2019, 2020, 2021] * 4, "likes": [3, 0, 12] * 4, "lang": ["en"] * 12}
    >>> table = k.auto_table(tweets).set_index("column")
    >>> table.loc["year", "term"], table["used"].tolist()
    ("Matern('year')", [True, False, False])
    >>> table["reason"].tolist()
    ['', 'engagement counts, which follow from the text', 'constant']
    """
    given = metadata.metadata if isinstance(metadata, Corpus) else metadata
    if given is None:  # a corpus without metadata
        given = {}
    if not (hasattr(given, "columns") or isinstance(given, Mapping)):
        raise ArgumentError(
            "metadata", "must be a DataFrame, a dict of columns, or a Corpus", metadata
        )
    first = given if hasattr(given, "columns") else next(iter(given.values()), ())
    n = len(first) if hasattr(first, "__len__") else 1
    frame = as_frame(given, n)
    assert frame is not None
    rows = [
        {
            "column": choice.column,
            "kind": choice.kind,
            "term": "" if choice.term is None else repr(choice.term),
            "used": choice.used,
            "reason": choice.reason,
        }
        for choice in choose_terms(frame)
    ]
    return ShownTable(rows, columns=["column", "kind", "term", "used", "reason"])


def _announcement(name: str, kernel: Kernel | None, choices: list[ColumnChoice]) -> Message:
    """The kernel, and the columns that it does not use, by reason; on one line if one will do."""
    by_reason: dict[str, list[str]] = {}
    for choice in choices:
        if not choice.used:
            by_reason.setdefault(choice.reason, []).append(repr(choice.column))
    groups = [f"{_listed(names)} ({reason})" for reason, names in by_reason.items()]
    apart = "\n  " if len(groups) > 1 else " "
    unused = f"; not used:{apart}{apart.join(groups)}" if groups else ""
    said = Message(Argument("kernel", name), " means ", Value("kernel", kernel), unused)
    if not any(choice.term is not None and not choice.used for choice in choices):
        return said
    end = "\n" if len(groups) > 1 else ". "
    return Message(said, f"{end}For all usable columns pass ", Argument("kernel", "auto+"), ".")


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    if more <= 1:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {more:,} more"
