"""Metadata that grow row by row, and become typed columns at the end."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError, Message
from gptm.corpus.metadata import as_name
from gptm.files.cells import as_links, as_list, as_text, as_vector, is_missing, number_reader
from gptm.files.dates import as_dates, find_doubt, some_forms
from gptm.files.guess_columns import guess_id, guess_kind, rows_by_id
from gptm.files.problems import ProblemLog
from gptm.files.rows import Row
from gptm.files.table_columns import Column, Columns

_REPEATED = 10_000  # different values per column that are stored once


class Table:
    """Cells by column, with the line of each row; columns may turn up late."""

    def __init__(self, leave_out: Iterable[str] = ()):
        self.lines: list[int] = []
        self.cells: dict[str, list[Any]] = {}
        self._leave_out = frozenset(leave_out)
        self._seen: dict[str, dict[Any, Any]] = {}

    def add(self, rows: Sequence[Row]) -> None:
        """Keep the cells of some more rows."""
        for line, row in rows:
            n = len(self.lines)
            self.lines.append(line)
            for name, cell in row.items():
                if name in self._leave_out:
                    continue
                column = self.cells.get(name)
                if column is None:
                    column = self.cells[name] = [None] * n
                    self._seen[name] = {}
                elif len(column) < n:
                    column.extend([None] * (n - len(column)))
                column.append(self._kept(name, cell))

    def _kept(self, name: str, cell: Any) -> Any:
        """The cell in little memory: equal strings once, long lists of numbers as arrays."""
        if isinstance(cell, str):
            seen = self._seen[name]
            if len(seen) < _REPEATED:
                return seen.setdefault(cell, cell)
            return seen.get(cell, cell)
        if isinstance(cell, list) and len(cell) > 8 and isinstance(cell[0], float):
            values = as_vector(cell)
            return cell if values is None else values
        return cell

    def column(self, name: str) -> list[Any]:
        """All cells of a column, None at the rows that lack it."""
        cells = self.cells.setdefault(name, [])
        cells.extend([None] * (len(self.lines) - len(cells)))
        return cells

    def finish(
        self, told: Mapping[str, str], log: ProblemLog, known: Sequence[Column] = ()
    ) -> tuple[pd.DataFrame | None, np.ndarray | None, Columns]:
        """Metadata, ids, and what each column holds; `known` columns are settled already."""
        table = {name: self.column(name) for name in self.cells}
        id_column = self._id_column(table, told)
        ids = None if id_column is None else self._ids(table[id_column.name], log)
        rows = {} if ids is None else rows_by_id(ids.tolist())
        found: dict[str, Column] = {one.name: one for one in known}
        frame: dict[str, Any] = {}
        for name, cells in table.items():
            if id_column is not None and name == id_column.name:
                assert ids is not None
                found[name] = id_column
                frame[name] = pd.Categorical(ids, categories=list(dict.fromkeys(ids)))
                continue
            kind, why = (told[name], "as told") if name in told else guess_kind(name, cells, rows)
            found[name] = Column(name, kind, why)
            if name not in told:
                _note_dates(name, kind, cells, log)
            if kind != "ignore":
                frame[name] = typed(name, kind, cells, self.lines, rows, log)
        metadata = pd.DataFrame(frame, index=None if ids is None else pd.Index(ids, dtype=object))
        return (metadata if len(frame) else None), ids, Columns(list(found.values()))

    def _id_column(self, table: Mapping[str, list[Any]], told: Mapping[str, str]) -> Column | None:
        given = [name for name, kind in told.items() if kind == "id" and name in table]
        if given:
            return Column(given[0], "id", "as told")
        guess = guess_id({name: cells for name, cells in table.items() if name not in told})
        return None if guess is None else Column(guess[0], "id", guess[1])

    def _ids(self, cells: list[Any], log: ProblemLog) -> np.ndarray:
        """Ids as text; the number of its row for a document without one."""
        ids = np.empty(len(cells), dtype=object)
        seen: set[str] = set()
        for row, cell in enumerate(cells):
            if is_missing(cell):
                ids[row] = f"row {row + 1}"
                log.add("missing id", self.lines[row])
                continue
            ids[row] = name = as_name(cell).strip()
            if name in seen:
                log.add("duplicate id", self.lines[row], repr(name))
            seen.add(name)
        return ids


def typed(
    name: str,
    kind: str,
    cells: Sequence[Any],
    lines: Sequence[int],
    ids: Container[str],
    log: ProblemLog,
) -> Any:
    """A column as the kernels read it; cells of another kind become missing and are noted."""
    base, _, form = kind.partition(":")
    if base == "number":
        values = list(map(number_reader(cells, form), cells))
        none = all(value is None for value in values)
        odd = [value is None for value in values]
        _note_odd(name, "not a number", cells, odd, lines, log, _NO_NUMBERS if none else "")
        return np.array([np.nan if value is None else value for value in values])
    if base == "date":
        try:
            dates = as_dates(cells, form or "ISO8601")
        except ValueError as error:
            got = Message(Argument("kinds", {name: kind}), f" ({error})")
            raise ArgumentError("kinds", "must have a date format after 'date:'", got) from None
        odd = dates.isna().tolist()
        _note_odd(name, "not a date", cells, odd, lines, log, _other_format(name, cells, odd))
        return dates.to_numpy()
    if base in ("category", "id"):
        return pd.Categorical([None if is_missing(c) else as_name(c).strip() for c in cells])
    result = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        result[row] = None if is_missing(cell) else _CONVERT[base](cell, ids)
    if base == "vector":
        _note_odd(name, "not a number", cells, [v is None for v in result], lines, log)
    return result


# Where no cell is one, a kind of their own is not what is missing.
_NO_NUMBERS = (
    "Not one cell of the column is a number: write them as 1234.5, without signs of currency or marks between "
    "thousands, or as 1.234,5 throughout."
)
_CONVERT = {
    "links": as_links,
    "list": lambda cell, ids: as_list(cell) or [cell],
    "vector": lambda cell, ids: as_vector(cell),
    "note": lambda cell, ids: as_text(cell),
    "text": lambda cell, ids: as_text(cell),
}


def _note_odd(
    name: str,
    problem: str,
    cells: Sequence[Any],
    odd: Iterable[bool],
    lines: Sequence[int],
    log: ProblemLog,
    remedy: str | Message = "",
) -> None:
    """Note the cells that hold something, but nothing of the column's kind."""
    as_category = Argument("kinds", {name: "category"})
    remedy = remedy or Message("Correct them, or pass ", as_category, ".")
    for cell, is_odd, line in zip(cells, odd, lines, strict=True):
        if is_odd and not is_missing(cell):
            log.add(problem, line, f"column {name!r} holds {str(cell)[:40]!r}", remedy=remedy)


