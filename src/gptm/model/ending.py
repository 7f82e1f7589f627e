"""How a fit has ended: a line for those who watch it, and a warning if it has ended too early."""

from sklearn.exceptions import ConvergenceWarning

from gptm._basics.errors import Argument, Message, PythonOnly
from gptm._basics.progress import Progress
from gptm._basics.warnings import warn
from gptm.fitted import Fitted
from gptm.inference.sampling.convergence import short_of_draws


def conclude(fitted: Fitted, progress: Progress, *, tol: float, with_checkpoint: bool) -> None:
    """Say how the fit ended, and warn if it ended too early."""
    progress.say(f"{fitted.reason} after {len(fitted.trace)} iterations  {progress.elapsed()}")
    message = _shortcoming(fitted, tol, with_checkpoint)
    if message is not None:
        warn(message, ConvergenceWarning)


def _shortcoming(fitted: Fitted, tol: float, with_checkpoint: bool) -> Message | None:
    n_iter = len(fitted.trace)
    if fitted.reason == "interrupt":
        again = "Fit again with warm_start=True to continue from it."
        if with_checkpoint:
            again = "The same call with the same checkpoint continues from here."
        return Message(
            f"fit was interrupted after {n_iter} iterations; the model so far is kept.",
            PythonOnly(f" {again}"),
        )
    if fitted.reason != "max_iter":
        return None
    if not fitted.by_sampling:
        return Message(
            f"fit did not converge in {n_iter} iterations: the bound still rises by more than "
            f"{tol:g} of its value. Increase ",
            Argument("max_iter"),
            ", or ",
            Argument("tol"),
            " if this is close enough.",
        )
    shortage = short_of_draws(fitted.diagnostics)
    if not shortage:
        return None
    return Message(
        f"the chain is short for bands: after {n_iter} sweeps a typical effect has {shortage}",
        PythonOnly(" (see diagnostics_)"),
        ". You can use topics and predictions; bands of effects may be too narrow. For better bands pass ",
        Argument("max_iter", 4 * n_iter),
        ".",
    )
