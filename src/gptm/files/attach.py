"""A second table with metadata, laid beside the documents."""

from gptm.files.cells import is_missing
from gptm.files.formats import FilePath, open_source
from gptm.files.guess import guess_id
from gptm.files.plan import Plan
from gptm.files.problems import ProblemLog
from gptm.files.table import Table
from gptm.metadata import as_name


def attach(table: Table, path: FilePath, plan: Plan, encoding: str, log: ProblemLog) -> None:
    """Add the columns of a table of metadata: by ids where both have them, else row by row."""
    side = Table(name for name, kind in plan.told.items() if kind == "ignore")
    with open_source(path, format=None, encoding=encoding, log=log) as source:
        side.add(list(source.rows))
    rows = _matched(table, side, plan, log)
    for name in list(side.cells):
        if name in table.cells:  # the documents' own columns stay
            continue
        cells = side.column(name)
        table.cells[name] = [None if row is None else cells[row] for row in rows]
        plan.order.append(name)


def _matched(table: Table, side: Table, plan: Plan, log: ProblemLog) -> list[int | None]:
    """The row of the second table for each document."""
    n = len(table.lines)
    own, other = (_id_column(one, plan) for one in (table, side))
    if own is None or other is None:
        if len(side.lines) != n:
            raise ValueError(
                f"{log.name} must have one row per document: expected {n}, got {len(side.lines)}. "
                "Without ids in both, rows are matched by their order."
            )
        return list(range(n))
    places = {
        as_name(cell).strip(): row
        for row, cell in enumerate(side.column(other))
        if not is_missing(cell)
    }
    rows = [places.get(as_name(cell).strip()) for cell in table.column(own)]
    used = {row for row in rows if row is not None}
    if not used:
        example = as_name(table.column(own)[0])
        raise ValueError(
            f"no id of {log.name} (column {other!r}) is an id of a document (column {own!r}, for example "
            f"{example!r}). Name the column with id=, or make the ids alike."
        )
    for line, row in zip(table.lines, rows, strict=True):
        if row is None:
            log.add("unmatched document", line)
    for row, line in enumerate(side.lines):
        if row not in used:
            log.add("unmatched row", line)
    return rows


def _id_column(table: Table, plan: Plan) -> str | None:
    told = [name for name, kind in plan.told.items() if kind == "id" and name in table.cells]
    if told:
        return told[0]
    guess = guess_id({name: table.column(name) for name in table.cells})
    return None if guess is None else guess[0]
