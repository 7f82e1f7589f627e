"""Kernels written as text, for the command line and settings files. The text is parsed, never executed."""

import ast
import difflib
import inspect
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gptm.kernels.catalogue import kernel_classes
from gptm.kernels.kernel import Composite, Kernel, Product, Scaled

_WORDS = {"none": None, "true": True, "false": False, "inf": math.inf}
_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])
    | (?P<string>'(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*")
    | (?P<name>[^\W\d]\w*(?:\.\w+)*)
    | (?P<mark>[()\[\],=+*-])
    """,
    re.VERBOSE,
)


class _Token(NamedTuple):
    kind: str  # number, string, name, end, or the mark itself
    text: str
    start: int


class _Argument(NamedTuple):
    keyword: str | None
    value: Any
    start: int


def parse_kernel(text: str) -> Kernel:
    """Build the kernel that a formula describes.

    Formulas look like Python. Names of kernels may be upper or lower case, with or without underscores.
    A column name that is one word needs no quotation marks.

    Parameters
    ----------
    text : str

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        If the formula is wrong. The message shows the place and suggests a correction.

    Examples
    --------
    >>> from gptm.kernels.formula import parse_kernel
    >>> parse_kernel("matern(date) + 2 * categorical('news source')")
    Matern('date') + 2.0 * Categorical('news source')
    >>> parse_kernel("nearest_neighbors(5, on=[lat, lon]) * RBF(year, length_scale=5)")
    NearestNeighbors(5, on=['lat', 'lon']) * RBF('year', length_scale=5)
    >>> parse_kernel("mattern(date)")
    Traceback (most recent call last):
        ...
    ValueError: there is no kernel 'mattern'; did you mean 'matern'?
        mattern(date)
        ^
    """
    try:
        return _Parser(text).formula()
    except RecursionError:
        raise ValueError("the formula has too many brackets inside of brackets.") from None


def kernel_names() -> tuple[str, ...]:
    """The names of all kernels that a formula can use."""
    return tuple(_by_formula_name())


def kernel_help() -> list[tuple[str, str]]:
    """How to write each kernel in a formula, with a one-line summary.

    Examples
    --------
    >>> from gptm.kernels.formula import kernel_help
    >>> dict(kernel_help())["categorical(column, multiple=False)"]
    'Documents with the same value are alike: one random effect per level.'
    """
    return [(_usage(name, kind), kind.summary()) for name, kind in _by_formula_name().items()]


def _by_formula_name() -> dict[str, type[Kernel]]:
    named = {kind.formula_name(): kind for kind in kernel_classes().values()}
    return {name: kind for name, kind in named.items() if name is not None}


def _usage(name: str, kind: type[Kernel]) -> str:
    """The kernel with its columns and settings, as in `matern(*columns, nu=1.5, length_scale=None)`."""
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.name != "name" and parameter.name not in kind.only_in_python
    ]
    shown = [str(parameter) for parameter in parameters]
    return f"{name}({', '.join(shown)})"


class _Parser:
    """Recursive descent: a formula is a sum of products of numbers, kernels and brackets."""

    def __init__(self, text: str):
        if not isinstance(text, str):
            raise ValueError(
                f"a kernel formula is a text, for example 'matern(date)'; got {text!r}."
            )
        self.text = text
        self.tokens = list(self._split())
        self.position = 0

    # Reading tokens.

    def _split(self) -> Iterator[_Token]:
        start = 0
        while start < len(self.text):
            match = _TOKEN.match(self.text, start)
            if match is None or match.lastgroup is None:
                raise self._unknown_character(start)
            kind = match.lastgroup
            if kind != "space":
                yield _Token(match[0] if kind == "mark" else kind, match[0], start)
            start = match.end()
        yield _Token("end", "", len(self.text.rstrip()))

    def _unknown_character(self, start: int) -> ValueError:
        character = self.text[start]
        if character == "~":
            return self.error(
                "this is not a formula of R: add kernels, as in categorical(party) + matern(day)",
                start,
            )
        if character in "'\"":
            return self.error(f"the quotation mark {character} has no partner", start)
        if character.isdigit():
            return self.error(
                "this is not a number; put quotation marks around column names like it", start
            )
        return self.error(
            f"{character!r} has no meaning in a formula; put quotation marks around column names with such characters",
            start,
        )

    @property
    def next(self) -> _Token:
        return self.tokens[self.position]

    def take(self) -> _Token:
        token = self.next
        self.position += 1
        return token

    def taken(self, kind: str) -> bool:
        """Whether the next token is of this kind; if so, go past it."""
        matches = self.next.kind == kind
        self.position += matches
        return matches

    def expect(self, kind: str, where: str) -> None:
        if not self.taken(kind):
            raise self.error(f"expected {kind!r} {where}{self._arrived()}")

    def _arrived(self) -> str:
        return ", but the formula ends" if self.next.kind == "end" else f"; got {self.next.text!r}"

    def error(self, message: str, start: int | None = None) -> ValueError:
        """An error that shows the formula, with a mark below the place."""
        start = self.next.start if start is None else start
        line_start = self.text.rfind("\n", 0, start) + 1
        line = self.text[line_start:].split("\n", 1)[0]
        # Tabs stay tabs, so that the mark lines up.
        gap = "".join("\t" if c == "\t" else " " for c in line[: start - line_start])
        return ValueError(f"{message}\n    {line}\n    {gap}^")

    # The grammar.

    def formula(self) -> Kernel:
        if self.next.kind == "end":
            raise self.error(
                "the formula is empty; write for example matern(date) + categorical(author)"
            )
        kernel = self.sum()
        if self.next.kind == "-":
            raise self.error("kernels can be added and multiplied, not subtracted")
        if self.next.kind != "end":
            raise self.error(f"expected '+', '*' or the end{self._arrived()}")
        return kernel

    def sum(self) -> Kernel:
        kernel = self.product()
        while self.taken("+"):
            kernel = kernel + self.product()
        return kernel

    def product(self) -> Kernel:
        """One number in front, then the kernels from left to right, as kernels are printed."""
        start = self.next.start
        scale, factors = 1.0, list[Kernel]()
        scaled = False
        while True:
            factor = self.factor()
            for part in _factors(factor) if isinstance(factor, Kernel) else [factor]:
                if isinstance(part, Kernel):
                    factors.append(part)
                else:
                    scale, scaled = scale * part, True
            if not self.taken("*"):
                break
        if not factors:
            raise self.error(
                "a number alone is not a kernel; multiply one by it, as in 2 * matern(date)", start
            )
        if not (0 < scale < math.inf):
            raise self.error(
                f"a kernel can be multiplied by a positive number only; got {scale:g}", start
            )
        kernel = scale * factors[0] if scaled else factors[0]
        for other in factors[1:]:
            kernel = kernel * other
        return kernel

    def factor(self) -> Kernel | float:
        if self.taken("("):
            kernel = self.sum()
            self.expect(")", "to close the bracket")
            return kernel
        if self.next.kind == "name":
            return self.call()
        if self.next.kind in ("number", "-"):
            return float(self.number())
        what = (
            "a column alone is not a kernel" if self.next.kind == "string" else "expected a kernel"
        )
        raise self.error(f"{what}, as in matern(date){self._arrived()}")

    def number(self) -> int | float:
        sign = -1 if self.taken("-") else 1
        if self.next.kind != "number":
            raise self.error(f"expected a number{self._arrived()}")
        text = self.take().text
        return sign * (int(text) if text.isdecimal() else float(text))

    def call(self) -> Kernel:
        name = self.take()
        kind = self.kernel_class(name)
        if not self.taken("("):
            raise self.error(
                f"expected '(' after {name.text!r}, as in {name.text}(...){self._arrived()}"
            )
        arguments = []
        while not self.taken(")"):
            arguments.append(self.argument())
            if self.next.kind not in (")", ","):
                broken = self.next.kind in ("name", "number", "-")
                hint = "; names with spaces or hyphens need quotation marks" if broken else ""
                raise self.error(f"expected ',' or ')' in {name.text}(...){self._arrived()}{hint}")
            self.taken(",")
        return self.build(kind, name, arguments)

    def argument(self) -> _Argument:
        start = self.next.start
        if self.next.kind == "name" and self.tokens[self.position + 1].kind == "=":
            keyword = self.take().text
            self.take()
            return _Argument(keyword, self.value(bare_words=True), start)
        return _Argument(None, self.value(bare_words=False), start)

    def value(self, bare_words: bool) -> Any:
        """A number, text, a list; with `bare_words` None, True, False and inf mean what they mean in Python."""
        kind = self.next.kind
        if kind == "name":
            text = self.take().text
            return _WORDS.get(text.lower(), text) if bare_words else text
        if kind == "string":
            return self.string()
        if kind in ("number", "-"):
            return self.number()
        if kind in ("[", "("):
            return self.sequence(bare_words)
        raise self.error(f"expected a column, a number or a list{self._arrived()}")

    def string(self) -> str:
        token = self.take()
        try:
            # The token is a string literal, so nothing else can be evaluated.
            return str(ast.literal_eval(token.text))
        except (SyntaxError, ValueError):
            raise self.error(
                "this text holds an escape that Python does not know", token.start
            ) from None

    def sequence(self, bare_words: bool) -> list[Any] | tuple[Any, ...]:
        opening = self.take().kind
        closing = "]" if opening == "[" else ")"
        items = []
        while not self.taken(closing):
            items.append(self.value(bare_words))
            if self.next.kind != closing:
                self.expect(",", f"or {closing!r} in a list")
        return items if opening == "[" else tuple(items)

    # From names to kernels.

    def kernel_class(self, name: _Token) -> type[Kernel]:
        by_name = {_plain(kind): kind for kind in _by_formula_name()}
        plain = _plain(name.text)
        if plain in by_name:
            return _by_formula_name()[by_name[plain]]
        if plain in map(_plain, _only_in_python()):
            raise self.error(
                f"{name.text} cannot be written in a formula; build it in Python", name.start
            )
        if self.next.kind != "(":
            raise self.error(
                f"{name.text!r} alone is not a kernel; write for example matern({name.text})",
                name.start,
            )
        close = difflib.get_close_matches(plain, by_name, n=1)
        hint = (
            f"did you mean {by_name[close[0]]!r}?"
            if close
            else f"there are {', '.join(kernel_names())}."
        )
        raise self.error(f"there is no kernel {name.text!r}; {hint}", name.start)

    def build(self, kind: type[Kernel], name: _Token, arguments: list[_Argument]) -> Kernel:
        signature = inspect.signature(kind)
        keywords = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_POSITIONAL]
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for keyword, value, start in arguments:
            if keyword is None and named:
                raise self.error("columns come first, then what is set with '='", start)
            if keyword is None:
                positional.append(value)
                continue
            if keyword in named:
                raise self.error(f"{keyword!r} is set twice", start)
            if keyword in kind.only_in_python:
                what = kind.only_in_python[keyword]
                raise self.error(
                    f"{keyword}= takes {what}, which a formula cannot hold; build it in Python",
                    start,
                )
            if keyword not in keywords:
                close = difflib.get_close_matches(keyword, keywords, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(keywords)}."
                raise self.error(f"{name.text} has no setting {keyword!r}; {hint}", start)
            named[keyword] = value
        try:
            signature.bind(*positional, **named)
            return kind(*positional, **named)
        except (TypeError, ValueError) as error:
            raise self.error(f"{name.text}: {error}", name.start) from error


def _only_in_python() -> list[str]:
    """Kernels that need a matrix, a function or another object of Python."""
    return [
        name
        for name, kind in kernel_classes().items()
        if kind.formula_name() is None and not issubclass(kind, Composite)
    ]


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


def _factors(kernel: Kernel) -> list[Any]:
    """A kernel as numbers and kernels that multiply to it."""
    if isinstance(kernel, Scaled):
        return [kernel.scale, *_factors(kernel.kernel)]
    if isinstance(kernel, Product):
        return [part for factor in kernel.factors for part in _factors(factor)]
    return [kernel]
