"""A table of effects that a notebook shows with its bands."""

from typing import Any

import pandas as pd

from gptm.views.html_card import HtmlCell, Strong, card, html_table
from gptm.views.shown_table import table_lines
from gptm.views.text_lines import one_line

_SHOWN = 40  # rows
_LEVEL = "level"  # under which a table carries its credible level along
_VALUES = ("contrast", "share")


class EffectsTable(pd.DataFrame):
    """What `model.effects()` returns: a DataFrame that is shown with one cell per band.

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

    def __repr__(self) -> str:
        """Within 100 columns; `to_string()` has all numbers."""
        settings = self._settings()
        if settings is None:
            return str(super().__repr__())
        records = self[:_SHOWN].to_dict("records")
        written = {name: [row[name] for row in records] for name in settings} | {
            "contrast": [_contrast(row) for row in records],
            "share": [_share(row) for row in records],
        }
        lines = table_lines(pd.DataFrame(written), numbers=_VALUES)
        more = [f"... and {len(self) - _SHOWN:,} more rows"] if len(self) > _SHOWN else []
        return "\n".join([self._title(), *lines, *more])

    def _settings(self) -> list[Any] | None:
        """Columns that say which effect it is; None without bands, as after a selection of columns."""
        bands = {name for value in _VALUES for name in (value, f"{value}_low", f"{value}_high")}
        if not bands <= {*self.columns}:
            return None
        several = "term" in self and self["term"].nunique() > 1
        return [n for n in self.columns if n not in bands and (several or n != "term")]

    def _title(self) -> str:
        level = self.attrs.get(_LEVEL)
        named = ", ".join(dict.fromkeys(map(str, self["term"]))) if "term" in self else ""
        bands_of = "" if level is None else f", {100 * level:g} % bands"
        return f"Effects of {named}{bands_of}"

    def _repr_html_(self) -> str:
        settings = self._settings()
        if settings is None:
            return str(super()._repr_html_())
        header = [*map(str, settings), "contrast", "share"]
        rows = [self._row(row, settings) for row in self[:_SHOWN].to_dict("records")]
        table = html_table(header, rows, [len(header) - 2, len(header) - 1])
        notes = ["Bold: the band of the contrast excludes zero."]
        if len(self) > _SHOWN:
            notes.insert(0, f"{len(self) - _SHOWN:,} more rows")
        return card(self._title(), table=table, notes=notes)

    def _row(self, row: dict[Any, Any], settings: list[Any]) -> list[HtmlCell]:
        clear = row["contrast_low"] > 0 or row["contrast_high"] < 0
        return [
            *(_setting(row[name]) for name in settings),
            Strong(_contrast(row)) if clear else _contrast(row),
            _share(row),
        ]


def _contrast(row: dict[Any, Any]) -> str:
    return f"{row['contrast']:+.2f} [{row['contrast_low']:+.2f}, {row['contrast_high']:+.2f}]"


def _share(row: dict[Any, Any]) -> str:
    share, low, high = (100 * row[name] for name in ("share", "share_low", "share_high"))
    return f"{share:.1f} % [{low:.1f}, {high:.1f}]"


def _setting(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}"
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))
