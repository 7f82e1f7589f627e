"""Bytes from a path or from standard input, unpacked where gzipped, and decoded line by line."""

import codecs
import gzip
import io
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from gptm._basics.errors import ArgumentError, InputError
from gptm._basics.progress import Pieces, Tell
from gptm._basics.validation import check_truth
from gptm.corpus.problems import ProblemLog

MOST_UNPACKED = 200.0  # bytes for each packed one
ANY_SIZE = 100_000_000  # bytes that may come out of anything
RATIO_SETTING = "GPTM_MOST_UNPACKED"
_GZIP = b"\x1f\x8b"
_BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)
_ESCAPED = re.compile("[\udc80-\udcff]+")  # what "surrogateescape" makes of undecodable bytes
_OUTSIDE_ASCII = re.compile("[^\x00-\x7f\udc80-\udcff]")
_REPLACED = re.compile("\ufffd+")
AUTO = "auto"  # UTF-8, or what the bytes show
OLD = "cp1252"  # what programs wrote before UTF-8, in Western Europe and America
_READ_AS_OLD = f"read as {OLD} (Western European)"
REPLACED = "replaced by \ufffd"
_MARKS = (  # byte-order marks; the longer ones first, since one begins like another
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def shown(progress: Tell | None, verbose: bool) -> Tell | None:
    """What shows progress: a function of the caller's, lines, or nothing."""
    check_truth("verbose", verbose)
    return Pieces("megabytes read", 1_000_000) if verbose and progress is None else progress


def source_name(path: str | os.PathLike[str]) -> str:
    """What messages call a file."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"expected the path of a file; got {type(path).__name__}. For texts and a table in memory use "
            "Corpus.from_texts(df['text'], metadata=df)."
        )
    return "standard input" if str(path) == "-" else str(path)


class Input:
    """A file, or standard input for "-", as a stream of unpacked bytes that can be peeked at."""

    def __init__(self, path: str | os.PathLike[str], progress: Tell | None = None):
        self.name = source_name(path)
        self._path = path
        self._progress = progress
        self._raw, self._own = _open(path)
        self._counted = _ByteCounter(self._raw)
        self.total = None if str(path) == "-" else os.stat(path).st_size
        packed = io.BufferedReader(self._counted, 1 << 16)
        self.stream: io.BufferedReader[Any] = packed
        self._packed = packed.peek(2)[:2] == _GZIP  # also without the suffix
        if self._packed:
            unpacked = gzip.GzipFile(fileobj=packed)
            bounded = _Bounded(cast(BinaryIO, unpacked), self._counted, self.name)
            self.stream = io.BufferedReader(bounded, 1 << 16)

    def peek(self, size: int = 1024) -> bytes:
        """The first bytes, which stay there to be read."""
        try:
            return self.stream.peek(size)[:size]
        except _BROKEN_GZIP:
            return b""

    def report(self, share: float | None = None) -> None:
        """Tell the caller how far we are, in bytes of the file as it is stored, or in shares of it."""
        if self._progress is not None:
            by_share = share is not None and self.total is not None
            done = round(share * self.total) if by_share else self._counted.done  # type: ignore[operator]
            self._progress(done, self.total)

    def seekable(self) -> BinaryIO:
        """All of the unpacked bytes, as formats need that jump about; spilt to disk where large."""
        if self._own and not self._packed:
            return open(self._path, "rb")
        import shutil
        import tempfile

        spool = tempfile.SpooledTemporaryFile(max_size=1 << 26)  # noqa: SIM115  # the caller closes it
        try:
            shutil.copyfileobj(self.stream, spool, 1 << 20)
        except _BROKEN_GZIP as error:
            raise self._damaged(error) from None
        spool.seek(0)
        return cast(BinaryIO, spool)

    def _damaged(self, error: Exception) -> ValueError:
        return ValueError(
            f"{self.name} is damaged and cannot be unpacked ({error}). Fetch it again."
        )

    def whole(self) -> bytes:
        """All of the unpacked bytes, at once; how far the read is, is reported."""
        pieces: list[bytes] = []
        try:
            while piece := self.stream.read(1 << 20):
                pieces.append(piece)
                self.report()
        except _BROKEN_GZIP as error:
            raise self._damaged(error) from None
        return b"".join(pieces)

    def followed(self, file: BinaryIO) -> BinaryIO:
        """The bytes of `seekable`, which report how far a reader is that takes them by itself."""
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        return cast(BinaryIO, io.BufferedReader(_Followed(file, size, self.report), 1 << 20))

    def close(self) -> None:
        if self._own:
            self._raw.close()

    def __enter__(self) -> "Input":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lines:
    """Decoded lines with their ends, numbered from 1; undecodable bytes are noted, and replaced if need be.

    With the encoding "auto" a line that is no UTF-8 is read as cp1252, unless the lines before it are mostly UTF-8.
    """

    def __init__(self, source: Input, encoding: str, log: ProblemLog):
        self.number = 0  # of the line that came last
        self._log = log
        name = _encoding(source, encoding)
        # The two need whole units of several bytes, where single bytes cannot be marked.
        wide = name.startswith(("utf-16", "utf-32"))
        self._bad = _REPLACED if wide else _ESCAPED
        self._may_be_old = encoding == AUTO and name == "utf-8"
        self._n_utf8 = self._n_old = 0  # lines beyond ASCII, by how they were read
        self._name = name.removesuffix("-sig")
        log.note_encoding(self._name, certain=wide)
        self._text = io.TextIOWrapper(
            source.stream,
            encoding=name,
            errors="replace" if wide else "surrogateescape",
            newline="",  # a quoted field keeps its line breaks as they are
        )

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = self._text.readline()
        except _BROKEN_GZIP as error:
            self._log.add("cut short", self.number, str(error))
            line = ""
        if not line:
            raise StopIteration
        self.number += 1
        if not line.isascii():
            line = self._mended(line)
        return line

    def _mended(self, line: str) -> str:
        if not self._bad.search(line):
            self._n_utf8 += 1
            self._log.note_encoding(self._name)
            return line
        old = self._in_old_encoding(line) if self._may_be_old else None
        if old is not None:
            self._n_old += 1
            self._log.note_encoding(OLD)
            self._log.add("undecodable bytes", self.number, _READ_AS_OLD)
            return old
        self._log.add("undecodable bytes", self.number, REPLACED)
        return self._bad.sub("\ufffd", line)

    def _in_old_encoding(self, line: str) -> str | None:
        """The line in the old encoding; None where it is rather damaged UTF-8, or in another encoding."""
        if self._n_utf8 > self._n_old or (_OUTSIDE_ASCII.search(line) and not self._n_old):
            return None
        return _as_old(line.encode("utf-8", "surrogateescape"))


def decode(content: bytes, encoding: str, log: ProblemLog, number: int) -> str:
    """A whole small file as text; undecodable bytes are noted, and replaced if need be."""
    name = _by_mark(content, encoding)
    try:
        text = content.decode(name)
    except LookupError:
        raise _unknown_encoding(encoding) from None
    except UnicodeDecodeError:
        old = _as_old(content) if encoding == AUTO and name == "utf-8" else None
        name = name if old is None else OLD
        log.add("undecodable bytes", number, REPLACED if old is None else _READ_AS_OLD)
        text = content.decode(name, errors="replace") if old is None else old
    log.note_encoding(name.removesuffix("-sig"), certain=not content.isascii())
    return text


def _as_old(content: bytes) -> str | None:
    """Bytes in the old encoding, if they can be: none that it lacks, and fewer letters with accents than without."""
    try:
        text = content.decode(OLD)
    except UnicodeDecodeError:
        return None
    letters = [letter for letter in text if letter.isalpha()]
    n_accents = sum(letter > "\x7f" for letter in letters)
    return text if 2 * n_accents <= len(letters) else None


def _open(path: str | os.PathLike[str]) -> tuple[BinaryIO, bool]:
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed. Pass the path of a file.")
        stream = getattr(sys.stdin, "buffer", None)
        return stream or io.BytesIO(sys.stdin.read().encode("utf-8")), False
    if not Path(path).exists():
        raise FileNotFoundError(
            f"there is no file {str(path)!r}. Check the path, or pass '-' for standard input."
        )
    return open(path, "rb"), True


class _ByteCounter(io.RawIOBase):
    """Counts the bytes that go through."""

    def __init__(self, raw: BinaryIO):
        self.done = 0
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # A terminal or pipe gives what it has; `read` would wait until the buffer is full.
        read = getattr(self._raw, "read1", self._raw.read)
        data = read(len(buffer))
        buffer[: len(data)] = data
        self.done += len(data)
        return len(data)


class _Followed(io.RawIOBase):
    """A file that reports the share of it that lies behind the last read."""

    def __init__(self, raw: BinaryIO, size: int, report: Callable[[float], None]):
        self._raw, self._size, self._report = raw, max(size, 1), report

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self._report(self._raw.tell() / self._size)
        return len(data)


class _Bounded(io.RawIOBase):
    """Unpacked bytes, which are refused where far more come out than went in."""

    def __init__(self, unpacked: BinaryIO, packed: _ByteCounter, name: str):
        self.done = 0
        self._unpacked, self._packed, self._name = unpacked, packed, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._unpacked.read(len(buffer))
        buffer[: len(data)] = data
        self.done += len(data)
        check_ratio(self.done, self._packed.done, self._name)
        return len(data)


def check_ratio(unpacked: int, packed: int, name: str) -> None:
    """An error where a packed file looks made to fill a memory or a disk."""
    if unpacked <= ANY_SIZE:
        return
    most = _most_unpacked()
    if unpacked > most * max(packed, 1):
        raise InputError(
            f"{name} unpacks to more than {most:g} times its size, which no text does. If you trust it, unpack it "
            f"yourself, or set the environment variable {RATIO_SETTING} to a larger number."
        )


def _most_unpacked() -> float:
    """How many bytes may come out of each packed one: as the user set it, or as usual."""
    setting = os.environ.get(RATIO_SETTING, str(MOST_UNPACKED))
    try:
        most = float(setting)
    except ValueError:
        most = 0.0
    if not most >= 1:
        raise InputError(
            f"the environment variable {RATIO_SETTING} must be a number of at least 1, such as 1000; got {setting!r}."
        )
    return most


def check_archive(file: BinaryIO) -> None:
    """The same for the members of a zip file, by what it says of itself; leaves the file at its start."""
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            check_ratio(member.file_size, member.compress_size, member.filename)
    file.seek(0)


def _encoding(source: Input, encoding: str) -> str:
    """The encoding by name, or by the start of the file where utf-8 is expected."""
    return codecs.lookup(_by_mark(source.peek(4096), encoding)).name


def _by_mark(start: bytes, encoding: str) -> str:
    """The encoding by name; by a mark at the start, or by the zeros of UTF-16 without one, where utf-8 is expected."""
    if encoding != AUTO and not _is_utf8(encoding):
        return encoding
    for mark, marked in _MARKS:
        if start.startswith(mark):
            return marked
    return (encoding == AUTO and wide_without_mark(start)) or "utf-8"


def wide_without_mark(start: bytes) -> str | None:
    """UTF-16 without a mark, by the zeros in every other byte that blanks and line ends have; None for anything else.

    Examples
    --------
    >>> from gptm.files.streams import wide_without_mark
    >>> wide_without_mark("id,body".encode("utf-16-be"))
    'utf-16-be'
    >>> wide_without_mark(b"id,body") is None
    True
    """
    even, odd = start[::2].count(0), start[1::2].count(0)
    zeros = max(even, odd)
    if zeros < max(1, 0.02 * len(start)) or min(even, odd) > 0.02 * zeros:
        return None
    # A zero may be in UTF-8, too. There its neighbours are letters, and not one half of other characters.
    pairs = sum(
        32 < a < 127 and 32 < b < 127 for a, b in zip(start[::2], start[1::2], strict=False)
    )
    if pairs > zeros / 10 and _is_valid(start, "utf-8"):
        return None
    name = "utf-16-be" if even > odd else "utf-16-le"
    return name if _is_valid(start, name) else None


def _is_valid(start: bytes, encoding: str) -> bool:
    """Whether bytes are text in an encoding; the last character may be cut."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _is_utf8(encoding: str) -> bool:
    try:
        # Python knows others, such as hex and idna, which are no encodings of files.
        probe = io.BytesIO(b"a\0\0\0")
        io.TextIOWrapper(probe, encoding=encoding, errors="surrogateescape").read()
        return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    except (LookupError, ValueError, TypeError):
        raise _unknown_encoding(encoding) from None


def check_encoding(encoding: Any) -> None:
    """An encoding is a text; whether Python knows it shows when the file is read."""
    if not isinstance(encoding, str):
        raise _unknown_encoding(encoding)


def _unknown_encoding(encoding: Any) -> ArgumentError:
    expected = "must be 'auto' or one that Python knows, such as 'utf-8', 'latin-1' or 'cp1252'"
    return ArgumentError("encoding", expected, encoding)
