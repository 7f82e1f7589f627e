"""Where the time of a fit goes: seconds of CPU of each part, as a table. Usage:

python -m benchmarks.profile_fit --data FOLDER [--topics 20,100]
"""

import argparse
import time
import warnings
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import corpora
from gptm import CTM
from gptm.inference.sampling import kept, run_sampler, sweeps
from gptm.model import starting
from gptm.starts import lda as gibbs

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "shared" / "data"
PARTS = {
    "Gibbs sweeps": (gibbs.LdaRun, "sweep_to"),
    "likelihood of the runs": (gibbs.LdaRun, "fit"),
    "rest of the start": (starting, "make_starts"),
    "kept draws": (kept.Kept, "add"),
    "means of the draws": (run_sampler, "summarised"),
}
STEPS = {
    "draw_topics": "topics",
    "draw_documents": "documents",
    "draw_prior": "prior of the topics",
    "draw_means": "means",
    "draw_covariances": "covariances",
}


class Clock:
    """Seconds of CPU inside some functions, what they call of each other left out."""

    def __init__(self):
        self.seconds, self.inside = defaultdict(float), []

    def timed(self, name, function):
        """The function, whose time counts under this name."""

        def timed(*args, **kwargs):
            self.inside.append(0.0)
            began = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                taken = time.process_time() - began
                self.seconds[name] += taken - self.inside.pop()
                if self.inside:
                    self.inside[-1] += taken

        return timed

    @contextmanager
    def watching(self):
        """Inside the block, all parts are timed."""
        saved = [(owner, name, getattr(owner, name)) for owner, name in PARTS.values()]
        steps = sweeps.STEPS
        for part, (owner, name) in PARTS.items():
            setattr(owner, name, self.timed(part, getattr(owner, name)))
        sweeps.STEPS = tuple(self.timed(STEPS[step.__name__], step) for step in steps)
        try:
            yield
        finally:
            sweeps.STEPS = steps
            for owner, name, original in saved:
                setattr(owner, name, original)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--topics", default="20,100")
    parser.add_argument("--corpus", default="full5k")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    paths = corpora.build([options.corpus], options.data, HERE / ".splits")
    X = corpora.load(paths[options.corpus]).train.astype(float)
    CTM(3, max_iter=2, random_state=0, n_jobs=2).fit(X[:200])  # compiles
    columns = {}
    for K in map(int, options.topics.split(",")):
        clock, began = Clock(), time.process_time()
        with clock.watching():
            fitted = CTM(K, random_state=0, n_jobs=2).fit(X)
        clock.seconds["everything else"] = time.process_time() - began - sum(clock.seconds.values())
        columns[K] = clock.seconds, fitted.n_iter_
    print("| part |" + "".join(f" {K} topics, {n} sweeps |" for K, (_, n) in columns.items()))
    print("|---|" + "---|" * len(columns))
    for name in [*PARTS, *STEPS.values(), "everything else"]:
        shares = (
            f" {seconds[name]:.2f} s ({seconds[name] / sum(seconds.values()):.0%}) |"
            for seconds, _ in columns.values()
        )
        print(f"| {name} |" + "".join(shares))


if __name__ == "__main__":
    main()
