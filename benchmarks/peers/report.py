"""Tables into the README between two marks, and pictures beside the results."""

import textwrap
from pathlib import Path
from typing import Any

from benchmarks.peers import tables
from benchmarks.peers.drawing import draw
from benchmarks.peers.results import PeerResults, Run

LINE = 100  # characters of a line of text
BEGIN, END = "<!-- peers: written by a command, begin -->", "<!-- peers: end -->"


def write(results: PeerResults, readme: Path) -> None:
    """Draw the curves beside the results and put the tables into the README."""
    if not results.runs:
        print("nothing was measured yet.")
        return
    picture = results.path.with_suffix(".png")
    draw(results.runs, tables.measured_cases(results.runs), picture)
    text = readme.read_text()
    readme.write_text(between_marks(text, section(results, picture.name)))
    print(f"wrote {picture.name} and the tables in {readme.name}")


def between_marks(text: str, new: str) -> str:
    """The text with what stands between the marks replaced.

    >>> print(between_marks(f"before\\n{BEGIN}\\nold\\n{END}\\nafter", "new").splitlines()[2])
    new
    """
    for mark in (BEGIN, END):
        if text.count(mark) != 1:
            raise ValueError(f"expected the line {mark!r} once, found it {text.count(mark)} times.")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def section(results: PeerResults, picture: str) -> str:
    """Everything that is generated."""
    parts = [
        circumstances(results),
        f"![Perplexity against seconds](results/{picture})",
        tables.quality_table(results.runs),
        "### Mixtures of new documents",
        "Mixtures are inferred from half of the words of each document.",
        tables.inference_table(results.runs),
    ]
    if results.inside:
        parts += ["### gptm alone", tables.inside_tables(results.inside)]
    parts += ["### Targets", tables.targets_table(results.runs, results.inside)]
    failed = [run for run in results.runs if "error" in run]
    if failed:
        rows = [[run["case"], run["library"], str(run["seed"]), run["error"]] for run in failed]
        parts += ["### Runs that failed", tables.table(["case", "library", "seed", "error"], rows)]
    return "\n\n".join(parts)


def circumstances(results: PeerResults) -> str:
    """Machine, days, versions, load and how long it took."""
    machine, runs = results.machine, results.runs
    days = sorted({run["date"][:10] for run in runs})
    load = max(run["load"][0] for run in runs)
    hours = sum(run.get("minutes_in_all", 0.0) for run in runs) / 60
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    sentences = (
        f"{machine['processor']}, {machine['threads']} threads, {machine['memory_mb'] / 1024:.0f} GB, {when}. "
        f"{_versions(runs)}. Load of the machine before a run: at most {load:.1f}. "
        f"{len(runs)} fits took {hours:.1f} hours, scoring included."
    )
    return textwrap.fill(sentences, LINE, break_on_hyphens=False)


def _versions(runs: list[Run]) -> str:
    numbers: dict[str, Any] = {}
    for run in runs:
        for package, number in run.get("versions", {}).items():
            numbers.setdefault(package, set()).add(number)
    return ", ".join(f"{package} {' and '.join(sorted(v))}" for package, v in numbers.items())
