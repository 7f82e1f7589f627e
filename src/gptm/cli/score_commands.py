"""`gptm evaluate` and `gptm search`: honest scores, from words of documents that the model has not seen."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gptm._basics.printed_table import print_table
from gptm.cli import options as o
from gptm.cli.output_files import check_output, check_picture, check_table, write_table
from gptm.cli.progress_bars import counting
from gptm.cli.read_documents import read_training
from gptm.cli.session import INTERRUPTED, OK, Session, UsageError
from gptm.cli.typed_options import parse_numbers

_NOTHING_TO_COMPARE = (
    "There is no side information to compare with the words alone; for scores of the words alone, run 'gptm search "
    "-k none'."
)
Checkpoint = Annotated[
    str | None,
    typer.Option(
        help="File that stores the scores of finished fits. The same command then runs only the others.",
        show_default="FILE.scores",
    ),
]
Folds = Annotated[int, typer.Option(min=2, help="Number of folds of the cross-validation.")]

Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of groups, such as author, that are held out as a whole: scores for new authors.",
    ),
]
ByTime = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of dates or numbers: each fold fits to the past and scores what follows.",
    ),
]


def evaluate(
    session: Session,
    file: o.File,
    *,
    model: o.ModelOptions,
    file_options: o.FileOptions,
    topics: o.Topics = 20,
    folds: Folds = 5,
    groups: Groups = None,
    by_time: ByTime = None,
    observed: Annotated[
        str,
        typer.Option(
            help="Percentages of each document's words that the models see; they predict the rest."
        ),
    ] = "50,20,5",
    output: o.Output = None,
    checkpoint: Checkpoint = None,
    word_options: o.WordOptions,
) -> int:
    """Does the side information help? Compare the perplexity of held-out words with it (GPTM) and without it (CTM).

    The change is the mean of the changes in each fold, ± its standard error.
    """
    shares = _shares(observed)
    settings, words, choices = file_options.settings(), word_options.settings(), model.settings()
    inputs = [file, *file_options.files(), *word_options.files()]
    check_table(output, inputs=inputs)
    check_output(checkpoint, "--checkpoint", inputs=inputs)
    if choices["kernel"] is None:
        raise UsageError(
            f"--kernel expects side information here; got 'none'. {_NOTHING_TO_COMPARE}"
        )
    reading = read_training(session, file, settings, words, choices["kernel"], keep_texts=0)
    corpus = reading.corpus
    if choices["kernel"] in ("auto", "auto+") and not _has_side_information(reading):
        raise ValueError(f"{file} has no column besides the text. {_NOTHING_TO_COMPARE}")
    from gptm.model import CTM, GPTM
    from gptm.selection import compare

    run: dict[str, Any] = {"random_state": session.seed, "n_jobs": session.jobs}
    models = {
        "GPTM": GPTM(topics, **choices, **run),
        "CTM": CTM(topics, **model.common(), **run),
    }
    with counting(session, "fitting", folds * len(models)):
        comparison = compare(
            models,
            corpus,
            cv=folds,
            groups=groups,
            by_time=by_time,
            reference="CTM",
            observed=shares,
            random_state=session.seed,
            verbose=True,
            checkpoint=checkpoint or _scores_of(file),
        )
    code = _conclude(session, comparison, output)
    session.say(_difference(comparison))
    return code


def _scores_of(file: str) -> str | None:
    """Where scores are kept while a command runs: in this folder, named after the file."""
    return None if file == "-" else f"{Path(file).resolve().name}.scores"


def _has_side_information(reading: Any) -> bool:
    """Whether there is a column beside the ids."""
    metadata = reading.corpus.metadata
    return metadata is not None and any(name != reading.columns.id for name in metadata)


def _difference(comparison: Any) -> str:
    """What the side information does to each perplexity, in words."""
    from gptm.selection.paired import CHANGE, written_changes

    changes = written_changes(comparison.table.loc[["GPTM"]])
    parts = [f"{text} at {name.removeprefix(CHANGE)} %" for name, (text,) in changes.items()]
    return f"perplexity with side information, compared with words only: {', '.join(parts)} of the words seen"


def search(
    session: Session,
    file: o.File,
    *,
    model: o.ModelOptions,
    file_options: o.FileOptions,
    topics: Annotated[
        str, typer.Option("--topics", "-t", help="Numbers of topics to try, as in 5,10,20.")
    ] = "5,10,20,40",
    folds: Folds = 5,
    groups: Groups = None,
    by_time: ByTime = None,
    observed: Annotated[
        str,
        typer.Option(
            help="Percentage of each document's words that the models see; they predict the rest."
        ),
    ] = "50",
    output: o.Output = None,
    plot: Annotated[
        str | None, typer.Option(help="File for the picture, such as search.png.")
    ] = None,
    checkpoint: Checkpoint = None,
    word_options: o.WordOptions,
) -> int:
    """How many topics? Compare the cross-validated perplexity of held-out words for several numbers."""
    sizes = parse_numbers("--topics", topics)
    if min(sizes) < 1:
        raise UsageError(f"--topics expects numbers of at least 1; got {topics!r}.")
    share, *more_shares = _shares(observed)
    if more_shares:
        raise UsageError(f"--observed expects one percentage here; got {observed!r}.")
    settings, words, choices = file_options.settings(), word_options.settings(), model.settings()
    inputs = [file, *file_options.files(), *word_options.files()]
    check_table(output, inputs=inputs)
    check_picture(plot, inputs=[*inputs, output])
    check_output(checkpoint, "--checkpoint", inputs=inputs)
    corpus = read_training(session, file, settings, words, choices["kernel"], keep_texts=0).corpus
    from gptm.model import GPTM
    from gptm.selection import search_components

    with counting(session, "fitting", folds * len(set(sizes))):
        result = search_components(
            GPTM(**choices, random_state=session.seed, n_jobs=session.jobs),
            corpus,
            sizes,
            cv=folds,
            groups=groups,
            by_time=by_time,
            observed=share,
            random_state=session.seed,
            verbose=True,
            checkpoint=checkpoint or _scores_of(file),
        )
    if plot is not None:
        result.plot().figure.savefig(plot)
        session.say(f"wrote the picture to {plot}")
    return _conclude(session, result, output)


def _shares(text: str) -> list[float]:
    shares = [percentage / 100 for percentage in parse_numbers("--observed", text, float)]
    if not all(0 < share < 1 for share in shares):
        raise UsageError(f"--observed expects percentages between 0 and 100; got {text!r}.")
    return shares


def _conclude(session: Session, result: Any, output: str | None) -> int:
    """Print the scores; after Ctrl-C those of the folds done so far."""
    table = result.table.reset_index()
    if not write_table(session, table, output):
        text = result.printed().reset_index()
        names = [str(name) for name in text]
        session.answer(table, lambda: print_table(text.to_numpy().tolist(), names, names[1:]))
        session.say(f"\n{result.conclusion}")
    return OK if result.complete else INTERRUPTED
