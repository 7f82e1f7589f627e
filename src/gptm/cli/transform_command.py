"""`gptm transform`: the topics of new documents."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gptm.cli import options as o
from gptm.cli.model_input import check_one_standard_input, load_with_header
from gptm.cli.output_files import check_table, write_table
from gptm.cli.progress_bars import bar
from gptm.cli.read_documents import check_file, open_blocks, tell_problems
from gptm.cli.read_new_documents import read_new
from gptm.cli.session import Session

if TYPE_CHECKING:
    from gptm.model import GPTM

_MOST_NAMED = 5  # levels of a category in a warning


def transform(
    session: Session,
    model: o.Model,
    file: o.File,
    *,
    file_options: o.FileOptions,
    output: o.Output = "-",
    missing_columns: Annotated[
        Literal["error", "prior"],
        typer.Option(
            help="If the file lacks a column that the kernel reads: stop, or treat all its values as missing."
        ),
    ] = "error",
    to: Annotated[
        Literal["csv", "tsv", "jsonl", "parquet"] | None,
        typer.Option("--to", help="Format to write, if the name of the output does not show it."),
    ] = None,
) -> None:
    """Predict the topic proportions of new documents from their text and metadata, one row per document."""
    check_one_standard_input(model, file)
    check_table(output, to, inputs=[model, file, *file_options.files()])
    check_file(file)
    fitted, header = load_with_header(model)
    from gptm.corpus.block_corpus import is_block_folder

    if is_block_folder(file):
        _transform_blocks(session, fitted, file, file_options, output, to, missing_columns)
        return
    reading = read_new(session, fitted, header, file, file_options.settings())
    tell_problems(session, reading, but=("missing column",) if missing_columns == "error" else ())
    _say_unknown(session, reading.report)
    _warn_unseen(session, fitted, reading.corpus.metadata)
    fitted.set_params(n_jobs=session.jobs)
    with bar(session, "finding topics"):
        theta = fitted.transform(reading.corpus, missing_columns=missing_columns)
    frame = _table(theta, reading.corpus.ids, fitted.topic_names_)
    contents = f"{len(frame):,} documents, {theta.shape[1]} topics"
    if write_table(session, frame, output, to, contents=contents):
        if session.json:
            session.answer({"documents": len(frame), "output": output}, lambda: None)
    elif to is None and session.json:
        session.answer(frame, lambda: None)
    else:
        from gptm import files

        files.write_table(frame, sys.stdout, to or "csv")
        sys.stdout.flush()


def _transform_blocks(
    session: Session,
    fitted: "GPTM",
    folder: str,
    file_options: o.FileOptions,
    output: str | None,
    to: str | None,
    missing_columns: Literal["error", "prior"],
) -> None:
    """Documents of a corpus on disk, block by block."""
    from gptm.files.writer import write_tables

    corpus = open_blocks(folder, file_options.settings(), None).corpus
    fitted.set_params(n_jobs=session.jobs)

    def frames(update: Any) -> Any:
        first = 0
        for number, block in enumerate(corpus.blocks()):
            theta = fitted.transform(block, missing_columns=missing_columns)
            ids = range(first, first + len(theta)) if block.ids is None else block.ids
            yield _table(theta, ids, fitted.topic_names_)
            first += len(theta)
            update(number + 1, corpus.n_blocks)

    target = "-" if output is None else output
    with bar(session, "finding topics") as update:
        n = write_tables(frames(update), target, to or ("csv" if target == "-" else None))
    if target != "-":
        session.say(f"wrote {n:,} documents, {len(fitted.components_)} topics to {output}")
        if session.json:
            session.answer({"documents": n, "output": output}, lambda: None)


def _say_unknown(session: Session, report: Any) -> None:
    if report.empty_documents:
        session.warn(
            f"{report.empty_documents:,} of {report.documents:,} documents have no word that the model knows; their "
            "topics come from their metadata alone."
        )
    if report.unknown.words:
        many = "1 word" if report.unknown.words == 1 else f"{report.unknown.words:,} words"
        session.say(
            f"{many} that the model does not count ({report.unknown.tokens:,} of "
            f"{report.tokens:,} tokens), such as {', '.join(report.unknown.examples[:5])}"
        )


def _warn_unseen(session: Session, fitted: "GPTM", metadata: Any) -> None:
    """Warn about levels of a category that no training document has."""
    if fitted.kernel_ is None or metadata is None:
        return
    from gptm.effects.column_values import unseen_levels

    for unseen in unseen_levels(fitted.fitted_.bound, metadata):
        names, levels = unseen.described(_MOST_NAMED)
        session.warn(
            f"{unseen.rows:,} of {len(metadata):,} documents have a {unseen.column} never seen in training: {names}. "
            f"For them this term falls back to the prior. Levels seen in training: {levels}."
        )


def _table(theta: Any, ids: Any, names: Sequence[str | None] | None) -> Any:
    """One row per document; a topic's column has its name, or its number."""
    import pandas as pd

    given = names or [None] * theta.shape[1]
    plain = [f"topic_{k}" for k in range(theta.shape[1])]
    taken = {None, "id", *plain}
    columns = [plain[k] if name in taken else name for k, name in enumerate(given)]
    frame = pd.DataFrame(theta, columns=columns)
    frame.insert(0, "id", list(range(len(frame))) if ids is None else ids)
    return frame
