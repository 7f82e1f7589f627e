"""Any table of texts as a card for notebooks."""

from collections.abc import Sequence

import pandas as pd

from gptm.views.html_card import card, html_table


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
        for label, row in zip(labels, table.itertuples(index=False, name=None), strict=True)
    ]
    right = [
        place
        for place, name in enumerate(header)
        if (place >= len(names) if numbers is None else name in numbers)
    ]
    return card(title, table=html_table(header, rows, right), notes=[n for n in notes if n])
