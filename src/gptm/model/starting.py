"""Where the chains of a fit begin, or EM: at an earlier fit, where the kernel leads, or where the words lead."""

from typing import Any

from sklearn.utils import check_random_state

from gptm._basics.types import Array
from gptm.fitted import Fitted
from gptm.inference.checkpoint import Checkpoint
from gptm.inference.problem import FitProblem
from gptm.inference.start_point import Start
from gptm.model.settings import Settings
from gptm.starts.leading import Lead, lead_of
from gptm.starts.resume import resume
from gptm.starts.start import make_starts


def find_starts(
    settings: Settings,
    problem: FitProblem,
    init: str | Array,
    previous: Fitted | None,
    seed: Any,
    checkpoint: Checkpoint | None,
    *,
    leads: bool = True,
) -> list[Start]:
    """One start, or one for each chain; after an interrupt those that there are.

    Where the kernel leads the topics, if it may, the words of its groups become seeds of the problem.
    """
    if previous is not None:
        return [resume(problem, previous, settings.n_components)]
    lead = _lead(settings, problem, init, seed) if leads else None
    if lead is not None:
        problem.seeds = lead.pseudo_counts
    n_starts = settings.n_chains if settings.inference == "sampling" else 1
    rng = check_random_state(seed)
    return make_starts(init, problem, settings.n_components, rng, n_starts, checkpoint, lead)


def _lead(settings: Settings, problem: FitProblem, init: str | Array, seed: Any) -> Lead | None:
    """Where the kernel leads the topics; seed words and other starts go before it."""
    by_default = isinstance(init, str) and init == "gibbs"
    if settings.inference != "sampling" or not by_default or problem.seeds is not None:
        return None
    if not problem.learn_strength:
        return None
    groups = problem.bound.groups(settings.n_components, check_random_state(seed))
    return lead_of(problem.counts, groups, settings.n_components)
