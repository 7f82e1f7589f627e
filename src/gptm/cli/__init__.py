"""The command line: parse arguments, call one function, print.

Data go to standard output, all talk to standard error. Nothing heavy is imported before a command runs, so that help
and completion answer at once.

`app` lists the commands, which are functions of a `Session`, in one file per kind. `options` has the groups of options.
`model_input` and `read_documents` are what commands read, `output_files` and `text_tables` what they write. Begin with
`reading_commands`.
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
