"""`gptm demo` and `gptm reproduce`: known corpora, without a file of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from gptm.cli.read_documents import check_output
from gptm.cli.session import Session, UsageError


def demo(
    session: Session,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The report page.")
    ] = "gptm-demo.html",
) -> int:
    """Two centuries in twenty topics: the State of the Union addresses, with date, party and president."""
    check_output(output)
    from gptm import demo as library

    return library.run(session, output)


def reproduce(
    session: Session,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder for results, tables, figures and page.")
    ] = "reproduce",
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder with the documents (dif100.jsonl.gz and others); without it newsgroups are fetched by "
            "scikit-learn, which needs a network.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Only these experiments, as in table2,table6."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few documents, folds and values: a minute or two.")
    ] = False,
) -> int:
    """The tables and figures of the paper, run again; goes on where the last run stopped."""
    if data is not None and not Path(data).is_dir():
        raise UsageError(f"--data expects a folder; there is no folder {data}.")
    if Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"--output expects a folder; {output} is a file.")
    from experiments import experiments
    from experiments.command import reproduce as run
    from experiments.jobs import Settings

    names = list(experiments.NAMES) if only is None else [name.strip() for name in only.split(",")]
    unknown = sorted(set(names) - set(experiments.NAMES))
    if unknown:
        raise UsageError(
            f"--only expects names of experiments, {', '.join(experiments.NAMES)}; got {', '.join(unknown)}."
        )
    settings = Settings(data, session.seed, quick, session.jobs)
    return run(session, Path(output), settings, names)
