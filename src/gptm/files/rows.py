"""Rows of tables: CSV, TSV, JSON lines and arrays, one document per line; each row with its line number."""

import csv
import json
import re
from collections.abc import Iterator
from typing import Any

from gptm.files.problems import ProblemLog
from gptm.files.streams import Lines

Row = tuple[int, dict[str, Any]]  # number of its line, and its cells by name

_LONGEST = 1 << 25  # characters of one row; beyond, a quote was surely left open
_NO_LIMIT = 2**31 - 1
_NEVER = "\x1f"  # separates nothing: for files of one column
_SEPARATORS = ",;\t|"
_BETWEEN = re.compile(r"[\s,]*")  # elements of an array


def csv_rows(lines: Lines, log: ProblemLog, separator: str | None = None) -> Iterator[Row]:
    """Rows of a table whose first line names the columns; the separator is found where not given."""
    records = _Records(lines, log)
    header = records.header(separator)
    if header is None:
        return
    names = _distinct(header, log)
    width = len(names)
    for number, cells in records:
        if len(cells) > width and not any(cells[width:]):
            cells = cells[:width]  # a separator at the end of each line
        if width > 1 and len(cells) == 1 and not cells[0].strip():
            continue  # a line of blanks
        if len(cells) == width:
            yield number, dict(zip(names, cells, strict=True))
        else:
            log.add("broken line", number, f"expected {width} fields, got {len(cells)}")


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

    def header(self, separator: str | None) -> list[str] | None:
        """The first record, with the separator that it is written with."""
        first = next((one for one in self._feed() if one.strip()), None)
        if first is None:
            return None
        self._back(self._record[-1:])
        mark = separator or _separator(first)
        # Blanks after every separator of the header are there for the eye, and stand before quotes too.
        spaced = mark != "\t" and first.count(mark) == first.count(mark + " ") > 0
        self._style = {"delimiter": mark, "skipinitialspace": spaced}
        found = next(iter(self), None)
        self._width = len(found[1]) if found else 0
        return found[1] if found else None

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        limit = csv.field_size_limit(
            _NO_LIMIT
        )  # texts may be longer than the 128 KB of the default
        try:
            yield from self._each()
        finally:
            csv.field_size_limit(limit)

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


def _separator(header: str) -> str:
    """The separator of which the header has most, outside of quotes."""
    outside = "".join(header.split('"')[::2])
    best = max(_SEPARATORS, key=outside.count)
    return best if outside.count(best) else _NEVER


def _distinct(header: list[str], log: ProblemLog) -> list[str]:
    """Names of columns, all different and none empty."""
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
    """Rows of JSON lines, or of one JSON array of objects; objects inside objects become columns "a.b"."""
    first = next((one for one in lines if one.strip()), None)
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
            except ValueError as error:
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
        yield number, flat(value)
    else:
        log.add("broken line", number, f"expected an object {{...}}, got {type(value).__name__}")


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
