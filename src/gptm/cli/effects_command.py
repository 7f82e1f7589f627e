"""`gptm effects`: the effect of each term of the kernel on each topic."""

from typing import Annotated, Any

import typer

from gptm._basics.printed_table import print_table
from gptm.cli import options as o
from gptm.cli.kernel_terms import Term, terms
from gptm.cli.model_input import load_with_header
from gptm.cli.output_files import check_table, write_table
from gptm.cli.progress_bars import answering
from gptm.cli.session import Session, UsageError
from gptm.cli.topic_arguments import typed_topics

_MEANING = (
    "contrast: the term's part of the topic's logit, relative to all topics and to the average document; "
    "share: the topic's mean proportion in documents at this setting"
)
_DIFFERENCE = "contrast and share: differences from the setting in --versus"


def effects(
    session: Session,
    model: o.Model,
    term: Annotated[str | None, typer.Option(help="Term of the kernel; by default all.")] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="Topic, by number or name. Repeat it for more topics; by default all."),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUES",
            help="Settings to show, for example date=1990-01-01,2000-01-01.",
        ),
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Show differences from this setting, for example source=Times.",
        ),
    ] = None,
    points: Annotated[
        int,
        typer.Option(min=1, help="Number of points along a number or date, if --at is not given."),
    ] = 10,
    level: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Credible level of the bands.")
    ] = 0.9,
    output: o.Output = None,
) -> None:
    """Show the effect of each term of the kernel on each topic, with bands.

    contrast: the term's part of the topic's logit, relative to all topics and to the average document;
    share: the topic's mean proportion in documents at this setting.
    """
    if not 0 < level < 1:
        raise UsageError(f"--level expects a probability between 0 and 1; got {level:g}.")
    places, against = typed_places("--at", at), typed_places("--versus", versus)
    check_table(output, inputs=[model])
    fitted, header = load_with_header(model)
    fitted.set_params(n_jobs=session.jobs)
    if getattr(fitted, "kernel_", None) is None:
        raise ValueError(
            "the model has no kernel, so there are no effects to show. Fit a model with side information."
        )
    import pandas as pd

    kinds = (header.get("reading") or {}).get("kinds") or {}
    topics = typed_topics(fitted, topic) if topic else None
    chosen = _chosen(terms(fitted), term, [*places, *against])
    asked = [
        {
            "at": _values("--at", kernel_term, places, kinds),
            "versus": _values("--versus", kernel_term, against, kinds),
        }
        for kernel_term in chosen
    ]
    with answering(session, fitted, "computing effects"):
        tables = [
            fitted.effects(kernel_term.label, topics, level=level, n_points=points, **settings)
            for kernel_term, settings in zip(chosen, asked, strict=True)
        ]
    table = pd.concat(tables, ignore_index=True)
    if write_table(session, table, output):
        return
    session.answer(table, lambda: print_frame(table))
    session.say(f"\n{_DIFFERENCE if against else _MEANING}")


def _chosen(kernel_terms: list[Term], term: str | None, named: list[str]) -> list[Term]:
    """The term that was named, else those that read the named columns, else all."""
    columns = list(dict.fromkeys(named))
    readable = list(dict.fromkeys(name for item in kernel_terms for name in item.columns))
    for name in columns:
        if name not in readable:
            from gptm.files.table_columns import unknown_column

            raise unknown_column(name, readable, "--at or --versus")
    if term is not None:
        chosen = [item for item in kernel_terms if item.label == term]
        chosen = chosen or [item for item in kernel_terms if term in item.columns]
        if not chosen:
            labels = ", ".join(repr(item.label) for item in kernel_terms)
            raise ValueError(f"--term expects one of {labels}; got {term!r}.")
    else:
        chosen = [item for item in kernel_terms if not columns or set(columns) & set(item.columns)]
    fitting = [item for item in chosen if set(columns) <= set(item.columns)]
    if not fitting:
        reads = "; ".join(f"{item.label!r} reads {', '.join(item.columns)}" for item in chosen)
        raise UsageError(
            f"--at and --versus must name columns of one term; got {', '.join(columns)}, and {reads}. Ask about one "
            "term at a time."
        )
    return fitting


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


def _values(
    option: str, term: Term, places: dict[str, list[str]], kinds: dict[str, str]
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


def print_frame(frame: Any) -> None:
    numbers = [name for name in frame if frame[name].dtype.kind in "if"]
    shown = {name: _days(frame[name]) for name in frame}
    rows = list(zip(*(map(_cell, shown[name]) for name in frame), strict=True))
    print_table(rows, [str(name) for name in frame], [str(name) for name in numbers])


def _days(values: Any) -> Any:
    """Dates without the time, if all days differ; even steps fall on any time of a day."""
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
