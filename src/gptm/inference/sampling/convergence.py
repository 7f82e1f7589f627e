"""Whether chains have settled: effective sample sizes and split R-hat of what users look at."""

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm.inference.sampling.align import alignments
from gptm.inference.sampling.diagnostics import effective_size, split_rhat
from gptm.inference.sampling.kept import Kept

QUANTITIES = ("log_density", "share", "effect")  # that chains are judged by
RHAT = 1.05  # beyond which chains, or halves of one, tell different stories
FEWEST_DRAWS, FARTHEST_RHAT = 10.0, 1.2  # of a typical effect, beyond which a fit warns


def watched(kept: list[Kept]) -> dict[str, Array]:
    """(chains, draws, ...) what chains are judged by, topics of all chains in the order of the first."""
    n = min(one.n for one in kept)
    orders = alignments([one.beta_T for one in kept])
    watches = [one.watch() for one in kept]
    found = {
        "log_density": np.array([one.log_density[:n] for one in watches]),
        "share": np.array(
            [one.shares[:n, order] for one, order in zip(watches, orders, strict=True)]
        ),
    }
    if watches[0].effects.shape[1]:
        found["effect"] = np.array(
            [one.effects[:n][..., order] for one, order in zip(watches, orders, strict=True)]
        )
    return found


def diagnostics_table(values: dict[str, Array]) -> pd.DataFrame:
    """Effective sample size and split R-hat of each kind of quantity: the median one, and the worst."""
    rows = []
    for name, one in values.items():
        ess, rhat = effective_size(one), split_rhat(one)
        rows.append(
            {
                "quantity": name,
                "ess": float(np.median(ess)),
                "rhat": float(np.median(rhat)),
                "ess_worst": float(np.min(ess)),
                "rhat_worst": float(np.max(rhat)),
            }
        )
    return pd.DataFrame(rows, columns=["quantity", "ess", "rhat", "ess_worst", "rhat_worst"])


def settled(kept: list[Kept], target: float) -> bool:
    """Whether each kind of quantity has `target` effective draws, and R-hat near one.

    Of many topics some mix slowly for as long as anybody waits, so that the median one counts; tables show the worst.
    """
    if not kept or min(one.n for one in kept) < target:  # saves the work where it cannot be
        return False
    table = diagnostics_table(watched(kept))
    return bool((table["ess"] >= target).all() and (table["rhat"] <= RHAT).all())


def short_of_draws(table: pd.DataFrame | None) -> str | None:
    """What a typical effect has where its draws are too few, or still on their way, for error bars; else None."""
    effects = None if table is None else table.loc[table["quantity"] == "effect"]
    if effects is None or not len(effects):
        return None
    ess, rhat = float(effects["ess"].min()), float(effects["rhat"].max())
    if ess >= FEWEST_DRAWS and rhat <= FARTHEST_RHAT:
        return None
    return "too few draws" if np.isnan(ess) else f"{ess:.0f} effective draws and R-hat {rhat:.2f}"
