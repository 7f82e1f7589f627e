"""`gptm update`: a model goes on learning from more documents."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gptm.cli import options as o
from gptm.cli.model_input import check_one_standard_input, model_file
from gptm.cli.model_output import NewModel, check_new_model, tell_changed, write_model
from gptm.cli.progress_bars import bar, fitting
from gptm.cli.read_documents import check_file, tell_problems
from gptm.cli.read_new_documents import read_new
from gptm.cli.session import Session

if TYPE_CHECKING:
    from gptm.corpus import Corpus
    from gptm.model import GPTM


def update(
    session: Session,
    model: o.Model,
    file: o.File,
    *,
    file_options: o.FileOptions,
    decay: Annotated[
        float,
        typer.Option(
            "--decay",
            min=0.0,
            max=1.0,
            help="How much earlier documents still count: at 0.9, each update forgets a tenth of them.",
        ),
    ] = 1.0,
    new_topics: Annotated[
        int,
        typer.Option(
            "--new-topics",
            min=0,
            help="Topics to add for words that the old topics do not explain.",
        ),
    ] = 0,
    output: NewModel = None,
) -> None:
    """Update a model with more documents. New words, levels and links join it."""
    check_one_standard_input(model, file)
    target = output or model
    check_new_model(session, target, inputs=[file, *file_options.files()])
    check_file(file)
    with model_file(model) as path:
        from gptm.model import load
        from gptm.storage import load_attached, read_header

        fitted, attached, header = load(path), load_attached(path), read_header(path)
        from gptm.streaming.going_on import check_goes_on

    check_goes_on(fitted.fitted_)
    settings = file_options.settings() | {"keep_texts": True}
    reading = read_new(session, fitted, header, file, settings)
    tell_problems(session, reading)
    corpus = _with_new_words(fitted, reading)
    before, history, jobs = fitted.components_.shape, fitted.history_, fitted.n_jobs
    seed, callback = fitted.random_state, fitted.callback
    with fitting(session, "updating", fitted.max_iter, fitted.tol) as moved:
        fitted.set_params(n_jobs=session.jobs, random_state=session.seed, callback=moved)
        training = attached.corpus if fitted.fitted_.stream is None else None
        fitted.partial_fit(corpus, decay=decay, n_new_components=new_topics, training=training)
        fitted.set_params(n_jobs=jobs, random_state=seed, callback=callback)
    kept: dict[str, Any] = {
        "corpus": fitted.sample_,
        "words": attached.words,
        "reading": attached.reading,
    }
    with bar(session, "saving"):
        write_model(fitted, target, kept)
    for sentence in fitted.history_[len(history) :]:
        session.say(sentence)
    new_words = fitted.components_.shape[1] - before[1]
    _answer(session, fitted, target, len(corpus), new_words)


def _with_new_words(fitted: "GPTM", reading: Any) -> "Corpus":
    """The documents with words that the model has not seen; a file of counts has those of the model."""
    from gptm.corpus import Corpus
    from gptm.streaming.read_batch import texts_counted

    corpus: Corpus = reading.corpus
    if reading.texts is None:
        return corpus
    counted = texts_counted(reading.texts, fitted.fitted_)
    return Corpus(counted.counts, counted.vocabulary, metadata=corpus.metadata, ids=corpus.ids)


def _answer(session: Session, fitted: "GPTM", target: str, n: int, new_words: int) -> None:
    total = fitted.fitted_.n_documents
    joined = "1 new word" if new_words == 1 else f"{new_words:,} new words"
    session.say(f"{n:,} documents and {joined} joined; {total:,} documents in all")
    facts = {"documents": n, "new_words": new_words, "documents_in_all": total}
    tell_changed(session, fitted, target, facts)
