"""`gptm demo` and `gptm reproduce`: known corpora, without a file of one's own."""

import importlib
from typing import Annotated

import typer

from gptm.cli.reading import check_output
from gptm.cli.session import Session


def demo(
    session: Session,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The report page.")
    ] = "gptm-demo.html",
) -> int:
    """Two centuries in twenty topics: the State of the Union addresses, with date, party and president."""
    check_output(output)
    from gptm import demo as library

    return library.run(session, output)


def reproduce(session: Session) -> int:
    """The tables of the paper."""
    return int(importlib.import_module("gptm.reproduce").main() or 0)
