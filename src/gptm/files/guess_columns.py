"""Guesses of what columns hold, each with its reason."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from gptm._basics.errors import Argument, InputError
from gptm.corpus.metadata import as_name
from gptm.corpus.words import expanded, has_no_blanks
from gptm.files.cells import (
    as_links,
    as_list,
    as_number,
    as_vector,
    has_decimal_commas,
    is_missing,
)
from gptm.files.dates import find_forms, is_moment
from gptm.files.table_columns import listed

Cells = Sequence[Any]
Table = Mapping[str, Cells]
Guess = tuple[str, str]  # kind, reason
Ids = Mapping[str, int]  # from the ids of documents to their rows

_NO_IDS: Ids = {}

_MOST = 0.95  # share of the cells that must be of a kind; the others are noted
_LONG = 200  # characters beyond which strings that are not counted are not kept either
LONG_STRINGS = "long strings; its words are counted only if you name it as a text column"

_TEXT_NAMES = re.compile(
    r"texts?|body|contents?|abstract|documents?|doc|message|description|comment|review|tweet|post|article|paragraph|"
    r"speech|story|lyrics|transcript|summary",
    re.I,
)
_ID_NAMES = re.compile(r"_?id|key|doc_?id|document_?id|uu?id|guid|identifier", re.I)
_ID_ENDINGS = ("id", "key", "doi", "url", "uri", "isbn", "path", "file", "filename")
_LINK_NAMES = re.compile(r"link|cite|citation|refer|parent|repl(y|ies)|neighbou?r|related", re.I)
_CODE_NAMES = re.compile(r"(^|_)(label|class|cluster|category|group|code|zip|postcode|type)$", re.I)
_DATE_NAMES = re.compile(r"date|day|time", re.I)
_PAIR = re.compile(r"[^\s,]+,[^\s,]+")


def guess_text(table: Table) -> tuple[str, str]:
    """The column to count: the one with the longest strings of many different words."""
    scores = {name: _text_score(name, cells) for name, cells in table.items()}
    best = max(scores, key=lambda name: scores[name], default=None)
    if best is not None and scores[best] > 0:
        return best, "the longest strings with many different words"
    if len(table) == 1:
        return next(iter(table)), "the only column"
    for name, cells in table.items():
        if _TEXT_NAMES.fullmatch(name) and all(map(is_missing, cells)):
            return name, f"is called {name!r}, and empty so far"
    columns = listed(table)
    raise InputError(
        f"no column looks like text; the columns are {columns}. Name the one to count: ",
        Argument("text", ...),
        ".",
    )


def texts_among(table: Table) -> list[str]:
    """All columns that look like text; the only column in any case."""
    return (
        list(table) if len(table) == 1 else [n for n, c in table.items() if _text_score(n, c) > 0]
    )


@cache
def _word() -> re.Pattern[str]:
    """A word wherever it stands; made at its first use, since the marks take a moment to collect."""
    return re.compile(expanded(r"[^\W\d_](?:[^\W\d_]|[\p{M}])+"))


def _words(text: str) -> list[str]:
    """The words of a text; pairs of characters where there are no blanks to tell them by."""
    found: list[str] = _word().findall(text)
    if has_no_blanks(text):
        return [run[start : start + 2] for run in found for start in range(0, len(run), 2)]
    return found


def _text_score(name: str, cells: Cells) -> float:
    """Mean length of the strings, for columns of words; twice for columns that are called so."""
    known = [cell for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    if not known:
        return 0.0
    words = [word.lower() for cell in known for word in _words(cell[:2000])]
    few = len(known) >= 20 and len(set(known)) <= len(known) / 5
    addresses = sum(_is_address(cell) for cell in known) > len(known) / 2
    lists = as_list(known[0]) is not None
    if addresses or lists or len(words) < 1.5 * len(known):
        return 0.0
    # A list of ids has letters too, but not mainly: weigh by how much of the column is words.
    length = sum(min(len(cell), 2000) for cell in known)
    share = sum(map(len, words)) / length
    if share < 0.4:
        return 0.0
    # Names that repeat are counted only where there is nothing better.
    return length / len(cells) * (2 if _TEXT_NAMES.fullmatch(name) else 1) * (0.01 if few else 1)


def _is_address(cell: str) -> bool:
    return "://" in cell[:12] and " " not in cell.strip()


def guess_id(candidates: Table) -> tuple[str, str] | None:
    """The column that names the documents, with the reason, or None."""
    for name, cells in candidates.items():
        if _ID_NAMES.fullmatch(name) and _distinct(cells) >= 0.9 * len(cells) > 0:
            return name, f"is called {name!r}"
    for name, cells in candidates.items():
        if len(cells) and _may_be_linked_to(cells):
            ids = rows_by_id([as_name(cell).strip() for cell in cells])
            for other, linking in candidates.items():
                if other != name and _are_links(linking, ids):
                    return name, f"hardly any repeats, and {other!r} links to it"
    for name, cells in candidates.items():
        if name.lower().endswith(_ID_ENDINGS) and len(cells) and _is_unique(cells):
            return name, "all different, and called like an id"
    return None


def _may_be_linked_to(cells: Cells) -> bool:
    """Whether cells are names that hardly repeat: a repeated id is told of, and links should not suffer from it."""
    head = list(islice(cells, 50))
    if any(is_missing(cell) or not isinstance(cell, str | int) for cell in head):
        return False
    if all(as_number(cell) is not None for cell in head):
        return False
    return _distinct(cells) >= _MOST * len(cells)


def rows_by_id(ids: Sequence[str]) -> Ids:
    """The row of each id; the first one where it repeats."""
    rows: dict[str, int] = {}
    for row, one in enumerate(ids):
        rows.setdefault(one, row)
    return rows


def guess_kind(name: str, cells: Cells, ids: Ids = _NO_IDS) -> Guess:
    """What a column other than the text and the id holds; `ids` are those of the documents."""
    known = [cell for cell in cells if not is_missing(cell)]
    if not known:
        return "ignore", "no values"
    if all(map(is_moment, known)):
        return "date", "dates"
    if _share(known, lambda cell: as_list(cell) is not None) >= _MOST:
        return _guess_list(cells, known, ids)
    if all(isinstance(cell, bool) for cell in known):
        return "category", "true or false"
    if ids and _LINK_NAMES.search(name) and _are_links(cells, ids):
        return "links", "called like links, and holds ids of documents"
    numbers = _share(known, lambda cell: as_number(cell) is not None)
    if numbers >= _MOST:
        return _guess_number(name, known, numbers)
    if not all(isinstance(cell, str) for cell in known):
        known = [as_name(cell) for cell in known]
    dates = _guess_date(known)
    if dates is not None:
        return dates
    decimals = has_decimal_commas(known)
    # That every document should link to exactly two others is the less likely reading of '37,3'.
    pairs = decimals and all(_PAIR.fullmatch(cell.strip()) for cell in known)
    if ids and not pairs and _are_links(cells, ids):
        return "links", "holds ids of documents"
    if decimals:
        return "number:comma", "numbers with decimal commas"
    return _guess_names(known)


def _guess_list(cells: Cells, known: list[Any], ids: Ids) -> Guess:
    vectors = [as_vector(cell) for cell in islice(known, 200)]
    lengths = {None if one is None else len(one) for one in vectors}
    are_vectors = len(lengths) == 1 and None not in lengths and lengths != {1}
    # Lists of ids hold each of them once; vectors of zeros and ones do not.
    repeat = are_vectors and any(len(set(one)) < len(one) for one in vectors if one is not None)
    if ids and not repeat and _are_links(cells, ids):
        return "links", "lists of ids of documents"
    if are_vectors:
        return "vector", f"lists of {lengths.pop()} numbers"
    return "list", "lists, not of ids of documents"


def _guess_number(name: str, known: list[Any], share: float) -> Guess:
    if _CODE_NAMES.search(name) and len(set(map(as_name, known))) <= len(known) / 2:
        return "category", "numbers, but called like a name for a group"
    if _DATE_NAMES.search(name) and all(re.fullmatch(r"[12]\d{7}", as_name(c)) for c in known):
        found = _guess_date([as_name(cell) for cell in known])
        if found is not None:
            return found
    return "number", f"{_percent(share)} numbers"


def _guess_date(known: list[str]) -> Guess | None:
    found = find_forms(known)
    if found is None:
        return None
    how_many = _percent(found.share)
    if len(found.forms) > 1:
        examples = "; ".join(found.examples)
        return found.kind, f"{how_many} dates, written in {len(found.forms)} ways: {examples}"
    if found.kind == "date":
        return "date", f"{how_many} dates"
    return found.kind, f"{how_many} dates, written {found.forms[0]}"


def _guess_names(known: list[str]) -> Guess:
    n_names = len({cell.strip() for cell in known})
    if n_names <= len(known) / 2:
        return "category", "one name" if n_names == 1 else f"{n_names:,} names that repeat"
    if sum(map(len, known)) > _LONG * len(known):
        return "ignore", LONG_STRINGS
    return "note", "strings that hardly repeat"


def _are_links(cells: Cells, ids: Ids) -> bool:
    """Whether half of the things in the cells are ids, and some of other documents, as `kernel='auto'` asks."""
    things: set[str] = set()
    elsewhere = False
    present = ((row, cell) for row, cell in enumerate(cells) if not is_missing(cell))
    for row, cell in islice(present, 5000):
        links = as_links(cell, ids)
        things.update(links)
        elsewhere = elsewhere or any(ids.get(link, row) != row for link in links)
    return elsewhere and 2 * sum(one in ids for one in things) >= len(things)


def _distinct(cells: Cells) -> int:
    return len({as_name(cell) for cell in cells if not isinstance(cell, list)})


def _is_unique(cells: Cells) -> bool:
    if any(is_missing(cell) or not isinstance(cell, str | int) for cell in islice(cells, 50)):
        return False
    return not any(map(is_missing, cells)) and _distinct(cells) == len(cells)


def _share(known: list[Any], holds: Callable[[Any], bool]) -> float:
    """The share of cells that are so; 0 where the first ones are mostly not, which saves the work."""
    head = known[:50]
    if sum(map(holds, head)) < 0.5 * len(head):
        return 0.0
    return sum(map(holds, known)) / len(known)


def _percent(share: float) -> str:
    return "all" if share == 1 else f"{min(share, 0.99):.0%}"
