"""What is wrong with documents and metadata: counted, with the first places, never passed over in silence."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gptm._basics.errors import Argument, InputError, Message

_FIRST = 5  # places that are named

# Kind of problem: what happened, and what to try.
_KINDS: dict[str, tuple[str, str | Message]] = {
    "short line": (
        "kept, the last cells missing",
        "Check them if they should be complete.",
    ),
    "broken line": (
        "left out",
        "Correct them: a text with separators or line breaks in it needs quotes.",
    ),
    "odd header": (
        "read as the names of the columns, but looks like data",
        "If the file has no header, put a line with names above the first row.",
    ),
    "misquoted line": (
        "read as well as possible",
        'Inside a quoted field write a quote twice: "".',
    ),
    "undecodable bytes": (
        "not in the encoding of the file",
        Message(
            "If letters are wrong, name the encoding, for example ",
            Argument("encoding", "latin-1"),
            ".",
        ),
    ),
    "cut short": (
        "the file ends too early, and all before was kept",
        "Download the file again.",
    ),
    "empty text": ("kept as empty documents", ""),
    "duplicate id": ("kept", "Links need ids that are all different."),
    "duplicate id in metadata": (
        "left out, as an earlier row has the same id",
        "Keep one row per id.",
    ),
    "column in both files": (
        "taken from the documents' file alone",
        "Rename it in one of them to have both.",
    ),
    "missing id": ("named by their rows", ""),
    "not a number": ("treated as missing in a column of numbers", ""),
    "not a date": ("treated as missing in a column of dates", ""),
    "ambiguous dates": ("day/month or month/day", ""),
    "two-digit years": (
        "in the future; years of two digits are read as 1969 to 2068",
        "Write years with four digits.",
    ),
    "dates and others": ("not dates in a column of dates, which was therefore read as text", ""),
    "repeated column": ("numbered", ""),
    "missing column": ("not in the file", ""),
    "late column": (
        "left out, as the first documents do not have it",
        "Bring documents that have it to the front.",
    ),
    "unmatched document": ("no row in the table of metadata, whose values are missing", ""),
    "unmatched row": ("left out, as no document has the id", ""),
    "skipped files": ("left out", "Save them as plain text if they are documents."),
    "other sheets": ("left out", "Move the one to read to the front, or save it as CSV."),
    "fractional counts": (
        "kept",
        "The model expects raw counts of words, not weights.",
    ),
}
_HARMLESS = ("skipped files", "other sheets")  # worth a line, but nothing is wrong


@dataclass(frozen=True)
class DataProblem:
    """One kind of problem: how often it occurred, the first lines, and what to do.

    Lines are counted from 1, with the header; in a Parquet file they are rows, in a folder files in order.
    """

    kind: str
    count: int
    lines: tuple[int, ...]
    said: Message

    @property
    def message(self) -> str:
        """What happened, where, and what to do."""
        return str(self.said)

    def to_dict(self) -> dict[str, Any]:
        """The problem in terms of JSON."""
        return {
            "kind": self.kind,
            "count": self.count,
            "lines": list(self.lines),
            "message": self.message,
        }

    def __str__(self) -> str:
        return self.message


@dataclass
class _Entry:
    count: int = 0
    lines: list[int] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    remedies: list[str | Message] = field(default_factory=list)


class ProblemError(InputError):
    """What is wrong with files, all at once, where nothing wrong is accepted."""

    def __init__(self, problems: Sequence[Message]):
        first, *others = problems
        super().__init__(first, *(Message("\n", problem) for problem in others))
        self.problems = tuple(problems)


class ProblemLog:
    """Collects problems while a file is read; where `strict`, they are an error once all are known."""

    def __init__(self, strict: bool = False, unit: str = "line", name: str = "the file"):
        self.strict = strict
        self.unit = unit  # what a place is: a line, a row, a file, a column
        self.name = name
        self.names: Sequence[str] = ()  # of the places that have some: the files of a folder
        self._encodings: dict[str, bool] = {}  # and whether letters beyond ASCII show them
        self._entries: dict[str, _Entry] = {}

    def add(
        self,
        kind: str,
        line: int | None = None,
        detail: str = "",
        count: int = 1,
        remedy: str | Message = "",
    ) -> None:
        """Note a problem at a place; `count` is how many places it stands for, `remedy` replaces the usual advice."""
        entry = self._entries.setdefault(kind, _Entry())
        entry.count += count
        if line is not None and len(entry.lines) < _FIRST and line not in entry.lines:
            entry.lines.append(line)
        if detail and len(entry.details) < 2 and detail not in entry.details:
            entry.details.append(detail)
        if remedy and len(entry.remedies) < 2 and remedy not in entry.remedies:
            entry.remedies.append(remedy)

    def note_encoding(self, name: str, certain: bool = True) -> None:
        """Note an encoding that the file was read with; what is plain ASCII does not show it for certain."""
        if certain or name not in self._encodings:
            self._encodings[name] = certain

    @property
    def encoding(self) -> str:
        """The encodings of the file, in the order in which they came up."""
        certain = [name for name, is_certain in self._encodings.items() if is_certain]
        return ", ".join(certain or self._encodings)

    def problems(self) -> list[DataProblem]:
        """All problems so far, in the order in which they came up."""
        return [
            DataProblem(kind, entry.count, tuple(entry.lines), self._message(kind, entry))
            for kind, entry in self._entries.items()
        ]

    def check(self, *others: "ProblemLog") -> None:
        """Raise what this log and others hold, if it is strict."""
        noted = [
            Message(f"{log.name}: ", problem.said, " (", Argument("strict", True), ")")
            for log in (self, *others)
            for problem in log.problems()
            if problem.kind not in _HARMLESS
        ]
        if self.strict and noted:
            raise ProblemError(noted)

    def _message(self, kind: str, entry: _Entry) -> Message:
        what, remedy = _KINDS[kind]
        unit = next((u for u in ("column", "sheet") if u in kind), self.unit)
        many = f"{entry.count:,} {unit}{'' if entry.count == 1 else 's'}"
        more = ", ..." if entry.count > len(entry.lines) else ""
        if self.names:
            places = ", ".join(self.names[line - 1] for line in entry.lines)
        else:
            places = f"{self.unit} {', '.join(map(str, entry.lines))}"
        where = f" ({places}{more})" if entry.lines else ""
        detail = f": {'; '.join(entry.details)}" if entry.details else ""
        advice = entry.remedies or ([remedy] if remedy else [])
        said = f"{kind}: {many}{where}, {what}{detail}."
        return Message(said, *(Message(" ", sentence) for sentence in advice))
