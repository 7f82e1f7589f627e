"""The command line: `python -m experiments --help`, or `make reproduce`."""

import argparse
import sys
from pathlib import Path

from experiments import catalogue
from experiments.jobs import Settings
from experiments.reproduce import reproduce

OK, FAILED, INTERRUPTED = 0, 1, 130


def main(arguments: list[str] | None = None) -> int:
    """Run the experiments and print where the page is; the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.data is not None and not Path(options.data).is_dir():
        parser.error(f"--data expects a folder; there is no folder {options.data}.")
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"--out expects a folder; {options.out} is a file.")
    settings = Settings(options.data, options.seed, options.quick, options.jobs)
    try:
        page = reproduce(options.out, settings, options.only, _silent if options.quiet else _say)
    except KeyboardInterrupt:
        _say("Interrupted. Finished jobs are kept; the same command continues from there.")
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        notes = getattr(error, "__notes__", ())
        _say(" ".join([f"error: {error}", *notes]))
        return FAILED
    print(page)
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Runs the paper's experiments again and writes tables, figures and a page. "
        "Continues where the last run stopped.",
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help="folder with the documents (dif100.jsonl.gz and others); without it scikit-learn "
        "downloads 20 Newsgroups",
    )
    parser.add_argument(
        "--out",
        "-o",
        metavar="FOLDER",
        type=Path,
        default=Path("reproduce"),
        help="folder for results, tables, figures and page (default: %(default)s)",
    )
    parser.add_argument(
        "--only",
        metavar="NAMES",
        type=_names,
        default=list(catalogue.NAMES),
        help=f"some experiments, separated by commas: {','.join(catalogue.NAMES)} (default: all)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few documents, folds and values, for a first look; do not rely on the numbers",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    parser.add_argument(
        "--jobs",
        "-j",
        type=int,
        default=-1,
        help="number of processes; results do not depend on it (default: all cores)",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but the page")
    return parser


def _names(text: str) -> list[str]:
    try:
        return catalogue.parse_names(text)
    except ValueError as error:  # argparse shows no other error's words
        raise argparse.ArgumentTypeError(str(error)) from None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _silent(text: str) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
