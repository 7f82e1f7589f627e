"""`gptm report`: one HTML page about a model."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gptm.cli import options as o
from gptm.cli.model_input import load_with_documents
from gptm.cli.output_files import check_output
from gptm.cli.progress_bars import answering
from gptm.cli.session import Session, UsageError
from gptm.cli.typed_options import check_named_file


def report(
    session: Session,
    model: o.Model,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="File for the page; '-' is standard output. With --json, a page is written only if you name it.",
            show_default="report.html",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Scores to show, written by 'gptm evaluate -o scores.csv'."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write the page's data to this file, as JSON."),
    ] = None,
    max_documents: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum number of documents on the page. If there are more, it shows a random sample.",
        ),
    ] = None,
) -> None:
    """Write one HTML page that works offline: topics, documents, correlations, effects of side information."""
    page = output or (None if session.json else "report.html")
    if page == "-" and session.json:
        raise UsageError(
            "standard output takes the page or its data, not both. Write one of them to a file with --output or --data."
        )
    check_output(page, inputs=[model, scores])
    check_output(data, "--data", inputs=[model, scores, page])
    check_named_file("--scores", scores)
    fitted, attached = load_with_documents(model)
    fitted.set_params(n_jobs=session.jobs)
    from gptm.report import report_data
    from gptm.report.page import render_page, write_data, write_report

    # Lines that `verbose` prints; they move the bar.
    n_lines = 3 + len(fitted.terms_)
    with answering(session, fitted, "writing the page", n_lines):
        contents = report_data(
            fitted,
            corpus=attached.corpus,
            texts=attached.texts,
            scores=_scores(scores),
            title=title or (None if model == "-" else Path(model).stem),
            max_documents=max_documents,
            verbose=2,
        )
        rendered = render_page(contents) if page == "-" else ""
        if data is not None:
            write_data(contents, data)
        if page not in (None, "-"):
            write_report(contents, page)
    if page == "-":
        sys.stdout.write(rendered)
    if page not in (None, "-"):
        session.say(f"open {page} in a browser")
    if session.json:
        session.answer(contents, lambda: None)


def _table(file: str) -> Any:
    """A table in any format that `--output` and `--json` write."""
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
