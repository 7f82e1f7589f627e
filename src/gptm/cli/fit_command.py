"""`gptm fit`: from a file to a model."""

import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gptm.cli import options as o
from gptm.cli.argument_options import in_options
from gptm.cli.model_output import attachments, save_or_rescue
from gptm.cli.output_files import check_output, check_replaceable
from gptm.cli.progress_bars import fitting
from gptm.cli.read_documents import read_training, tell_reading
from gptm.cli.session import INTERRUPTED, OK, Session, Terminated, UsageError, terminating
from gptm.cli.text_tables import readable, topic_rows

if TYPE_CHECKING:
    from distributed import Client

    from gptm.model import GPTM

# Options by the part of the help that they are shown in.
_keeping = partial(typer.Option, rich_help_panel="Model file")
_work = partial(typer.Option, rich_help_panel="Checkpoint")
_cluster_option = partial(typer.Option, rich_help_panel="Several machines")


def fit(
    session: Session,
    file: o.File,
    *,
    model: o.ModelOptions,
    file_options: o.FileOptions,
    word_options: o.WordOptions,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="File for the model; by default named after FILE, in the current folder.",
            show_default="FILE.gptm",
        ),
    ] = None,
    topics: o.Topics = 20,
    no_text: Annotated[
        bool,
        _keeping("--no-text", help="Do not store texts in the model's file."),
    ] = False,
    text_length: Annotated[
        int,
        _keeping(min=1, help="Number of characters of each text to store, for the report."),
    ] = 5000,
    no_corpus: Annotated[
        bool,
        _keeping(
            "--no-corpus",
            help="Store nothing about single documents that the model can do without.",
        ),
    ] = False,
    overwrite: Annotated[
        bool,
        _keeping("--overwrite", help="Let the model replace a file that is not a model."),
    ] = False,
    checkpoint: Annotated[
        str | None,
        _work(
            help="File that stores the progress of the fit. After a crash, the same command continues from there.",
            show_default="OUTPUT.checkpoint",
        ),
    ] = None,
    no_checkpoint: Annotated[
        bool,
        _work("--no-checkpoint", help="Do not write a checkpoint."),
    ] = False,
    restart: Annotated[
        bool,
        _work("--restart", help="Ignore an existing checkpoint and start again."),
    ] = False,
    scheduler: Annotated[
        str | None,
        _cluster_option(
            metavar="ADDRESS",
            help="For a corpus on disk: address of a dask scheduler whose workers do the fit, for example "
            "tcp://host:8786.",
        ),
    ] = None,
) -> int:
    """Learn topics from the texts and metadata in a file."""
    settings, words = file_options.settings(), word_options.settings()
    target = output or _beside(file)
    inputs = [file, *file_options.files(), *word_options.files()]
    _check_target(session, target, inputs, checkpoint, overwrite=overwrite)
    _check_scheduler(scheduler, file)
    choices = model.settings()
    keep_texts = 0 if no_text or no_corpus else text_length
    reading = read_training(session, file, settings, words, choices["kernel"], keep_texts)
    tell_reading(session, reading)

    from gptm.model import GPTM
    from gptm.storage.checkpoint_file import kept_until_saved

    stored = None if no_checkpoint else checkpoint or _beside_output(target)
    if restart and stored is not None:
        Path(stored).unlink(missing_ok=True)
    with kept_until_saved():
        with (
            _cluster(scheduler) as client,
            terminating(stored is not None) as terminated,
            fitting(session, "fitting", model.max_iter, model.tol) as callback,
        ):
            fitted = GPTM(
                topics,
                random_state=session.seed,
                n_jobs=session.jobs,
                callback=callback,
                **choices,
            ).fit(reading.corpus, checkpoint=stored, client=client)
        interrupted = fitted.stop_reason_ == "interrupt"
        if terminated and interrupted:
            raise Terminated
        if interrupted and Path(target).exists():
            if stored is not None:
                session.say(
                    f"\ninterrupted: {target} is unchanged. Run the same command to continue."
                )
                return INTERRUPTED
            target = f"{target}.interrupted"  # beside the model that is there, which may be better
        kept = attachments(fitted, reading, settings["text"], keep_corpus=not no_corpus)
        save_or_rescue(fitted, target, kept)
    again = [shlex.quote(file), o.as_given(file_options, model, word_options)]
    _conclude(session, fitted, reading, " ".join(filter(None, again)), target, interrupted)
    return INTERRUPTED if interrupted else OK


