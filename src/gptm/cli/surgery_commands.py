"""Changes to the topics of a model's file: `gptm name`, `merge`, `drop`, `reorder`, `reduce`, `split`, `restore`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from gptm.cli import options as o
from gptm.cli.model_input import load_with_documents
from gptm.cli.model_output import NewModel, check_new_model, tell_changed, write_model
from gptm.cli.progress_bars import bar, fitting
from gptm.cli.session import Session, UsageError
from gptm.cli.typed_settings import typed_topic, typed_topics

if TYPE_CHECKING:
    from gptm.corpus import Corpus
    from gptm.model import GPTM

Topics = Annotated[
    list[str], typer.Argument(metavar="TOPIC...", help="Topics, by number or by name.")
]
Change = Callable[["GPTM", "Corpus | None"], "GPTM"]
# These commands take topics without an option, so that errors do not speak of one.
_OWN = {"topic": "TOPIC", "topics": "TOPIC", "order": "TOPIC", "names": "TOPIC=NAME", "n": "N"}


def name(
    session: Session,
    model: o.Model,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="TOPIC=NAME...", help="For example 3=oil; TOPIC= removes a name."),
    ] = None,
    auto: Annotated[
        bool, typer.Option("--auto", help="Name all other topics by their own words.")
    ] = False,
    output: NewModel = None,
) -> None:
    """Give topics names, which all commands show and take."""
    pairs = [text.partition("=") for text in names or []]
    if not all(mark and topic for topic, mark, _ in pairs) or not (pairs or auto):
        raise UsageError("gptm name expects TOPIC=NAME, as in 3=oil, or --auto.")

    def change(fitted: "GPTM", corpus: "Corpus | None") -> "GPTM":
        numbers = typed_topics(fitted, [topic.strip() for topic, _, _ in pairs]) if pairs else []
        if len(numbers) < len(pairs):
            raise UsageError("gptm name expects one name for each topic.")
        given: dict[int | str, str | None] = {}
        if auto:
            own = fitted.fitted_.names
            labels = fitted.label_topics(corpus=corpus).topic_names_ or own
            given |= {k: labels[k] for k, old in enumerate(own) if old is None}
        given |= {k: text or None for k, (_, _, text) in zip(numbers, pairs, strict=True)}
        return fitted.name_topics(given) if given else fitted

    _change(session, model, output, change)


def merge(
    session: Session,
    model: o.Model,
    topics: Topics,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", help="Name of the merged topic; by default the old names, joined by +."
        ),
    ] = None,
    output: NewModel = None,
) -> None:
    """Merge several topics into one. Its shares and effects are sums, with bands computed anew."""

    def change(fitted: "GPTM", corpus: "Corpus | None") -> "GPTM":
        return fitted.merge_topics(typed_topics(fitted, topics), name, corpus=corpus)

    _change(session, model, output, change)


def drop(session: Session, model: o.Model, topics: Topics, output: NewModel = None) -> None:
    """Leave out topics, such as boilerplate; the proportions of the others still sum to one."""
    _change(
        session,
        model,
        output,
        lambda fitted, corpus: fitted.drop_topics(typed_topics(fitted, topics)),
    )


def reorder(
    session: Session,
    model: o.Model,
    topics: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC...]", help="All topics in their new order."),
    ] = None,
    by_share: Annotated[bool, typer.Option("--by-share", help="The largest topic first.")] = False,
    output: NewModel = None,
) -> None:
    """Put topics into another order."""
    if bool(topics) == by_share:
        raise UsageError("gptm reorder expects all topics in their new order, or --by-share.")

    def change(fitted: "GPTM", corpus: "Corpus | None") -> "GPTM":
        if by_share:
            return fitted.reorder_topics(by="share")
        return fitted.reorder_topics(typed_topics(fitted, topics or []))

    _change(session, model, output, change)


def reduce(
    session: Session,
    model: o.Model,
    n: Annotated[int, typer.Argument(metavar="N", min=1, help="Topics to keep.")],
    output: NewModel = None,
) -> None:
    """Merge the topics that are most alike until N are left."""
    _change(session, model, output, lambda fitted, corpus: fitted.reduce_to(n, corpus=corpus))


def split(
    session: Session,
    model: o.Model,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic, by number or by name.")],
    n: Annotated[int, typer.Argument(metavar="[N]", min=2, help="Topics in its place.")] = 2,
    output: NewModel = None,
) -> None:
    """Split a topic into N and fit the model again from there. This needs --output, since it is a new fit."""
    if output is None:
        raise UsageError(
            "gptm split fits the model again, so it does not replace MODEL: give --output a new file."
        )

    def change(fitted: "GPTM", corpus: "Corpus | None") -> "GPTM":
        seed, callback = fitted.random_state, fitted.callback
        with fitting(session, "fitting", fitted.max_iter, fitted.tol) as moved:
            fitted.set_params(random_state=session.seed, callback=moved)
            divided = fitted.split_topic(typed_topic(fitted, topic), n, corpus=corpus)
        return divided.set_params(random_state=seed, callback=callback)

    _change(session, model, output, change)


def restore(session: Session, model: o.Model, output: NewModel = None) -> None:
    """Bring back the topics of the fit: undo what was merged, dropped or reordered."""
    _change(session, model, output, lambda fitted, corpus: fitted.restore_topics())


def _change(session: Session, model: str, output: str | None, change: Change) -> None:
    """Write a changed model, with the documents that came along, and show its topics."""
    session.arguments |= _OWN
    target = output or model
    check_new_model(session, target)
    fitted, attached = load_with_documents(model)
    jobs = fitted.n_jobs
    fitted.set_params(n_jobs=session.jobs)
    changed = change(fitted, attached.corpus).set_params(n_jobs=jobs)
    kept = {
        "corpus": attached.corpus,
        "texts": attached.texts,
        "words": attached.words,
        "reading": attached.reading,
    }
    with bar(session, "saving"):
        write_model(changed, target, kept)
    done = changed.history_[len(fitted.history_) :]
    for sentence in done:
        session.say(sentence)
    tell_changed(session, changed, target, {"done": done})
