"""A topic cut into several, and the whole model fitted again from there."""

from dataclasses import replace

from sklearn.utils import check_random_state

from gptm._basics.parallel import computing
from gptm._basics.progress import Progress
from gptm.fitted import Fitted
from gptm.model.ending import conclude
from gptm.model.inferring import infer
from gptm.model.settings import Settings
from gptm.prediction.proportions import training_proportions
from gptm.starts.resume import resume
from gptm.surgery.split import divide, divided


def run_split(settings: Settings, fitted: Fitted, topic: int, n: int) -> Fitted:
    """The fit with `n` topics in the place of one; `fitted` must have the words of the training documents."""
    progress = Progress(settings.verbose)
    with computing(settings.n_jobs):
        division = divide(fitted, topic, n, check_random_state(settings.random_state))
        start = division.start
        assert start.counts is not None
        problem = settings.problem(start.counts, start.bound, hold_kernel=True)
        starts = [resume(problem, start, start.K)]
        wider = replace(settings, n_components=start.K)
        refitted = infer(wider, problem, starts, progress, settings.random_state)
        theta = training_proportions(refitted, settings.effort)
        fitted = divided(fitted, division, replace(refitted, doc_topics=theta))
    conclude(fitted, progress, tol=settings.tol, with_checkpoint=False)
    return fitted
