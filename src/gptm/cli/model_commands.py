"""Questions to a fitted model: `gptm topics`, `gptm info`."""

from typing import Annotated, Any

import typer

from gptm._basics.printed_table import print_table
from gptm.cli import options as o
from gptm.cli.model_input import load_model, model_file
from gptm.cli.output_files import check_table, write_table
from gptm.cli.session import Session, UsageError
from gptm.cli.text_tables import readable, topic_rows


def topics(
    session: Session,
    model: o.Model,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = 10,
    by: Annotated[
        str,
        typer.Option(
            help="Which words to show: the most prominent (words), the most probable (probable), or the best by frex, "
            "lift or score."
        ),
    ] = "words",
    output: o.Output = None,
) -> None:
    """List the topics of a model with their shares and words, largest first."""
    if by not in ("words", "probable", "frex", "lift", "score"):
        raise UsageError(f"--by expects words, probable, frex, lift or score; got {by!r}.")
    check_table(output, inputs=[model])
    table = load_model(model).set_params(n_jobs=session.jobs).topics(words)
    data = table.rename_axis("topic").reset_index()
    if write_table(session, data, output):
        return
    rows = topic_rows(table.assign(words=table[by]))
    session.answer(data, lambda: print_table(rows, ("topic", "share", by), ("topic", "share")))


def info(session: Session, model: o.Model) -> None:
    """Describe a model's file: the model, its parameters, and the documents stored with it."""
    with model_file(model) as path:
        from gptm.model import load
        from gptm.storage import load_attached, read_header

        header, fitted, attached = read_header(path), load(path), load_attached(path)
    corpus = attached.corpus
    kernel = fitted.kernel_
    facts = {
        "model": type(fitted).__name__,
        "topics": len(fitted.components_),
        "words": fitted.components_.shape[1],
        "documents": fitted.fitted_.n_documents,
        "tokens": int(fitted.fitted_.n_tokens),
        "kernel": None if kernel is None else repr(kernel),
        "iterations": fitted.n_iter_,
        "converged": fitted.converged_,
        "bound": float(fitted.bound_[-1]) if len(fitted.bound_) else None,
        "history": fitted.history_,
        "parameters": {
            name: value if isinstance(value, int | float | str | None) else repr(value)
            for name, value in fitted.get_params(deep=False).items()
        },
        "columns of the kernel": [] if kernel is None else list(kernel.column_names()),
        "columns": [] if corpus is None or corpus.metadata is None else list(corpus.metadata),
        "ids": corpus is not None and corpus.ids is not None,
        "counts of words": kernel is not None or corpus is not None,
        "texts": attached.texts is not None,
        "written_by": header["libraries"],
        "schema": header["schema"],
    }
    session.answer(facts, lambda: _print_facts(facts))


def _print_facts(facts: dict[str, Any]) -> None:
    nested = ("parameters", "written_by")
    history = " ".join(facts["history"]) or "none"  # sentences
    short = facts | {
        "history": history,
        "kernel": None if facts["kernel"] is None else readable(facts["kernel"]),
    }
    rows = [(name, _fact(value)) for name, value in short.items() if name not in nested]
    for name in nested:
        rows.append((name, ", ".join(f"{key}={value}" for key, value in facts[name].items())))
    print_table(rows, ("", ""))


def _fact(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else "none" if value is None else str(value)
