"""Options that several commands take, in groups."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any, Literal

import typer

from gptm.cli.typed_options import (
    check_named_file,
    parse_columns,
    parse_formula,
    parse_frequency,
    parse_ngrams,
    parse_seed_words,
)
from gptm.corpus.cleaning import PARTS

# As gptm.files knows them.
KINDS = ("text", "id", "date", "number", "category", "links", "vector", "list", "note", "ignore")
FORMATS = ("csv", "tsv", "jsonl", "parquet", "xlsx", "lines", "folder", "mtx", "ldac", "npz")


def complete_kernel(incomplete: str) -> Iterator[str]:
    """Kernels that complete the last word of a formula."""
    from gptm.kernels.formula import kernel_names

    start = max(incomplete.rfind(mark) for mark in "+*( ") + 1
    done, word = incomplete[:start], incomplete[start:].lower()
    yield from (f"{done}{name}(" for name in kernel_names() if name.startswith(word))


def show_kernels(formula: str) -> str:
    """Print all kernels if the formula is "list"; otherwise return the formula as it is."""
    if formula.strip().lower() != "list":
        return formula
    from gptm.kernels.formula import kernel_help

    for usage, summary in kernel_help():
        typer.echo(f"{usage}\n    {summary}")
    raise typer.Exit


def complete_column(incomplete: str) -> Iterator[str]:
    """Kinds of columns after the last `=`."""
    start = incomplete.rfind("=") + 1
    if start:
        done, word = incomplete[:start], incomplete[start:]
        yield from (done + kind for kind in KINDS if kind.startswith(word))


def complete_format(incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


# Options by the part of the help that they are shown in.
_reading = partial(typer.Option, rich_help_panel="Reading the file")
_words = partial(typer.Option, rich_help_panel="Words")
_model = partial(typer.Option, rich_help_panel="Model")

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Documents: CSV, TSV, JSON lines, Parquet, Excel (.xlsx), a folder of .txt or .md files, or counts (.mtx, "
        ".ldac, .npz); '-' is standard input.",
    ),
]
Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A model that 'gptm fit' wrote; '-' is standard input."),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", help="File to write; '-' is standard output."),
]
Topics = Annotated[int, _model("--topics", "-t", min=1, help="Number of topics.")]


@dataclass(frozen=True)
class FileOptions:
    """How a file is read. A command that has a parameter of this kind takes all of these options."""

    text: Annotated[
        str | None,
        _reading(help="Column with the text. Several columns are joined, for example title,body."),
    ] = None
    id: Annotated[
        str | None,
        _reading(help="Column with the ids of the documents."),
    ] = None
    column: Annotated[
        list[str] | None,
        _reading(
            "--column",
            "--kinds",
            metavar="NAME=KIND",
            help="Kind of a column, if the guess is wrong, for example year=category. Repeat it for more columns. "
            f"Kinds: {', '.join(KINDS)}.",
            autocompletion=complete_column,
        ),
    ] = None
    format: Annotated[
        str | None,
        _reading(
            help=f"Format of the file, if its name does not show it: {', '.join(FORMATS)}.",
            autocompletion=complete_format,
        ),
    ] = None
    vocabulary: Annotated[
        str | None,
        _reading(help="For a file of counts: a file with its words, one per line."),
    ] = None
    metadata: Annotated[
        str | None,
        _reading(
            metavar="FILE",
            help="Table with more columns. It is joined by id if both files have ids, otherwise row by row.",
        ),
    ] = None
    encoding: Annotated[
        str,
        _reading(
            help="Character encoding of the file. 'auto' means UTF-8, and recognises UTF-16 and cp1252."
        ),
    ] = "auto"
    strict: Annotated[
        bool,
        _reading(
            "--strict",
            help="Stop if there are broken lines, invalid characters, empty texts or repeated ids, and list them all.",
        ),
    ] = False

    def settings(self) -> dict[str, Any]:
        """What `gptm.files.read` takes."""
        check_named_file("--vocabulary", self.vocabulary)
        check_named_file("--metadata", self.metadata)
        return {
            "text": (self.text or "").strip()
            or None,  # a name may hold a comma, so that the columns decide
            "id": self.id,
            "kinds": parse_columns(self.column),
            "format": self.format,
            "vocabulary": self.vocabulary,
            "metadata": self.metadata,
            "encoding": self.encoding,
            "strict": self.strict,
        }

    def files(self) -> list[str | None]:
        """Files that are read beside the documents."""
        return [self.vocabulary, self.metadata]


@dataclass(frozen=True)
class WordOptions:
    """How texts become words."""

    stop_words: Annotated[
        str,
        _words(
            metavar="LANGUAGE|FILE|WORDS|none",
            help="Words to leave out: a language, a file with one word per line, words separated by commas, several of "
            "these joined by + (english+mine.txt), or none. 'auto' detects the language; +amp,rt adds words to it.",
        ),
    ] = "auto"
    min_df: Annotated[
        str | None,
        _words(
            metavar="NUMBER",
            help="Leave out words in fewer documents than this: a number (5) or a fraction of all (0.01).",
        ),
    ] = None
    max_df: Annotated[
        str | None,
        _words(
            metavar="NUMBER",
            help="Leave out words in more documents than this: a number (500) or a fraction of all (0.5).",
        ),
    ] = None
    ngrams: Annotated[
        str,
        _words(
            metavar="N|M-N", help="Count all sequences of up to N neighbouring words, or of M to N."
        ),
    ] = "1"
    keep: Annotated[
        str | None,
        _words(
            metavar="PARTS",
            help="Parts of texts to keep, which are taken out by default; separate them by commas: "
            f"{', '.join(PARTS)}, or all.",
        ),
    ] = None
    phrases: Annotated[
        bool,
        _words(
            "--phrases", help="Find phrases, such as 'united states', and count each as one word."
        ),
    ] = False
    word_forms: Annotated[
        str | None,
        _words(
            metavar="FORMS",
            help="Count words by their lemmas or by their stems, for example lemmas or stems:german.",
        ),
    ] = None
    segmenter: Annotated[
        Literal["jieba", "janome"] | None,
        _words(
            help="Find the words where there are no spaces between them: jieba for Chinese, janome for Japanese."
        ),
    ] = None
    token_pattern: Annotated[
        str | None,
        _words(help="Regular expression that matches one word."),
    ] = None

    def settings(self) -> dict[str, Any]:
        """What `gptm.corpus.words.Words` takes."""
        settings: dict[str, Any] = {
            "stop_words": None if self.stop_words.lower() == "none" else self.stop_words,
            "min_df": parse_frequency("--min-df", self.min_df),
            "max_df": parse_frequency("--max-df", self.max_df),
            "ngram_range": parse_ngrams(self.ngrams),
            "keep": self.keep,
            "phrases": self.phrases,
            "word_forms": self.word_forms,
            "segmenter": self.segmenter,
        }
        if self.token_pattern is not None:
            settings["token_pattern"] = self.token_pattern
        return settings

    def files(self) -> list[str | None]:
        """Files of stop words. The name of a language does no harm here: nobody writes to such a file."""
        return [self.stop_words, *self.stop_words.split("+")]


@dataclass(frozen=True)
class ModelOptions:
    """What kind of model, and how it is fitted."""

    kernel: Annotated[
        str,
        _model(
            "--kernel",
            "-k",
            metavar="FORMULA",
            help="Side information to use, for example 'matern(date) + categorical(source)'. 'auto' takes the few "
            "columns that stand out, 'auto+' every usable one, 'none' only the words. 'list' prints all kernels.",
            autocompletion=complete_kernel,
            callback=show_kernels,
            is_eager=True,
        ),
    ] = "auto"
    max_iter: Annotated[
        int | None,
        _model(
            min=1,
            help="Maximum number of sweeps of the sampler, or of iterations of EM. Default: 200 to 2,000 sweeps (more "
            "if there are fewer words), or 200 iterations.",
        ),
    ] = None
    chains: Annotated[
        int,
        _model(min=1, help="Number of chains of the sampler, run side by side."),
    ] = 1
    tol: Annotated[
        float,
        _model(
            min=0.0, help="Stop EM when the bound rises by less than this fraction of its value."
        ),
    ] = 3e-4
    init: Annotated[
        Literal["gibbs", "spectral", "random"],
        _model(help="Where the fit starts: short LDA runs, anchor words, or random documents."),
    ] = "gibbs"
    coregionalization: Annotated[
        Literal["free", "shared", "identity"],
        _model(
            help="How the kernel acts across topics: by a learnt matrix, in proportion to the topic covariance, or "
            "equally on all topics."
        ),
    ] = "free"
    seed_words: Annotated[
        list[str] | None,
        _model(
            metavar="TOPIC=WORDS",
            help="Words that a topic starts with, for example war=army,navy or 0=tax,budget. Repeat it for more "
            "topics.",
        ),
    ] = None
    inference: Annotated[
        Literal["sampling", "variational", "map"],
        _model(
            help="How to fit: sample from the posterior, approximate it by EM (faster), or as in the paper."
        ),
    ] = "sampling"

    memory: Annotated[
        str | None,
        _model(
            help="For a corpus on disk: how much memory the fit may take, for example 4GB.",
            show_default="half of the machine's memory",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """What `gptm.GPTM` takes."""
        return self.common() | {
            "kernel": parse_formula(self.kernel),
            "coregionalization": self.coregionalization,
        }

    def common(self) -> dict[str, Any]:
        """What `gptm.CTM` takes as well."""
        return {
            "init": self.init,
            "inference": self.inference,
            "n_chains": self.chains,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "seed_words": parse_seed_words(self.seed_words),
            "memory": self.memory,
        }


def as_given(*groups: Any) -> str:
    """The options of groups as they would be typed; those at their defaults are left out.

    Examples
    --------
    >>> as_given(FileOptions(text="title,body", column=["year=category"], strict=True))
    '--text title,body --column year=category --strict'
    """
    typed: list[str] = []
    for group in groups:
        for item in fields(group):
            value, option = getattr(group, item.name), "--" + item.name.replace("_", "-")
            if value is True:
                typed.append(option)
            elif value != item.default:
                several = value if isinstance(value, list) else [value]
                typed += [f"{option} {shlex.quote(str(part))}" for part in several]
    return " ".join(typed)