def _check_target(
    session: Session,
    target: str,
    inputs: list[str | None],
    checkpoint: str | None,
    *,
    overwrite: bool,
) -> None:
    """Say at once that the model or its checkpoint cannot be written there."""
    check_output(target, inputs=inputs, is_model=True)
    check_output(checkpoint, "--checkpoint", inputs=inputs)
    if not overwrite:
        check_replaceable(target)
    if target == "-" and (session.json or sys.stdout.isatty()):
        raise UsageError(
            "a model is not text: write it to a file with --output FILE, or to a pipe with --output - and "
            "without --json."
        )


def _check_scheduler(scheduler: str | None, file: str) -> None:
    """Say at once that a cluster does not read other files."""
    from gptm.corpus.block_corpus import is_block_folder

    if scheduler is not None and Path(file).exists() and not is_block_folder(file):
        raise UsageError(
            f"--scheduler is for a corpus on disk, and {file} is not one. Write one with "
            f"'gptm corpus {file} -o FOLDER', and fit that folder."
        )


def _cluster(scheduler: str | None) -> "AbstractContextManager[Client | None]":
    """A connection to the scheduler, if there is one, for as long as the fit takes."""
    if scheduler is None:
        return nullcontext()
    from gptm.inference.blocks.dask_cluster import connect

    return connect(scheduler)


def _beside_output(target: str) -> str | None:
    return None if target == "-" else f"{target}.checkpoint"


def _beside(file: str) -> str:
    if file == "-":
        return "model.gptm"
    # Of a folder too, also if it is called ".".
    name = Path(file).resolve().name.removesuffix(".gz")
    return f"{Path(name).stem}.gptm"


def _conclude(
    session: Session, model: "GPTM", reading: Any, again: str, target: str, interrupted: bool
) -> None:
    table = model.topics(8)
    state = (
        "interrupted" if interrupted else "converged" if model.converged_ else "did not converge"
    )
    sampled = model.inference == "sampling"
    how = "stopped" if sampled and state == "did not converge" else state
    steps_done = f"{model.n_iter_} {'sweeps' if sampled else 'iterations'}"
    session.say(f"\n{model.n_components} topics, {how} after {steps_done}")
    if sampled and model.diagnostics_ is not None:
        session.say(chain_sentence(model.diagnostics_))
    if model.kernel_ is not None:
        session.say(f"kernel learnt: {readable(model.kernel_)}")
    session.say()
    for number, share, text in topic_rows(table):
        session.say(f"{number:>4}  {share:>6}  {text}")
    if target == "-":
        return
    session.say(f"\n{'the model so far is' if interrupted else 'model'} saved in {target}")
    session.say("what to try next:")
    steps = _next_steps(model, shlex.quote(target), again)
    width = max(map(len, steps))
    for purpose, command in steps.items():
        session.say(f"  {purpose:<{width}}  {command}")
    if session.json:
        session.answer(summary(model, reading, target, state), lambda: None)


def _next_steps(model: "GPTM", path: str, again: str) -> dict[str, str]:
    """Commands by what they are for."""
    steps = {
        "a page to look at": f"gptm report {path} -o report.html",
        "texts of each topic": f"gptm documents {path}",
        "topics of other documents": f"gptm transform {path} NEW.csv",
        "do these topics come back?": f"gptm stability {path}",
        "how many topics?": f"gptm search {again}",
    }
    if model.kernel_ is not None:
        evaluate = f"gptm evaluate {again} --topics {model.n_components}"
        steps["does the side information help?"] = evaluate
    return steps


def chain_sentence(table: Any) -> str:
    """How good the draws are, in a line."""
    parts = [
        f"{row.quantity.replace('_', '-')} {row.ess:.0f} (R-hat {row.rhat:.2f})"
        for row in table.itertuples()
    ]
    return f"effective draws: {', '.join(parts)}"


def summary(model: "GPTM", reading: Any, target: str, state: str) -> dict[str, Any]:
    """What --json says after a fit."""
    n, V = reading.corpus.shape
    return {
        "model": target,
        "documents": n,
        "words": V,
        "words_report": reading.report.to_dict(),
        "columns": reading.columns.to_list(),
        "encoding": reading.encoding,
        "problems": [
            problem.to_dict() | {"message": in_options(problem)} for problem in reading.problems
        ],
        "kernel": None if model.kernel_ is None else repr(model.kernel_),
        "state": state,
        "iterations": model.n_iter_,
        "bound": float(model.bound_[-1]) if len(model.bound_) else None,
        "topics": model.topics(10).rename_axis("topic").reset_index(),
    }
