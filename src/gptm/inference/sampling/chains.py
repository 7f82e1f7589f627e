"""Chains: stages of doubling length, until enough draws are independent.

A stage begins where the last one ended, with the kernel learnt again, and keeps only its own draws. So the draws that
count are those of the second half of a run, whenever it ends.
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.parallel import ordered_map
from gptm.fitted import Reason
from gptm.inference.checkpoint import Checkpoint, Tree
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.convergence import settled
from gptm.inference.sampling.kept import Kept
from gptm.inference.sampling.learn_kernel import learn_kernel
from gptm.inference.sampling.state import ChainState
from gptm.inference.sampling.sweeps import sweep
from gptm.inference.sampling.trees import kept_from, kept_tree, state_from, state_tree

FIRST = 8  # sweeps of the first stage, at least
WORK = 1e8  # draws, in those of a token's topic, in all sweeps of an automatic fit, and
SWEEPS = (200, 2000)  # not fewer or more sweeps than that
Advance = Callable[[FitProblem, ChainState, int], ChainState]  # one sweep, by a seed


class Chain(NamedTuple):
    """One chain: its state, and the draws that it has kept."""

    seed: int
    state: ChainState
    kept: Kept | None
    trace: tuple[float, ...]  # log-density of every sweep


class ChainsResult(NamedTuple):
    """All chains, and why they ended."""

    chains: list[Chain]
    reason: Reason


def automatic_length(counts: csr_matrix, K: int) -> int:
    """Sweeps at most: many where they are cheap.

    A logit takes about twice as long as a token, a word of a topic as long.
    """
    D, V = counts.shape
    return int(np.clip(WORK / max(counts.sum() + (2 * D + V) * K, 1.0), *SWEEPS))


def stages(max_iter: int) -> list[int]:
    """Lengths of the stages. Each is as long as all stages before it, except for the first.

    >>> stages(100)
    [13, 12, 25, 50]
    >>> stages(5)
    [5]
    """
    ends = [max_iter]
    while ends[0] >= 2 * FIRST:
        ends.insert(0, (ends[0] + 1) // 2)
    return [b - a for a, b in zip([0, *ends], ends, strict=False)]


def run_chains(
    problem: FitProblem,
    chains: list[Chain],
    *,
    max_iter: int,
    target: float,
    after_sweep: Callable[[int, ChainState], bool],
    checkpoint: Checkpoint,
    advance: Advance = sweep,
) -> ChainsResult:
    """Run until there are `target` effective draws, for at most `max_iter` sweeps.

    All chains end when `after_sweep(number, state)` of the first chain returns True. After Ctrl-C the result has the
    draws so far. `advance` is what makes a sweep.
    """
    reason: Reason = "max_iter"
    resumed = _Position.read(problem, checkpoint)
    for number, length in enumerate(stages(max_iter)):
        if resumed is not None and number < resumed.stage:
            continue
        if resumed is not None and number == resumed.stage:
            before, runs = resumed.before, resumed.runs
        else:
            before = chains
            ready = _with_kernel(problem, chains)
            runs = [_Stage(problem, chain, length, len(chains)) for chain in ready]
        position = _Position(number, before, runs)
        runs[0].after_sweep = after_sweep
        for run in runs:
            run.advance = advance
        try:
            _run_all(problem, runs, partial(position.write, checkpoint))
        except KeyboardInterrupt:
            reason = "interrupt"
            position.write(checkpoint, now=True)
        chains = _after(runs, before)
        if runs[0].stopped and reason != "interrupt":
            reason = "callback"
        if reason in ("interrupt", "callback"):
            break
        if settled([chain.kept for chain in chains if chain.kept is not None], target):
            reason = "converged"
            break
    return ChainsResult(chains, reason)


def _run_all(problem: FitProblem, runs: list["_Stage"], keep: Callable[[], None]) -> None:
    """A stage of all chains: one with all threads, or side by side."""
    if len(runs) == 1:
        runs[0].run(lambda: None, keep)
        return
    alone = problem.with_jobs(1)
    for run in runs:
        run.problem = alone
    ordered_map(lambda run, check: run.run(check, keep), runs, problem.n_jobs)


def _with_kernel(problem: FitProblem, chains: list[Chain]) -> list[Chain]:
    """The kernel learnt from the first chain, for all of them: their draws are of one kernel."""
    old, new = chains[0].state, learn_kernel(problem, chains[0].state)
    if new is old:
        return chains
    factor = new.strength / old.strength
    return [
        chain._replace(
            state=chain.state._replace(
                terms=new.terms,
                operator=new.operator,
                parts=(),  # they are of the old kernel
                B=factor * chain.state.B,
                strength=factor * chain.state.strength,
            )
        )
        for chain in chains
    ]


class _Stage:
    """A stage of one chain on its way; what it has is there at any moment."""

    after_sweep: Callable[[int, ChainState], bool] | None = None
    advance: Advance = staticmethod(sweep)

    def __init__(self, problem: FitProblem, chain: Chain, length: int, n_chains: int):
        self.problem, self.length, self.n_chains = problem, length, n_chains
        self.seed, self.state, self.kept = chain.seed, chain.state, None
        self.trace: list[float] = []
        self.stopped = False
        self.moving = threading.Lock()  # held while a sweep changes what there is

    kept: Kept | None

    def run(self, check: Callable[[], None], keep: Callable[[], None]) -> None:
        """All sweeps that are left; `keep` after each."""
        while self.drawn < self.length:
            check()
            with self.moving:
                self._advance()
            if self.after_sweep is not None and self.after_sweep(self.state.sweep, self.state):
                self.stopped = True
                return
            keep()

    def _advance(self) -> None:
        state = self.advance(self.problem, self.state, self.seed)
        if self.kept is None:
            self.kept = Kept(self.problem, state, self.length, self.n_chains)
        self.kept.add(state)
        self.state = state
        self.trace.append(state.log_density)

    @property
    def whole(self) -> bool:
        """Whether what it has is of complete sweeps: an interrupt may come in the middle of one."""
        return self.drawn == len(self.trace)

    def tree(self) -> Tree:
        return {
            "seed": self.seed,
            "length": self.length,
            "state": state_tree(self.state),
            "kept": kept_tree(self.kept),
            "trace": np.array(self.trace),
        }

    @classmethod
    def from_tree(cls, problem: FitProblem, tree: Tree, n_chains: int) -> "_Stage":
        state = state_from(problem, tree["state"])
        run = cls(problem, Chain(tree["seed"], state, None, ()), tree["length"], n_chains)
        run.kept, run.trace = kept_from(problem, state, tree["kept"]), tree["trace"].tolist()
        return run

    @property
    def drawn(self) -> int:
        return 0 if self.kept is None else self.kept.n


def _after(runs: list[_Stage], before: list[Chain]) -> list[Chain]:
    """The chains after a stage, with its draws, or those of the stage before where it was cut short.

    Draws of all chains are of one stage, as they are of one kernel; a chain that has none then is left out.
    """
    fewest = min(run.drawn for run in runs)
    short = any(chain.kept is not None and 4 * fewest < chain.kept.n for chain in before)
    chains = [
        Chain(
            run.seed,
            chain.state if short else run.state,
            chain.kept if short else run.kept,
            (*chain.trace, *run.trace),
        )
        for run, chain in zip(runs, before, strict=True)
    ]
    return [chain for chain in chains if chain.kept is not None] or chains[:1]


class _Position(NamedTuple):
    """The progress of all chains, as a checkpoint stores it."""

    stage: int
    before: list[Chain]  # where the stage began
    runs: list[_Stage]

    def write(self, checkpoint: Checkpoint, now: bool = False) -> None:
        if not (now or checkpoint.due()):
            return
        with ExitStack() as still:
            for run in self.runs:
                still.enter_context(run.moving)
            if all(run.whole for run in self.runs):
                checkpoint.write("chains", self.tree())

    def tree(self) -> Tree:
        runs = [run.tree() for run in self.runs]
        return {"stage": self.stage, "before": list(map(_chain_tree, self.before)), "runs": runs}

    @classmethod
    def read(cls, problem: FitProblem, checkpoint: Checkpoint) -> "_Position | None":
        tree = checkpoint.read("chains")
        if tree is None:
            return None
        before = [_chain_from(problem, chain) for chain in tree["before"]]
        runs = [_Stage.from_tree(problem, run, len(before)) for run in tree["runs"]]
        return cls(tree["stage"], before, runs)


def _chain_tree(chain: Chain) -> Tree:
    return {
        "seed": chain.seed,
        "state": state_tree(chain.state),
        "kept": kept_tree(chain.kept),
        "trace": np.array(chain.trace),
    }


def _chain_from(problem: FitProblem, tree: Tree) -> Chain:
    state = state_from(problem, tree["state"])
    kept = kept_from(problem, state, tree["kept"])
    return Chain(tree["seed"], state, kept, tuple(tree["trace"].tolist()))
