"""Medians over seeds, the time to a level of quality, and how gptm stands to the peers."""

import math
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.peers.cases import OURS
from benchmarks.peers.measuring import MB
from benchmarks.peers.store import Run

SAME = 1.005  # perplexities that differ by less are equal
ALLOWANCE = 200.0  # MB


class Row(NamedTuple):
    """One library in one case: medians over its seeds."""

    library: str
    n_seeds: int
    ppl: float
    own: float
    npmi: float
    seconds: float
    cpu: float
    memory_mb: float
    to_level: float  # seconds to the best peer's perplexity; infinite where less than half of the seeds reach it


class Standing(NamedTuple):
    """A case: all libraries, the best peer, and gptm's ratios to the peers."""

    rows: list[Row]
    level: float | None  # the best peer's median perplexity at the end
    best_peer: str | None
    quality: float | None  # gptm's perplexity over that
    speed: float | None  # the fastest peer's seconds to the level over gptm's


def good_runs(runs: Sequence[Run], case: str, library: str | None = None) -> list[Run]:
    """The runs of a case that did not fail."""
    return [
        run
        for run in runs
        if run["case"] == case and library in (None, run["library"]) and "error" not in run
    ]


def seconds_to(curve: Sequence[dict[str, float]], level: float) -> float:
    """When a curve first reaches a perplexity; infinite if never.

    >>> seconds_to([{"seconds": 1.0, "ppl": 9.0}, {"seconds": 2.0, "ppl": 7.0}], 8.0)
    2.0
    """
    return next((point["seconds"] for point in curve if point["ppl"] <= level), math.inf)


def standing(runs: Sequence[Run], case: str) -> Standing:
    """How the libraries did in a case."""
    libraries = list(dict.fromkeys(run["library"] for run in good_runs(runs, case)))
    by_library = {name: good_runs(runs, case, name) for name in libraries}
    final = {
        name: statistics.median(run["ppl"] for run in group) for name, group in by_library.items()
    }
    peers = {name: value for name, value in final.items() if name != OURS}
    best_peer = min(peers, key=lambda name: peers[name]) if peers else None
    level = peers[best_peer] if best_peer else None
    rows = [_row(name, by_library[name], level) for name in libraries]
    rows.sort(key=lambda row: row.ppl)
    times = {row.library: row.to_level for row in rows}
    ours = times.pop(OURS, math.inf)
    fastest = min(times.values(), default=math.inf)
    return Standing(
        rows,
        level,
        best_peer,
        quality=final[OURS] / level if level and OURS in final else None,
        speed=fastest / ours if math.isfinite(ours) and math.isfinite(fastest) else None,
    )


def _row(library: str, runs: Sequence[Run], level: float | None) -> Row:
    def median(name: str) -> float:
        return statistics.median(run[name] for run in runs)

    reached = [seconds_to(run["curve"], level if level else -math.inf) for run in runs]
    return Row(
        library,
        len(runs),
        *(median(name) for name in ("ppl", "own", "npmi", "seconds", "cpu")),
        memory_mb=statistics.median(run["memory_mb"]["peak"] for run in runs),
        to_level=statistics.median_low(reached),
    )


class Inference(NamedTuple):
    """Mixtures of new documents by one library, at the setting that is compared."""

    library: str
    setting: dict[str, Any]
    documents_per_second: float
    ppl: float
    ratio: float | None  # gptm's documents per second over these


def inference(runs: Sequence[Run], case: str) -> list[Inference]:
    """Each library at its quickest setting that predicts no worse than gptm does, or at least than the library can."""
    ours = _settings(good_runs(runs, case, OURS))
    if not ours:
        return []
    _, our_speed, our_ppl = ours[-1]
    result = []
    for library in dict.fromkeys(run["library"] for run in good_runs(runs, case)):
        settings = _settings(good_runs(runs, case, library))
        wanted = SAME * max(our_ppl, min(ppl for _, _, ppl in settings))
        as_good = [entry for entry in settings if entry[2] <= wanted]
        setting, speed, ppl = max(as_good, key=lambda entry: entry[1])
        ratio = our_speed / speed if library != OURS else None
        result.append(Inference(library, setting, speed, ppl, ratio))
    return result


def _settings(runs: Sequence[Run]) -> list[tuple[dict[str, Any], float, float]]:
    """Setting, documents per second and perplexity: medians over runs."""
    together = zip(*(run["inference"] for run in runs), strict=True)
    return [
        (
            entries[0]["setting"],
            statistics.median(entry["documents_per_second"] for entry in entries),
            statistics.median(entry["ppl"] for entry in entries),
        )
        for entries in together
    ]


def memory_budget(run: Run) -> float:
    """MB that a fit of gptm may take: import, counts, four (D, K) and two (K, V) arrays, and an allowance."""
    arrays = 8 * run["K"] * (4 * run["documents"] + 2 * run["words"]) / MB
    memory = run["memory_mb"]
    return memory["after import"] + memory["counts"] + arrays + ALLOWANCE
