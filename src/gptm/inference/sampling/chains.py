"""Chains: stages of doubling length, each of which keeps its own draws, until enough of them are independent.

A stage begins where the last one ended, with the kernel learnt anew; what was drawn before is forgotten. So the draws
that count are those of the second half of a run, whenever it ends.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.parallel import ordered_map
from gptm.fitted import Reason
from gptm.inference.problem import Problem
from gptm.inference.sampling.convergence import settled
from gptm.inference.sampling.kept import Kept
from gptm.inference.sampling.learn_kernel import learn_kernel
from gptm.inference.sampling.state import State
from gptm.inference.sampling.sweeps import sweep

FIRST = 8  # sweeps of the first stage, at least
WORK = 1e8  # draws, in those of a token's topic, in all sweeps of an automatic fit, and
SWEEPS = (200, 2000)  # not fewer or more sweeps than that


class Chain(NamedTuple):
    """One run: where it is, and what it has kept."""

    seed: int
    state: State
    kept: Kept | None
    trace: tuple[float, ...]  # log-density of every sweep


class Result(NamedTuple):
    """All runs, and why they ended."""

    chains: list[Chain]
    reason: Reason


def automatic_length(counts: csr_matrix, K: int) -> int:
    """Sweeps at most: many where they are cheap.

    A logit takes about twice as long as a token, a word of a topic as long.
    """
    D, V = counts.shape
    return int(np.clip(WORK / max(counts.sum() + (2 * D + V) * K, 1.0), *SWEEPS))


def stages(max_iter: int) -> list[int]:
    """Lengths of the stages: as long as all before it, but for the first.

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
    problem: Problem,
    chains: list[Chain],
    *,
    max_iter: int,
    target: float,
    after_sweep: Callable[[int, State], bool],
) -> Result:
    """Run until `target` draws are as good as independent, `max_iter` sweeps at most.

    `after_sweep(number, state)` of the first chain ends all when it returns True. Ctrl-C leaves what there is.
    """
    reason: Reason = "max_iter"
    for length in stages(max_iter):
        before = chains
        runs = [_Stage(problem, one, length, len(chains)) for one in _with_kernel(problem, chains)]
        runs[0].after_sweep = after_sweep
        try:
            if len(runs) == 1:
                runs[0].run(lambda: None)
            else:
                alone = problem.with_jobs(1)
                for one in runs:
                    one.problem = alone
                ordered_map(lambda one, check: one.run(check), runs, problem.n_jobs)
        except KeyboardInterrupt:
            reason = "interrupt"
        chains = _after(runs, before)
        if runs[0].stopped and reason != "interrupt":
            reason = "callback"
        if reason in ("interrupt", "callback"):
            break
        if settled([chain.kept for chain in chains if chain.kept is not None], target):
            reason = "converged"
            break
    return Result(chains, reason)


def _with_kernel(problem: Problem, chains: list[Chain]) -> list[Chain]:
    """The kernel learnt from the first chain, for all of them: their draws are of one kernel."""
    old, new = chains[0].state, learn_kernel(problem, chains[0].state)
    if new is old:
        return chains
    factor = new.strength / old.strength
    return [
        one._replace(
            state=one.state._replace(
                terms=new.terms,
                operator=new.operator,
                parts=(),  # they are of the old kernel
                B=factor * one.state.B,
                strength=factor * one.state.strength,
            )
        )
        for one in chains
    ]


class _Stage:
    """A stage of one chain on its way; what it has is there at any moment."""

    after_sweep: Callable[[int, State], bool] | None = None

    def __init__(self, problem: Problem, chain: Chain, length: int, n_chains: int):
        self.problem, self.length, self.n_chains = problem, length, n_chains
        self.seed, self.state, self.kept = chain.seed, chain.state, None
        self.trace: list[float] = []
        self.stopped = False

    kept: Kept | None

    def run(self, checkpoint: Callable[[], None]) -> None:
        state = self.state
        for _ in range(self.length):
            checkpoint()
            state = sweep(self.problem, state, self.seed)
            if self.kept is None:
                self.kept = Kept(self.problem, state, self.length, self.n_chains)
            self.kept.add(state)
            self.state = state
            self.trace.append(state.log_density)
            if self.after_sweep is not None and self.after_sweep(state.sweep, state):
                self.stopped = True
                return

    @property
    def drawn(self) -> int:
        return 0 if self.kept is None else self.kept.n


def _after(runs: list[_Stage], before: list[Chain]) -> list[Chain]:
    """The chains after a stage, with its draws, or those of the stage before where it was cut short.

    Draws of all chains are of one stage, as they are of one kernel; a chain that has none then is left out.
    """
    fewest = min(run.drawn for run in runs)
    short = any(one.kept is not None and 4 * fewest < one.kept.n for one in before)
    chains = [
        Chain(
            run.seed,
            one.state if short else run.state,
            one.kept if short else run.kept,
            (*one.trace, *run.trace),
        )
        for run, one in zip(runs, before, strict=True)
    ]
    return [one for one in chains if one.kept is not None] or chains[:1]
