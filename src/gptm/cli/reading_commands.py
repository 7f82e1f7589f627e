"""What topics are about: `gptm documents`, the texts with most of a topic, and `gptm tree`, which topics are alike."""

import sys
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gptm._basics.printed_table import print_table
from gptm._basics.terminal import printable
from gptm.cli import options as o
from gptm.cli.model_input import load_model, load_with_documents
from gptm.cli.output_files import check_picture, check_table, write_table
from gptm.cli.session import Session
from gptm.cli.typed_settings import typed_topics

if TYPE_CHECKING:
    from gptm.corpus import Corpus
    from gptm.model import GPTM

_WIDTH = 100


def documents(
    session: Session,
    model: o.Model,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="Topic, by number or name. Repeat it for more topics; by default all."),
    ] = None,
    n: Annotated[int, typer.Option("--documents", "-n", min=1, help="Documents per topic.")] = 3,
    length: Annotated[
        int, typer.Option("--text-length", min=1, help="Characters of each text to show.")
    ] = 300,
    output: o.Output = None,
) -> None:
    """Show the most typical documents of each topic, if the model's file has their texts."""
    check_table(output, inputs=[model])
    fitted, attached = load_with_documents(model)
    fitted.set_params(n_jobs=session.jobs)
    corpus = attached.corpus
    if corpus is None or corpus.texts is None:
        session.warn(f"{model} has no texts: fit it without --no-text and --no-corpus to see them.")
    numbers = typed_topics(fitted, topic) if topic else list(range(len(fitted.components_)))
    table = _table(fitted, numbers, n, corpus, length)
    if not write_table(session, table, output):
        session.answer(table, lambda: _print_documents(fitted, table))


def _table(fitted: "GPTM", topics: list[int], n: int, corpus: "Corpus | None", length: int) -> Any:
    table = fitted.representative_documents(n=n, corpus=corpus, text_length=length)
    parts = [table[table["topic"] == topic] for topic in topics]
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _print_documents(fitted: "GPTM", table: Any) -> None:
    """Under each topic its documents: proportion, id or position, and the text in lines of 100 characters."""
    topics = fitted.topics(8)
    lines = []
    for topic, own in table.groupby("topic", sort=False):
        row = topics.loc[topic]
        name = f"{row['name']}: " if row.get("name") else ""
        lines.append(f"topic {topic}, {row['share']:.1%}  {name}{row['words']}")
        for document in own.to_dict("records"):
            which = document.get("id", f"document {document['position']}")
            text = " ".join(str(document.get("text", "")).split())
            line = printable(f"{document['share']:.0%}  {which}  {text}".rstrip())
            lines.append(fill(line, _WIDTH, initial_indent="  ", subsequent_indent="      "))
        lines.append("")
    sys.stdout.write("\n".join(lines))


def tree(
    session: Session,
    model: o.Model,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words of each group.")] = 5,
    plot: Annotated[
        str | None, typer.Option(help="File for the picture, such as tree.png.")
    ] = None,
    output: o.Output = None,
) -> None:
    """Which topics are alike? List the steps in which 'gptm reduce' would merge the most similar ones."""
    check_table(output, inputs=[model])
    check_picture(plot, inputs=[model, output])
    fitted = load_model(model).set_params(n_jobs=session.jobs)
    table = fitted.topic_hierarchy(words).reset_index()
    for side in ("left", "right"):
        table[side] = [", ".join(map(str, topics)) for topics in table[side]]
    if plot is not None:
        from gptm.plots import plot_hierarchy

        plot_hierarchy(fitted).figure.savefig(plot)
        session.say(f"wrote the picture to {plot}")
    if write_table(session, table, output):
        return
    text = table.assign(
        distance=table["distance"].map("{:.2f}".format), share=table["share"].map("{:.1%}".format)
    )
    names = list(text)
    numbers = ("topics_left", "distance", "share")
    rows = text[names].astype(str).to_numpy().tolist()
    session.answer(table, lambda: print_table(rows, names, numbers))
