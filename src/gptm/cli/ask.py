"""Questions to a fitted model: `gptm topics`, `gptm effects`, `gptm info`."""

from typing import Annotated, Any

import typer

from gptm.cli import options as o
from gptm.cli.reading import check_output, model_file, write_table
from gptm.cli.session import Session, UsageError
from gptm.cli.tables import print_table, topic_rows


def _load(model: str) -> Any:
    with model_file(model) as path:
        from gptm.persistence import load

        return load(path)


def topics(
    session: Session,
    model: o.Model,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = 10,
    by: Annotated[
        str, typer.Option(help="Which words: probable (words), frex, lift or score.")
    ] = "words",
    output: o.Output = None,
) -> None:
    """The topics of a model: share and words, largest first."""
    if by not in ("words", "frex", "lift", "score"):
        raise UsageError(f"--by expects words, frex, lift or score; got {by!r}.")
    check_output(output)
    table = _load(model).topics(words)
    if write_table(table.rename_axis("topic").reset_index(), output):
        return
    rows = topic_rows(table.assign(words=table[by]))
    data = table.rename_axis("topic").reset_index()
    session.answer(data, lambda: print_table(rows, ("topic", "share", by), ("topic", "share")))


def effects(
    session: Session,
    model: o.Model,
    term: Annotated[str | None, typer.Option(help="Term of the kernel; by default all.")] = None,
    topic: Annotated[
        int | None, typer.Option(min=0, help="Number of a topic; by default all.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUES", help="Where to look, as in date=1990-01-01,2000-01-01."
        ),
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Show differences to this, as in source=Times."),
    ] = None,
    level: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability that the bands hold.")
    ] = 0.9,
    output: o.Output = None,
) -> None:
    """What each term of the kernel says about each topic, with error bands."""
    if not 0 < level < 1:
        raise UsageError(f"--level expects a probability between 0 and 1; got {level:g}.")
    places, against = _places("--at", at), _places("--versus", versus)
    check_output(output)
    fitted = _load(model)
    if getattr(fitted, "kernel_", None) is None:
        raise ValueError("the model has no kernel, so that there is no effect to show.")
    import pandas as pd

    settings = {"at": places, "versus": against, "level": level}
    tables = [
        fitted.effects(one, topic, **settings) for one in _chosen(fitted, term, places, against)
    ]
    found = pd.concat(tables, ignore_index=True)
    if write_table(found, output):
        return
    session.answer(found, lambda: _print_frame(found))


def _chosen(fitted: Any, term: str | None, *places: dict[str, Any] | None) -> list[str]:
    """The term that was named, else the one that reads the named columns, else all."""
    if term is not None:
        return [term]
    named = [column for place in places if place for column in place]
    return named[:1] or list(fitted.terms_)


def _places(option: str, given: list[str] | None) -> dict[str, list[Any]] | None:
    """Values by column, numbers as numbers."""
    places: dict[str, list[Any]] = {}
    for text in given or []:
        name, mark, values = text.partition("=")
        if not (mark and name and values):
            raise UsageError(
                f"{option} expects COLUMN=VALUES, as in date=1990-01-01; got {text!r}."
            )
        places.setdefault(name.strip(), []).extend(map(_number_or_text, values.split(",")))
    return places or None


def _number_or_text(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip()


def _print_frame(frame: Any) -> None:
    numbers = [name for name in frame if frame[name].dtype.kind in "if"]
    rows = list(zip(*(map(_cell, frame[name]) for name in frame), strict=True))
    print_table(rows, [str(name) for name in frame], [str(name) for name in numbers])


def _cell(value: Any) -> str:
    if value is None or value != value:  # not a number, not a time
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return (
        value.isoformat().removesuffix("T00:00:00") if hasattr(value, "isoformat") else str(value)
    )


def info(session: Session, model: o.Model) -> None:
    """What a model's file holds: the model, its settings, and the documents that came along."""
    with model_file(model) as path:
        from gptm.persistence import load, load_attached, read_header

        header, fitted, attached = read_header(path), load(path), load_attached(path)
    corpus = attached.corpus
    kernel = getattr(fitted, "kernel_", None)
    facts = {
        "model": type(fitted).__name__,
        "topics": len(fitted.components_),
        "words": fitted.components_.shape[1],
        "documents": len(fitted.doc_lengths_),
        "tokens": int(fitted.doc_lengths_.sum()),
        "kernel": None if kernel is None else repr(kernel),
        "iterations": fitted.n_iter_,
        "converged": fitted.converged_,
        "bound": float(fitted.bound_[-1]) if len(fitted.bound_) else None,
        "parameters": {
            name: value if isinstance(value, int | float | str | None) else repr(value)
            for name, value in fitted.get_params(deep=False).items()
        },
        "columns": [] if corpus is None or corpus.metadata is None else list(corpus.metadata),
        "texts": attached.texts is not None,
        "written_by": header["libraries"],
        "schema": header["schema"],
    }
    session.answer(facts, lambda: _print_facts(facts))


def _print_facts(facts: dict[str, Any]) -> None:
    nested = ("parameters", "written_by")
    rows = [(name, _fact(value)) for name, value in facts.items() if name not in nested]
    for name in nested:
        rows.append((name, ", ".join(f"{key}={value}" for key, value in facts[name].items())))
    print_table(rows, ("", ""))


def _fact(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else "none" if value is None else str(value)
