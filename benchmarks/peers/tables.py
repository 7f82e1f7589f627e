"""What was measured, as tables of Markdown."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.peers.cases import CASES, OURS
from benchmarks.peers.results import Run
from benchmarks.peers.summary import Standing, good_runs, inference, memory_budget, standing

# What gptm should reach; ratios as in the tables.
QUALITY, SMALL_QUALITY, SPEED, INFERENCE_SPEED = 0.97, 1.0, 2.0, 5.0
GROWTH, SECOND_THREAD, ROOFLINE = 6.0, 1.8, 2.0


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [head, *rows]
    text = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([text[0], "|" + "---|" * len(head), *text[1:]])


def number(value: float | None, digits: int = 2) -> str:
    """A number with about three digits, or a dash where there is none.

    >>> number(1234.5), number(12.34), number(0.123), number(None), number(float("inf"))
    ('1,234', '12.3', '0.12', '-', '-')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.{digits}f}"


def measured_cases(runs: Sequence[Run]) -> list[str]:
    """Names of the cases that have runs, in the order of `CASES`."""
    measured = {run["case"] for run in runs}
    return [*(name for name in CASES if name in measured), *sorted(measured - set(CASES))]


def quality_table(runs: Sequence[Run]) -> str:
    """All libraries in all cases."""
    rows = []
    for case in measured_cases(runs):
        for row in standing(runs, case).rows:
            rows.append(
                [
                    case,
                    f"**{row.library}**" if row.library == OURS else row.library,
                    str(row.n_seeds),
                    number(row.ppl),
                    number(row.own),
                    number(row.npmi, 3),
                    number(row.seconds),
                    number(row.cpu),
                    number(row.to_level),
                    number(row.memory_mb),
                ]
            )
    head = ["case", "library", "seeds", "ppl", "own", "NPMI", "seconds", "CPU seconds"]
    return table([*head, "seconds to level", "MB"], rows)


def inference_table(runs: Sequence[Run]) -> str:
    """Mixtures of new documents."""
    rows = []
    for case in measured_cases(runs):
        for entry in inference(runs, case):
            cells = [case, entry.library]
            for options, speed, ppl in (entry.theirs, entry.ours):
                setting = ", ".join(f"{name}={value}" for name, value in options.items())
                cells += [setting, number(speed), number(ppl)]
            rows.append([*cells, number(entry.ratio, 1)])
    head = ["setting", "documents per second", "ppl"]
    gptm = ["gptm: setting", *(f"gptm: {name}" for name in head[1:])]
    return table(["case", "library", *head, *gptm, "gptm faster by"], rows)


def targets_table(runs: Sequence[Run], inside: dict[str, Any]) -> str:
    """Targets of gptm, and what it reaches."""
    rows: list[list[str]] = []

    def add(target: str, value: float | None, limit: float, at_most: bool) -> None:
        if value is None:
            return
        reached = value <= limit if at_most else value >= limit
        sign = "at most" if at_most else "at least"
        rows.append([target, number(value, 3), f"{sign} {limit:g}", "yes" if reached else "no"])

    for case in measured_cases(runs):
        stand = standing(runs, case)
        small = case in CASES and CASES[case].K == 3
        target = f"{case}: perplexity over {stand.best_peer}'s"
        add(target, stand.quality, SMALL_QUALITY if small else QUALITY, at_most=True)
        if not small:
            add(f"{case}: {_race(stand)}", stand.speed, SPEED, at_most=False)
            for entry in inference(runs, case):
                if entry.library in ("tomotopy", "scikit-learn"):
                    target = f"{case}: speed-up of `transform` over {entry.library}"
                    add(target, entry.ratio, INFERENCE_SPEED, at_most=False)
        ours = good_runs(runs, case, OURS)
        if ours:
            share = statistics.median(run["memory_mb"]["peak"] / memory_budget(run) for run in ours)
            add(f"{case}: peak memory over its budget", share, 1.0, at_most=True)
    for target, value, limit, at_most in _inside_targets(inside):
        add(target, value, limit, at_most)
    return table(["target", "measured", "wanted", "reached"], rows)


def _race(stand: Standing) -> str:
    return f"speed-up to perplexity {number(stand.level)} over the fastest peer"


def _inside_targets(inside: dict[str, Any]) -> list[tuple[str, float, float, bool]]:
    targets = []
    if "growth" in inside:
        seconds = list(inside["growth"]["by topics"].values())
        targets.append(
            ("seconds of an iteration, 100 topics over 20", seconds[-1] / seconds[0], GROWTH, True),
        )
    for K, entry in _by_topics(inside, "threads").items():
        targets.append(
            (f"speed-up by a second thread, {K} topics", entry["ratio"], SECOND_THREAD, False)
        )
    for K, entry in _by_topics(inside, "roofline").items():
        targets.append(
            (
                f"seconds of the document step over its floor, {K} topics",
                entry["ratio"],
                ROOFLINE,
                True,
            )
        )
    return targets


def _by_topics(inside: dict[str, Any], name: str) -> dict[str, Any]:
    """The part of a measurement that has an entry per number of topics."""
    parts = [part for part in inside.get(name, {}).values() if isinstance(part, dict)]
    return parts[0] if parts else {}


_INSIDE_TITLES = {
    "threads": "Seconds of the document step with one and two threads:",
    "roofline": "Seconds of the document step on one thread, and of the least work that it needs (its floor):",
}


def inside_tables(inside: dict[str, Any]) -> str:
    """Growth, threads and roofline."""
    parts = []
    if "growth" in inside:
        growth = inside["growth"]
        rows = [[f"{K} topics", number(s, 3)] for K, s in growth["by topics"].items()]
        rows += [
            [f"{int(n):,} tokens, 20 topics", number(s, 3)]
            for n, s in growth["by tokens, 20 topics"].items()
        ]
        parts.append(table(["full5k", "seconds per EM iteration"], rows))
    for name, head in (
        ("threads", ["one", "two", "ratio", "floor's ratio"]),
        ("roofline", ["document step", "least work", "ratio", "inner iterations per document"]),
    ):
        if name in inside:
            rows = [
                [K, *(number(entry[column], 3) for column in head)]
                for K, entry in _by_topics(inside, name).items()
            ]
            parts += [_INSIDE_TITLES[name], table(["topics", *head], rows)]
    return "\n\n".join(parts)
