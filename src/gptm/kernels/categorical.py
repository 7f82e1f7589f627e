"""Groups of documents: the same author, source or party."""

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm._basics.validation import check_text, check_truth
from gptm._basics.warnings import warn
from gptm.corpus.metadata import column, level_names
from gptm.corpus.several_values import mark_between, values_in
from gptm.kernels.bound import Documents, nothing_to_learn, packed, unpacked
from gptm.kernels.column_names import checked_column
from gptm.kernels.kernel import Kernel
from gptm.kernels.levels import LevelBound
from gptm.kernels.membership import MembershipBound
from gptm.operators import Block, Features, Placement, Structure, pointing

ALONE = -1  # the value is missing, or its level was not seen in training


class Categorical(Kernel):
    """Documents with the same value are alike: one random effect per level.

    A document whose value is missing, or is a level that was not seen in training, falls back to the prior.

    Parameters
    ----------
    column : str
        Column of the metadata with the levels, as text or numbers.
    multiple : bool, default=False
        Whether a cell may hold several levels, such as all authors of a paper. A document then has the mean of their
        effects. Cells are lists, or text with semicolons, bars or commas between the levels; the separator is
        determined from the training documents. Of a document's levels, those that were not seen in training fall back
        to the prior.
    name : str, optional
        Name of this term in tables and plots.

    Notes
    -----
    With `multiple`, documents with the sets A and B of levels have the covariance |A and B| / (|A| |B|), times one
    number for all. So a document of m levels has 1 / m of the variance of a document with one level. As for every
    term, the number is such that the mean variance over the training documents is one. A document without levels has
    this mean variance.

    Examples
    --------
    >>> from gptm import kernels as k
    >>> k.Matern("date") + k.Categorical("author")
    Matern('date') + Categorical('author')

    Papers with several authors:

    >>> import pandas as pd
    >>> papers = pd.DataFrame({"authors": ["Ann; Bob", "Ann", "Bob; Eve"]})
    >>> k.Categorical("authors", multiple=True).bind(k.Documents(3, papers)).gram()
    array([[0.5 , 0.5 , 0.25],
           [0.5 , 1.  , 0.  ],
           [0.25, 0.  , 0.5 ]])
    """

    def __init__(self, column: str, *, multiple: bool = False, name: str | None = None):
        check_truth("multiple", multiple)
        self.column = checked_column("Categorical", column, "'author'")
        self.multiple = multiple
        self.name = name

    def column_names(self) -> tuple[str, ...]:
        return (self.column,)

    def describe(self, dates: Collection[str] = ()) -> str:
        if self.multiple:
            return f"documents that share some of their {self.column} are alike"
        return f"documents with the same {self.column} are alike"

    def cells(self, frame: pd.DataFrame | None) -> pd.Series:
        """(n,) the cells of its column."""
        return column(frame, self.column, self)

    def read(self, frame: pd.DataFrame | None) -> np.ndarray:
        """(n,) names of levels, None where missing."""
        return level_names(self.cells(frame))

    def bind(self, documents: Documents) -> LevelBound:
        if self.multiple:
            cells = self.cells(documents.frame).tolist()
            mark = mark_between(cells)
            lists = [values_in(cell, mark) for cell in cells]
            return MembershipBound.of(
                self, self._sorted({v for vs in lists for v in vs}), lists, mark
            )
        cells = self.cells(documents.frame)
        if any(isinstance(cell, list | tuple | set | frozenset) for cell in cells):
            warn(
                f"{self!r} takes each list of values as one level, so documents whose lists differ have nothing in "
                f"common. If a document may have several levels, use Categorical({self.column!r}, multiple=True)."
            )
        names = level_names(cells)
        levels = self._sorted({name for name in names if name is not None})
        codes = codes_of(names, levels)
        warn_useless(self, codes, len(levels), f"value in {self.column!r}")
        return CategoricalBound(self, levels, codes)

    def _sorted(self, names: set[str]) -> list[str]:
        """The levels in their order; an error where there are none."""
        if not names:
            raise nothing_to_learn(self, f"every value of {self.column!r} is missing")
        check_text(sorted(names), f"a level of {self.column!r}")
        return sorted(names)

    def rebind(self, arrays: dict[str, np.ndarray]) -> LevelBound:
        if self.multiple:
            return MembershipBound.restored(self, arrays)
        levels = unpacked(arrays["levels"])
        return CategoricalBound(self, levels, arrays["codes"])


class CategoricalBound(LevelBound):
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

    @property
    def training(self) -> np.ndarray:
        return self.codes

    def read(self, new: Documents) -> np.ndarray:
        if new.frame is None:
            return np.full(new.n, ALONE)
        return codes_of(self.kernel.read(new.frame), self.levels)

    def levels_in(self, frame: pd.DataFrame) -> list[list[str]]:
        return [[] if name is None else [name] for name in self.kernel.read(frame)]

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
