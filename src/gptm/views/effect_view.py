"""A table of effects that a notebook shows with its bands."""

from typing import Any

import pandas as pd

from gptm.views.html_card import HtmlCell, Strong, card, html_table
from gptm.views.text_lines import one_line

_SHOWN = 40  # rows
_LEVEL = "level"  # under which a table carries its credible level along
_VALUES = ("contrast", "share")


class EffectsTable(pd.DataFrame):
    """What `model.effects()` returns: a DataFrame that notebooks show with one cell per band.

    Whatever is selected from it or computed with it is a plain DataFrame.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    @classmethod
    def of(cls, table: pd.DataFrame, level: float) -> "EffectsTable":
        """The same table, with the credible level of its bands."""
        marked = cls(table)
        marked.attrs[_LEVEL] = float(level)
        return marked

    def _repr_html_(self) -> str:
        bands = {name for value in _VALUES for name in (value, f"{value}_low", f"{value}_high")}
        if not bands <= {*self.columns}:
            return str(super()._repr_html_())
        settings = [name for name in self.columns if name not in {"term", *bands}]
        header = [*map(str, settings), "contrast", "share"]
        rows = [self._row(row, settings) for row in self[:_SHOWN].to_dict("records")]
        table = html_table(header, rows, [len(header) - 2, len(header) - 1])
        level = self.attrs.get(_LEVEL)
        named = ", ".join(dict.fromkeys(map(str, self["term"]))) if "term" in self else ""
        bands_of = "" if level is None else f", {100 * level:g} % bands"
        notes = ["Bold: the band of the contrast excludes zero."]
        if len(self) > _SHOWN:
            notes.insert(0, f"{len(self) - _SHOWN:,} more rows")
        return card(f"Effects of {named}{bands_of}", table=table, notes=notes)

    def _row(self, row: dict[Any, Any], settings: list[Any]) -> list[HtmlCell]:
        contrast, low, high = row["contrast"], row["contrast_low"], row["contrast_high"]
        written = f"{contrast:+.2f} [{low:+.2f}, {high:+.2f}]"
        share = f"{100 * row['share']:.1f} % [{100 * row['share_low']:.1f}, {100 * row['share_high']:.1f}]"
        return [
            *(_setting(row[name]) for name in settings),
            Strong(written) if low > 0 or high < 0 else written,
            share,
        ]


def _setting(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}"
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))
