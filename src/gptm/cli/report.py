"""`gptm report`: a page to look at."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gptm.cli import options as o
from gptm.cli.progress import bar
from gptm.cli.reading import check_file, check_output, model_file
from gptm.cli.session import Session


def report(
    session: Session,
    model: o.Model,
    output: Annotated[str, typer.Option("--output", "-o", help="The page.")] = "report.html",
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    scores: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What 'gptm evaluate -o scores.csv' wrote, to be shown."),
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the page's data here too.")
    ] = None,
    max_documents: Annotated[
        int | None, typer.Option(min=1, help="Most documents on the page, drawn at random.")
    ] = None,
) -> None:
    """One page that works offline: topics, documents, correlations, what the side information says."""
    check_output(output)
    check_output(json)
    if scores is not None:
        check_file(scores)
    with model_file(model) as path:
        from gptm.persistence import load, load_attached

        fitted, attached = load(path), load_attached(path)
    fitted.set_params(n_jobs=session.jobs)
    from gptm.report import model_report

    with bar(session, "writing the page"):
        model_report(
            fitted,
            output,
            corpus=attached.corpus,
            texts=attached.texts,
            scores=_scores(scores),
            title=title or (None if model == "-" else Path(model).stem),
            json_path=json,
            max_documents=max_documents,
        )
    session.say(f"open {output} in a browser")
    if session.json:
        session.answer({"report": output, "data": json}, lambda: None)


def _scores(file: str | None) -> Any:
    """One row per model."""
    if file is None:
        return None
    import pandas as pd

    lines = file.removesuffix(".gz").endswith(("jsonl", "json"))
    table = pd.read_json(file, lines=True) if lines else pd.read_csv(file)
    if "model" not in table:
        raise ValueError(
            f"{file} must have a column 'model', as 'gptm evaluate -o scores.csv' writes it; it has "
            f"{', '.join(map(str, table.columns))}."
        )
    return table.set_index("model")
