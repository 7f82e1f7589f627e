"""`gptm demo`: runs on texts that come with it; users need no file of their own."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gptm.cli.output_files import check_output
from gptm.cli.progress_bars import bar, fitting
from gptm.cli.session import Session

if TYPE_CHECKING:
    from gptm.demo import Findings
    from gptm.model import GPTM


def demo(
    session: Session,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File for the page.")
    ] = "gptm-demo.html",
) -> int:
    """Find twenty topics in two centuries of State of the Union addresses, with date, party and president."""
    check_output(output)
    from gptm import demo as library

    return library.run(_SessionListener(session), output, seed=session.seed, n_jobs=session.jobs)


class _SessionListener:
    """Shows the progress of the demo in a session."""

    def __init__(self, session: Session):
        self.session = session

    def say(self, text: str) -> None:
        self.session.say(text)

    def answer(self, findings: "Findings") -> None:
        from gptm.demo import print_findings

        self.session.answer(findings._asdict(), lambda: print_findings(findings))

    def working(self, task: str) -> AbstractContextManager[object]:
        return bar(self.session, task)

    def fitting(self, model: "GPTM") -> AbstractContextManager[Callable[[int, Any], bool]]:
        return fitting(self.session, "fitting", model.max_iter, model.tol)
