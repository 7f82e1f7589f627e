"""Read new documents for a model, as its training documents were read."""

from typing import TYPE_CHECKING, Any

from gptm.cli.progress_bars import bar
from gptm.cli.session import Session

if TYPE_CHECKING:
    from gptm.model import GPTM


def read_new(
    session: Session,
    fitted: "GPTM",
    header: dict[str, Any],
    file: str,
    settings: dict[str, Any],
) -> Any:
    """New documents, read as the training documents were."""
    from gptm import files
    from gptm.corpus.words import Words

    vocabulary = fitted.fitted_.vocabulary
    if vocabulary is None:
        raise ValueError(
            "this model has no vocabulary, so it cannot read new texts. Fit it to a corpus with a vocabulary."
        )
    trained, words = header.get("reading") or {}, header.get("words")
    reader_settings = settings | {
        "kinds": _kinds(fitted, trained, settings["kinds"]),
        "trained_text": trained.get("text") or None,
        "file_vocabulary": settings["vocabulary"],
        "vocabulary": vocabulary,
        "words": Words(stop_words=None) if words is None else Words.from_dict(words),
    }
    with bar(session, "reading") as update:
        reading = files.read_documents(file, progress=update, **reader_settings)
    _check_columns(settings["kinds"], trained, [column.name for column in reading.columns])
    if settings["text"] is None:
        _say_text(session, reading.columns.text, trained.get("text"))
    return reading


def _kinds(fitted: "GPTM", trained: dict[str, Any], given: dict[str, str] | None) -> dict[str, str]:
    """Kinds of the columns that matter now: those that the kernel reads, and the ids."""
    kernel = fitted.kernel_
    matter = {*(() if kernel is None else kernel.column_names()), trained.get("id")}
    trained_kinds = trained.get("kinds") or {}
    return {name: kind for name, kind in trained_kinds.items() if name in matter} | (given or {})


def _check_columns(
    given: dict[str, str] | None, trained: dict[str, Any], columns: list[str]
) -> None:
    """A kind must be for a column of the file, or for one of the training that the file happens to lack."""
    from gptm.files.table_columns import unknown_column

    for name in given or ():
        if name not in columns and name not in (trained.get("kinds") or {}):
            raise unknown_column(name, columns, "kinds")


def _say_text(session: Session, columns: tuple[str, ...], expected: list[str] | None) -> None:
    if columns and expected and set(columns) != set(expected):
        wanted = ", ".join(map(repr, expected))
        session.say(f"note: there is no column {wanted}; the text is taken from {columns[0]!r}")
