"""From what the user passes as `kernel` to a kernel object."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.gaussian_process import kernels as gp

from gptm._basics.errors import Argument, ArgumentError, Message, Value
from gptm.corpus.cells import is_listed, is_missing
from gptm.corpus.kinds import MAPPINGS, base_kind, kinds_of, link_target
from gptm.corpus.metadata import level_names, link_lists, numbers, out_of_scale, vectors
from gptm.corpus.typed_columns import typed_frame
from gptm.kernels.categorical import Categorical
from gptm.kernels.description import short
from gptm.kernels.function import Function, is_function
from gptm.kernels.graph import Graph
from gptm.kernels.kernel import Kernel, Sum
from gptm.kernels.linear import Embedding
from gptm.kernels.precomputed import Precomputed
from gptm.kernels.smooth import Matern

logger = logging.getLogger("gptm")


def resolve_kernel(kernel: Any, frame: pd.DataFrame | None) -> Kernel | None:
    """The kernel that a model's `kernel` argument means; None for no GP term."""
    if kernel is None or isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel == "auto":
        return auto_kernel(frame)
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
        hint = f"A formula is read by gptm.kernels.formula.parse_kernel({kernel!r})."
    raise ArgumentError(
        "kernel",
        "must be a kernel of gptm.kernels, a square array, 'auto' or None",
        Message(f"{short(kernel)} of type {type(kernel).__name__}"),
        hint,
    )


def auto_kernel(frame: pd.DataFrame | None) -> Kernel | None:
    """One term per usable column, announced in one line; None without any.

    What a column holds is its kind (`gptm.corpus.kinds`): smooth terms for numbers and dates, groups for categories,
    a graph for links, a linear term for vectors.
    """
    if frame is None:
        return None
    frame = typed_frame(frame)
    candidates = [_usable_term(frame.iloc[:, i], frame) for i in range(frame.shape[1])]
    ids = {term.id: term.column for term in candidates if isinstance(term, Graph)}
    terms: list[Kernel] = []
    left_out = []
    for name, term in zip(frame.columns, candidates, strict=True):
        if name in ids:
            left_out.append(f"{name!r} (but for the ids that {ids[name]!r} links to)")
        elif isinstance(term, Kernel):
            terms.append(term)
        else:
            left_out.append(f"{name!r} ({term})")
    kernel = None if not terms else terms[0] if len(terms) == 1 else Sum(*terms)
    unused = f"; not used: {', '.join(left_out)}" if left_out else ""
    announcement = Message(Argument("kernel", "auto"), " means ", Value("kernel", kernel), unused)
    logger.warning(announcement)  # the level that is shown without any set-up
    return kernel


def _usable_term(values: pd.Series, frame: pd.DataFrame) -> Kernel | str:
    """The kernel for a column, or why there is none."""
    name = str(values.name)
    if (frame.columns == name).sum() > 1:
        return "another column has its name"
    if all(map(is_missing, values)):
        return "all values missing"
    kind = base_kind(kinds_of(frame)[name])
    if kind in ("number", "date"):
        return _smooth_term(values, name)
    if kind == "category":
        return _group_term(values, name)
    if kind == "vector":
        return _vector_term(values, name)
    if kind in ("links", "list"):
        return _link_term(values, frame)
    if any(isinstance(cell, Mapping) for cell in values):
        return MAPPINGS
    return "the ids of the documents" if kind == "id" else "its values hardly repeat"


def _smooth_term(values: pd.Series, name: str) -> Kernel | str:
    present = values.dropna()
    if pd.api.types.is_float_dtype(values) and np.isinf(present.to_numpy(dtype=np.float64)).any():
        return "infinite values"
    if present.nunique() < 2:
        return "constant"
    if out_of_scale(numbers(values, name)):
        return "its numbers are too large, or too close to each other"
    return Matern(name)


def _group_term(values: pd.Series, name: str) -> Kernel | str:
    levels = [level for level in level_names(values) if level is not None]
    n_levels = len(set(levels))
    if n_levels < 2:
        return "constant"
    return "its values hardly repeat" if n_levels > len(levels) / 2 else Categorical(name)


def _vector_term(values: pd.Series, name: str) -> Kernel | str:
    try:
        points = vectors(values, name)
    except ValueError:
        return "its vectors are not of one length, or their numbers are too large"
    if np.isnan(points).any(1).all():
        return "each of its vectors misses a number"
    return Embedding(name)


def _link_term(values: pd.Series, frame: pd.DataFrame) -> Kernel | str:
    """The kernel for links, if they lead to a column of ids or to the names of the rows."""
    name = str(values.name)
    if any(is_listed(item) for cell in values if is_listed(cell) for item in _items(cell)):
        return "its cells are neither lists of ids nor vectors"
    lists = link_lists(values)
    if not any(lists):
        return "its lists are empty"
    table = {str(c): frame[c] for c in frame.columns if isinstance(frame[c], pd.Series)}
    first = next((n for n, kind in kinds_of(frame).items() if kind == "id"), None)
    target = link_target(name, lists, table, frame.index, first)
    if target.is_there:
        return Graph(name, id=target.column)
    if target.repeats:
        return f"the ids that it links to, in {target.repeats}, repeat; make them all different"
    return "its lists hold neither ids of documents nor vectors of one length"


def _items(cell: Any) -> list[Any]:
    """The items of a cell of several values; an array without axes is one that cannot be read."""
    return list(cell) if np.ndim(cell) or not isinstance(cell, np.ndarray) else [[cell]]