def _note_dates(name: str, kind: str, cells: Sequence[Any], log: ProblemLog) -> None:
    """Note what a guess about dates had to assume, or did not dare to."""
    doubt = find_doubt(kind, cells)
    if doubt is not None:
        day = f"{doubt.read_as.day} {doubt.read_as:%B %Y}"
        detail = f"column {name!r} holds {doubt.example!r}, read as {day}"
        if doubt.n_against:
            detail += f", but the other order alone fits {doubt.n_against:,} more"
        either = (
            Argument("kinds", {name: kind}),
            " or ",
            Argument("kinds", {name: doubt.other_kind}),
        )
        remedy = Message("Say which: ", *either, ".")
        log.add("ambiguous dates", None, detail, count=doubt.n_both, remedy=remedy)
    if kind not in ("category", "note"):
        return
    known = [cell for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    partly = some_forms(known) if len(known) else None
    if partly is not None:
        odd = as_dates(known, "|".join(partly.forms)).isna().to_numpy()
        detail = (
            f"column {name!r} holds {partly.examples[0]!r}, but also {known[int(odd.argmax())]!r}"
        )
        as_dated = Argument("kinds", {name: partly.kind})
        remedy = Message("Pass ", as_dated, " to take the others for missing.")
        log.add("dates and others", None, detail, count=int(odd.sum()), remedy=remedy)


def _other_format(name: str, cells: Sequence[Any], odd: Sequence[bool]) -> str | Message:
    """What to say where most cells are dates, but written in another way than was told."""
    known = [
        (cell, is_odd) for cell, is_odd in zip(cells, odd, strict=True) if not is_missing(cell)
    ]
    others = [cell for cell, is_odd in known if is_odd]
    if not others or 2 * len(others) < len(known):
        return ""
    kind = guess_kind(name, others)[0]
    if kind.partition(":")[0] != "date":
        return ""
    if kind == "date" and as_dates(others, "%Y-%m-%d").notna().all():
        kind = "date:%Y-%m-%d"
    advice = Message("Say how they are written: ", Argument("kinds", {name: kind}))
    doubt = find_doubt(kind, others)
    if doubt is None:
        return Message(advice, ".")
    return Message(advice, " or ", Argument("kinds", {name: doubt.other_kind}), ".")
