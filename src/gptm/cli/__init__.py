"""The command line: parse arguments, call one function, print.

Data go to standard output, all talk to standard error. Nothing heavy is imported before a command runs, so that help
and completion answer at once.
"""


def main() -> None:
    """Run the command line; the entry point of the script `gptm`."""
    from gptm.cli.app import app

    app(prog_name="gptm")


__all__ = ["main"]
