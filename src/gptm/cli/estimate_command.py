"""`gptm estimate`: regressions of the topics' shares on columns, in the kernel or not."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gptm.cli import options as o
from gptm.cli.model_input import (
    check_one_standard_input,
    load_with_documents,
    load_with_header,
)
from gptm.cli.output_files import check_table
from gptm.cli.progress_bars import answering
from gptm.cli.read_documents import check_file, tell_problems
from gptm.cli.read_new_documents import read_new
from gptm.cli.session import Session, UsageError
from gptm.cli.share_questions import Formula, QuestionOptions

if TYPE_CHECKING:
    from gptm.model import GPTM


def estimate(
    session: Session,
    model: o.Model,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="The training documents with more columns; with --new, other documents. By default the documents "
            "in the model.",
        ),
    ] = None,
    *,
    formula: Formula,
    file_options: o.FileOptions,
    new: Annotated[
        bool, typer.Option("--new", help="FILE has documents that the model was not fitted to.")
    ] = False,
    question: QuestionOptions,
    output: o.Output = None,
) -> None:
    """Regress the topics' shares on any columns. Errors include the uncertainty of the topics."""
    question.check()
    if new and file is None:
        raise UsageError("--new expects a FILE with the new documents.")
    check_one_standard_input(model, file)
    check_table(output, inputs=[model, file, *file_options.files()])
    if file is not None:
        check_file(file)
    fitted, corpus = _documents(session, model, file, file_options)
    fitted.set_params(n_jobs=session.jobs)
    with answering(session, fitted, "regressing"):
        effects = fitted.estimate_effects(
            formula,
            None if new else corpus,
            new=corpus if new else None,
            **question.settings(fitted),
        )
    question.show(session, effects, output)


def _documents(
    session: Session, model: str, file: str | None, file_options: o.FileOptions
) -> tuple["GPTM", Any]:
    """The model, and the documents to ask about."""
    if file is None:
        fitted, attached = load_with_documents(model)
        if attached.corpus is None:
            raise UsageError(
                "the model's file has no documents, so name the FILE with the training documents."
            )
        return fitted, attached.corpus
    fitted, header = load_with_header(model)
    reading = read_new(session, fitted, header, file, file_options.settings())
    tell_problems(session, reading)
    return fitted, reading.corpus
