"""Results of jobs in one file, so that work goes on where it stopped.

The file has one line of JSON for each job: `{"key": ..., "fingerprint": ..., "result": {...}}`. A new job adds a line;
a job that was done again replaces its line, and then the whole file is written beside the old one and takes its place.
So a run can be stopped at any time, and loses no more than the job it was at.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gptm._basics.atomic_files import replace_file

Result = dict[str, Any]


class _Entry(NamedTuple):
    """One line of the file."""

    key: str
    fingerprint: str
    result: Result

    def line(self) -> str:
        content = self._asdict() if self.fingerprint else {"key": self.key, "result": self.result}
        return json.dumps(content, allow_nan=False) + "\n"


class Store:
    """Results by the keys of their jobs, in the order in which the jobs were first done.

    Parameters
    ----------
    path
        The file. It need not exist yet.
    fingerprints
        For each key a short text that stands for all that the result depends on. A result that was kept under another
        fingerprint counts as not done. Without fingerprints every result counts.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "results.jsonl"
    ...     Store(path).put("double/3", {"twice": 6})
    ...     Store(path).get("double/3")
    ...     Store(path, {"double/3": "other code"}).get("double/3") is None
    {'twice': 6}
    True
    """

    def __init__(
        self, path: str | os.PathLike[str], fingerprints: Mapping[str, str] | None = None
    ) -> None:
        self.path = Path(path)
        self._fingerprints = fingerprints
        self._entries, self._whole = _read(self.path)

    def get(self, key: str) -> Result | None:
        """The result of a job, or None if it must be done."""
        entry = self._entries.get(key)
        return entry.result if entry is not None and self._counts(entry) else None

    def put(self, key: str, result: Result) -> None:
        """Keep the result of a job."""
        entry = _Entry(key, self._fingerprint(key), result)
        line = entry.line()  # before anything changes: the result may be none that JSON can hold
        can_append = self._whole and key not in self._entries
        self._entries[key], self._whole = entry, False  # until all is written
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if can_append:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line)
        else:
            replace_file(self.path, "".join(map(_Entry.line, self._entries.values())).encode())
        self._whole = True

    def results(self) -> dict[str, Result]:
        """All results that count."""
        return {key: entry.result for key, entry in self._entries.items() if self._counts(entry)}

    def _fingerprint(self, key: str) -> str:
        return "" if self._fingerprints is None else self._fingerprints[key]

    def _counts(self, entry: _Entry) -> bool:
        wanted = self._fingerprints
        return wanted is None or wanted.get(entry.key) == entry.fingerprint


def _read(path: Path) -> tuple[dict[str, _Entry], bool]:
    """The entries of a file, and whether a line can be added to it.

    Where the last run was cut off while it wrote, the last line is not whole. It is left out.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    complete, _, rest = text.rpartition("\n")
    entries = [_entry(path, number, line) for number, line in enumerate(complete.split("\n"), 1)]
    return {entry.key: entry for entry in entries if entry is not None}, not rest


def _entry(path: Path, number: int, line: str) -> _Entry | None:
    if not line:
        return None
    try:
        content = json.loads(line)
        return _Entry(content["key"], content.get("fingerprint", ""), content["result"])
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(
            f"{path}, line {number}: expected a JSON object with 'key' and 'result'; got {line[:60]!r}. "
            "Take another file, or remove this one."
        ) from None
