"""Rows of tables: CSV, TSV, JSON lines and arrays, one document per line; each row with its line number."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gptm._basics.errors import InputError
from gptm.corpus.cells import as_number
from gptm.corpus.dates import find_forms
from gptm.corpus.problems import ProblemLog
from gptm.files.streams import Lines
from gptm.files.table_columns import shown

Row = tuple[int, dict[str, Any]]  # number of its line, and its cells by name

BAG = "counts"  # the name of an object from words to numbers
MOST_COLUMNS = 10_000
_LONGEST = 1 << 25  # characters of one row; beyond, a quote was surely left open
_NO_LIMIT = 2**31 - 1
_NEVER = "\x1f"  # separates nothing: for files of one column
_SEPARATORS = ",;\t|"
_SAID = re.compile(r'\s*"?sep=(.)"?\s*', re.I)  # Excel's first line, which names the separator
_AHEAD = 50  # lines by which the separator is chosen
_AHEAD_SIZE = 1 << 20  # characters of them
_LONG_NAME = 200  # characters; beyond, the first line is a text and no header
_DATED = re.compile(r"\d[-/.]\d|\b[12]\d{3}\b")  # a date has one of these
_BETWEEN = re.compile(r"[\s,]*")  # elements of an array


def csv_rows(lines: Lines, log: ProblemLog, separator: str | None = None) -> Iterator[Row]:
    """Rows of a table whose first line names the columns; the separator is found where not given."""
    records = _Records(lines, log)
    header = records.header(separator)
    if header is None:
        return
    _check_header(header, records.first, log)
    names = distinct_names(header, log)
    width = len(names)
    for number, cells in records:
        if len(cells) > width and not any(cells[width:]):
            cells = cells[:width]  # a separator at the end of each line
        if width > 1 and len(cells) == 1 and not cells[0].strip():
            continue  # a line of blanks
        if len(cells) == width:
            yield number, dict(zip(names, cells, strict=True))
            continue
        widths = f"expected {width} fields, got {len(cells)}"
        lone = len(cells) == 1 and width > 2  # more likely a piece of a text, or a remark
        if len(cells) > width or lone:
            log.add("broken line", number, widths)
        else:
            log.add("short line", number, widths)
            yield number, dict.fromkeys(names) | dict(zip(names, cells, strict=False))


class _Records:
    """Records of a CSV file, which may span lines; a stray quote spoils one line and not the rest."""

    def __init__(self, lines: Lines, log: ProblemLog):
        self._lines = lines
        self._log = log
        self._again: list[tuple[int, str]] = []  # lines to be read once more, last first
        self._record: list[tuple[int, str]] = []  # lines of the record at hand
        self._size = 0
        self._style: dict[str, Any] = {}
        self._width = 0
        self.first = 1  # number of the header's line

    def header(self, separator: str | None) -> list[str] | None:
        """The first record, with the separator that the first lines are written with."""
        ahead = self._look_ahead()
        said = _SAID.fullmatch(ahead[0][1]) if ahead else None
        if said:
            separator = said[1]
            ahead = ahead[1:]
        self._back(ahead)
        if not ahead:
            return None
        lines = [line for _, line in ahead]
        self._style = _style(lines[0], separator or _separator(lines))
        header = next(iter(self), None)
        if header is None:
            return None
        self.first, names = header
        self._width = len(names)
        return names

    def _look_ahead(self) -> list[tuple[int, str]]:
        """The first lines, from one with anything on it; they are still to be read."""
        ahead: list[tuple[int, str]] = []
        size = 0
        for line in self._lines:
            if ahead or line.strip():
                ahead.append((self._lines.number, line))
                size += len(line)
            if len(ahead) >= _AHEAD or size >= _AHEAD_SIZE:
                break
        return ahead

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        with _long_fields():
            yield from self._each()

    def _each(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(self._feed(), **self._style, strict=True)
        while True:
            self._record, self._size = [], 0
            try:
                cells = next(reader)
            except StopIteration:
                return
            except (csv.Error, _OpenQuote):
                self._back(self._record[1:])
                number, line = self._record[0]
                mended = self._mended(line)
                if mended is None:
                    self._log.add("broken line", number, "a quote is opened and not closed")
                else:
                    self._log.add("misquoted line", number)
                    yield number, mended
                reader = csv.reader(self._feed(), **self._style, strict=True)
                continue
            if cells:  # an empty line is no row
                yield self._record[0][0], cells

    def _feed(self) -> Iterator[str]:
        while True:
            if self._again:
                number, line = self._again.pop()
            else:
                try:
                    line = next(self._lines)
                except StopIteration:
                    return
                number = self._lines.number
            self._record.append((number, line))
            self._size += len(line)
            if self._size > _LONGEST and len(self._record) > 1:
                raise _OpenQuote
            yield line

    def _back(self, lines: list[tuple[int, str]]) -> None:
        self._again.extend(reversed(lines))

    def _mended(self, line: str) -> list[str] | None:
        """One line read with less care for quotes, if that gives the right number of fields."""
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            if quoting == csv.QUOTE_MINIMAL and line.count('"') % 2:
                continue  # the last field would not end
            cells = next(csv.reader([line], **self._style, quoting=quoting), [])
            if self._width and len(cells) == self._width:
                return cells
        return None


class _OpenQuote(Exception):
    """A record that goes on and on."""


@contextmanager
def _long_fields() -> Iterator[None]:
    """Texts may be longer than the 128 KB of the default."""
    limit = csv.field_size_limit(_NO_LIMIT)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _style(header: str, separator: str) -> dict[str, Any]:
    # Blanks after every separator of the header are there for the eye, and stand before quotes too.
    spaced = separator != "\t" and header.count(separator) == header.count(separator + " ") > 0
    return {"delimiter": separator, "skipinitialspace": spaced}


def _separator(lines: Sequence[str]) -> str:
    """The separator that gives most rows as many fields as the header has; of several, the one that gives most fields.

    Examples
    --------
    >>> _separator(["id;text, body", "1;green tea, black tea, milk"])
    ';'
    """
    outside = "".join(lines[0].split('"')[::2])
    present = [mark for mark in _SEPARATORS if mark in outside]
    if not present:
        return _NEVER
    if len(present) == 1:
        return present[0]
    return max(present, key=lambda mark: _agreement(lines, mark))


def _agreement(lines: Sequence[str], separator: str) -> tuple[float, int]:
    """The share of rows as wide as the header, half for those that lack cells; and the header's width."""
    with _long_fields():
        try:
            header, *rows = csv.reader(lines, **_style(lines[0], separator))
        except (csv.Error, ValueError):
            return 0.0, 0
    widths = [
        len(row) if any(row[len(header) :]) else min(len(row), len(header)) for row in rows if row
    ]
    points = {len(header): 1.0} | dict.fromkeys(range(2, len(header)), 0.5)
    return sum(points.get(width, 0.0) for width in widths) / max(len(widths), 1), len(header)


