"""Columns of a table: what each holds, guessed and shown, or told."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gptm._basics.errors import Argument, ArgumentError, InputError

KINDS = {
    "text": "counted",
    "id": "names the documents",
    "date": "dates, as datetimes",
    "number": "numbers, as floats",
    "category": "names that repeat",
    "links": "lists of ids of documents",
    "vector": "lists of numbers, all of one length",
    "list": "lists of anything else",
    "note": "short strings that hardly repeat; kept, used by no kernel",
    "ignore": "left out",
}


_LONGEST_SHOWN = 40  # characters of a name


def shown(name: str) -> str:
    """A name as it is printed: on one line, and not longer than one can take in.

    Examples
    --------
    >>> shown("Dear Sir or Madam, I write to you about the tea that we ordered")
    'Dear Sir or Madam, I write to you abo...'
    """
    line = " ".join(str(name).split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 3]}..."


@dataclass(frozen=True)
class Column:
    """What a column holds, and why we think so."""

    name: str
    kind: str
    why: str


class Columns(Sequence[Column]):
    """What the columns of a file hold; prints as a table.

    Examples
    --------
    >>> from gptm.files import Column, Columns
    >>> columns = Columns([Column("body", "text", "the longest strings"), Column("year", "number", "all numbers")])
    >>> print(columns)
    column  kind    why
    body    text    the longest strings
    year    number  all numbers
    >>> columns.kinds
    {'body': 'text', 'year': 'number'}
    """

    def __init__(self, columns: Sequence[Column], format: str = ""):
        self._columns = tuple(columns)
        self.format = format

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, str):
            return next(one for one in self._columns if one.name == position)
        return self._columns[position]

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns)

    @property
    def kinds(self) -> dict[str, str]:
        """Kind by column; pass it as `kinds` to read other files in the same way."""
        return {one.name: one.kind for one in self._columns}

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
        return tuple(one.name for one in self._columns if one.kind.partition(":")[0] == kind)

    def to_frame(self) -> Any:
        """The table as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.to_list(), columns=["name", "kind", "why"])

    def to_list(self) -> list[dict[str, str]]:
        """The table in terms of JSON."""
        return [asdict(one) for one in self._columns]

    def __str__(self) -> str:
        rows = [("column", "kind", "why"), *((shown(c.name), c.kind, c.why) for c in self._columns)]
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows)

    def __repr__(self) -> str:
        return f"Columns({', '.join(f'{one.name}: {one.kind}' for one in self._columns)})"


def check_kinds(kinds: Mapping[str, str] | None) -> dict[str, str]:
    """Kinds as told, each one of `KINDS`; a date may bring its format ("date:%d/%m/%Y"), a number its comma."""
    told = dict(kinds or {})
    for name, kind in told.items():
        base, _, detail = str(kind).partition(":")
        if base not in KINDS or (detail and base != "date" and kind != "number:comma"):
            expected = (
                f"must give every column one of {', '.join(KINDS)}, 'date:' with a format such as 'date:%d/%m/%Y', or "
                "'number:comma' for numbers such as 1.234,5"
            )
            raise ArgumentError("kinds", expected, Argument("kinds", {name: kind}))
    return told


def named(given: str | Sequence[str] | None, known: Sequence[str], role: str) -> tuple[str, ...]:
    """Columns by name, a sequence or joined by commas; an unknown one is an error that lists the known ones."""
    if given is None:
        return ()
    if isinstance(given, str):
        parts = [part.strip() for part in given.split(",")]
        names = [given] if given in known else [part for part in parts if part]
    else:
        names = list(given)
    for name in names:
        if name not in known:
            raise unknown_column(name, known, role)
    if not names:
        raise ArgumentError(role, "must name at least one column", given)
    return tuple(names)


def listed(names: Iterable[str]) -> str:
    """Names of columns, as they stand in messages."""
    return ", ".join(repr(shown(name)) for name in names) or "none"


def unknown_column(name: str, known: Sequence[str], role: str) -> InputError:
    """The error for a column that is not there, with the nearest name."""
    import difflib

    near = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    columns = listed(known)
    return InputError(
        Argument(role), f" names the column {name!r}; the columns are {columns}.{hint}"
    )
