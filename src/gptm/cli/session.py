"""What all commands share: where output goes, how errors are shown, and the seed."""

import json
import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gptm._basics.errors import Message
from gptm._basics.terminal import printable, printable_json
from gptm.cli.argument_options import in_options, lines_in_options

if TYPE_CHECKING:
    from rich.console import Console

OK, FAILED, USAGE, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143
_EXPECTED = (ValueError, OSError, ImportError, MemoryError)  # what a user can fix
_OF_NO_INTEREST = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


class Terminated(BaseException):
    """The system ended the process; its progress is in the checkpoint, if there is one."""


class UsageError(Exception):
    """The options make no sense; the command ends with exit code 2."""


@dataclass
class Session:
    """One run of one command."""

    seed: int = 0
    jobs: int = -1
    quiet: bool = False
    json: bool = False
    debug: bool = False
    arguments: dict[str, str] = field(default_factory=dict)  # what the command calls them itself
    _console: "Console | None" = None
    _said: set[str] = field(default_factory=set)

    @property
    def console(self) -> "Console":
        """Standard error, shared with the progress bars so that lines appear above them."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(
                stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True
            )
        return self._console

    def say(self, text: str = "") -> None:
        """Print a line on standard error, unless --quiet."""
        if not self.quiet:
            self.console.print(printable(text))

    def warn(self, warning: object) -> None:
        """Print a warning on one line, once, even with --quiet: a text, or anything that carries a message."""
        line = printable(in_options(warning, self.arguments))
        if line not in self._said:
            self._said.add(line)
            self.console.print(f"warning: {line}", style="yellow")

    def answer(self, data: Any, text: Callable[[], None]) -> None:
        """Print data on standard output: as JSON with --json, otherwise as `text()` prints them."""
        if sys.stdout is None:
            raise UsageError("standard output is closed. Send it to a file, a pipe or a terminal.")
        if self.json:
            text_of_data = json.dumps(plain(data), ensure_ascii=False, indent=2)
            sys.stdout.write(printable_json(text_of_data) + "\n")
        else:
            text()
        sys.stdout.flush()


@contextmanager
def terminating(kept: bool) -> Iterator[list[int]]:
    """Inside the block SIGTERM ends a fit, and is then in the list that the block gets.

    A fit whose work is `kept` in a checkpoint ends after the next sweep, any other at once, as with Ctrl-C.
    """
    from gptm.storage.checkpoint_file import ending

    came: list[int] = []

    def end(number: int, frame: object) -> None:
        came.append(number)
        ending.set()
        if not kept:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end) if _in_main_thread() else None
    try:
        yield came
    finally:
        ending.clear()
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def run(session: Session, function: Callable[[], int | None]) -> int:
    """Run a command and return its exit code; errors become one line, unless --debug."""
    try:
        with _library_talk(session):
            return function() or OK
    except KeyboardInterrupt:
        _error(session, "interrupted; nothing was saved.")
        return INTERRUPTED
    except Terminated:
        _error(session, "terminated. If there is a checkpoint, the same command continues from it.")
        return TERMINATED
    except BrokenPipeError:  # the reader, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except UsageError as error:
        _error(session, str(error))
        return USAGE
    except Exception as error:
        if session.debug:
            sys.stderr.write(printable(traceback.format_exc()))
        else:
            _error(session, _described(error, session.arguments))
        return FAILED


def _error(session: Session, text: str) -> None:
    session.console.print(f"error: {printable(text)}", style="red")


def _described(error: Exception, own: dict[str, str]) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"there is no file {error.filename}."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, MemoryError):
        return (
            "there is not enough memory. Fit to fewer documents, or keep fewer words with --min-df."
        )
    problems = getattr(error, "problems", ())  # of a file that must have none
    if len(problems) > 1:
        return "\n".join([f"{len(problems)} kinds of problems", *map(in_options, problems)])
    if isinstance(error, _EXPECTED) and str(error):
        return in_options(error, own)
    return f"{type(error).__name__}: {in_options(error, own)} (--debug shows where)"


@contextmanager
def _library_talk(session: Session) -> Iterator[None]:
    """Print warnings and log messages of the library on standard error, warnings as single lines."""

    def show(message: Warning | str, *args: Any, **keywords: Any) -> None:
        session.warn(message)

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message: object = record.msg
            if isinstance(message, Message):  # perhaps of several lines, which stay
                session.say(f"note: {lines_in_options(message)}")
            else:
                session.say(f"note: {in_options(record.getMessage())}")

    logger, handler = logging.getLogger("gptm"), Notes()
    propagate = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            for category in _OF_NO_INTEREST:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = show
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def plain(value: Any) -> Any:
    """A value as JSON has it: tables as lists of rows, NaN as null, dates as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a table
        return [plain(row) for row in value.to_dict("records")]
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return None if text == "NaT" else text
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist())
    return None if str(value) == "<NA>" else str(value)
