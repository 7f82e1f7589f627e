"""The command line: parse arguments, call one function, print.

Data go to standard output, all talk to standard error. Nothing heavy is imported before a command runs, so that help
and completion answer at once.
"""

import sys


def main() -> None:
    """Run the command line; the entry point of the script `gptm`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # the same bytes on every machine
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        from gptm.cli.app import app

        app(prog_name="gptm")
    except KeyboardInterrupt:  # before a command could begin
        sys.exit(130)


__all__ = ["main"]
