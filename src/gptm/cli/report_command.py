"""`gptm report`: a page to look at."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gptm.cli import options as o
from gptm.cli.progress_bars import bar
from gptm.cli.read_documents import check_output, model_file
from gptm.cli.session import Session, UsageError


def report(
    session: Session,
    model: o.Model,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="The page; '-' is standard output. With --json there is none unless named.",
            show_default="report.html",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    scores: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What 'gptm evaluate -o scores.csv' wrote, to be shown."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the page's data here too, as JSON.")
    ] = None,
    max_documents: Annotated[
        int | None, typer.Option(min=1, help="Most documents on the page, drawn at random.")
    ] = None,
) -> None:
    """One page that works offline: topics, documents, correlations, what the side information says."""
    page = output or (None if session.json else "report.html")
    if page == "-" and session.json:
        raise UsageError("standard output can hold the page or its data: give --output or --data.")
    check_output(page, inputs=[model, scores])
    check_output(data, "--data", inputs=[model, scores, page])
    o.check_named_file("--scores", scores)
    with model_file(model) as path:
        from gptm.model import load
        from gptm.storage import load_attached

        fitted, attached = load(path), load_attached(path)
    fitted.set_params(n_jobs=session.jobs)
    from gptm.report import report_data
    from gptm.report.page import render_page, write_data, write_report

    with bar(session, "writing the page"):
        found = report_data(
            fitted,
            corpus=attached.corpus,
            texts=attached.texts,
            scores=_scores(scores),
            title=title or (None if model == "-" else Path(model).stem),
            max_documents=max_documents,
        )
        if data is not None:
            write_data(found, data)
        if page == "-":
            sys.stdout.write(render_page(found))
        elif page is not None:
            write_report(found, page)
    if page not in (None, "-"):
        session.say(f"open {page} in a browser")
    if session.json:
        session.answer(found, lambda: None)


def _table(file: str) -> Any:
    """A table in any of the forms in which `--output` and `--json` write one."""
    import pandas as pd

    suffix = Path(file.removesuffix(".gz")).suffix
    if suffix == ".parquet":
        return pd.read_parquet(file)
    if suffix in (".json", ".jsonl", ".ndjson"):
        return pd.read_json(file, lines=suffix != ".json")
    return pd.read_csv(file, sep="\t" if suffix in (".tsv", ".tab") else ",")


def _scores(file: str | None) -> Any:
    """One row per model."""
    if file is None:
        return None
    table = _table(file)
    if "model" not in table:
        raise ValueError(
            f"{file} must have a column 'model', as 'gptm evaluate -o scores.csv' writes it; it has "
            f"{', '.join(map(str, table.columns))}."
        )
    return table.set_index("model")
