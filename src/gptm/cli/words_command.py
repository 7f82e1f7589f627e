"""`gptm words`: the lists of words that are left out."""

import sys
from typing import Annotated

import typer

from gptm._basics.terminal import printable
from gptm.cli.read_documents import chosen_words
from gptm.cli.session import Session, UsageError


def words(
    session: Session,
    *,
    stop_words: Annotated[
        str,
        typer.Option(
            metavar="LANGUAGE|FILE|WORDS",
            help="A language, a file with one word per line, words separated by commas, or several joined by +.",
        ),
    ],
) -> None:
    """Print the words that --stop-words leaves out, one per line."""
    chosen = chosen_words(stop_words=None if stop_words.lower() == "none" else stop_words)
    if chosen.has_open_language:
        raise UsageError(
            f"--stop-words expects the name of a language here, for example english; got {stop_words!r}, and there "
            "are no texts to guess the language from."
        )
    listed = sorted(chosen.stop_list())
    session.answer(listed, lambda: sys.stdout.writelines(f"{printable(word)}\n" for word in listed))
