"""`gptm split-sample`: topics from one part of the documents, effects of a treatment on the other part."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gptm.cli import options as o
from gptm.cli.model_output import attachments, write_model
from gptm.cli.output_files import check_output, check_replaceable, check_table, write_table
from gptm.cli.progress_bars import fitting
from gptm.cli.read_documents import read_training, tell_reading
from gptm.cli.session import INTERRUPTED, OK, Session, UsageError
from gptm.cli.share_questions import Formula, QuestionOptions
from gptm.cli.text_tables import topic_rows

if TYPE_CHECKING:
    import numpy as np

    from gptm.questions.split_sample import SplitSampleEffects

_keeping = partial(typer.Option, rich_help_panel="Saving the two parts")


def split_sample(
    session: Session,
    file: o.File,
    *,
    formula: Formula,
    model: o.ModelOptions,
    file_options: o.FileOptions,
    topics: o.Topics = 20,
    test_size: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Fraction of the documents to measure effects on."),
    ] = 0.5,
    question: QuestionOptions,
    output: o.Output = None,
    save_model: Annotated[
        str | None,
        _keeping(
            metavar="FILE", help="File for the model, which is fitted to the rest of the documents."
        ),
    ] = None,
    save_test: Annotated[
        str | None,
        _keeping(
            metavar="FILE",
            help="File for a table of the documents that effects are measured on, with their texts.",
        ),
    ] = None,
    word_options: o.WordOptions,
) -> int:
    """For experiments: learn topics from a random half of the documents, and measure effects on the other half.

    The seed decides which documents these are.
    """
    if not 0 < test_size < 1:
        raise UsageError(
            f"--test-size expects a share between 0 and 1, for example 0.5; got {test_size:g}."
        )
    question.check()
    settings, words, choices = file_options.settings(), word_options.settings(), model.settings()
    inputs = [file, *file_options.files(), *word_options.files()]
    check_table(output, inputs=inputs)
    check_output(save_model, "--save-model", inputs=[*inputs, output], is_model=True)
    if save_model is not None:
        check_replaceable(save_model)
    check_table(save_test, option="--save-test", inputs=[*inputs, output, save_model])
    reading = read_training(
        session, file, settings, words, choices["kernel"], keep_texts=save_test is not None
    )
    if save_test is not None and reading.texts is None:
        raise UsageError(
            f"--save-test expects documents with texts; {file} has counts. Leave it out."
        )
    tell_reading(session, reading)
    from gptm.model import GPTM
    from gptm.questions import split_sample_effects

    with fitting(session, "fitting", model.max_iter, model.tol) as callback:
        base = GPTM(
            topics, random_state=session.seed, n_jobs=session.jobs, callback=callback, **choices
        )
        effects = split_sample_effects(
            base,
            reading.corpus,
            formula,
            test_size=test_size,
            random_state=session.seed,
            **question.settings(None),
        )
    if effects.model.stop_reason_ == "interrupt":
        session.say("interrupted: the fit was not finished, so there are no effects.")
        return INTERRUPTED
    _tell_topics(session, effects)
    if save_model is not None:
        part = _part_of(reading, effects.train)
        kept = attachments(effects.model, part, settings["text"], keep_corpus=True)
        write_model(effects.model, save_model, kept)
        session.say(f"model saved in {save_model}")
    if save_test is not None:
        write_table(session, _table(_part_of(reading, effects.test)), save_test)
    question.show(session, effects, output)
    return OK


def _tell_topics(session: Session, effects: "SplitSampleEffects") -> None:
    model, train, test = effects.model, effects.train, effects.test
    session.say(
        f"\n{model.n_components} topics of {len(train):,} documents, measured on {len(test):,} others"
    )
    for number, share, text in topic_rows(model.topics(8)):
        session.say(f"{number:>4}  {share:>6}  {text}")
    session.say()


def _part_of(reading: Any, rows: "np.ndarray") -> Any:
    """What was read, of some documents only."""
    texts = None if reading.texts is None else [reading.texts[row] for row in rows]
    return replace(reading, corpus=reading.corpus[rows], texts=texts)


def _table(reading: Any) -> Any:
    """Documents as a table: metadata, with the ids among them, and texts, under the name that they had."""
    import pandas as pd

    metadata, named = reading.corpus.metadata, reading.columns.text
    table = pd.DataFrame() if metadata is None else metadata.reset_index(drop=True)
    name = named[0] if len(named) == 1 else "text"  # several columns were joined
    return table.assign(**{name: reading.texts})
