"""Groups of documents: the same author, source or party."""

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm._basics.validation import check_text
from gptm._basics.warnings import warn
from gptm.corpus.metadata import column, level_names
from gptm.kernels.bound import BoundKernel, Documents, nothing_to_learn, packed, unpacked
from gptm.kernels.kernel import Kernel
from gptm.operators import Block, Features, Placement, Structure, pointing

ALONE = -1  # the value is missing, or its level was not seen in training


class Categorical(Kernel):
    """Documents with the same value are alike: one random effect per level.

    A document whose value is missing, or is a level that was not seen in training, falls back to the prior.

    Parameters
    ----------
    column : str
        Column of the metadata with the levels, as text or numbers.
    name : str, optional
        Name of this term in tables and plots.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Matern("date") + k.Categorical("author")
    Matern('date') + Categorical('author')
    """

    def __init__(self, column: str, *, name: str | None = None):
        if not isinstance(column, str):
            raise ValueError(
                f"Categorical expects a column name, for example Categorical('author'); got {column!r}."
            )
        self.column = column
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return (self.column,)

    def describe(self, dates: Collection[str] = ()) -> str:
        return f"documents with the same {self.column} are alike"

    def read(self, frame: pd.DataFrame | None) -> np.ndarray:
        """(n,) names of levels, None where missing."""
        return level_names(column(frame, self.column, repr(self)))

    def bind(self, documents: Documents) -> "CategoricalBound":
        names = self.read(documents.frame)
        levels = sorted({name for name in names if name is not None})
        if not levels:
            raise nothing_to_learn(self, f"every value of {self.column!r} is missing")
        check_text(levels, f"a level of {self.column!r}")
        codes = codes_of(names, levels)
        warn_useless(self, codes, len(levels), f"value in {self.column!r}")
        return CategoricalBound(self, levels, codes)

    def rebind(self, arrays: dict[str, np.ndarray]) -> "CategoricalBound":
        levels = unpacked(arrays["levels"])
        return CategoricalBound(self, levels, arrays["codes"])


class CategoricalBound(BoundKernel):
    """Groups of documents: `gamma` within a group, and `own_part` for each document alone."""

    gamma = 1.0

    def __init__(self, kernel: Any, levels: list[str], codes: np.ndarray):
        self.kernel: Any = kernel
        self.levels = levels
        self.codes = codes
        self.n = len(codes)

    @cached_property
    def structure(self) -> Structure:
        return Structure(self.n, *self._parts(self.codes))

    def place(self, new: np.ndarray, joint: bool = False) -> Placement:
        return Placement(len(new), *self._parts(new))

    def _parts(self, codes: np.ndarray) -> tuple[Features | None, Array]:
        """Features, and each document's own variance; a document without a level counts as a level of its own."""
        own = np.where(codes >= 0, self.own_part, self.own_part + self.gamma)
        width = max(len(self.levels), int(self.codes.max(initial=-1)) + 1)
        if width == 0:
            return None, own
        return Features([Block(pointing(codes, width, np.sqrt(self.gamma)), None)]), own

    def labels(self) -> np.ndarray:
        return np.where(self.codes >= 0, self.codes, self.n + np.arange(self.n))

    def alone(self) -> np.ndarray:
        return self.codes < 0

    def settings(self, n_points: int) -> pd.DataFrame | None:
        columns = self.kernel.column_names()
        return pd.DataFrame({columns[0]: self.levels}) if columns and self.levels else None

    @property
    def training(self) -> np.ndarray:
        return self.codes

    def read(self, new: Documents) -> np.ndarray:
        if new.frame is None:
            return np.full(new.n, ALONE)
        return codes_of(self.kernel.read(new.frame), self.levels)

    def between(self, rows: np.ndarray, others: np.ndarray) -> Array:
        return self.cross_gram(self.codes[rows], others)

    def cross_gram(self, new: np.ndarray, rows: np.ndarray | None = None) -> Array:
        codes = self.codes if rows is None else self.codes[rows]
        return self.gamma * ((new[:, None] == codes) & (new >= 0)[:, None])

    def arrays(self) -> dict[str, np.ndarray]:
        return {"codes": self.codes, "levels": packed(self.levels)}


def warn_useless(kernel: Kernel, codes: np.ndarray, n_levels: int, what: str) -> None:
    """Warn if all documents have the same `what`, or no two documents do."""
    n_known = int((codes >= 0).sum())
    if n_levels == 1 and n_known == len(codes) > 1:
        who_has = "every document has"
    elif n_levels == n_known > 1:
        who_has = "no two documents have"
    else:
        return
    warn(
        f"{kernel!r}: {who_has} the same {what}, so it says nothing about them. Leave it out, or check what it reads."
    )


def codes_of(names: np.ndarray, levels: list[str]) -> np.ndarray:
    """(n,) position of each name among the levels; negative where missing or unseen."""
    positions = {level: code for code, level in enumerate(levels)}
    return np.array([positions.get(name, ALONE) for name in names], dtype=np.int64)
