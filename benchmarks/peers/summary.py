"""Medians over seeds, the time to a level of quality, and how gptm stands to the peers."""

import math
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.peers.cases import OURS
from benchmarks.peers.measuring import MB
from benchmarks.peers.results import Run

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


class Setting(NamedTuple):
    """One way to infer mixtures of new documents, medians over runs."""

    options: dict[str, Any]
    documents_per_second: float
    ppl: float


class Inference(NamedTuple):
    """Mixtures of new documents by a peer and by gptm, at equal perplexity."""

    library: str
    theirs: Setting
    ours: Setting

    @property
    def ratio(self) -> float:
        """gptm's documents per second over the peer's."""
        return self.ours.documents_per_second / self.theirs.documents_per_second


def inference(runs: Sequence[Run], case: str) -> list[Inference]:
    """Each peer beside gptm, both at the quickest setting that predicts as well as the worse of the two can."""
    ours = _settings(good_runs(runs, case, OURS))
    if not ours:
        return []
    result = []
    for library in dict.fromkeys(run["library"] for run in good_runs(runs, case)):
        if library == OURS:
            continue
        theirs = _settings(good_runs(runs, case, library))
        level = SAME * max(min(setting.ppl for setting in settings) for settings in (ours, theirs))
        result.append(Inference(library, _quickest(theirs, level), _quickest(ours, level)))
    return result


def _quickest(settings: Sequence[Setting], level: float) -> Setting:
    good = [setting for setting in settings if setting.ppl <= level]
    return max(good, key=lambda setting: setting.documents_per_second)


def _settings(runs: Sequence[Run]) -> list[Setting]:
    entries: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        for entry in run["inference"]:
            entries.setdefault(str(entry["setting"]), []).append(entry)
    return [
        Setting(
            group[0]["setting"],
            statistics.median(entry["documents_per_second"] for entry in group),
            statistics.median(entry["ppl"] for entry in group),
        )
        for group in entries.values()
    ]


def memory_budget(run: Run) -> float:
    """MB that a fit of gptm may take: import, counts, four (D, K) and two (K, V) arrays, and an allowance."""
    arrays = 8 * run["K"] * (4 * run["documents"] + 2 * run["words"]) / MB
    memory = run["memory_mb"]
    return memory["after import"] + memory["counts"] + arrays + ALLOWANCE
