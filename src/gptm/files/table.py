"""Metadata that grow row by row, and become typed columns at the end."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.validation import check_text
from gptm.corpus.cells import as_vector
from gptm.corpus.kinds import ColumnKind, DocumentIds, decide_kinds, with_kinds
from gptm.corpus.problems import ProblemLog
from gptm.corpus.typed_columns import (
    find_id_column,
    note_doubtful_dates,
    read_ids,
    typed_column,
)
from gptm.files.rows import Row
from gptm.files.table_columns import Columns

_REPEATED = 10_000  # different values per column that are stored once


class CellTable:
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
        self, given: Mapping[str, str], log: ProblemLog, settled: Sequence[ColumnKind] = ()
    ) -> tuple[pd.DataFrame | None, np.ndarray | None, Columns]:
        """Metadata, ids, and what each column holds; the `settled` columns are not in the table."""
        check_text(self.cells, "the name of a column")
        table = {name: self.column(name) for name in self.cells}
        id_column = find_id_column(table, given)
        ids = None if id_column is None else read_ids(table[id_column.name], self.lines, log)
        document_ids = DocumentIds(() if ids is None else ids.tolist())
        columns = decide_kinds(table, given, id_column, document_ids, range(len(self.lines)))
        typed: dict[str, Any] = {}
        for name, column in columns.items():
            if column.why != "as you said":
                note_doubtful_dates(name, column.kind, table[name], log)
            if column.kind != "ignore":
                cells = table[name]
                typed[name] = typed_column(name, column.kind, cells, self.lines, document_ids, log)
        index = None if ids is None else pd.Index(ids, dtype=object)
        kinds = {name: columns[name].kind for name in typed}
        frame = with_kinds(pd.DataFrame(typed, index=index), kinds) if typed else None
        return frame, ids, Columns([*settled, *columns.values()])
