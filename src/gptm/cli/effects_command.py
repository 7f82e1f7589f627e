"""`gptm effects`: the effect of each term of the kernel on each topic."""

from typing import Annotated

import typer

from gptm.cli import options as o
from gptm.cli.model_input import load_with_header
from gptm.cli.output_files import check_table, write_table
from gptm.cli.progress_bars import answering
from gptm.cli.session import Session, UsageError
from gptm.cli.text_tables import print_frame
from gptm.cli.typed_options import check_level
from gptm.cli.typed_settings import Term, terms, typed_places, typed_topics, typed_values

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
    check_level(level)
    places, against = typed_places("--at", at), typed_places("--versus", versus)
    check_table(output, inputs=[model])
    fitted, header = load_with_header(model)
    fitted.set_params(n_jobs=session.jobs)
    if fitted.kernel_ is None:
        raise ValueError(
            "the model has no kernel, so there are no effects to show. Fit a model with side information."
        )
    import pandas as pd

    kinds = (header.get("reading") or {}).get("kinds") or {}
    topics = typed_topics(fitted, topic) if topic else None
    chosen = _chosen(terms(fitted), term, [*places, *against])
    asked = [
        {
            "at": typed_values("--at", kernel_term, places, kinds),
            "versus": typed_values("--versus", kernel_term, against, kinds),
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
            raise ValueError(
                f"--term expects one of {labels}; got {term!r}. For columns that the kernel does not read use "
                "'gptm estimate'."
            )
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
