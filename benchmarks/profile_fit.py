"""Where the time of a fit goes: seconds of each part, as a table. Usage:

python -m benchmarks.profile_fit --data FOLDER [--topics 20,100]
"""

import argparse
import time
import warnings
from collections import defaultdict
from pathlib import Path

from benchmarks.peers import corpora
from gptm import CTM, model
from gptm.inference.em import loop as em
from gptm.inference.em import parameter_steps as mstep
from gptm.starts import lda as gibbs

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "shared" / "data"
PARTS = {
    "Gibbs sweeps": (gibbs.LdaRun, "sweep_to"),
    "likelihood of the runs": (gibbs.LdaRun, "fit"),
    "rest of the start": (model, "make_starts"),
    "documents": (em, "infer_documents"),
    "topics": (mstep, "update_beta"),
    "means": (em, "solve_means"),
    "view of the logits": (em, "view_logits"),
}


class Clock:
    """Seconds inside some functions, what they call of each other left out."""

    def __init__(self):
        self.seconds, self.inside = defaultdict(float), []

    def watch(self, name, owner, attribute):
        original = getattr(owner, attribute)

        def timed(*args, **kwargs):
            self.inside.append(0.0)
            began = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                taken = time.perf_counter() - began
                self.seconds[name] += taken - self.inside.pop()
                if self.inside:
                    self.inside[-1] += taken

        setattr(owner, attribute, timed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--topics", default="20,100")
    parser.add_argument("--corpus", default="full5k")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    paths = corpora.build([options.corpus], options.data, HERE / ".splits")
    X = corpora.load(paths[options.corpus]).train.astype(float)
    CTM(3, inference="variational", max_iter=2, random_state=0, n_jobs=2).fit(X[:200])  # compiles
    columns = {}
    for K in map(int, options.topics.split(",")):
        clock = Clock()
        saved = {key: (o, a, getattr(o, a)) for key, (o, a) in PARTS.items()}
        for name, (owner, attribute) in PARTS.items():
            clock.watch(name, owner, attribute)
        began = time.perf_counter()
        fitted = CTM(K, inference="variational", random_state=0, n_jobs=2).fit(X)
        clock.seconds["everything else"] = time.perf_counter() - began - sum(clock.seconds.values())
        for owner, attribute, original in saved.values():
            setattr(owner, attribute, original)
        columns[K] = clock.seconds, fitted.n_iter_
    print("| part |" + "".join(f" {K} topics, {n} iterations |" for K, (_, n) in columns.items()))
    print("|---|" + "---|" * len(columns))
    for name in [*PARTS, "everything else"]:
        shares = (
            f" {seconds[name]:.2f} s ({seconds[name] / sum(seconds.values()):.0%}) |"
            for seconds, _ in columns.values()
        )
        print(f"| {name} |" + "".join(shares))


if __name__ == "__main__":
    main()
