"""The term that one column of metadata would have in a kernel, or why it can have none."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from gptm.corpus.cells import is_listed, is_missing
from gptm.corpus.kinds import MAPPINGS, LinkTarget, base_kind, link_target
from gptm.corpus.metadata import level_names, link_lists, numbers, out_of_scale, vectors
from gptm.corpus.several_values import values_in
from gptm.kernels.categorical import Categorical
from gptm.kernels.embedding import Embedding
from gptm.kernels.graph import Graph
from gptm.kernels.kernel import Kernel
from gptm.kernels.smooth import Matern


def usable_term(values: pd.Series, frame: pd.DataFrame, kinds: Mapping[str, str]) -> Kernel | str:
    """The kernel for a column of a table, whose columns have these kinds; or why there is none."""
    name = str(values.name)
    if (frame.columns == name).sum() > 1:
        return "another column has its name"
    if all(map(is_missing, values)):
        return "all values missing"
    kind = base_kind(kinds[name])
    if kind in ("number", "date"):
        return _smooth_term(values, name)
    if kind == "category":
        return _group_term(values, name)
    if kind == "vector":
        return _vector_term(values, name)
    if kind == "links":
        return _link_term(values, frame, kinds)
    if kind == "list":
        return _tags_term(values, frame, kinds)
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


def _tags_term(values: pd.Series, frame: pd.DataFrame, kinds: Mapping[str, str]) -> Kernel | str:
    """Groups for lists of names, if the names repeat and are not meant as ids."""
    if any(is_listed(item) for cell in values if is_listed(cell) for item in _items(cell)):
        return "its cells are neither lists of ids nor vectors nor lists of names"
    lists = [values_in(cell) for cell in values]
    names = [name for listed in lists for name in listed]
    n_levels = len(set(names))
    if n_levels == 0:
        return "its lists are empty"
    target = _target(values, lists, frame, kinds)
    if target.repeats:
        return f"the ids that it links to, in {target.repeats}, repeat; make them all different"
    if n_levels > len(names) / 2:
        return "its lists hold neither ids of documents nor vectors, and their names hardly repeat"
    if len({frozenset(listed) for listed in lists if listed}) == 1:
        return "constant"
    return Categorical(str(values.name), multiple=True)


def _vector_term(values: pd.Series, name: str) -> Kernel | str:
    try:
        points = vectors(values, name)
    except ValueError:
        return "its vectors are not of one length, or their numbers are too large"
    if np.isnan(points).any(1).all():
        return "each of its vectors misses a number"
    return Embedding(name)


def _link_term(values: pd.Series, frame: pd.DataFrame, kinds: Mapping[str, str]) -> Kernel | str:
    """The kernel for links, if they lead to a column of ids or to the names of the rows."""
    lists = link_lists(values)
    if not any(lists):
        return "its lists are empty"
    target = _target(values, lists, frame, kinds)
    if target.is_there:
        return Graph(str(values.name), id=target.column)
    if target.repeats:
        return f"the ids that it links to, in {target.repeats}, repeat; make them all different"
    return "its lists hold no ids of documents"


def _target(
    values: pd.Series, lists: list[list[str]], frame: pd.DataFrame, kinds: Mapping[str, str]
) -> LinkTarget:
    table = {str(c): frame[c] for c in frame.columns if isinstance(frame[c], pd.Series)}
    first = next((n for n, kind in kinds.items() if kind == "id"), None)
    return link_target(str(values.name), lists, table, frame.index, first)


def _items(cell: Any) -> list[Any]:
    """The items of a cell of several values; an array without axes is one that cannot be read."""
    return list(cell) if np.ndim(cell) or not isinstance(cell, np.ndarray) else [[cell]]
