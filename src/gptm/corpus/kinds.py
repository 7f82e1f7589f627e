"""What columns of metadata hold, decided once for every way that documents come in.

The kinds are in `KINDS`. A kind may say how its cells are written: "date:%d/%m/%Y", "number:comma", "list:;". They are
guessed from names and cells, or given by the user; the table of metadata carries them along (`kinds_of`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.errors import Argument, ArgumentError
from gptm._basics.validation import as_dict
from gptm.corpus.cells import (
    as_list,
    as_name,
    as_number,
    as_vector,
    has_decimal_commas,
    is_listed,
    is_missing,
)
from gptm.corpus.dates import find_forms, is_moment
from gptm.corpus.links import LinkReader
from gptm.corpus.several_values import MARKS, mark_of_tags

Cells = Sequence[Any]
Table = Mapping[str, Cells]
Guess = tuple[str, str]  # kind, reason

KINDS = {
    "text": "counted",
    "id": "names the documents",
    "date": "dates, as datetimes",
    "number": "numbers, as floats",
    "category": "names that repeat",
    "links": "lists of ids of documents",
    "vector": "lists of numbers, all of one length",
    "list": "several names in a cell, such as authors or tags",
    "note": "short strings that hardly repeat; kept, used by no kernel",
    "ignore": "left out",
}
_WITH_DETAIL = ("number:comma", *(f"list:{mark}" for mark in MARKS))
_ATTRIBUTE = "kinds"  # under which a table carries its kinds along

_MOST = 0.95  # share of the cells that must be of a kind; the others are noted
_LONG = 200  # characters beyond which strings that are not counted are not kept either
MAPPINGS = "neither numbers, dates nor names"
LONG_STRINGS = "long strings; its words are counted only if you name it as a text column"

_ID_NAMES = re.compile(r"_?id|key|doc_?id|document_?id|uu?id|guid|identifier", re.I)
_ID_ENDING = re.compile(
    r"(?:^|[\W_])(?:id|key|doi|url|uri|isbn|path|file|filename)$|[a-z](?:Id|ID|Key|Url|URL|Path)$",
    re.ASCII,
)
_LINK_NAMES = re.compile(r"link|cite|citation|refer|parent|repl(y|ies)|neighbou?r|related", re.I)
_CODE_NAMES = re.compile(r"(^|_)(label|class|cluster|category|group|code|zip|postcode|type)$", re.I)
_KEY_NAMES = re.compile(r"(?:^|[\W_])(?:id|key)$|[a-z](?:Id|ID|Key)$", re.ASCII)
_DATE_NAMES = re.compile(r"date|day|time", re.I)
_DATE_OF_DIGITS = re.compile(r"[12]\d{7}")
_PAIR = re.compile(r"[^\s,]+,[^\s,]+")


@dataclass(frozen=True)
class ColumnKind:
    """What a column holds, and why we think so."""

    name: str
    kind: str
    why: str

    @property
    def base(self) -> str:
        """The kind without how its cells are written."""
        return base_kind(self.kind)


class DocumentIds:
    """Ids of documents, with the first row of each, and what reads links to them."""

    def __init__(self, names: Iterable[str] = ()):
        self.rows: dict[str, int] = {}
        for row, name in enumerate(names):
            self.rows.setdefault(name, row)
        self.read_links = LinkReader(self.rows)

    def __bool__(self) -> bool:
        return bool(self.rows)


def base_kind(kind: str) -> str:
    """A kind without how its cells are written.

    Examples
    --------
    >>> from gptm.corpus.kinds import base_kind
    >>> base_kind("date:%d/%m/%Y")
    'date'
    """
    return kind.partition(":")[0]


def check_kinds(kinds: Mapping[str, str] | None) -> dict[str, str]:
    """Kinds that a user gave, each one of `KINDS`; a date may have its format, a number its comma."""
    given = as_dict(
        "kinds", kinds, "must be a dict from columns to kinds, as in {'year': 'category'}"
    )
    for name, kind in given.items():
        detail = str(kind).partition(":")[2]
        if (
            not isinstance(kind, str)
            or base_kind(kind) not in KINDS
            or (detail and base_kind(kind) != "date" and kind not in _WITH_DETAIL)
        ):
            expected = (
                f"must give every column one of {', '.join(KINDS)}, 'date:' with a format such as 'date:%d/%m/%Y', "
                "'number:comma' for numbers such as 1.234,5, or 'list:;', 'list:,' or 'list:|' for names with such "
                "a separator"
            )
            raise ArgumentError("kinds", expected, Argument("kinds", {name: kind}))
    return given


def kinds_of(frame: pd.DataFrame | None) -> dict[str, str]:
    """The kinds that a table of metadata carries along: those of columns that have been decided.

    Examples
    --------
    >>> import pandas as pd
    >>> from gptm.corpus.kinds import kinds_of
    >>> from gptm.corpus.typed_columns import typed_frame
    >>> kinds_of(typed_frame(pd.DataFrame({"when": ["2020-01-31", "2021-02-28"], "stars": [3, 5]})))
    {'when': 'date', 'stars': 'number'}
    """
    if frame is None:
        return {}
    carried = frame.attrs.get(_ATTRIBUTE, {})
    return {
        str(name): carried[name]
        for name in frame.columns
        if name in carried and _agree(carried[name], frame[name])
    }


def with_kinds(frame: pd.DataFrame, kinds: Mapping[str, str]) -> pd.DataFrame:
    """The same table, which carries these kinds along."""
    marked = frame.copy(deep=False)
    marked.attrs = {**frame.attrs, _ATTRIBUTE: dict(kinds)}
    return marked


def _agree(kind: str, values: Any) -> bool:
    """Whether a column can still be of a kind: somebody may have put another one in its place."""
    if isinstance(values, pd.DataFrame):  # two columns have the name
        return False
    if base_kind(kind) == "number":
        return pd.api.types.is_numeric_dtype(values) or values.dtype.kind == "m"
    if base_kind(kind) == "date":
        return values.dtype.kind == "M" or isinstance(values.dtype, pd.PeriodDtype)
    return values.dtype.kind not in "mM"


def decide_kinds(
    table: Table,
    given: Mapping[str, str],
    id_column: ColumnKind | None,
    ids: DocumentIds,
    row_names: Sequence[Any],
) -> dict[str, ColumnKind]:
    """What each column holds, as given or guessed; links may lead to ids, to `row_names` or to another column."""
    columns: dict[str, ColumnKind] = {}
    for name, cells in table.items():
        if id_column is not None and name == id_column.name:
            columns[name] = id_column
        elif name in given:
            columns[name] = ColumnKind(name, given[name], "as you said")
        else:
            columns[name] = ColumnKind(name, *guess_kind(name, cells, ids))
    for name, column in columns.items():
        if name not in given and column.kind in ("list", "vector"):
            lists = whole_lists(table[name])
            if lists is not None and link_target(name, lists, table, row_names).is_there:
                columns[name] = ColumnKind(name, "links", "lists of ids of documents")
    return columns


def whole_lists(cells: Cells) -> list[list[str]] | None:
    """The lists in a column as names, where they may be links: not vectors of fractions, or with repetitions."""
    lists = []
    for cell in cells:
        items = [] if is_missing(cell) else as_list(cell)
        if items is None or any(map(is_listed, items)):
            return None
        names = [as_name(item) for item in items if not is_missing(item)]
        fractions = any(isinstance(item, float) and not item.is_integer() for item in items)
        if fractions or len(set(names)) < len(names):
            return None
        lists.append(names)
    return lists


@dataclass(frozen=True)
class LinkTarget:
    """Where links lead: to a column of ids, or to the names of the rows where `column` is None."""

    is_there: bool
    column: str | None = None
    repeats: str = ""  # what holds the ids, where they repeat


def link_target(
    name: str,
    lists: Sequence[Sequence[str]],
    table: Table,
    row_names: Sequence[Any],
    first: str | None = None,
) -> LinkTarget:
    """The column whose names half of the links lead to, some of them to other documents; `first` is tried first."""
    linked = {link for links in lists for link in links}
    others = [other for other in table if other not in (name, first)]
    repeats = ""
    tags = not _LINK_NAMES.search(name) and _number_groups(lists, len(row_names))
    if not linked or tags:
        return LinkTarget(False)
    for column in (*([first] if first is not None else ()), None, *others):
        cells = row_names if column is None else table[column]
        if any(map(is_listed, islice(cells, 50))):
            continue
        ids = [None if is_missing(cell) else as_name(cell) for cell in cells]
        reached = linked.intersection(ids)
        n_own = sum(own in links for own, links in zip(ids, lists, strict=True))
        if 2 * len(reached) < len(linked) or _name_themselves(n_own, sum(map(bool, lists))):
            continue
        if len(set(ids)) < len(ids):
            if 2 * len(set(ids)) <= len(ids):  # tags beside a column of one of them
                continue
            repeats = "the table's index" if column is None else f"column {column!r}"
        elif any(reached & set(links) - {own} for own, links in zip(ids, lists, strict=True)):
            return LinkTarget(True, column)
    return LinkTarget(False, repeats=repeats)


_NO_IDS = DocumentIds()


def guess_id(candidates: Table) -> tuple[str, str] | None:
    """The column that names the documents, with the reason, or None."""
    for name, cells in candidates.items():
        if _ID_NAMES.fullmatch(name) and _distinct(cells) >= 0.9 * len(cells) > 0:
            return name, f"is called {name!r}"
    for name, cells in candidates.items():
        if len(cells) and _may_be_linked_to(cells):
            ids = DocumentIds(as_name(cell).strip() for cell in cells)
            for other, linking in candidates.items():
                if other != name and _are_links(linking, ids):
                    return name, f"hardly any repeats, and {other!r} links to it"
    for name, cells in candidates.items():
        if _ID_ENDING.search(name) and len(cells) and _is_unique(cells):
            return name, "all different, and called like an id"
    return None


def _may_be_linked_to(cells: Cells) -> bool:
    """Whether cells are names that hardly repeat: a few repeated ids are noted, and should not hide the links."""
    head = list(islice(cells, 50))
    if any(is_missing(cell) or not isinstance(cell, str | int) for cell in head):
        return False
    if all(as_number(cell) is not None for cell in head):
        return False
    return _distinct(cells) >= _MOST * len(cells)


def guess_kind(name: str, cells: Cells, ids: DocumentIds = _NO_IDS) -> Guess:
    """What a column other than the text and the id holds; `ids` are those of the documents."""
    if isinstance(cells, pd.Series) and (kind := _kind_of_type(name, cells)) is not None:
        return kind
    present = [cell for cell in cells if not is_missing(cell)]
    if not present:
        return "ignore", "no values"
    if all(map(is_moment, present)):
        return "date", "dates"
    objects = [cell for cell in present if not isinstance(cell, str)]
    if any(isinstance(cell, Mapping) for cell in objects):
        return "note", MAPPINGS
    if _share(present, lambda cell: as_list(cell) is not None) >= _MOST:
        return _guess_list(name, cells, present, ids)
    if any(map(is_listed, objects)):
        return "list", "several values in a cell"
    if all(isinstance(cell, bool | np.bool_) for cell in present):
        return "category", "true or false"
    if ids and _LINK_NAMES.search(name) and _are_links(cells, ids):
        return "links", "called like links, and holds ids of documents"
    numbers = _share(present, lambda cell: as_number(cell) is not None)
    if numbers >= _MOST:
        return _guess_number(name, present, numbers)
    return _guess_strings(cells, [as_name(cell) for cell in present], ids)


def has_untyped_cells(values: pd.Series) -> bool:
    """Whether the cells of a column say what it holds: text and objects, which pandas has no type for."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype | pd.PeriodDtype):
        return False
    return getattr(dtype, "kind", "O") not in "biufcmM"


