"""Kernels that know documents by names of levels, such as authors."""

from abc import abstractmethod

import pandas as pd

from gptm.kernels.bound import BoundKernel


class LevelBound(BoundKernel):
    """A kernel over levels that were seen in training."""

    levels: list[str]

    @abstractmethod
    def levels_in(self, frame: pd.DataFrame) -> list[list[str]]:
        """The levels that each document of a table has, seen in training or not; none where they are missing."""

    def settings(self, n_points: int) -> pd.DataFrame | None:
        """Each level alone."""
        columns = self.kernel.column_names()
        return pd.DataFrame({columns[0]: self.levels}) if columns and self.levels else None
