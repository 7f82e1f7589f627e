"""Names of metadata columns, as kernels take them."""

from collections.abc import Sequence, Sized
from typing import Any

from gptm.kernels.description import short


def checked_column(kind: str, column: Any, example: str, remedy: str = "") -> str:
    """The name of a column; `example` is one for messages, as it is written in a call of the kernel `kind`.

    Examples
    --------
    >>> checked_column("Embedding", [[0.1, 0.2]] * 20, "'vector'")
    Traceback (most recent call last):
    ValueError: Embedding expects a column name, for example Embedding('vector'); got <20 values>. Put the values into \
the metadata, as in fit(X, metadata={'vector': values}), and name their column.
    """
    if not isinstance(column, str):
        expects = f"{kind} expects a column name, for example {kind}({example})"
        remedy = remedy or _remedy(column, example)
        raise ValueError(f"{expects}; got {short(column)}.{remedy}")
    return column


def checked_columns(kind: str, columns: Sequence[Any], example: str = "'date'") -> tuple[str, ...]:
    """The names of one or more columns, for messages as in `checked_column`."""
    odd = [name for name in columns if not isinstance(name, str)]
    if odd or not columns:
        expects = f"{kind} expects one or more column names, for example {kind}({example})"
        got, remedy = (short(odd[0]), _remedy(odd[0], example)) if odd else ("none", "")
        raise ValueError(f"{expects}; got {got}.{remedy}")
    return tuple(columns)


def _remedy(column: Any, example: str) -> str:
    """What to do about values, or a list of names, in the place of a name."""
    if isinstance(column, list | tuple) and all(isinstance(name, str) for name in column):
        return f" Write each name by itself: {', '.join(map(repr, column))}." if column else ""
    if not isinstance(column, Sized):
        return ""
    name = example.split("'")[1]
    return f" Put the values into the metadata, as in fit(X, metadata={{'{name}': values}}), and name their column."
