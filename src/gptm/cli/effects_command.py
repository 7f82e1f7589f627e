"""`gptm effects`: what each term of the kernel says about each topic."""

from typing import Annotated, Any

import typer

from gptm._basics.printed_table import print_table
from gptm.cli import options as o
from gptm.cli.kernel_terms import Term, terms
from gptm.cli.read_documents import check_table, model_file, write_table
from gptm.cli.session import Session, UsageError
from gptm.cli.topic_arguments import typed_topics

_MEANING = (
    "contrast: how far the term lifts the topic's logit above the average document's; "
    "share: the topic's expected part of such documents"
)
_DIFFERENCE = "contrast and share: differences to the setting in --versus"


def effects(
    session: Session,
    model: o.Model,
    term: Annotated[str | None, typer.Option(help="Term of the kernel; by default all.")] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="Number or name of a topic; may be repeated; by default all."),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUES", help="Where to look, as in date=1990-01-01,2000-01-01."
        ),
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Show differences to this, as in source=Times."),
    ] = None,
    points: Annotated[
        int, typer.Option(min=1, help="Steps along a number or date, where --at names none.")
    ] = 10,
    level: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability that the bands hold.")
    ] = 0.9,
    output: o.Output = None,
) -> None:
    """What each term of the kernel says about each topic, with error bands.

    contrast: how far the term lifts the topic's logit above the average document's;
    share: the topic's expected part of such documents.
    """
    if not 0 < level < 1:
        raise UsageError(f"--level expects a probability between 0 and 1; got {level:g}.")
    places, against = _places("--at", at), _places("--versus", versus)
    check_table(output, inputs=[model])
    with model_file(model) as path:
        from gptm.model import load
        from gptm.storage import read_header

        fitted, header = load(path), read_header(path)
    fitted.set_params(n_jobs=session.jobs)
    if getattr(fitted, "kernel_", None) is None:
        raise ValueError("the model has no kernel, so that there is no effect to show.")
    import pandas as pd

    kinds = (header.get("reading") or {}).get("kinds") or {}
    topics = typed_topics(fitted, topic) if topic else None
    chosen = _chosen(terms(fitted), term, [*places, *against])
    tables = [
        fitted.effects(
            one.label,
            topics,
            at=_values("--at", one, places, kinds),
            versus=_values("--versus", one, against, kinds),
            level=level,
            n_points=points,
        )
        for one in chosen
    ]
    found = pd.concat(tables, ignore_index=True)
    if write_table(session, found, output):
        return
    session.answer(found, lambda: _print_frame(found))
    session.say(f"\n{_DIFFERENCE if against else _MEANING}")


def _chosen(known_terms: list[Term], term: str | None, named: list[str]) -> list[Term]:
    """The term that was named, else those that read the named columns, else all."""
    columns = list(dict.fromkeys(named))
    known = list(dict.fromkeys(name for one in known_terms for name in one.columns))
    for name in columns:
        if name not in known:
            from gptm.files.table_columns import unknown_column

            raise unknown_column(name, known, "--at or --versus")
    if term is not None:
        chosen = [one for one in known_terms if one.label == term]
        chosen = chosen or [one for one in known_terms if term in one.columns]
        if not chosen:
            labels = ", ".join(repr(one.label) for one in known_terms)
            raise ValueError(f"--term expects one of {labels}; got {term!r}.")
    else:
        chosen = [one for one in known_terms if not columns or set(columns) & set(one.columns)]
    fitting = [one for one in chosen if set(columns) <= set(one.columns)]
    if not fitting:
        reads = "; ".join(f"{one.label!r} reads {', '.join(one.columns)}" for one in chosen)
        raise UsageError(
            f"--at and --versus must name columns of one term; got {', '.join(columns)}, and {reads}. Ask about one "
            "term at a time."
        )
    return fitting


def _places(option: str, given: list[str] | None) -> dict[str, list[str]]:
    """Values by column, as they were written, commas and all."""
    places: dict[str, list[str]] = {}
    for text in given or []:
        name, mark, values = text.partition("=")
        if not (mark and name and values):
            raise UsageError(
                f"{option} expects COLUMN=VALUES, as in date=1990-01-01; got {text!r}."
            )
        places.setdefault(name.strip(), []).append(values.strip())
    return places


def _values(
    option: str, term: Term, places: dict[str, list[str]], kinds: dict[str, str]
) -> dict[str, list[Any]] | None:
    """Values by column: names of categories as text, dates as dates, numbers as numbers."""
    values: dict[str, list[Any]] = {}
    for name, given in places.items():
        levels = term.levels.get(name)
        kind = kinds.get(name, "")
        if name in term.dates or (levels is None and kind.startswith("date")):
            values[name] = _dates(option, name, given, kind)
            continue
        written = [one for text in given for one in _listed(text, text in (levels or ()))]
        if levels is None and kind != "category":
            values[name] = [_number_or_text(one) for one in written]
            odd = [one for one in values[name] if isinstance(one, str)]
            if odd and name in term.numbers:
                raise UsageError(
                    f"{option} {name} expects numbers, as in 1.5; got {', '.join(map(repr, odd))}."
                )
        else:
            values[name] = written
    return values or None


def _dates(option: str, name: str, given: list[str], kind: str) -> list[Any]:
    """Dates as the training documents had them, as 2015-12-31, or as a year, which stands for its first day."""
    from gptm.corpus.dates import ISO, as_dates

    forms = [form for form in kind.partition(":")[2].split("|") if form and form != ISO]
    every = "|".join([*forms, ISO])
    whole = as_dates(given, every).notna()
    written = [one for text, date in zip(given, whole, strict=True) for one in _listed(text, date)]
    dates = as_dates(written, every)
    odd = [one for one, date in zip(written, dates, strict=True) if date != date]
    if odd:
        also = f", or written {' or '.join(forms)}" if forms else ""
        raise UsageError(
            f"{option} {name} expects dates, as in 2015-12-31 or 2015{also}; got {', '.join(map(repr, odd))}."
        )
    return list(dates)


def _listed(values: str, whole: bool) -> list[str]:
    """The values between commas, unless all of it is one, as a name 'Smith, John' or a date 'March 3, 1999' is."""
    return [values] if whole else [one.strip() for one in values.split(",")]


def _number_or_text(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _print_frame(frame: Any) -> None:
    numbers = [name for name in frame if frame[name].dtype.kind in "if"]
    shown = {name: _days(frame[name]) for name in frame}
    rows = list(zip(*(map(_cell, shown[name]) for name in frame), strict=True))
    print_table(rows, [str(name) for name in frame], [str(name) for name in numbers])


def _days(values: Any) -> Any:
    """Dates without the time, where days tell them apart; even steps fall on any time of a day."""
    if values.dtype.kind != "M":
        return values
    days = values.dt.normalize()
    return days if days.nunique() == values.nunique() else values


def _cell(value: Any) -> str:
    if value is None or value != value:  # not a number, not a time
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return (
        value.isoformat().removesuffix("T00:00:00") if hasattr(value, "isoformat") else str(value)
    )
