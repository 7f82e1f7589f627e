"""Settings of a kernel's columns that users ask about."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from gptm._warnings import warn
from gptm.kernels import BoundKernel
from gptm.metadata import as_frame

_MOST_NAMED = 10  # levels in a message


def read_settings(
    bound: BoundKernel, given: Any, name: str, beside: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Values of a term's columns as a table, from what users gave as the argument `name`.

    Beside other settings there is one row or as many as these have, and columns may be left out: they are as there.
    """
    columns = bound.kernel.column_names()
    if not columns:
        raise ValueError(
            f"{bound.kernel!r} reads no column, so {name}= says nothing to it; its effect is shown per document."
        )
    named = ", ".join(map(repr, columns))
    if hasattr(given, "columns"):  # a DataFrame of pandas or polars
        frame = as_frame(given, len(given))
        assert frame is not None
        found = frame.reset_index(
            drop=True
        )  # other columns may be of use to whoever reads the answer
    elif isinstance(given, Mapping):
        unknown = [key for key in given if key not in columns]
        if unknown:
            raise ValueError(
                f"{name}= must name columns that {bound.kernel!r} reads: {named}; got {', '.join(map(repr, unknown))}. "
                "Ask about one term at a time."
            )
        rows = {key: _listed(value) for key, value in given.items()}
        lengths = {len(value) for value in rows.values()} - {1} or {1}
        if not rows or len(lengths) > 1:
            raise ValueError(
                f"{name}= must hold values of the columns {named}, the same number of each or one; got {given!r}."
            )
        n = lengths.pop()
        found = pd.DataFrame({key: value * (n // len(value)) for key, value in rows.items()})
    elif len(columns) > 1:
        raise ValueError(
            f"{bound.kernel!r} reads the columns {named}; give {name}= as a dict or a DataFrame with all of them."
        )
    else:
        found = pd.DataFrame({columns[0]: _listed(given)})
    return found if beside is None else _completed(found, beside)


def _completed(other: pd.DataFrame, settings: pd.DataFrame) -> pd.DataFrame:
    """With the settings' values in columns that were left out, row by row."""
    if len(other) not in (1, len(settings)):
        raise ValueError(
            f"versus must be one setting, or as many as at= has, which is {len(settings)}; got {len(other)}."
        )
    missing = [name for name in settings if name not in other]
    if not missing:
        return other
    rows = np.zeros(len(settings), dtype=int) if len(other) == 1 else np.arange(len(settings))
    repeated = other.iloc[rows].reset_index(drop=True)
    return repeated.assign(**{str(name): settings[name] for name in missing})


def tell_unseen(bound: BoundKernel, asked: pd.DataFrame) -> None:
    """Warn of levels of a category that no training document has: a typing error gets numbers too."""
    known = bound.settings(1)
    if known is None:
        return
    for name in known:
        if known[name].dtype.kind in "ifuM" or name not in asked:
            continue
        levels = known[name].tolist()
        unseen = [one for one in asked[name].dropna().unique() if one not in levels]
        if unseen:
            more = ", ..." if len(levels) > _MOST_NAMED else ""
            warn(
                f"{name} {', '.join(map(repr, unseen[:_MOST_NAMED]))} was never seen in training, so that the numbers "
                f"are those of any new one; known are {', '.join(map(repr, levels[:_MOST_NAMED]))}{more}."
            )


def _listed(value: Any) -> list[Any]:
    """One value, or those of anything that holds several."""
    return list(value) if pd.api.types.is_list_like(value) else [value]
