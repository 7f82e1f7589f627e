"""`gptm over-time`: shares of the topics over time, whether the kernel reads the dates or not."""

from typing import TYPE_CHECKING, Annotated

import typer

from gptm.cli import options as o
from gptm.cli.model_input import load_with_corpus
from gptm.cli.output_files import check_picture, check_table, write_table
from gptm.cli.progress_bars import answering
from gptm.cli.session import Session, UsageError
from gptm.cli.text_tables import print_frame
from gptm.cli.typed_options import check_level
from gptm.cli.typed_settings import typed_topics

if TYPE_CHECKING:
    import pandas as pd

    from gptm.corpus import Corpus


def over_time(
    session: Session,
    model: o.Model,
    *,
    dates: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the documents in the model; by default its only column of dates.",
        ),
    ] = None,
    bins: Annotated[
        str | None,
        typer.Option(
            metavar="PERIOD|N",
            help="Means by day, week, month, quarter or year, or in N parts of the same length; by default a "
            "smooth curve.",
        ),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="Topic, by number or name. Repeat it for more topics; by default all."),
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="Number of points along the curve.")] = 10,
    level: Annotated[float, typer.Option(min=0.0, max=1.0, help="Level of the bands.")] = 0.9,
    plot: Annotated[
        str | None, typer.Option(help="File for the picture, such as over-time.png.")
    ] = None,
    output: o.Output = None,
) -> None:
    """How do topics change? Show their shares over time, smooth or by period. The kernel need not read the dates."""
    check_level(level)
    check_table(output, inputs=[model])
    check_picture(plot, inputs=[model, output])
    periods = int(bins) if bins is not None and bins.isdecimal() else bins
    fitted, corpus = load_with_corpus(session, model)
    moments = _moments(corpus, dates)
    topics = typed_topics(fitted, topic) if topic else None
    from gptm.questions import topics_over_time

    with answering(session, fitted, "regressing"):
        table = topics_over_time(
            fitted, moments, bins=periods, topic=topics, n_points=points, level=level
        )
    if plot is not None:
        from gptm.plots import plot_topics_over_time

        drawn = plot_topics_over_time(
            fitted, topics=topics, level=level, dates=moments, bins=periods
        )
        drawn.figure.savefig(plot)
        session.say(f"wrote the picture to {plot}")
    if not write_table(session, table, output):
        session.answer(table, lambda: print_frame(table))


def _moments(corpus: "Corpus", name: str | None) -> "pd.Series":
    """The column of dates, by name or the only one; numbers such as years must be named."""
    frame = corpus.metadata
    if name is not None:
        if frame is None or name not in frame:
            from gptm.files.table_columns import unknown_column

            raise unknown_column(name, [] if frame is None else list(frame), "dates")
        return frame[name]
    found = [column for column, kind in corpus.kinds.items() if kind.startswith("date")]
    if frame is None or len(found) != 1:
        several = f"several columns of dates: {', '.join(map(repr, found))}"
        raise UsageError(
            f"--dates expects a column; the documents have {several if found else 'no column of dates'}."
        )
    return frame[found[0]]
