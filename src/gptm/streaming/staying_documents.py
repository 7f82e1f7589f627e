"""Which documents stay in memory: a sample of all that have come, with one of each level that the kernel knows."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from gptm.corpus.kinds import base_kind
from gptm.streaming.batch_order import row_keys

_LEVELS = ("category", "list")  # kinds of columns that have some


def staying(
    n_old: int,
    n_new: int,
    n_past: float,
    room: int,
    frame: pd.DataFrame | None,
    kinds: Mapping[str, str],
    rng: np.random.Generator,
) -> np.ndarray:
    """(n_old + n_new,) whether documents stay; `frame` has the kernel's columns, old documents first.

    Each document that has ever come is as likely to be in memory as any other.
    """
    total, n = n_old + n_new + n_past, n_old + n_new
    if total <= room:
        return np.ones(n, dtype=bool)
    of_new = min(n_new, round(room * n_new / total))
    of_old = min(n_old, room - of_new)
    stays = np.zeros(n, dtype=bool)
    stays[rng.permutation(n_old)[:of_old]] = True
    stays[n_old + rng.permutation(n_new)[:of_new]] = True
    return stays | _last_of_level(stays, frame, kinds)


def _last_of_level(
    stays: np.ndarray, frame: pd.DataFrame | None, kinds: Mapping[str, str]
) -> np.ndarray:
    """The first document of each level that no document in memory would have any more."""
    more = np.zeros(len(stays), dtype=bool)
    if frame is None:
        return more
    for name in frame.columns:
        if base_kind(kinds.get(name, "")) not in _LEVELS:
            continue
        levels = pd.Series(row_keys(frame[[name]]))
        gone = ~levels.isin(levels[stays | more]) & ~levels.duplicated()
        more |= gone.to_numpy()
    return more
