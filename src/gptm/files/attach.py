"""A second table with metadata, laid beside the documents."""

from collections.abc import Sequence
from typing import Any

from gptm._basics.errors import Argument, InputError
from gptm.corpus.cells import as_name, as_text, is_missing
from gptm.corpus.problems import ProblemLog
from gptm.corpus.typed_columns import find_id_column
from gptm.files.bags import flat_rows
from gptm.files.formats import TEXTS, FilePath, open_source
from gptm.files.plan import Plan
from gptm.files.table import CellTable


def attach(
    table: CellTable,
    path: FilePath,
    plan: Plan,
    encoding: str,
    log: ProblemLog,
    file_names: Sequence[str],
) -> None:
    """Add the columns of a table of metadata: by ids where both have them, else row by row.

    Documents that are files of a folder have `file_names`, too, by which they are found as well.
    """
    side = CellTable(name for name, kind in plan.given.items() if kind == "ignore")
    with open_source(path, format=None, encoding=encoding, log=log) as source:
        side.add(flat_rows(list(source.rows)))
    own, other = _id_column(table, plan), _id_column(side, plan)
    if other is None and own in side.cells:  # too many ids repeat for a guess, and are noted
        other = own
    if file_names:
        other = _column_of_files(side, file_names, other)
    rows = _matched(table, own, side, other, log, bool(file_names))
    for name in list(side.cells):
        if name == own == other:  # what rows are matched by
            continue
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
    table: CellTable,
    own: str | None,
    side: CellTable,
    other: str | None,
    log: ProblemLog,
    are_files: bool = False,
) -> list[int | None]:
    """The row of the second table for each document: by their columns of ids, the first where an id repeats."""
    if own is None or other is None:
        return _in_order(table, side, log)
    ids = [as_name(cell).strip() for cell in table.column(own)]
    others = [as_name(cell).strip() for cell in side.column(other)]
    if are_files:
        ids, others = _as_files(ids, others)
    places: dict[str, int] = {}
    repeated: set[int] = set()
    for place, (cell, name) in enumerate(zip(side.column(other), others, strict=True)):
        if not is_missing(cell) and places.setdefault(name, place) != place:
            repeated.add(place)
            log.add("duplicate id in metadata", side.lines[place], repr(name))
    rows = [places.get(name) for name in ids]
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


def _column_of_files(side: CellTable, file_names: Sequence[str], likely: str | None) -> str | None:
    """The column that names most of the files, whatever it is called; the likely one where others are no better."""

    def found(name: str) -> int:
        cells = [as_name(cell).strip() for cell in side.column(name) if not is_missing(cell)]
        ids, others = _as_files(file_names, cells)
        return len(set(ids).intersection(others))

    columns = [*([] if likely is None else [likely]), *(n for n in side.cells if n != likely)]
    best = max(columns, key=found, default=None)
    return best if best is not None and found(best) else likely


def _as_files(ids: Sequence[str], others: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two lists of names of files that can be compared: without endings; without folders where one list has none."""
    own_names, other_names = ([_without_ending(name) for name in names] for names in (ids, others))
    bare = [name.rpartition("/")[2] for name in own_names]
    if not any("/" in name for name in other_names) and len(set(bare)) == len(bare):
        return bare, other_names
    bare_others = [name.rpartition("/")[2] for name in other_names]
    if not any("/" in name for name in own_names) and len(set(bare_others)) == len(bare_others):
        return own_names, bare_others
    return own_names, other_names


def _without_ending(name: str) -> str:
    """A name of a file without what says that it is a text.

    Examples
    --------
    >>> [_without_ending(name) for name in ("a.txt", "./b/c.v2.TXT.gz", "d", "e\\\\f.md")]
    ['a', 'b/c.v2', 'd', 'e/f']
    """
    path = name.replace("\\", "/").removeprefix("./")
    for ending in (".gz", *TEXTS):
        if path.lower().endswith(ending):
            path = path[: -len(ending)]
    return path
