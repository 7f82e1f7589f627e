"""Where commands put a model: into a file, or onto standard output; and what they say of one that they changed."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gptm._basics.printed_table import print_table
from gptm.cli.output_files import check_output
from gptm.cli.session import Session, UsageError
from gptm.cli.text_tables import topic_rows

if TYPE_CHECKING:
    from gptm.model import GPTM

NewModel = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="The new model's file; by default MODEL is replaced.",
        show_default=False,
    ),
]


def check_new_model(session: Session, target: str, inputs: Sequence[str | None] = ()) -> None:
    """Say at once that a changed model cannot be written there."""
    check_output(target, inputs=inputs, is_model=True)
    if target == "-" and (session.json or sys.stdout.isatty()):
        raise UsageError("a model goes to a file or a pipe: give --output, without --json for '-'.")


def attachments(
    model: "GPTM", reading: Any, text: str | None, *, keep_corpus: bool
) -> dict[str, Any]:
    """What goes into a model's file beside it: how its documents were read, and perhaps these."""
    from gptm.files.table_columns import named

    columns = reading.columns
    corpus = reading.corpus if model.sample_ is None else model.sample_
    order = named(text, columns.text, "text") if columns.text else ()
    return {
        "corpus": corpus if keep_corpus else None,
        "texts": reading.texts if model.sample_ is None else corpus.texts,
        "words": reading.words.to_dict(),
        "reading": {  # columns that are joined keep the order in which they were named
            "text": list(order or columns.text),
            "id": columns.id,
            "kinds": columns.kinds,
        },
    }


def write_model(model: "GPTM", target: str, attached: dict[str, Any]) -> None:
    """Write a model to a file; "-" is standard output."""
    if target != "-":
        model.save(target, **attached)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gptm"
        model.save(path, **attached)
        sys.stdout.buffer.write(path.read_bytes())
        sys.stdout.flush()


def save_or_rescue(model: "GPTM", target: str, attached: dict[str, Any]) -> None:
    """The same; if the file cannot be written, the model goes into a temporary folder, and the error says so."""
    try:
        write_model(model, target, attached)
    except OSError as error:
        if target != "-":  # a pipe's reader knows why
            _rescue(model, Path(target).name, attached, error)
        raise


def _rescue(model: "GPTM", name: str, attached: dict[str, Any], error: OSError) -> None:
    folder = tempfile.mkdtemp(prefix="gptm-")
    path = str(Path(folder) / name)
    try:
        write_model(model, path, attached)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        error.strerror = f"{error.strerror}. The model is saved in {path} instead"


def tell_changed(session: Session, model: "GPTM", target: str, facts: dict[str, Any]) -> None:
    """The topics of a model that was changed and saved, with `facts` about the change where the output is JSON."""
    if target == "-":
        return
    table = model.topics(10)
    data = {"output": target, **facts, "topics": table.rename_axis("topic").reset_index()}
    columns = ("topic", "share", "words")
    session.answer(data, lambda: print_table(topic_rows(table), columns, columns[:2]))
    session.say(f"\nmodel in {target}")
