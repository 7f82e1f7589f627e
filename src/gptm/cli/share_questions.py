"""What `gptm estimate` and `gptm split-sample` have in common: which shares or effects to show, and their table."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gptm.cli.output_files import write_table
from gptm.cli.session import Session, UsageError
from gptm.cli.text_tables import print_frame
from gptm.cli.typed_options import check_level
from gptm.cli.typed_settings import listed_values, typed_places, typed_topics

if TYPE_CHECKING:
    from gptm.effects.estimated_effects import EstimatedEffects
    from gptm.model import GPTM

_settings_option = partial(typer.Option, rich_help_panel="Shares at settings")
Formula = Annotated[
    str,
    typer.Option(
        "--formula",
        "-f",
        help="Columns to regress on, for example '~ party * s(year)'; s() is a smooth curve.",
    ),
]


@dataclass(frozen=True)
class QuestionOptions:
    """What is asked about a regression of shares. A command that has a parameter of this kind takes these options."""

    topic: Annotated[
        list[str] | None,
        typer.Option(help="Topic, by number or name. Repeat it for more topics; by default all."),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column such as author: errors allow documents with the same value to depend on each other.",
        ),
    ] = None
    errors: Annotated[
        Literal["robust", "classical"],
        typer.Option(
            help="Whether the spread of the documents may depend on the columns (robust) or not."
        ),
    ] = "robust"
    level: Annotated[float, typer.Option(min=0.0, max=1.0, help="Level of the bands.")] = 0.9
    marginal: Annotated[
        bool,
        typer.Option(
            "--marginal", help="Show average marginal effects of the columns, not coefficients."
        ),
    ] = False
    predict: Annotated[
        list[str] | None,
        _settings_option(
            metavar="COLUMN", help="Show shares along this column. Repeat it to cross columns."
        ),
    ] = None
    at: Annotated[
        list[str] | None,
        _settings_option(
            metavar="COLUMN=VALUES", help="Show shares at these values, for example party=Whig."
        ),
    ] = None
    versus: Annotated[
        list[str] | None,
        _settings_option(
            metavar="COLUMN=VALUE", help="Show differences from this value, for example party=Whig."
        ),
    ] = None
    points: Annotated[
        int,
        _settings_option(min=1, help="Number of points along a number or date."),
    ] = 10

    def check(self) -> None:
        """Raise an error if the options make no sense, before any work."""
        check_level(self.level)
        if self.marginal and (self.predict or self.versus):
            raise UsageError(
                "--marginal shows effects, --predict and --versus show shares. Choose one."
            )
        typed_places("--at", self.at), typed_places("--versus", self.versus)

    def settings(self, model: "GPTM | None") -> dict[str, Any]:
        """What `estimate_effects` takes; topics as numbers of a model, if there is one."""
        typed, topics = self.topic or [], None
        if typed:
            topics = typed_topics(model, typed) if model is not None else list(map(_plain, typed))
        return {
            "topic": topics,
            "cluster": self.cluster,
            "errors": self.errors,
            "level": self.level,
        }

    def show(self, session: Session, effects: "EstimatedEffects", output: str | None) -> None:
        """The table that was asked for, to a file or to standard output."""
        at = _values(effects, typed_places("--at", self.at))
        versus = _values(effects, typed_places("--versus", self.versus))
        if self.marginal:
            table = effects.marginal_effects(at=at)
        elif self.predict or at or versus:
            table = effects.predict(
                *(self.predict or ()), at=at, versus=versus, n_points=self.points
            )
        else:
            table = effects.table
        session.say(effects.title)
        if effects.note:
            session.say(f"note: {effects.note}")
        if not write_table(session, table, output):
            session.answer(table, lambda: print_frame(table))


def _plain(topic: str) -> int | str:
    """Of a model that is not fitted yet: digits are a number."""
    return int(topic) if topic.isdecimal() else topic


def _values(
    effects: "EstimatedEffects", places: dict[str, list[str]]
) -> dict[str, list[str]] | None:
    """Values by column, as text; a level may have commas."""
    values = {}
    for name, texts in places.items():
        levels = effects.design.levels(name) if name in effects.design.variables else None
        values[name] = [
            value for text in texts for value in listed_values(text, text in (levels or ()))
        ]
    return values or None
