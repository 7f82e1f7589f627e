"""Columns of metadata with the types of their kinds; cells that do not fit become missing, and are noted."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.validation import check_text
from gptm._basics.warnings import warn
from gptm.corpus.cells import as_name, as_text, as_vector, is_missing, number_reader
from gptm.corpus.dates import ISO, as_dates, find_doubt, some_forms
from gptm.corpus.kinds import (
    MAPPINGS,
    ColumnKind,
    DocumentIds,
    base_kind,
    check_kinds,
    decide_kinds,
    guess_id,
    guess_kind,
    has_untyped_cells,
    kinds_of,
    with_kinds,
)
from gptm.corpus.problems import ProblemLog
from gptm.corpus.several_values import values_in


def typed_frame(
    frame: pd.DataFrame,
    kinds: Mapping[str, str] | None = None,
    *,
    ids: Sequence[Any] | np.ndarray | None = None,
    only: Collection[str] | None = None,
) -> pd.DataFrame:
    """The same table with typed columns, and with their kinds (`kinds_of`); `only` some, or all of them.

    Columns that pandas has a type for keep it. Kinds that the table carries along are not decided again. A warning
    says what is wrong with cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from gptm.corpus.typed_columns import typed_frame
    >>> frame = typed_frame(pd.DataFrame({"when": ["31.01.2020", "NA"], "by": ["Ann", "n/a"]}))
    >>> frame["when"].dt.year.tolist(), frame["by"].dropna().tolist()
    ([2020.0, nan], ['Ann'])
    """
    given, settled = check_kinds(kinds), kinds_of(frame)
    wanted = frame.columns if only is None else [name for name in frame.columns if name in only]
    names = [name for name in wanted if name not in settled and _is_single(frame, name)]
    if not names:
        return frame
    log = ProblemLog(unit="row", name="metadata")
    table = {name: frame[name] for name in frame.columns if _is_single(frame, name)}
    id_column = _settled_id(settled) or find_id_column(table, given | settled)
    document_ids = DocumentIds(_id_names(table, id_column, ids))
    columns = decide_kinds(table, given | settled, id_column, document_ids, frame.index)
    typed = {name: _retyped(columns[name], table[name], document_ids, log) for name in names}
    for problem in log.problems():
        warn(problem.said)
    decided = {name: columns[name].kind for name in names}
    return with_kinds(frame.assign(**typed), settled | decided)


def _is_single(frame: pd.DataFrame, name: str) -> bool:
    return frame.columns.is_unique or isinstance(frame[name], pd.Series)  # not two of one name


def _settled_id(settled: Mapping[str, str]) -> ColumnKind | None:
    return next(
        (ColumnKind(n, "id", "settled") for n, kind in settled.items() if kind == "id"), None
    )


def find_id_column(
    table: Mapping[str, Sequence[Any]], given: Mapping[str, str]
) -> ColumnKind | None:
    """The column that names the documents: as given, or guessed among the others."""
    for name, kind in given.items():
        if kind == "id" and name in table:
            return ColumnKind(name, "id", "as you said")
    guess = guess_id({name: cells for name, cells in table.items() if name not in given})
    return None if guess is None else ColumnKind(guess[0], "id", guess[1])


def _id_names(
    table: Mapping[str, pd.Series],
    id_column: ColumnKind | None,
    ids: Sequence[Any] | np.ndarray | None,
) -> Iterable[str]:
    if ids is None:
        ids = () if id_column is None else table[id_column.name].tolist()
    return (id_name(cell, row) for row, cell in enumerate(ids))


def id_name(cell: Any, row: int) -> str:
    """An id as text; the number of its row for a document without one."""
    return f"row {row + 1}" if is_missing(cell) else as_name(cell).strip()


def read_ids(cells: Sequence[Any], lines: Sequence[int], log: ProblemLog) -> np.ndarray:
    """The ids of a column as text; missing and repeated ones are noted."""
    ids = np.empty(len(cells), dtype=object)
    seen: set[str] = set()
    for row, cell in enumerate(cells):
        ids[row] = name = id_name(cell, row)
        if is_missing(cell):
            log.add("missing id", lines[row])
        elif name in seen:
            log.add("duplicate id", lines[row], repr(name))
        seen.add(name)
    return ids


def _retyped(column: ColumnKind, values: pd.Series, ids: DocumentIds, log: ProblemLog) -> Any:
    """A column of a DataFrame by its kind: text and objects become typed, other types stay."""
    numbers_for_dates = column.base == "date" and pd.api.types.is_numeric_dtype(values)
    if column.why == MAPPINGS or column.base == "ignore":
        return values
    if not (has_untyped_cells(values) or numbers_for_dates):
        return values
    cells = values.tolist()
    if column.why != "as you said":
        note_doubtful_dates(column.name, column.kind, cells, log)
    lines = range(1, len(cells) + 1)
    typed = typed_column(column.name, column.kind, cells, lines, ids, log)
    # With its type: pandas would take it for text, and cannot hold half a character in it.
    return pd.Series(
        typed, index=values.index, name=column.name, dtype=getattr(typed, "dtype", None)
    )


def typed_column(
    name: str,
    kind: str,
    cells: Sequence[Any],
    lines: Sequence[int],
    ids: DocumentIds,
    log: ProblemLog,
) -> Any:
    """A column as the kernels read it; cells of another kind become missing and are noted."""
    base = base_kind(kind)
    if base == "number":
        return _numbers(name, kind, cells, lines, log)
    if base == "date":
        return _dates(name, kind, cells, lines, log)
    if base == "id":
        names = [id_name(cell, row) for row, cell in enumerate(cells)]
        return pd.Categorical(names, categories=list(dict.fromkeys(names)))
    if base == "category":
        levels = [None if is_missing(c) else as_name(c).strip() for c in cells]
        check_text(levels, f"a level of {name!r}")
        return pd.Categorical(levels)
    values = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        values[row] = None if is_missing(cell) else _value(kind, cell, ids)
    if base == "vector":
        _note_odd(name, "not a number", cells, [v is None for v in values], lines, log)
    return values


def _value(kind: str, cell: Any, ids: DocumentIds) -> Any:
    """The cell of a column of links, vectors, lists or strings."""
    base = base_kind(kind)
    if base == "links":
        return ids.read_links(cell)
    if base == "vector":
        return as_vector(cell)
    if base == "list":
        return values_in(cell, kind.partition(":")[2] or None) if isinstance(cell, str) else cell
    return as_text(cell)


def _numbers(
    name: str, kind: str, cells: Sequence[Any], lines: Sequence[int], log: ProblemLog
) -> np.ndarray:
    values = list(map(number_reader(cells, kind.partition(":")[2]), cells))
    odd = [value is None for value in values]
    _note_odd(name, "not a number", cells, odd, lines, log, _NO_NUMBERS if all(odd) else "")
    return np.array([np.nan if value is None else value for value in values])


def _dates(
    name: str, kind: str, cells: Sequence[Any], lines: Sequence[int], log: ProblemLog
) -> np.ndarray:
    form = kind.partition(":")[2]
    try:
        dates = as_dates(cells, form or ISO)
    except ValueError as error:
        got = Message(Argument("kinds", {name: kind}), f" ({error})")
        raise ArgumentError("kinds", "must have a date format after 'date:'", got) from None
    odd = dates.isna().tolist()
    present = [cell for cell in cells if not is_missing(cell)]
    if present and all(odd):
        raise _no_dates(name, form, present)
    _note_odd(name, "not a date", cells, odd, lines, log, _other_format(name, cells, odd))
    if "%y" in form:
        _note_future_years(name, cells, dates, lines, log)
    return np.asarray(dates.to_numpy())


def _no_dates(name: str, form: str, present: Sequence[Any]) -> InputError:
    """The error for a column of dates in which no cell is one."""
    written = f" written {form}" if form else ""
    what = f"column {name!r}: no cell is a date{written}; the first is {str(present[0])[:40]!r}. "
    other_format = _other_format(name, present, [True] * len(present))
    if other_format:
        return InputError(what, other_format)
    return InputError(
        what,
        "Say how they are written, for example ",
        Argument("kinds", {name: "date:%d.%m.%Y %H:%M"}),
        ", or read them as names: ",
        Argument("kinds", {name: "category"}),
        ".",
    )


def _note_future_years(
    name: str, cells: Sequence[Any], dates: pd.Series, lines: Sequence[int], log: ProblemLog
) -> None:
    """Note years of two digits that may belong to the last century: few documents are from the future."""
    latest = pd.Timestamp.now() + pd.DateOffset(years=1)
    for row in np.flatnonzero((dates > latest).to_numpy()).tolist():
        detail = (
            f"column {name!r} holds {str(cells[row]).strip()!r}, read as {dates.iloc[row].year}"
        )
        log.add("two-digit years", lines[row], detail)


# Where no cell is a number, another kind would not help.
_NO_NUMBERS = (
    "No cell of the column is a number: write them as 1234.5, without currency signs or marks between thousands, or "
    "as 1.234,5 throughout."
)


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


def note_doubtful_dates(name: str, kind: str, cells: Sequence[Any], log: ProblemLog) -> None:
    """Note the order of day and month where it was a guess, and columns in which only some cells are dates."""
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
    strings = [cell for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    partly = some_forms(strings) if strings else None
    if partly is not None:
        odd = as_dates(strings, "|".join(partly.forms)).isna().to_numpy()
        example = strings[int(odd.argmax())]
        detail = f"column {name!r} holds {partly.examples[0]!r}, but also {example!r}"
        as_dated = Argument("kinds", {name: partly.kind})
        remedy = Message("Pass ", as_dated, " to treat the others as missing.")
        log.add("dates and others", None, detail, count=int(odd.sum()), remedy=remedy)


def _other_format(name: str, cells: Sequence[Any], odd: Sequence[bool]) -> str | Message:
    """What to say where most cells are dates, but written in another way than the given kind says."""
    n_present = sum(not is_missing(cell) for cell in cells)
    others = [c for c, is_odd in zip(cells, odd, strict=True) if is_odd and not is_missing(c)]
    if not others or 2 * len(others) < n_present:
        return ""
    kind = guess_kind(name, others)[0]
    if base_kind(kind) != "date":
        return ""
    if kind == "date" and as_dates(others, "%Y-%m-%d").notna().all():
        kind = "date:%Y-%m-%d"
    advice = Message("Say how they are written: ", Argument("kinds", {name: kind}))
    doubt = find_doubt(kind, others)
    if doubt is None:
        return Message(advice, ".")
    return Message(advice, " or ", Argument("kinds", {name: doubt.other_kind}), ".")
