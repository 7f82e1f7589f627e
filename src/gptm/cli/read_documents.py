"""Read documents as the options of the command line say, and report problems with them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gptm.cli.argument_options import in_options, lines_in_options
from gptm.cli.progress_bars import bar
from gptm.cli.session import Session, UsageError

if TYPE_CHECKING:
    from gptm.corpus.words import Words


def read_training(
    session: Session,
    file: str,
    settings: dict[str, Any],
    words: dict[str, Any],
    kernel: Any,
    keep_texts: int,
) -> Any:
    """Read the documents of a file, show progress and problems, and check that the kernel's columns are there."""
    check_file(file)
    from gptm import files
    from gptm.corpus.block_corpus import is_block_folder

    if is_block_folder(file):
        result = open_blocks(file, settings, words)
        check_kernel(kernel, result.corpus.kinds)
        return result
    chosen = chosen_words(**words)
    with bar(session, "reading") as update:
        result = files.read(file, words=chosen, keep_texts=keep_texts, progress=update, **settings)
    tell_problems(session, result)
    check_kernel(kernel, result.corpus.metadata)
    return result


def chosen_words(**settings: Any) -> "Words":
    """How texts become words; a mistake in the options for that is one in the call of the command."""
    from gptm.corpus.words import Words

    try:
        return Words(**settings)
    except ValueError as error:
        raise UsageError(in_options(error)) from None


def open_blocks(folder: str, settings: dict[str, Any], words: dict[str, Any] | None) -> Any:
    """A corpus on disk, which says itself how it was read; options about that are refused."""
    from gptm import files, open_corpus
    from gptm.cli.options import FileOptions, WordOptions
    from gptm.corpus.kinds import ColumnKind
    from gptm.corpus.words import Words
    from gptm.corpus.words_report import WordsReport

    usual = FileOptions().settings() | ({} if words is None else WordOptions().settings())
    given = settings | (words or {})
    if any(given[name] != usual[name] for name in usual):
        raise UsageError(
            f"{folder} is a corpus on disk: how it was read is settled. Give options of files and words to "
            "'gptm corpus'."
        )
    corpus = open_corpus(folder)
    columns = [ColumnKind(name, kind, "as written") for name, kind in corpus.kinds.items()]
    n, V = corpus.shape
    report = WordsReport(
        documents=n, tokens=corpus.n_tokens, tokens_kept=corpus.n_tokens, words_kept=V
    )
    return files.ReadResult(
        corpus,  # type: ignore[arg-type]
        None,
        files.Columns(columns),
        report=report,
        words=corpus.words or Words(None),
    )


def tell_reading(session: Session, reading: Any) -> None:
    """Print which columns were used for what, and which words were left out."""
    from gptm.files.reader import USUAL_ENCODINGS

    if len(reading.columns):
        session.say(f"{reading.columns}\n")
    if reading.encoding not in USUAL_ENCODINGS:
        session.say(f"encoding: {reading.encoding}")
    session.say(lines_in_options(reading.report.said))


def check_kernel(kernel: Any, metadata: Any) -> None:
    """Raise an error if a column of the kernel is not there, with the name that was probably meant."""
    from gptm.files.table_columns import unknown_column

    columns = [] if metadata is None else list(metadata)
    for name in kernel.column_names() if hasattr(kernel, "column_names") else ():
        if name not in columns:
            raise unknown_column(name, columns, "kernel")


def check_file(file: str) -> None:
    """Raise an error if a file is not there, before libraries load."""
    if file != "-" and not Path(file).exists():
        raise FileNotFoundError(2, "there is no such file", file)


def tell_problems(session: Session, result: Any, but: Sequence[str] = ()) -> None:
    """Warn about what was wrong with a file, except for the kinds in `but`, which are reported elsewhere."""
    for problem in result.problems:
        if problem.kind not in but:
            session.warn(problem)