def _kind_of_type(name: str, values: pd.Series) -> Guess | None:
    """The kind of a column whose type says it; None where its cells must."""
    dtype = values.dtype
    if not values.notna().any():
        return "ignore", "no values"
    if isinstance(dtype, pd.CategoricalDtype):  # whatever the names look like
        return "category", "a categorical column"
    if pd.api.types.is_bool_dtype(dtype):
        return "category", "true or false"
    if isinstance(dtype, pd.PeriodDtype) or getattr(dtype, "kind", "O") == "M":
        return "date", "dates"
    if getattr(dtype, "kind", "O") == "m":
        return "number", "durations"
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return _guess_number(name, values.dropna().tolist(), 1.0)
    return None


def _guess_strings(cells: Cells, present: list[str], ids: DocumentIds) -> Guess:
    dates = _guess_date(present)
    if dates is not None:
        return dates
    decimals = has_decimal_commas(present)
    # That every document should link to exactly two others is the less likely reading of '37,3'.
    pairs = decimals and all(_PAIR.fullmatch(cell.strip()) for cell in present)
    if ids and not pairs and _are_links(cells, ids):
        return "links", "holds ids of documents"
    if decimals:
        return "number:comma", "numbers with decimal commas"
    mark = mark_of_tags(present)
    if mark is not None:
        return f"list:{mark}", f"names that repeat, with {mark!r} between them"
    return _guess_names(present)


