"""Whether chains have settled: effective sample sizes and split R-hat of what users look at."""

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm.inference.sampling.align import alignments
from gptm.inference.sampling.diagnostics import effective_size, split_rhat
from gptm.inference.sampling.kept import Kept

QUANTITIES = ("log_density", "share", "effect")  # that chains are judged by
RHAT = 1.05  # beyond which chains, or halves of one, differ too much
FEWEST_DRAWS, FARTHEST_RHAT = 10.0, 1.2  # of a typical effect, beyond which a fit warns


def watched(kept: list[Kept]) -> dict[str, Array]:
    """(chains, draws, ...) the quantities that chains are judged by, with topics in the order of the first chain."""
    n = min(draws.n for draws in kept)
    orders = alignments([draws.beta_T for draws in kept])
    watches = [draws.watch() for draws in kept]
    quantities = {
        "log_density": np.array([watch.log_density[:n] for watch in watches]),
        "share": np.array(
            [watch.shares[:n, order] for watch, order in zip(watches, orders, strict=True)]
        ),
    }
    if watches[0].effects.shape[1]:
        quantities["effect"] = np.array(
            [watch.effects[:n][..., order] for watch, order in zip(watches, orders, strict=True)]
        )
    return quantities


def diagnostics_table(values: dict[str, Array]) -> pd.DataFrame:
    """Effective sample size and split R-hat of each kind of quantity: the median and the worst."""
    rows = []
    for name, draws in values.items():
        ess, rhat = effective_size(draws), split_rhat(draws)
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

    With many topics, some mix slowly however long a chain is. So the median counts; tables show the worst too.
    """
    if not kept or min(draws.n for draws in kept) < target:  # saves work
        return False
    table = diagnostics_table(watched(kept))
    return bool((table["ess"] >= target).all() and (table["rhat"] <= RHAT).all())


def short_of_draws(table: pd.DataFrame | None) -> str | None:
    """Effective draws and R-hat of a typical effect if they are too bad for bands; otherwise None."""
    effects = None if table is None else table.loc[table["quantity"] == "effect"]
    if effects is None or not len(effects):
        return None
    ess, rhat = float(effects["ess"].min()), float(effects["rhat"].max())
    if ess >= FEWEST_DRAWS and rhat <= FARTHEST_RHAT:
        return None
    return "too few draws" if np.isnan(ess) else f"{ess:.0f} effective draws and R-hat {rhat:.2f}"
