"""From what the user passes as `kernel` to a kernel object."""

import logging
from typing import Any

import numpy as np
import pandas as pd
from sklearn.gaussian_process import kernels as gp

from gptm._basics.errors import Argument, ArgumentError, Message, Value
from gptm.corpus.metadata import (
    is_date,
    is_listed,
    is_number,
    level_names,
    link_lists,
    out_of_scale,
    vectors,
    without_blanks,
)
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

    Smooth for numbers and dates, by groups for other columns whose values repeat, along links for lists of
    known ids, linear for vectors.
    """
    if frame is None:
        return None
    found = [_usable_term(frame.iloc[:, position], frame) for position in range(frame.shape[1])]
    ids = {term.id: term.column for term in found if isinstance(term, Graph)}
    terms: list[Kernel] = []
    left_out = []
    for name, term in zip(frame.columns, found, strict=True):
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
    values = without_blanks(values)
    name, known = str(values.name), values.dropna()
    if (frame.columns == name).sum() > 1:
        return "another column has its name"
    if known.empty:
        return "all values missing"
    if any(map(is_listed, known)):
        return _sequence_term(values, frame)
    try:
        n_levels = known.nunique()
    except (
        TypeError,
        ValueError,
        NotImplementedError,
    ):  # as of dictionaries, in pandas or in Arrow
        return "neither numbers, dates nor names"
    if n_levels < 2:
        return "constant"
    categories = isinstance(values.dtype, pd.CategoricalDtype)  # whatever the names look like
    truths = pd.api.types.infer_dtype(known) == "boolean"  # also where some are missing
    by_name = categories or truths
    if not by_name and is_number(values):
        found = pd.to_numeric(known).to_numpy(dtype=np.float64)
        if np.isinf(found).any():
            return "infinite values"
        return (
            "its numbers are too large, or too close to each other"
            if out_of_scale(found)
            else Matern(name)
        )
    if not by_name and is_date(values):
        return Matern(name)
    if n_levels > len(known) / 2:
        return "its values hardly repeat"
    return Categorical(name)


def _sequence_term(values: pd.Series, frame: pd.DataFrame) -> Kernel | str:
    """The kernel for a column of lists: links if they hold ids of documents, else vectors."""
    name = str(values.name)
    try:
        lists = link_lists(values)
    except ValueError:
        return "its cells are neither lists of ids nor vectors"
    linked = {link for links in lists for link in links}
    if not linked:
        return "its lists are empty"
    try:
        points = vectors(values, name)
        is_vector = points.shape[1] > 1 and not np.isnan(points).any(1).all()
        if points.shape[1] > 1 and (points != np.round(points))[~np.isnan(points)].any():
            return Embedding(name) if is_vector else "each of its vectors misses a number"  # no ids
        if is_vector and any(len(set(one)) < len(one) for one in lists):
            return Embedding(name)  # as of zeros and ones; lists of ids hold each of them once
    except ValueError:
        is_vector = False
    reason = "its lists hold neither ids of documents nor vectors of one length"
    for column in (None, *(other for other in frame.columns if other != name)):
        names = frame.index.to_series() if column is None else frame[column]
        if isinstance(names, pd.DataFrame) or any(map(is_listed, names)):
            continue
        ids = level_names(names)
        known = linked & set(ids)
        if 2 * len(known) < len(linked):
            continue
        if len(set(ids)) < len(ids):
            where = "the table's index" if column is None else f"column {column!r}"
            reason = f"the ids that it links to, in {where}, repeat; make them all different"
            continue
        if any(known & set(links) - {own} for own, links in zip(ids, lists, strict=True)):
            return Graph(name, id=column)
    if is_vector:
        return Embedding(name)
    return reason
