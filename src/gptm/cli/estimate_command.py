"""`gptm estimate`: regressions of the topics' shares on columns, in the kernel or not."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gptm.cli import options as o
from gptm.cli.effects_command import listed_values, print_frame, typed_places
from gptm.cli.progress_bars import bar
from gptm.cli.read_documents import (
    check_file,
    check_table,
    model_file,
    tell_problems,
    write_table,
)
from gptm.cli.session import Session, UsageError
from gptm.cli.topic_arguments import typed_topics
from gptm.cli.transform_command import read_new

if TYPE_CHECKING:
    from gptm.effects.estimated_effects import EstimatedEffects
    from gptm.model import GPTM

_SETTINGS = "Shares at settings"


def estimate(
    session: Session,
    model: o.Model,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="The training documents with more columns, or with --new other documents. By default the documents "
            "in the model.",
        ),
    ] = None,
    *,
    formula: Annotated[
        str,
        typer.Option(
            "--formula",
            "-f",
            help="Columns, for example '~ party * s(year)'; s() is a smooth curve.",
        ),
    ],
    file_options: o.FileOptions,
    new: Annotated[
        bool, typer.Option("--new", help="FILE holds documents that the model was not fitted to.")
    ] = False,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="Topic, by number or name. Repeat it for more topics; by default all."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Documents with the same value depend on each other, for example author.",
        ),
    ] = None,
    errors: Annotated[
        Literal["robust", "classical"],
        typer.Option(help="Whether the spread of documents may depend on the columns."),
    ] = "robust",
    level: Annotated[float, typer.Option(min=0.0, max=1.0, help="Level of the bands.")] = 0.9,
    marginal: Annotated[
        bool,
        typer.Option(
            "--marginal", help="Show average marginal effects of the columns, not coefficients."
        ),
    ] = False,
    predict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Show shares along this column. Repeat it to cross columns.",
            rich_help_panel=_SETTINGS,
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUES",
            help="Show shares at these values, for example party=Whig.",
            rich_help_panel=_SETTINGS,
        ),
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Show differences from this value, for example party=Whig.",
            rich_help_panel=_SETTINGS,
        ),
    ] = None,
    points: Annotated[
        int,
        typer.Option(
            min=1, help="Number of points along a number or date.", rich_help_panel=_SETTINGS
        ),
    ] = 10,
    output: o.Output = None,
) -> None:
    """Regress the topics' shares on columns that need not be in the kernel, with errors that include the model's."""
    if not 0 < level < 1:
        raise UsageError(f"--level expects a probability between 0 and 1; got {level:g}.")
    if new and file is None:
        raise UsageError("--new expects a FILE with the new documents.")
    if model == "-" and file == "-":
        raise UsageError("only one of MODEL and FILE can come from standard input.")
    if marginal and (predict or versus):
        raise UsageError(
            "--marginal shows effects, --predict and --versus show shares. Choose one."
        )
    places, against = typed_places("--at", at), typed_places("--versus", versus)
    check_table(output, inputs=[model, file, *file_options.files()])
    if file is not None:
        check_file(file)
    fitted, corpus = _documents(session, model, file, file_options, new)
    fitted.set_params(n_jobs=session.jobs)
    with bar(session, "regressing"):
        effects = fitted.estimate_effects(
            formula,
            None if new else corpus,
            new=corpus if new else None,
            topic=typed_topics(fitted, topic) if topic else None,
            cluster=cluster,
            errors=errors,
            level=level,
        )
    settings: dict[str, Any] = {"at": _values(effects, places), "versus": _values(effects, against)}
    if marginal:
        table = effects.marginal_effects(at=settings["at"])
    elif predict or places or against:
        table = effects.predict(*(predict or ()), **settings, n_points=points)
    else:
        table = effects.table
    session.say(effects.title)
    if effects.note:
        session.say(f"note: {effects.note}")
    if not write_table(session, table, output):
        session.answer(table, lambda: print_frame(table))


def _documents(
    session: Session, model: str, file: str | None, file_options: o.FileOptions, new: bool
) -> tuple["GPTM", Any]:
    """The model, and the documents to ask about."""
    with model_file(model) as path:
        from gptm.model import load
        from gptm.storage import load_attached, read_header

        fitted, header = load(path), read_header(path)
        corpus = load_attached(path).corpus if file is None else None
    if file is None:
        if corpus is None:
            raise UsageError(
                "the model holds no documents, so name the FILE with the training documents."
            )
        return fitted, corpus
    reading = read_new(session, fitted, header, file, file_options.settings())
    tell_problems(session, reading)
    return fitted, reading.corpus


def _values(
    effects: "EstimatedEffects", places: dict[str, list[str]]
) -> dict[str, list[str]] | None:
    """Values by column, as text; a level may have commas."""
    values = {}
    for name, texts in places.items():
        levels = effects.design.levels(name) if name in effects.design.variables else None
        values[name] = [
            one for text in texts for one in listed_values(text, text in (levels or ()))
        ]
    return values or None
