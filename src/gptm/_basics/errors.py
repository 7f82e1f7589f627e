"""Errors and warnings whose arguments are values, so that each program writes them in its own words.

`Argument("max_iter", 400)` is `max_iter=400` for somebody who writes Python, and `--max-iter 400` on the command line.
A `Message` is a text with such values in it. `str(message)` has Python's words; `message.written(write)` has those of
`write`, which the command line brings along.
"""

import copyreg
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class _Absent(Enum):
    """No value: an enumeration, since None is one, and since it stays itself in a pickle."""

    ABSENT = "absent"


_ABSENT = _Absent.ABSENT


@dataclass(frozen=True)
class Argument:
    """An argument by its name, with a value to pass if there is one; `...` stands for any.

    Examples
    --------
    >>> print(Argument("tol"), Argument("max_iter", 400), Argument("text", ...))
    tol max_iter=400 text=
    """

    name: str
    value: Any = _ABSENT

    @property
    def has_value(self) -> bool:
        """Whether there is a value to write."""
        return self.value is not _ABSENT and self.value is not ...

    def __str__(self) -> str:
        if self.value is _ABSENT:
            return self.name
        return f"{self.name}={'' if self.value is ... else repr(self.value)}"


@dataclass(frozen=True)
class Value:
    """A value of an argument, without its name; for values that are typed differently elsewhere.

    Examples
    --------
    >>> print(Value("ngram_range", (1, 2)))
    (1, 2)
    """

    name: str
    value: Any

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class PythonOnly:
    """Advice that helps only those who write Python."""

    text: str

    def __str__(self) -> str:
        return self.text


Term = Argument | Value | PythonOnly


@dataclass(frozen=True, init=False)
class Message:
    """A text with arguments in it.

    Examples
    --------
    >>> message = Message("Increase ", Argument("max_iter"), ".")
    >>> str(message)
    'Increase max_iter.'
    >>> message.written(lambda term: f"<{term}>")
    'Increase <max_iter>.'
    """

    parts: tuple["str | Term", ...]

    def __init__(self, *parts: "str | Term | Message"):
        flat: list[str | Term] = []
        for part in parts:
            flat.extend(part.parts if isinstance(part, Message) else [part])
        object.__setattr__(self, "parts", tuple(flat))

    def written(self, write: Callable[[Term], str]) -> str:
        """The text, with each term as `write` writes it."""
        return "".join(part if isinstance(part, str) else write(part) for part in self.parts)

    def __str__(self) -> str:
        return self.written(str)


Part = str | Term | Message


class InputError(ValueError):
    """A `ValueError` that says what to do, with arguments as values.

    Attributes
    ----------
    said : Message

    Examples
    --------
    >>> error = InputError("no column looks like text. Name one: ", Argument("text", "body"), ".")
    >>> print(error)
    no column looks like text. Name one: text='body'.
    """

    def __init__(self, *parts: Part):
        self.said = Message(*parts)
        super().__init__(str(self.said))

    @classmethod
    def about(cls, what: str, error: Exception) -> "InputError":
        """The same error, with what it is about in front."""
        return InputError(f"{what}: ", getattr(error, "said", str(error)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Between processes: the text and the attributes, whatever `__init__` takes."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


_LONGEST = 200  # characters of a value in a message


def _written(value: Any) -> str:
    """A value as a message shows it: what would be written in many lines, or for long, by its type.

    >>> _written("tea"), _written("tea " * 100), _written(2**2000)
    ("'tea'", 'an object of type str', 'an integer of 2,001 bits')
    """
    if isinstance(value, int) and value.bit_length() > 1000:  # Python refuses to write that out
        return f"an integer of {value.bit_length():,} bits"
    written = repr(value)
    if "\n" in written or len(written) > _LONGEST:
        return f"an object of type {type(value).__name__}"
    return written


class ArgumentError(InputError):
    """An argument with a value that it cannot have.

    Parameters
    ----------
    parameter : str
        Name of the argument.
    expected : text or Message
        What it must be, beginning with "must".
    got : object, optional
        What arrived: a `Message`, an `Argument` or a `Value` as it is, anything else by its `repr`, or by its type
        where that is long.
    remedy : text or Message
        What to do, in whole sentences.

    Examples
    --------
    >>> print(ArgumentError("n_jobs", "must be a number of threads", 0, "Pass -1 for all."))
    n_jobs must be a number of threads; got 0. Pass -1 for all.
    """

    def __init__(self, parameter: str, expected: Part, got: Any = _ABSENT, remedy: Part = ""):
        self.parameter, self.expected, self.remedy = parameter, expected, remedy
        # The value itself might be large, or stay behind when the error goes to another process.
        self.got = got if got is _ABSENT or isinstance(got, Term | Message) else _written(got)
        arrived = () if got is _ABSENT else ("; got ", self.got)
        advice = (" ", remedy) if remedy else ()
        super().__init__(Argument(parameter), " ", expected, *arrived, ".", *advice)
