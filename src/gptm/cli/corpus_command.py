"""`gptm corpus`: from files to a corpus on disk, which may be larger than memory."""

from pathlib import Path
from typing import Annotated

import typer

from gptm.cli import options as o
from gptm.cli.output_files import check_folder
from gptm.cli.progress_bars import bar
from gptm.cli.read_documents import check_file, chosen_words, tell_problems
from gptm.cli.session import Session, UsageError


def corpus(
    session: Session,
    file: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Documents, as for 'gptm fit'. Several files must have the same columns.",
        ),
    ],
    *,
    file_options: o.FileOptions,
    word_options: o.WordOptions,
    output: Annotated[str, typer.Option("--output", "-o", help="New folder for the corpus.")],
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Do not store texts in the corpus.")
    ] = False,
    text_length: Annotated[
        int, typer.Option(min=1, help="Number of characters of each text to store, for the report.")
    ] = 1000,
    block_documents: Annotated[
        int, typer.Option(min=1, help="Maximum number of documents per block.")
    ] = 16_384,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a corpus that is already in the folder.")
    ] = False,
) -> None:
    """Write documents to a folder of blocks. Commands that read a FILE also take this folder, however large it is."""
    for name in file:
        check_file(name)
    check_folder(Path(output).absolute().parent)
    settings, words = file_options.settings(), word_options.settings()
    if settings.pop("metadata") is not None:
        raise UsageError(
            "--metadata cannot be joined while blocks are written; put its columns into FILE, one row per document."
        )
    from gptm import files

    chosen = chosen_words(**words)
    with bar(session, "reading") as update:
        result = files.read_to_blocks(
            file,
            output,
            words=chosen,
            keep_texts=0 if no_text else text_length,
            block_documents=block_documents,
            overwrite=overwrite,
            n_jobs=session.jobs,
            progress=update,
            **settings,
        )
    tell_problems(session, result)
    if len(result.columns):
        session.say(f"{result.columns}\n")
    session.say(str(result.report))
    n, V = result.corpus.shape
    blocks = result.corpus.n_blocks
    session.say(
        f"\nwrote {blocks:,} block{'' if blocks == 1 else 's'} to {output} in {result.seconds:.1f} s, "
        f"{result.documents_per_second:,.0f} documents per second"
    )
    session.say(f"what to try next:\n  gptm fit {output}")
    if session.json:
        answer = {
            "corpus": output,
            "documents": n,
            "words": V,
            "blocks": blocks,
            "seconds": result.seconds,
            "documents_per_second": result.documents_per_second,
            "words_report": result.report.to_dict(),
            "problems": [problem.to_dict() for problem in result.problems],
        }
        session.answer(answer, lambda: None)
