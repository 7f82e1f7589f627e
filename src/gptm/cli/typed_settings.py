"""Topics, and settings of columns, as people type them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gptm.cli.session import UsageError

if TYPE_CHECKING:
    from gptm.model import GPTM


def typed_topic(model: "GPTM", text: str) -> int | str:
    """A number, or a name; digits are a number unless a topic has them for a name."""
    names = model.topic_names_ or ()
    return int(text) if text not in names and text.isdecimal() else text


def typed_topics(model: "GPTM", texts: Sequence[str]) -> list[int]:
    """Numbers of topics, or an error for one that the model does not have."""
    from gptm.tables import topic_numbers

    return topic_numbers(model.fitted_, [typed_topic(model, text) for text in texts])


def typed_places(option: str, given: list[str] | None) -> dict[str, list[str]]:
    """Values by column, as they were written, commas and all."""
    places: dict[str, list[str]] = {}
    for text in given or []:
        name, mark, values = text.partition("=")
        if not (mark and name and values):
            raise UsageError(
                f"{option} expects COLUMN=VALUES, for example date=1990-01-01; got {text!r}."
            )
        places.setdefault(name.strip(), []).append(values.strip())
    return places


@dataclass(frozen=True)
class Term:
    """A term of the kernel and its columns."""

    label: str
    columns: tuple[str, ...]
    levels: dict[str, list[str]]  # by column, for categories
    dates: frozenset[str]  # columns that hold dates
    numbers: frozenset[str]


def terms(fitted: "GPTM") -> list[Term]:
    """The terms of a fitted model's kernel."""
    from gptm.kernels.weighted_terms import terms_of

    kernel_terms = []
    for label, bound in zip(fitted.terms_, terms_of(fitted.fitted_.bound), strict=True):
        settings = bound.settings(1)
        shown = {} if settings is None else {str(name): settings[name] for name in settings}
        levels = {
            name: [str(value) for value in values]
            for name, values in shown.items()
            if values.dtype.kind not in "ifuM"
        }
        dates = frozenset(name for name, values in shown.items() if values.dtype.kind == "M")
        numbers = frozenset(name for name, values in shown.items() if values.dtype.kind in "ifu")
        kernel_terms.append(Term(label, tuple(bound.kernel.column_names()), levels, dates, numbers))
    return kernel_terms


def typed_values(
    option: str, term: Term, places: Mapping[str, list[str]], kinds: Mapping[str, str]
) -> dict[str, list[Any]] | None:
    """Values by column: names of categories as text, dates as dates, numbers as numbers."""
    values: dict[str, list[Any]] = {}
    for name, texts in places.items():
        levels = term.levels.get(name)
        kind = kinds.get(name, "")
        if name in term.dates or (levels is None and kind.startswith("date")):
            values[name] = _dates(option, name, texts, kind)
            continue
        written = [value for text in texts for value in listed_values(text, text in (levels or ()))]
        if levels is None and kind != "category":
            values[name] = [_number_or_text(value) for value in written]
            odd = [value for value in values[name] if isinstance(value, str)]
            if odd and name in term.numbers:
                raise UsageError(
                    f"{option} {name} expects numbers, for example 1.5; got {', '.join(map(repr, odd))}."
                )
        else:
            values[name] = written
    return values or None


def _dates(option: str, name: str, texts: list[str], kind: str) -> list[Any]:
    """Dates as the training documents had them, as 2015-12-31, or as a year, which stands for its first day."""
    from gptm.corpus.dates import ISO, as_dates

    forms = [form for form in kind.partition(":")[2].split("|") if form and form != ISO]
    every = "|".join([*forms, ISO])
    whole = as_dates(texts, every).notna()
    written = [
        value
        for text, date in zip(texts, whole, strict=True)
        for value in listed_values(text, date)
    ]
    dates = as_dates(written, every)
    odd = [text for text, date in zip(written, dates, strict=True) if date != date]
    if odd:
        also = f", or written {' or '.join(forms)}" if forms else ""
        raise UsageError(
            f"{option} {name} expects dates, for example 2015-12-31 or 2015{also}; got {', '.join(map(repr, odd))}."
        )
    return list(dates)


def listed_values(values: str, whole: bool) -> list[str]:
    """The values between commas, unless all of it is one, as a name 'Smith, John' or a date 'March 3, 1999' is."""
    return [values] if whole else [value.strip() for value in values.split(",")]


def _number_or_text(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
