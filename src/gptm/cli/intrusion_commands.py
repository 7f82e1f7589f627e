"""Whether topics make sense to people: `gptm intrusion` writes sheets for coders, `gptm score-intrusion` reads them."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gptm.cli import options as o
from gptm.cli.model_input import load_model, load_with_corpus
from gptm.cli.output_files import check_output, check_table
from gptm.cli.progress_bars import bar
from gptm.cli.read_documents import check_file
from gptm.cli.session import Session
from gptm.cli.text_tables import short, show_table


def intrusion(
    session: Session,
    model: o.Model,
    output: Annotated[
        str, typer.Option("--output", "-o", help="CSV file for the coders.")
    ] = "intrusion.csv",
    key: Annotated[
        str | None,
        typer.Option(help="CSV file for the answers.", show_default="next to it, with -key"),
    ] = None,
    of: Annotated[
        Literal["words", "documents"], typer.Option(help="What coders look at.")
    ] = "words",
    size: Annotated[
        int | None,
        typer.Option(min=2, help="Words or documents of the topic.", show_default="5 or 3"),
    ] = None,
    questions: Annotated[int, typer.Option(min=1, help="Questions per topic.")] = 1,
) -> None:
    """Do topics make sense to people? Write a sheet on which coders mark the word or document that does not belong."""
    answers = key or str(Path(output).with_name(f"{Path(output).stem}-key{Path(output).suffix}"))
    check_output(output, inputs=[model])
    check_output(answers, "--key", inputs=[model, output])
    with bar(session, "reading"):
        if of == "documents":
            fitted, corpus = load_with_corpus(session, model)
        else:
            fitted = load_model(model)
    from gptm.findings import document_intrusion, word_intrusion

    common: dict[str, Any] = {"questions": questions, "random_state": session.seed}
    if of == "documents":
        found = document_intrusion(fitted, corpus, n_documents=size or 3, **common)
    else:
        found = word_intrusion(fitted, n_words=size or 5, **common)
    found.save(output, answers)
    data = {"output": output, "key": answers, "questions": len(found.sheet)}
    session.answer(data, lambda: None)
    session.say(f"wrote {len(found.sheet)} questions to {output} and the answers to {answers}")


def score_intrusion(
    session: Session,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The file of answers.")],
    sheets: Annotated[
        list[str], typer.Argument(metavar="SHEET...", help="Filled sheets, one for each coder.")
    ],
    output: o.Output = None,
) -> None:
    """Score the sheets of 'gptm intrusion' that coders filled in."""
    check_table(output, inputs=[key, *sheets])
    for file in (key, *sheets):
        check_file(file)
    from gptm.findings import score_intrusion as score

    found = score(sheets, key)
    data = {
        "precision": found.precision,
        "low": found.low,
        "high": found.high,
        "chance": found.chance,
        "p_value": found.p_value,
        "agreement": found.agreement,
        "missing": found.missing,
        "topics": found.table.reset_index(),
    }
    table = found.table.reset_index()
    show_table(session, table, output, text=table.map(short), data=data)
    session.say("\n" + "\n".join([found.title, *found.notes]))
