"""Any table of numbers and texts, printed within 100 columns and as a card in notebooks."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from gptm.views.html_card import card, html_table
from gptm.views.text_lines import WIDTH, cut, one_line

_SHOWN = 60  # rows
_LEAST = 12  # characters that a column of texts keeps
_FIRST = ("text", "words", "topic_name")  # columns that are cut before others
_BETWEEN = "  "
_TITLE, _NOTE = "title", "note"  # under which a table carries its heading along


class ShownTable(pd.DataFrame):
    """A DataFrame of which all columns are printed: numbers short, long texts cut.

    Whatever is selected from it or computed with it is a plain DataFrame.

    Examples
    --------
    >>> ShownTable({"topic": [0, 1], "share": [1 / 3, 2 / 3], "text": ["green tea", "rain"]})
    topic   share  text
        0  0.3333  green tea
        1  0.6667  rain
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    @classmethod
    def of(cls, table: pd.DataFrame, title: str = "", note: str = "") -> "ShownTable":
        """The same table, with a title and a note for notebooks."""
        shown = cls(table)
        shown.attrs |= {_TITLE: title, _NOTE: note}
        return shown

    def __repr__(self) -> str:
        return "\n".join(table_lines(self))

    def _repr_html_(self) -> str:
        return table_card(str(self.attrs.get(_TITLE, "")), self, [str(self.attrs.get(_NOTE, ""))])


def table_card(title: str, table: pd.DataFrame, notes: Sequence[str] = ()) -> str:
    """The same cells as `table_lines` prints, as a card with a title, and notes below the table.

    Examples
    --------
    >>> "0.2500" in table_card("", pd.DataFrame({"share": [0.25]}))
    True
    """
    texts = _texts(table[:_SHOWN])
    more = f"{len(table) - _SHOWN:,} more rows" if len(table) > _SHOWN else ""
    return frame_card(
        title,
        texts.set_index(texts.columns[0]) if len(texts.columns) else texts,
        [more, *notes],
        numbers=[name for name in texts if _is_number(table, name)],
    )


def frame_card(
    title: str,
    table: pd.DataFrame,
    notes: Sequence[str] = (),
    numbers: Sequence[str] | None = None,
) -> str:
    """A table with its index as first columns, under a title and above notes; empty notes are left out.

    The columns called `numbers` are aligned to the right; by default all but the index.

    Examples
    --------
    >>> import pandas as pd
    >>> "<b>" in frame_card("t", pd.DataFrame({"x": ["<b>"]}, index=["<b>"]))
    False
    """
    names = [str(name) if name is not None else "" for name in table.index.names]
    labels = [label if isinstance(label, tuple) else (label,) for label in table.index]
    header = [*names, *map(str, table.columns)]
    rows = [
        [*map(str, label), *map(str, row)]
        for label, row in zip(labels, table.to_numpy(dtype=object), strict=True)
    ]
    right = [
        place
        for place, name in enumerate(header)
        if (place >= len(names) if numbers is None else name in numbers)
    ]
    return card(title, table=html_table(header, rows, right), notes=[n for n in notes if n])


def table_lines(table: pd.DataFrame, numbers: Sequence[str] = ()) -> list[str]:
    """A heading and one line per row, at most 100 characters wide where texts can be cut.

    The columns called `numbers` hold numbers with signs or units, and are never cut.
    """
    texts = _texts(table[:_SHOWN])
    right = [name in numbers or _is_number(table, name) for name in texts]
    rows = [list(map(str, texts.columns)), *texts.astype(str).to_numpy().tolist()]
    first = [not number and name in _FIRST for name, number in zip(texts, right, strict=True)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for which in (first, [not number for number in right]):
        widths = _fitting(widths, which)
    lines = [
        _BETWEEN.join(
            cell.rjust(width) if number else cut(cell, width).ljust(width)
            for cell, width, number in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]
    return [*lines, f"... and {len(table) - _SHOWN:,} more rows"] if len(table) > _SHOWN else lines


def _fitting(widths: list[int], which: list[bool]) -> list[int]:
    """Widths of columns such that they fit, if those in question can give enough: the widest gives way first."""
    widths = list(widths)
    over = sum(widths) + len(_BETWEEN) * (len(widths) - 1) - WIDTH
    for _ in range(max(over, 0)):
        wide = [i for i, cut_it in enumerate(which) if cut_it and widths[i] > _LEAST]
        if not wide:
            break
        widths[max(wide, key=lambda i: widths[i])] -= 1
    return widths


def _texts(table: pd.DataFrame) -> pd.DataFrame:
    """Cells as texts; an index with a name is the first column."""
    plain = pd.DataFrame(table)
    if plain.index.name is not None:
        plain = plain.reset_index()
    return pd.DataFrame({name: [_text(cell) for cell in plain[name]] for name in plain})


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return _number(cell)
    if isinstance(cell, pd.Timestamp):
        return f"{cell:%Y-%m-%d}" if cell == cell.normalize() else f"{cell:%Y-%m-%d %H:%M}"
    if isinstance(cell, list | tuple):
        return ", ".join(map(str, cell))
    return "" if cell is None or cell is pd.NaT or cell is pd.NA else one_line(str(cell))


def _number(value: float) -> str:
    """Four digits after the point, more only where these would be zeros.

    Examples
    --------
    >>> [_number(value) for value in (0.25, 12.3456, 0.000123, 1200.0, float("nan"))]
    ['0.2500', '12.35', '0.00012', '1200', '']
    """
    if value != value:
        return ""
    if 1e-3 <= abs(value) < 1.0:
        return f"{value:.4f}"
    return f"{value:.4g}" if abs(value) >= 1.0 else f"{value:.2g}"


def _is_number(table: pd.DataFrame, name: Any) -> bool:
    values = table.get(name, table.index)
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
