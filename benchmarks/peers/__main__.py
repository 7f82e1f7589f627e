"""The command line: `python -m benchmarks.peers --help`."""

import argparse
import math
import signal
import statistics
import sys
from pathlib import Path

from benchmarks.peers import corpora, inside, report
from benchmarks.peers.cases import CASES, LIBRARIES, OURS, QUICK, Case, chosen
from benchmarks.peers.environment import install_peers, python_for, stm_is_there
from benchmarks.peers.measuring import machine
from benchmarks.peers.results import PeerResults, Run
from benchmarks.peers.running import describe, fingerprint, measure, task_of
from benchmarks.peers.summary import good_runs

BENCHMARKS = Path(__file__).resolve().parents[1]
DATA = BENCHMARKS.parents[1] / "shared" / "data"


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="gptm beside its peers. What is measured already is not measured again.",
    )
    parser.add_argument(
        "--cases", help=f"names of cases, separated by commas: {', '.join(CASES)}; all by default"
    )
    parser.add_argument("--only", help=f"libraries, separated by commas: {', '.join(LIBRARIES)}")
    parser.add_argument(
        "--seeds", type=int, help="number of seeds of each case; each case has its own default"
    )
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(QUICK)}, one seed")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    parser.add_argument(
        "--again-above",
        type=float,
        default=math.inf,
        metavar="LOAD",
        help="measure again what was measured at a higher load than this; two threads of gptm are a load of 2",
    )
    parser.add_argument(
        "--inside", action="store_true", help="measure only growth, threads and roofline of gptm"
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="only write tables and pictures of what has been measured",
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the corpora")
    parser.add_argument("--results", type=Path, default=BENCHMARKS / "results" / "peers.jsonl")
    parser.add_argument(
        "--readme", type=Path, default=BENCHMARKS / "README.md", help="where tables go"
    )
    parser.add_argument(
        "--splits", type=Path, default=BENCHMARKS / ".splits", help="folder for the splits"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        names = options.cases or (",".join(QUICK) if options.quick else None)
        cases = [CASES[name] for name in chosen(names, tuple(CASES), "case")]
        libraries = chosen(options.only, LIBRARIES, "library")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.quick:
        options.seeds = options.seeds or 1
    results = PeerResults(options.results)
    if not options.report:
        try:
            measure_all(results, cases, libraries, options)
        except FileNotFoundError as error:
            print(error, file=sys.stderr)
            return 1
    report.write(results, options.readme)
    return 0


def measure_all(
    results: PeerResults, cases: list[Case], libraries: list[str], options: argparse.Namespace
) -> None:
    """Every run that is wanted and not there yet, libraries in turn, then gptm alone."""
    if "stm" in libraries and not stm_is_there():
        print("stm is left out: R with the package stm was not found.", flush=True)
        libraries = [name for name in libraries if name != "stm"]
    if set(libraries) - {OURS}:
        install_peers()
    results.set_machine(machine())
    if not options.inside:
        run_cases(results, cases, libraries, options)
    if OURS in libraries and not options.quick and (options.inside or options.cases is None):
        splits = corpora.build([inside.CORPUS], options.data, options.splits)
        for name, measurement in inside.MEASUREMENTS.items():
            if options.again or name not in results.inside:
                print(f"gptm alone: {name} ...", flush=True)
                measured = measurement(corpora.load(splits[inside.CORPUS]).train)
                results.add_inside(name, measured)


def run_cases(
    results: PeerResults, cases: list[Case], libraries: list[str], options: argparse.Namespace
) -> None:
    splits = corpora.build(sorted({case.corpus for case in cases}), options.data, options.splits)
    tasks = [
        (case, task)
        for case in cases
        for task in in_turn(case, libraries, options.seeds or case.seeds)
        if options.again or not results.has(task, options.again_above)
    ]
    minutes = sum(expected_minutes(results.runs, case, task["library"]) for case, task in tasks)
    old = [run for run in results.runs if run["library"] == OURS and run["code"] != fingerprint()]
    if old:
        print(
            f"{len(old)} runs of gptm are of other code than now; --again measures them anew",
            flush=True,
        )
    print(f"{len(tasks)} fits, in about {minutes:.0f} minutes", flush=True)
    for case, task in tasks:
        run = measure(task, splits[case.corpus], python_for(task["library"]))
        results.add(run)
        print(describe(run), flush=True)


def expected_minutes(runs: list[Run], case: Case, library: str) -> float:
    """What such a fit took before, scoring included; a guess where there was none."""
    before = [run["minutes_in_all"] for run in good_runs(runs, case.name, library)]
    return statistics.median(before) if before else case.minutes / len(case.options)


def in_turn(case: Case, libraries: list[str], n_seeds: int) -> list[Run]:
    """The runs of a case, each seed with another library first, so that none has the machine at its best always."""
    taking_part = [name for name in libraries if name in case.options]
    runs = []
    for seed in range(n_seeds):
        first = seed % max(len(taking_part), 1)
        for library in taking_part[first:] + taking_part[:first]:
            runs.append(task_of(case, library, seed))
    return runs


if __name__ == "__main__":
    # As after Ctrl-C: the fit that runs is ended with us, and what is measured stays.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