def _are_tags(name: str, cells: Cells, ids: DocumentIds) -> bool:
    lists = [ids.read_links(cell) for cell in islice(cells, 5000)]
    return not _LINK_NAMES.search(name) and _number_groups(lists, len(ids.rows))


def _guess_list(name: str, cells: Cells, present: list[Any], ids: DocumentIds) -> Guess:
    vectors = [as_vector(cell) for cell in islice(present, 200)]
    lengths = {None if vector is None else len(vector) for vector in vectors}
    are_vectors = len(lengths) == 1 and None not in lengths and lengths != {1}
    # Lists of ids hold each of them once; vectors of zeros and ones do not.
    repeat = are_vectors and any(len(set(v)) < len(v) for v in vectors if v is not None)
    if ids and not repeat and _are_links(cells, ids) and not _are_tags(name, cells, ids):
        return "links", "lists of ids of documents"
    if are_vectors:
        return "vector", f"lists of {lengths.pop()} numbers"
    return "list", "lists of names, not of ids of documents"


def _guess_number(name: str, present: list[Any], share: float) -> Guess:
    named = _CODE_NAMES.search(name) or _KEY_NAMES.search(name)
    if named and len(set(map(as_name, present))) <= len(present) / 2:
        return "category", "numbers, but called like a name for a group"
    if _DATE_OF_DIGITS.fullmatch(as_name(present[0])):
        names = list(map(as_name, present))
        dates = _guess_date(names) if all(map(_DATE_OF_DIGITS.fullmatch, names)) else None
        if dates is not None and (_DATE_NAMES.search(name) or dates[1].startswith("all")):
            return dates
    return "number", f"{_percent(share)} numbers"


