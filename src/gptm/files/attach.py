"""A second table with metadata, laid beside the documents."""

from collections.abc import Sequence
from typing import Any

from gptm._basics.errors import Argument, InputError
from gptm.corpus.cells import as_name, as_text, is_missing
from gptm.corpus.problems import ProblemLog
from gptm.corpus.typed_columns import find_id_column
from gptm.files.formats import FilePath, open_source
from gptm.files.plan import Plan
from gptm.files.table import CellTable


def attach(table: CellTable, path: FilePath, plan: Plan, encoding: str, log: ProblemLog) -> None:
    """Add the columns of a table of metadata: by ids where both have them, else row by row."""
    side = CellTable(name for name, kind in plan.given.items() if kind == "ignore")
    with open_source(path, format=None, encoding=encoding, log=log) as source:
        side.add(list(source.rows))
    own, other = _id_column(table, plan), _id_column(side, plan)
    if other is None and own in side.cells:  # too many ids repeat for a guess, and are noted
        other = own
    rows = _matched(table, own, side, other, log)
    for name in list(side.cells):
        cells = side.column(name)
        joined = [None if row is None else cells[row] for row in rows]
        if name not in table.cells and name not in plan.left_out:
            table.cells[name] = joined
            plan.order.append(name)
        elif _differ(table, name, joined):
            log.add("column in both files", None, repr(name))


def _differ(table: CellTable, name: str, joined: Sequence[Any]) -> bool:
    """Whether a column of the documents holds anything else than its namesake; texts are not there to compare."""
    if name not in table.cells:
        return True
    pairs = zip(table.column(name), joined, strict=True)
    return any(
        as_text(own).strip() != as_text(other).strip() for own, other in pairs if other is not None
    )


def _in_order(table: CellTable, side: CellTable, log: ProblemLog) -> list[int | None]:
    """Row by row, where there are as many."""
    n = len(table.lines)
    if len(side.lines) != n:
        raise ValueError(
            f"{log.name} must have one row per document: expected {n}, got {len(side.lines)}. "
            "Without ids in both, rows are matched by their order."
        )
    return list(range(n))


def _matched(
    table: CellTable, own: str | None, side: CellTable, other: str | None, log: ProblemLog
) -> list[int | None]:
    """The row of the second table for each document: by their columns of ids, the first where an id repeats."""
    if own is None or other is None:
        return _in_order(table, side, log)
    places: dict[str, int] = {}
    repeated: set[int] = set()
    for place, cell in enumerate(side.column(other)):
        name = as_name(cell).strip()
        if not is_missing(cell) and places.setdefault(name, place) != place:
            repeated.add(place)
            log.add("duplicate id in metadata", side.lines[place], repr(name))
    rows = [places.get(as_name(cell).strip()) for cell in table.column(own)]
    used = {row for row in rows if row is not None}
    if not used:
        example = as_name(table.column(own)[0])
        raise InputError(
            f"no id of {log.name} (column {other!r}) is an id of a document (column {own!r}, for example "
            f"{example!r}). Name the column with ",
            Argument("id", ...),
            ", or make the ids alike.",
        )
    for line, row in zip(table.lines, rows, strict=True):
        if row is None:
            log.add("unmatched document", line)
    for place, line in enumerate(side.lines):
        if place not in used and place not in repeated:
            log.add("unmatched row", line)
    return rows


def _id_column(table: CellTable, plan: Plan) -> str | None:
    given = {name: kind for name, kind in plan.given.items() if kind == "id"}
    column = find_id_column({name: table.column(name) for name in table.cells}, given)
    return None if column is None else column.name
