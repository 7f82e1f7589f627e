"""`python -m benchmarks.race`: see the package's docstring."""

import argparse
import sys
from pathlib import Path

import benchmarks.race
from benchmarks.race.running import is_there, measure
from benchmarks.race.tables import markdown, table_of
from benchmarks.race.tracks import TRACKS
from job_store import Store

RESULTS = Path(__file__).resolve().parents[1] / "results"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.race",
        description=benchmarks.race.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("track", nargs="?", choices=sorted(TRACKS), help="default: all")
    parser.add_argument("--data", type=Path, help="folder with the corpora")
    parser.add_argument("--only", help="libraries, separated by commas")
    parser.add_argument("--cases", help="such as poliblog5k-20,poliblog5k-100")
    parser.add_argument("--seeds", type=int, help="seeds of each case")
    parser.add_argument("--again", action="store_true", help="measure again what is measured")
    parser.add_argument("--report", action="store_true", help="tables only")
    chosen = parser.parse_args()
    for name in [chosen.track] if chosen.track else sorted(TRACKS):
        store = Store(RESULTS / f"race_{name}.jsonl")
        if not chosen.report:
            run(name, store, chosen)
        print(f"\n{name}\n\n{markdown(table_of(name, store.results().values()))}")


def run(name: str, store: Store, chosen: argparse.Namespace) -> None:
    track = TRACKS[name](chosen.data)
    libraries = chosen.only.split(",") if chosen.only else list(track.libraries)
    unknown = sorted(set(libraries) - set(track.libraries))
    if unknown:
        known = ", ".join(track.libraries)
        sys.exit(f"there is no library {unknown[0]!r} on this track; there are {known}.")
    absent = [library for library in libraries if not is_there(library)]
    if absent:
        print(f"not installed, so left out: {', '.join(absent)}", flush=True)
    wanted = chosen.cases.split(",") if chosen.cases else None
    for case in track.cases(chosen.seeds or track.seeds):
        if wanted is not None and case.name not in wanted:
            continue
        for library in libraries:
            key = f"{case.name}/seed {case.seed}/{library}"
            if library in absent or (store.get(key) is not None and not chosen.again):
                continue
            store.put(key, measure(track, case, library))
            print(key, store.get(key), flush=True)


if __name__ == "__main__":
    main()