def _guess_date(present: list[str]) -> Guess | None:
    dates = find_forms(present)
    if dates is None:
        return None
    how_many = _percent(dates.share)
    if len(dates.forms) > 1:
        examples = "; ".join(dates.examples)
        return dates.kind, f"{how_many} dates, written in {len(dates.forms)} ways: {examples}"
    if dates.kind == "date":
        return "date", f"{how_many} dates"
    return dates.kind, f"{how_many} dates, written {dates.forms[0]}"


def _guess_names(present: list[str]) -> Guess:
    n_names = len({cell.strip() for cell in present})
    if n_names <= len(present) / 2:
        return "category", "one name" if n_names == 1 else f"{n_names:,} names that repeat"
    if sum(map(len, present)) > _LONG * len(present):
        return "ignore", LONG_STRINGS
    return "note", "strings that hardly repeat"


def _are_links(cells: Cells, ids: DocumentIds) -> bool:
    """Whether half of the things in the cells are ids, and some of other documents."""
    present = ((row, cell) for row, cell in enumerate(cells) if not is_missing(cell))
    lists = {row: ids.read_links(cell) for row, cell in islice(present, 5000)}
    things = {link for links in lists.values() for link in links}
    if 2 * sum(thing in ids.rows for thing in things) < len(things):
        return False
    elsewhere = any(
        ids.rows.get(link, row) != row for row, links in lists.items() for link in links
    )
    own = sum(any(ids.rows.get(link) == row for link in links) for row, links in lists.items())
    return elsewhere and not _name_themselves(own, sum(map(bool, lists.values())))


def _name_themselves(n_own: int, n_lists: int) -> bool:
    """Whether most lists hold the name of their own document: all authors beside the first author are no links."""
    return n_lists > 1 and 2 * n_own > n_lists


def _number_groups(lists: Iterable[Sequence[str]], n_documents: int) -> bool:
    """Whether lists hold a few small numbers again and again, as codes of tags do; they only look like row numbers."""
    numbers = [int(item) for items in lists for item in items if item.isdecimal()]
    few = 5 * len(set(numbers)) <= len(numbers)
    return few and 3 * max(numbers, default=n_documents) <= n_documents


def _distinct(cells: Cells) -> int:
    return len({as_name(cell) for cell in cells if not is_listed(cell)})


def _is_unique(cells: Cells) -> bool:
    if any(is_missing(cell) or not isinstance(cell, str | int) for cell in islice(cells, 50)):
        return False
    return not any(map(is_missing, cells)) and _distinct(cells) == len(cells)


def _share(present: list[Any], holds: Callable[[Any], bool]) -> float:
    """The share of cells that are so; 0 where the first ones are mostly not, which saves the work."""
    head = present[:50]
    if sum(map(holds, head)) < 0.5 * len(head):
        return 0.0
    return sum(map(holds, present)) / len(present)


def _percent(share: float) -> str:
    return "all" if share == 1 else f"{min(share, 0.99):.0%}"
