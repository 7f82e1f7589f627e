"""The inference of a fit from its starts: the sampler in memory, the sampler over blocks, or EM."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sklearn.utils import check_random_state

from gptm._basics.progress import Progress
from gptm.fitted import Fitted
from gptm.inference.blocks.block_fit import BlockFit
from gptm.inference.checkpoint import Checkpoint
from gptm.inference.em.run_em import run_em
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.run_sampler import run_sampler
from gptm.inference.start_point import Start
from gptm.model.settings import Settings

EM_ITERATIONS = 200  # of EM where `max_iter` is None


def infer(
    settings: Settings,
    problem: FitProblem,
    starts: list[Start],
    progress: Progress,
    seed: Any,
    checkpoint: Checkpoint | None = None,
    blocks: BlockFit | None = None,
) -> Fitted:
    """The fit; if an interrupt has cut the starts short, it is that of the starts."""
    complete = all(start.complete for start in starts)
    after_iteration = _after_iteration(settings, progress)
    if blocks is not None:
        fitted = blocks.infer(
            problem,
            starts,
            int(check_random_state(seed).randint(2**31)),
            max_iter=settings.max_iter if complete else 0,
            after_iteration=after_iteration,
            say=progress.say,
            checkpoint=checkpoint,
        )
    elif settings.inference == "sampling":
        rng = check_random_state(seed)
        fitted = run_sampler(
            problem,
            starts,
            rng.randint(2**31, size=max(len(starts), 1)).tolist(),
            n_components=settings.n_components,
            max_iter=settings.max_iter if complete else 0,
            after_iteration=after_iteration,
            checkpoint=checkpoint,
        )
    else:
        states = [start.state for start in starts]
        starts.clear()  # EM alone holds on to the start's documents, which are as large as its own
        fitted = run_em(
            problem,
            states.pop() if states else None,
            max_iter=(settings.max_iter or EM_ITERATIONS) if complete else 0,
            tol=settings.tol,
            after_iteration=after_iteration,
            checkpoint=checkpoint,
        )
    return fitted if complete else replace(fitted, reason="interrupt")


def _after_iteration(settings: Settings, progress: Progress) -> Callable[[int, Any], bool]:
    """What happens after each sweep or iteration: a line, and the user's function, which may end the fit."""

    def after_iteration(number: int, state: Any) -> bool:
        progress.iteration(number, state.bound, getattr(state, "limit", None))
        return settings.callback is not None and bool(settings.callback(number, state))

    return after_iteration
