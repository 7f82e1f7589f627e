"""The application: global options, and the commands under their names."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gptm._basics.version import VERSION
from gptm.cli import corpus_command as corpus
from gptm.cli import demo_command as demo
from gptm.cli import effects_command as effects
from gptm.cli import estimate_command as estimate
from gptm.cli import findings_commands as findings
from gptm.cli import fit_command as fit
from gptm.cli import intrusion_commands as coders
from gptm.cli import model_commands as ask
from gptm.cli import over_time_command as periods
from gptm.cli import reading_commands as reading
from gptm.cli import report_command as report
from gptm.cli import score_commands as score
from gptm.cli import split_sample_command as halves
from gptm.cli import surgery_commands as surgery
from gptm.cli import transform_command as documents
from gptm.cli import update_command as going_on
from gptm.cli import words_command as stop_lists
from gptm.cli.session import Session, run

_everywhere = partial(typer.Option, rich_help_panel="Options of all commands")


def _checked_jobs(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("expected at least 1 thread, or -1 for all cores.")
    return jobs


Seed = Annotated[
    int | None,
    _everywhere(
        "--seed",
        min=0,
        max=2**32 - 1,
        help="The same seed gives the same result.",
        show_default="0",
    ),
]
Jobs = Annotated[
    int | None,
    _everywhere(
        "--jobs",
        "-j",
        callback=_checked_jobs,
        help="Number of threads; -1 means all cores. Results do not depend on it.",
        show_default="all cores",
    ),
]
Quiet = Annotated[
    bool,
    _everywhere("--quiet", "-q", help="Print only errors, warnings and data."),
]
Json = Annotated[
    bool,
    _everywhere("--json", help="Print data as JSON."),
]
Debug = Annotated[
    bool,
    _everywhere("--debug", help="Show the full traceback of an error."),
]
_GLOBAL = {"seed": Seed, "jobs": Jobs, "quiet": Quiet, "json": Json, "debug": Debug}


class _Group(TyperGroup):
    """The commands. For the help of a command, no other option is read: that would take a third of the time."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        wants_help = not ctx.resilient_parsing and set(ctx.help_option_names) & set(args[1:])
        if wants_help and args[0] in self.commands:
            self.commands[args[0]].make_context(args[0], ["--help"], parent=ctx)  # ends here
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="gptm",
    cls=_Group,
    help="Topic models that use what you know about your documents.",
    epilog="Start with gptm demo. Then try gptm fit FILE with a CSV file of your own.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gptm {VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    seed: Seed = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    context.obj = {"seed": seed, "jobs": jobs, "quiet": quiet, "json": json, "debug": debug}


def _add(name: str, function: Callable[..., int | None]) -> None:
    """Make a function of a session a command.

    A parameter that is a group of options becomes these options. The global options may stand behind the command's
    name too.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    groups: dict[str, Any] = {
        p.name: p.annotation for p in parameters if is_dataclass(p.annotation)
    }

    @functools.wraps(function)
    def command(context: typer.Context, **values: Any) -> None:
        settings = dict(context.obj or {})
        for key in _GLOBAL:
            value = values.pop(key)
            settings[key] = settings.get(key) if value in (None, False) else value
        session = Session(**{key: value for key, value in settings.items() if value is not None})
        for key, group in groups.items():
            values[key] = group(**{f.name: values.pop(f.name) for f in fields(group)})
        raise typer.Exit(run(session, lambda: function(session, **values)))

    options = [_parameter("context", typer.Context)]
    for parameter in parameters:
        if parameter.name in groups:
            options += [_parameter(f.name, f.type, f.default) for f in fields(parameter.annotation)]
        else:
            options.append(_parameter(parameter.name, parameter.annotation, parameter.default))
    for key, kind in _GLOBAL.items():
        options.append(_parameter(key, kind, None if key in ("seed", "jobs") else False))
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    app.command(name, help=inspect.getdoc(function))(command)


def _parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


_add("corpus", corpus.corpus)
_add("fit", fit.fit)
_add("topics", ask.topics)
_add("documents", reading.documents)
_add("tree", reading.tree)
_add("update", going_on.update)
_add("transform", documents.transform)
_add("evaluate", score.evaluate)
_add("effects", effects.effects)
_add("estimate", estimate.estimate)
_add("over-time", periods.over_time)
_add("split-sample", halves.split_sample)
_add("search", score.search)
_add("stability", findings.stability)
_add("permutation-test", findings.permutation_test)
_add("residuals", findings.residuals)
_add("align", findings.align)
_add("intrusion", coders.intrusion)
_add("score-intrusion", coders.score_intrusion)
_add("report", report.report)
_add("info", ask.info)
_add("words", stop_lists.words)
_add("name", surgery.name)
_add("merge", surgery.merge)
_add("drop", surgery.drop)
_add("split", surgery.split)
_add("reorder", surgery.reorder)
_add("reduce", surgery.reduce)
_add("restore", surgery.restore)
_add("demo", demo.demo)
