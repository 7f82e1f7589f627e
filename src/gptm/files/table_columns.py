"""The columns of a file, as they are printed and named in messages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from gptm._basics.errors import Argument, ArgumentError, InputError
from gptm.corpus.kinds import ColumnKind

_LONGEST_SHOWN = 40  # characters of a name
_WIDE = 30  # columns of a table that is not printed in full
_FEW = 5  # columns in a row that are printed one by one even there


def shown(name: str) -> str:
    """A name as it is printed: on one line, and not longer than one can take in.

    Examples
    --------
    >>> shown("Dear Sir or Madam, I write to you about the tea that we ordered")
    'Dear Sir or Madam, I write to you abo...'
    """
    line = " ".join(str(name).split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 3]}..."


class Columns(Sequence[ColumnKind]):
    """What the columns of a file hold; prints as a table.

    Examples
    --------
    >>> from gptm.files import ColumnKind, Columns
    >>> body = ColumnKind("body", "text", "the longest strings")
    >>> columns = Columns([body, ColumnKind("year", "number", "all numbers")])
    >>> print(columns)
    column  kind    why
    body    text    the longest strings
    year    number  all numbers
    >>> columns.kinds
    {'body': 'text', 'year': 'number'}
    """

    def __init__(self, columns: Sequence[ColumnKind], format: str = ""):
        self._columns = tuple(columns)
        self.format = format

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, str):
            return next(column for column in self._columns if column.name == position)
        return self._columns[position]

    def __iter__(self) -> Iterator[ColumnKind]:
        return iter(self._columns)

    @property
    def kinds(self) -> dict[str, str]:
        """Kind by column; pass it as `kinds` to read other files in the same way."""
        return {column.name: column.kind for column in self._columns}

    @property
    def text(self) -> tuple[str, ...]:
        """The columns that are counted."""
        return self.of_kind("text")

    @property
    def id(self) -> str | None:
        """The column that names the documents."""
        return next(iter(self.of_kind("id")), None)

    def of_kind(self, kind: str) -> tuple[str, ...]:
        """Names of the columns of one kind."""
        return tuple(column.name for column in self._columns if column.base == kind)

    def to_frame(self) -> Any:
        """The table as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.to_list(), columns=["name", "kind", "why"])

    def to_list(self) -> list[dict[str, str]]:
        """The table in terms of JSON."""
        return [asdict(column) for column in self._columns]

    def __str__(self) -> str:
        rows = [("column", "kind", "why"), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows)

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """One for each column; in wide tables one for many columns in a row of which the same is said."""
        wide = len(self._columns) > _WIDE
        for (kind, why), run in groupby(self._columns, lambda column: (column.kind, column.why)):
            names = [shown(column.name) for column in run]
            if wide and len(names) > _FEW:
                names = [f"{names[0]} ... {names[-1]} ({len(names):,} columns)"]
            yield from ((name, kind, why) for name in names)

    def __repr__(self) -> str:
        return f"Columns({', '.join(f'{column.name}: {column.kind}' for column in self._columns)})"


def named(
    given: str | Sequence[str] | None, names_there: Sequence[str], role: str
) -> tuple[str, ...]:
    """Columns by name, a sequence or joined by commas; an unknown name is an error that lists the columns."""
    if given is None:
        return ()
    if isinstance(given, str):
        parts = [part.strip() for part in given.split(",")]
        names = [given] if given in names_there else [part for part in parts if part]
    else:
        names = list(given)
    for name in names:
        if name not in names_there:
            raise unknown_column(name, names_there, role)
    if not names:
        raise ArgumentError(role, "must name at least one column", given)
    return tuple(names)


def listed(names: Iterable[str]) -> str:
    """Names of columns, as they stand in messages."""
    return ", ".join(repr(shown(name)) for name in names) or "none"


def unknown_column(name: str, names_there: Sequence[str], role: str) -> InputError:
    """The error for a column that is not there, with the nearest name."""
    import difflib

    near = difflib.get_close_matches(str(name), list(names_there), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    columns = listed(names_there)
    return InputError(
        Argument(role), f" names the column {name!r}; the columns are {columns}.{hint}"
    )
