"""From a start to a fitted model, over blocks: a chain of the sample in memory leads, one of all documents follows."""

from collections.abc import Callable
from contextlib import closing
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gptm._basics.types import Array
from gptm.fitted import Fitted, Whole
from gptm.inference.blocks.block_checkpoint import BlockCheckpoint
from gptm.inference.blocks.blocked_sweep import BlockedSweep, Workers
from gptm.inference.blocks.draw_weights import Regression
from gptm.inference.blocks.sums import FeatureSums
from gptm.inference.checkpoint import LEADS, Checkpoint, Under, terms_from, terms_tree
from gptm.inference.contrasts import contrasts
from gptm.inference.problem import FitProblem
from gptm.inference.sampling import chains as sampler
from gptm.inference.sampling.chains import Chain, ChainsResult, run_chains
from gptm.inference.sampling.draw_means import total
from gptm.inference.sampling.run_sampler import TARGET, only_state, summarised
from gptm.inference.sampling.state import ChainState
from gptm.inference.sampling.sweeps import first_state
from gptm.inference.start_point import Start
from gptm.kernels.weighted_terms import Terms, terms_of

LEAD = 100  # sweeps of the sample alone, in which the kernel is learnt
HELD = 5  # sweeps of the other documents before they count
_FOLLOWS = (
    2**31
)  # added to a seed: the chain of all documents has other random numbers than the one that leads


class Size(NamedTuple):
    """Of a corpus."""

    documents: int
    tokens: int
    words: int

    def sweeps(self, K: int) -> int:
        """Sweeps at most, as `automatic_length` has them."""
        work = self.tokens + (2 * self.documents + self.words) * K
        return int(np.clip(sampler.WORK / max(work, 1.0), *sampler.SWEEPS))


def run_blocks(
    problem: FitProblem,
    starts: list[Start],
    seed: int,
    size: Size,
    *,
    n_components: int,
    max_iter: int | None,
    after_iteration: Callable[[int, ChainState], bool],
    say: Callable[[str], None],
    hire: Callable[[FitProblem], Workers],
    checkpoint: Checkpoint,
) -> Fitted:
    """The posterior given all documents; `problem` is that of the sample, `hire` finds who sweeps over the rest."""
    length = size.sweeps(n_components) if max_iter is None else max_iter
    saved, reason, chains = checkpoint.read("chains"), None, list[Chain]()
    if saved is None:
        leading = lead_chain(problem, starts, seed, length, Under(checkpoint, LEADS))
        reason, state = leading.reason, leading.chains[0].state
        terms = state.terms
        say(f"{problem.counts.shape[0]:,} documents lead, all {size.documents:,} follow")
    else:
        terms = terms_from(saved["terms"], problem.terms)
    whole = whole_problem(problem, terms, size)
    with closing(hire(whole)) as workers:
        sweep = BlockedSweep(whole, workers)
        if saved is None:
            workers.forget(None)
            first = state._replace(sweep=0, terms=None, limit=length)
            try:
                if length and reason != "interrupt":  # which would wait for a pass over all blocks
                    first = sweep.begin(whole, first, seed + _FOLLOWS, HELD)
            except KeyboardInterrupt:
                reason = "interrupt"
            chains = [Chain(seed + _FOLLOWS, first, None, ())]
        else:
            workers.take_up(int(saved["sweep"]))
            workers.forget(int(saved["sweep"]))  # what a fit that died began to keep after it
            sweep.regression = Regression(FeatureSums(**saved["features"]))
        fixed = {"terms": terms_tree(terms), "features": sweep.regression.sums._asdict()}
        result = run_chains(
            whole,
            chains,
            max_iter=0 if reason == "interrupt" else length,
            target=TARGET,
            after_sweep=after_iteration,
            checkpoint=BlockCheckpoint(checkpoint, workers, fixed),
            advance=sweep,
        )
    chain = result.chains[0]
    kept = chain.kept or only_state(whole, chain.state)
    fitted = summarised(
        whole,
        chain.state,
        [kept],
        list(chain.trace),
        "interrupt" if reason == "interrupt" else result.reason,
    )
    sums = sweep.regression.sums
    return with_whole(fitted, Whole(size.documents, round(sums.tokens), sums.gram), chain.state)


def lead_chain(
    problem: FitProblem, starts: list[Start], seed: int, length: int, checkpoint: Checkpoint
) -> ChainsResult:
    """The chain of the sample alone, which finds topics and learns the kernel; from its start, or the checkpoint."""
    return run_chains(
        problem,
        [Chain(seed, first_state(problem, start), None, ()) for start in starts],
        max_iter=min(LEAD, length),
        target=np.inf,
        after_sweep=lambda number, state: False,
        checkpoint=checkpoint,
    )


def whole_problem(problem: FitProblem, terms: Terms | None, size: Size) -> FitProblem:
    """The problem of all documents, with the kernel as it was learnt, held from now on."""
    held = copy(problem)
    if terms is not None:
        held.bound, held.operator = terms.bound, terms.operator()
    held.terms = None
    held.occurs = np.ones(size.words, dtype=bool)  # words that the sample misses occur elsewhere
    if problem.seeds is not None:  # they count for each occurrence of a word
        held.seeds = problem.seeds * (size.tokens / max(problem.counts.sum(), 1.0))
    return held


def with_whole(fitted: Fitted, whole: Whole, state: ChainState) -> Fitted:
    """The fit with means and weights of the kernel's features as all documents have them, not the sample alone."""
    draws, H = fitted.draws, contrasts(fitted.K)
    assert draws is not None
    fitted = replace(fitted, whole=whole, mu=(draws.mu.mean(0) if draws.n else state.mu) @ H.T)
    if fitted.kernel is None:
        return fitted
    F = np.zeros((len(fitted.lam), fitted.K - 1))
    for number, term in enumerate(terms_of(fitted.bound)):
        part = state.parts[number]
        if draws.n:
            drawn = draws.parts[number]
            part = part._replace(weights=_mean(drawn.weights), own=_mean(drawn.own))
        F += total(term.structure, part)
    return replace(fitted, F=F @ H.T)


def _mean(draws: Array | None) -> Array | None:
    return None if draws is None else draws.mean(0, dtype=np.float64)