def _check_header(header: list[str], number: int, log: ProblemLog) -> None:
    """Note a first line that looks like data: the file may have no header, and would lose a document."""
    dated = [cell for cell in header if len(cell) < _LONG_NAME and _DATED.search(cell)]
    odd = [
        *_numbers(header),
        *(cell for cell in dated[:5] if find_forms([cell.strip()])),
        *(cell for cell in header if len(cell) > _LONG_NAME),
    ]
    for position, cell in enumerate(odd):
        log.add("odd header", number, repr(shown(cell.strip())), count=int(position == 0))


def _numbers(header: list[str]) -> list[str]:
    """Cells that are numbers; none where they count 0, 1, 2, which are names that a program gave."""
    numbers = {cell: as_number(cell) for cell in header if as_number(cell) is not None}
    values = list(numbers.values())
    first = int(values[0] or 0) if values else 0
    counting = values == list(range(first, first + len(values)))
    return [] if counting and (len(values) > 1 or first == 0) else list(numbers)


def distinct_names(header: list[str], log: ProblemLog) -> list[str]:
    """Names of columns, all different and none empty."""
    if len(header) > MOST_COLUMNS:
        raise InputError(
            f"the table has {len(header):,} columns; tables of documents have at most {MOST_COLUMNS:,}. Save counts of "
            "words as a sparse matrix (.mtx or .npz), or leave columns out."
        )
    names: list[str] = []
    for position, cell in enumerate(header, start=1):
        name = plain = cell.strip() or f"column {position}"
        number = 1
        while name in names:
            number += 1
            name = f"{plain} {number}"
        if name != plain:
            log.add("repeated column", None, repr(plain))
        names.append(name)
    return names


def json_rows(lines: Lines, log: ProblemLog) -> Iterator[Row]:
    """Rows of JSON lines, or of one JSON array of objects; objects inside objects become columns "a.b".

    Only "counts" stays one object: what it holds is for the reader to say.
    """
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        return
    if first.lstrip().startswith("["):
        yield from _array_rows(first, lines, log)
        return
    line: str | None = first
    while line is not None:
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                log.add("broken line", lines.number, f"no JSON ({error})")
            else:
                yield from _object_row(value, lines.number, log)
        line = next(lines, None)


def _array_rows(first: str, lines: Lines, log: ProblemLog) -> Iterator[Row]:
    """The objects of an array, one by one, without holding all of it."""
    decode = json.JSONDecoder().raw_decode
    text, start = first, first.index("[") + 1
    number = lines.number
    while True:
        start = _BETWEEN.match(text, start).end()  # type: ignore[union-attr]  # it matches nothing, too
        if text.startswith("]", start):
            return
        try:
            value, start = decode(text, start)
        except RecursionError:
            log.add("broken line", number, "no JSON: nested too deeply")
            return
        except ValueError as error:
            more = next(lines, None)
            if more is None:
                if text[start:].strip():
                    log.add("broken line", number, f"no JSON ({error})")
                log.add("cut short", lines.number, "the array is not closed by ]")
                return
            rest = text[start:]
            number = number if rest else lines.number
            text, start = rest + more, 0
            continue
        yield from _object_row(value, number, log)
        number = lines.number


def _object_row(value: Any, number: int, log: ProblemLog) -> Iterator[Row]:
    if isinstance(value, dict):
        bag = {BAG: value[BAG]} if is_bag(value.get(BAG)) else {}
        yield number, flat({n: v for n, v in value.items() if n not in bag}) | bag
    else:
        log.add("broken line", number, f"expected an object {{...}}, got {type(value).__name__}")


def is_bag(value: Any) -> bool:
    """Whether a value is an object from words to numbers.

    Examples
    --------
    >>> is_bag({"tea": 2}), is_bag({"tea": "two"}), is_bag({}), is_bag([2])
    (True, False, True, False)
    """
    return isinstance(value, dict) and all(
        isinstance(count, int | float) and not isinstance(count, bool) for count in value.values()
    )


def flat(cells: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The cells of an object, those of objects inside it named "outer.inner"."""
    result: dict[str, Any] = {}
    for name, value in cells.items():
        if isinstance(value, dict):
            result.update(flat(value, f"{prefix}{name}."))
        else:
            result[prefix + str(name)] = value
    return result


def line_rows(lines: Lines) -> Iterator[Row]:
    """One document per line, empty lines too."""
    for line in lines:
        yield lines.number, {"text": line.rstrip("\r\n")}
