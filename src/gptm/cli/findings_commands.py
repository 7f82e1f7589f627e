"""Whether findings survive: `gptm stability`, `permutation-test`, `residuals`, `align`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gptm.cli import options as o
from gptm.cli.model_input import load_model, load_with_corpus
from gptm.cli.output_files import check_output, check_picture, check_table, write_table
from gptm.cli.progress_bars import counting
from gptm.cli.read_documents import check_kernel
from gptm.cli.session import INTERRUPTED, OK, Session, UsageError
from gptm.cli.text_tables import short, show_table
from gptm.cli.typed_options import parse_formula, parse_numbers

if TYPE_CHECKING:
    pass

Checkpoint = Annotated[
    str | None,
    typer.Option(
        help="File that stores finished fits. The same command then runs only the others.",
        show_default="MODEL.refits",
    ),
]
Threshold = Annotated[
    float,
    typer.Option(
        min=0.0, max=1.0, help="Smallest overlap of words at which two topics count as the same."
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of groups, such as author, that are drawn or moved as a whole.",
    ),
]


def _refits_of(model: str) -> str | None:
    """Where refits are kept while a command runs: in this folder, named after the model."""
    return None if model == "-" else f"{Path(model).resolve().name}.refits"


def stability(
    session: Session,
    model: o.Model,
    seeds: Annotated[int, typer.Option(min=0, help="Number of refits from other seeds.")] = 5,
    topics: Annotated[
        str | None,
        typer.Option(
            "--topics",
            "-t",
            help="Other numbers of topics, as in 8,12; 'none' for none.",
            show_default="two, a fifth fewer and a quarter more",
        ),
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Number of refits to bootstrap samples of the documents.")
    ] = 5,
    groups: Groups = None,
    threshold: Threshold = 0.4,
    level: Annotated[float, typer.Option(help="Level of the bands.")] = 0.9,
    output: o.Output = None,
    effects: Annotated[
        str | None, typer.Option(help="File for a table of all effects, one per row.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option(help="File for the picture, such as stability.png.")
    ] = None,
    checkpoint: Checkpoint = None,
) -> int:
    """Which topics and effects come back? Fit the model again from other seeds, with other numbers of topics, and to
    bootstrap samples of its documents.
    """
    check_table(output, inputs=[model])
    check_table(effects, option="--effects", inputs=[model, output])
    check_picture(plot, inputs=[model, output, effects])
    check_output(checkpoint, "--checkpoint", inputs=[model])
    none = topics is not None and topics.strip().lower() == "none"
    sizes = [] if none else None if topics is None else parse_numbers("--topics", topics)
    fitted, corpus = load_with_corpus(session, model)
    from gptm.findings import stability as refit

    n_sizes = 2 if sizes is None else len(sizes)
    with counting(session, "fitting", seeds + n_sizes + resamples):
        found = refit(
            fitted.set_params(n_jobs=1),
            corpus,
            seeds=seeds,
            n_components=sizes,
            resamples=resamples,
            groups=groups,
            threshold=threshold,
            level=level,
            random_state=session.seed,
            n_jobs=session.jobs,
            verbose=True,
            checkpoint=checkpoint or _refits_of(model),
        )
    write_table(session, found.effects, effects)
    if plot is not None:
        found.plot().figure.savefig(plot)
        session.say(f"wrote the picture to {plot}")
    session.say(f"{found.title}\n")
    show_table(session, found.table.reset_index(), output, text=found.printed().reset_index())
    session.say(f"\n{found.conclusion}")
    return OK if found.complete else INTERRUPTED


def permutation_test(
    session: Session,
    model: o.Model,
    term: Annotated[
        str | None, typer.Option(help="Term of the model's kernel, by its columns.")
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            "-k",
            metavar="FORMULA",
            help="Instead of --term: columns that the model does not use, as in 'categorical(party)'.",
            autocompletion=o.complete_kernel,
        ),
    ] = None,
    shuffles: Annotated[
        int | None,
        typer.Option(
            "--shuffles",
            "-n",
            min=1,
            max=1_000_000,
            help="Number of shuffles.",
            show_default="999, 99 refitted",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column such as author: values are shuffled only among documents of the same author.",
        ),
    ] = None,
    groups: Groups = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit the whole model to every shuffled table.")
    ] = False,
    output: o.Output = None,
    checkpoint: Checkpoint = None,
) -> int:
    """Does a column matter at all? Compare its effect on the topics with shuffled columns."""
    if term is not None and kernel is not None:
        raise UsageError("give --term or --kernel, not both.")
    check_table(output, inputs=[model])
    check_output(checkpoint, "--checkpoint", inputs=[model])
    formula = None if kernel is None else parse_formula(kernel)
    if kernel is not None and not hasattr(formula, "column_names"):
        raise UsageError(
            f"--kernel expects a formula such as 'categorical(party)'; got {kernel!r}."
        )
    fitted, corpus = load_with_corpus(session, model)
    check_kernel(formula, corpus.metadata)
    from gptm.findings import permutation_test as test

    n_fits = (shuffles or 99) if refit else None
    with counting(session, "fitting" if refit else "shuffling", n_fits):
        found = test(
            fitted.set_params(n_jobs=1) if refit else fitted,
            corpus,
            formula if formula is not None else _number_or_name(term),
            n=shuffles,
            within=within,
            groups=groups,
            refit=refit,
            random_state=session.seed,
            n_jobs=session.jobs,
            verbose=True,
            checkpoint=(checkpoint or _refits_of(model)) if refit else None,
        )
    data = {"term": found.term, "p_value": found.p_value, "statistic": found.statistic}
    show_table(session, found.table, output, data=data | {"topics": found.table})
    session.say("\n" + "\n".join(filter(None, [found.title, found.note, found.conclusion])))
    return OK if found.complete else INTERRUPTED


def _number_or_name(term: str | None) -> str | int | None:
    return int(term) if term is not None and term.isdecimal() else term


def residuals(
    session: Session,
    model: o.Model,
    simulations: Annotated[
        int,
        typer.Option(
            min=0, help="Number of corpora to simulate from the model and fit, for an exact test."
        ),
    ] = 0,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words to show.")] = 20,
    output: o.Output = None,
    checkpoint: Checkpoint = None,
) -> int:
    """Are there too few topics? Test whether words vary more than the model says (residual dispersion)."""
    check_table(output, inputs=[model])
    check_output(checkpoint, "--checkpoint", inputs=[model])
    fitted, corpus = load_with_corpus(session, model)
    from gptm.findings import check_residuals

    with counting(session, "fitting" if simulations else "residuals", simulations or None):
        found = check_residuals(
            fitted.set_params(n_jobs=1) if simulations else fitted,
            corpus,
            simulations=simulations,
            random_state=session.seed,
            n_jobs=session.jobs,
            verbose=True,
            checkpoint=(checkpoint or _refits_of(model)) if simulations else None,
        )
    data = {
        "dispersion": found.dispersion,
        "statistic": found.statistic,
        "df": found.df,
        "p_value": found.p_value,
        "p_simulated": found.p_simulated,
        "simulated": found.simulated,
    }
    shown = found.words.head(words)
    show_table(session, found.words, output, text=shown.map(short), data=data | {"words": shown})
    session.say("\n" + "\n".join(repr(found).splitlines()[: 2 if simulations else 1]))
    return OK if not found.note else INTERRUPTED


def align(
    session: Session,
    model: o.Model,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Another model.")],
    threshold: Threshold = 0.4,
    output: o.Output = None,
) -> None:
    """Which topics do two models have in common? Match their topics by words; list what is new or lost."""
    check_table(output, inputs=[model, other])
    if model == other == "-":
        raise UsageError("only one of the two models can come from standard input.")
    first, second = load_model(model), load_model(other)
    from gptm.selection import align as match

    found = match(first, second, threshold=threshold)
    show_table(session, found.table, output)
    session.say(f"\n{str(found).splitlines()[0]}")
